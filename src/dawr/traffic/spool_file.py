"""Files that one process writes while another reads them: the lines of a spool, and the counters beside it.

A file is locked for as long as its process lives. It gets its name once it is locked, so no reader takes it for an
orphan.
"""

import fcntl
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path

from dawr.reliability.disk import sync

HEADER = b"dawr spool 1\n".ljust(31, b"\0") + b"\n"
"""Kind and version of a spool. Earlier versions counted the answers in bytes 16 to 23."""
COUNTERS = b"dawr answers 1\n".ljust(32, b"\0")
"""Kind and version of a file of counters, then two of eight bytes each: answers, and requests without a line."""
COUNTERS_AT = 16
ANSWERS, UNSPOOLED = 2, 3
"""Places of the counters among the whole numbers of the file."""
SPOOL_ENDING = ".spool"
COUNTERS_ENDING = ".answers"
BEGUN = ".begun"


def counters_beside(spools: Path) -> Path:
    """Return the directory of the counters. It is not in the spool's, because it is what the spool is checked with."""
    return spools.with_name(f"{spools.name}-answers")


class OwnedFile:
    """A file while its process writes to it. `read_content` is called once the file could be created."""

    def __init__(self, path: Path, read_content: Callable[[], bytes]) -> None:
        self.path = path
        self.is_dirty = True
        self.is_missing = False
        """Set by the thread that syncs, when it finds that the file was removed."""
        self._is_named = False
        """Whether the disk has the name of the file, too."""
        begun = path.with_suffix(BEGUN)
        self.handle = os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = read_content()
            if os.write(self.handle, data) != len(data):
                raise OSError(ENOSPC, os.strerror(ENOSPC))  # noqa: TRY301 - the file is closed below
            begun.rename(path)
        except OSError as error:
            os.close(self.handle)
            begun.unlink(missing_ok=True)
            raise OSError(ENOSPC, os.strerror(ENOSPC)) from error

    def sync(self) -> None:
        """Write it to the disk, or note that it was removed."""
        if os.fstat(self.handle).st_nlink == 0:
            self.is_missing = True
        elif self.is_dirty:
            self.is_dirty = False
            os.fdatasync(self.handle)
            if not self._is_named:
                sync(self.path.parent)
                self._is_named = True

    def close(self) -> None:
        """Release the lock: the reader removes the file once it has read all of it."""
        os.close(self.handle)


class SpoolFile(OwnedFile):
    """Lines of one process in one hour."""

    def __init__(self, path: Path, hour: int, copied: "SpoolFile | None" = None) -> None:
        super().__init__(path, lambda: HEADER if copied is None else copied.read())
        self.hour = hour
        self.size: int = len(HEADER) if copied is None else copied.size
        self.lines: int = 0 if copied is None else copied.lines

    def append(self, data: bytes, lines: int = 1) -> bool:
        """Write all of it, or nothing."""
        try:
            written = os.write(self.handle, data)
        except OSError:
            return False
        if written != len(data):
            with suppress(OSError):
                os.ftruncate(self.handle, self.size)
            return False
        self.size += written
        self.lines += lines
        self.is_dirty = True
        return True

    def rewrite(self) -> "SpoolFile":
        """Return a copy under the old name. The reader continues at its position in it."""
        return SpoolFile(self.path, self.hour, self)

    def read(self) -> bytes:
        return os.pread(self.handle, self.size, 0)


class AnswerCounter(OwnedFile):
    """Counters of one process in one hour, mapped into memory. They survive `kill -9` and the loss of the spool."""

    def __init__(self, path: Path, hour: int, answers: int = 0) -> None:
        super().__init__(path, lambda: COUNTERS)
        self.hour = hour
        self._mapped = mmap.mmap(self.handle, len(COUNTERS))
        self._numbers = memoryview(self._mapped).cast("Q")
        self.add(answers)

    def add(self, answers: int) -> None:
        self._numbers[ANSWERS] += answers
        self.is_dirty = True

    def show_unspooled(self, requests: int) -> None:
        self._numbers[UNSPOOLED] = requests

    def rewrite(self) -> "AnswerCounter":
        """Return a copy under the old name."""
        return AnswerCounter(self.path, self.hour, self._numbers[ANSWERS])

    def close(self) -> None:
        self._numbers.release()
        self._mapped.close()
        super().close()
