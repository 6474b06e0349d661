"""Where a process writes down each request that it answered: one line in a file, in one write.

What was written survives the process, however that ends; a power cut takes the last second at most. The file is
locked for as long as its process lives. A new one begins with every start, with every hour and when one is large.
Nobody waits for a disk that is full: lines are kept in memory then, up to a bound, and what is beyond it is counted.
"""

import asyncio
import fcntl
import mmap
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from typing import Self
from weakref import WeakMethod
from zlib import crc32

import msgspec

from dawr.reliability.disk import make_directory, sync
from dawr.reliability.log import log
from dawr.traffic.event import MS_PER_HOUR, hour_of

HEADER = b"dawr spool 1\n".ljust(31, b"\0") + b"\n"
"""What it is, its version, and in bytes 16 to 23 how many answers were sent while it was the one in use."""
COUNTER = 2
"""Which of the header's whole numbers that is."""
ENDING = ".spool"
BEGUN = ".begun"
LARGEST_FILE = 16 * 1024 * 1024
MOST_ON_DISK = 256 * 1024 * 1024
MOST_IN_MEMORY = 10_000
SYNC_SECONDS = 1.0
LOST = b'{"lost":'


class SpoolFile:
    """One file while it is written to. It has its name once it is locked, so that nobody takes it for an orphan."""

    def __init__(self, directory: Path, name: str, hour: int) -> None:
        self.hour = hour
        self.size = len(HEADER)
        self.is_dirty = True
        self._directory: Path | None = directory
        """Until the disk has the name of the file, too."""
        begun = directory / f"{name}{BEGUN}"
        self.handle = os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.write(self.handle, HEADER)
            self._mapped = mmap.mmap(self.handle, len(HEADER))  # fails if the disk had no place for all of it
            begun.rename(directory / f"{name}{ENDING}")
        except (OSError, ValueError) as error:
            os.close(self.handle)
            begun.unlink(missing_ok=True)
            raise OSError(ENOSPC, os.strerror(ENOSPC)) from error
        self._numbers = memoryview(self._mapped).cast("Q")

    def append(self, line: bytes) -> bool:
        """Whole, or not at all."""
        try:
            written = os.write(self.handle, line)
        except OSError:
            return False
        if written != len(line):
            with suppress(OSError):
                os.ftruncate(self.handle, self.size)
            return False
        self.size += written
        self.is_dirty = True
        return True

    @property
    def answers(self) -> int:
        return self._numbers[COUNTER]

    def count_answers(self, number: int) -> None:
        self._numbers[COUNTER] += number

    @property
    def is_gone(self) -> bool:
        """Somebody removed it while it was in use."""
        return os.fstat(self.handle).st_nlink == 0

    def lines(self) -> bytes:
        """All that was written to it."""
        return os.pread(self.handle, self.size, len(HEADER))

    def sync(self) -> None:
        self.is_dirty = False
        os.fdatasync(self.handle)
        if self._directory is not None:
            sync(self._directory)
            self._directory = None

    def close(self) -> None:
        """Somebody else may take it from here."""
        self._numbers.release()
        self._mapped.close()
        os.close(self.handle)


class Spool:
    """`new_name` gives this process a name that no other has, on any host."""

    def __init__(self, directory: Path, new_name: Callable[[], str]) -> None:
        self.lost = 0
        self.is_full = False
        self._directory = directory
        self._new_name = new_name
        self._name = ""
        self._files = 0
        self._file: SpoolFile | None = None
        self._retired: deque[SpoolFile] = deque()
        self._memory: deque[tuple[int, bytes]] = deque()
        self._lost_hours = Counter[int]()
        self._answers = 0
        """That were sent while there was no file."""
        self._soon: list[tuple[int, bytes]] = []
        self._then: list[Callable[[], None]] = []
        self._is_failing = False
        self._is_gone = False
        self._stopping = threading.Event()
        self._syncing: threading.Thread | None = None
        leave = WeakMethod(self._leave_to_the_parent)
        os.register_at_fork(after_in_child=lambda: (found := leave()) is not None and found())

    def append(self, body: bytes, at: int) -> bool:
        """Never raises, and waits for no disk. False: it is kept in memory for now, or was counted as lost."""
        return self._append([framed(body)], at)

    def append_soon(self, body: bytes, at: int) -> None:
        """The same in one write with all others of this turn of the loop; `when_written` says when that is."""
        if not self._soon:
            asyncio.get_running_loop().call_soon(self._append_all)
        self._soon.append((at, framed(body)))

    def when_written(self, then: Callable[[], None]) -> None:
        """Call back once all that was appended so far is written, in the order of asking."""
        if self._soon:
            self._then.append(then)
        else:
            then()

    def count_answer(self) -> None:
        """By whoever sends the bytes of an answer: what `append` wrote down is compared with it."""
        if self._file is None:
            self._answers += 1
        else:
            self._file.count_answers(1)

    def lose(self, at: int) -> None:
        """Something that was answered and cannot be written down."""
        self.lost += 1
        self._lost_hours[hour_of(at)] += 1

    def flush(self) -> None:
        """Write what was kept in memory, if there is a place for it by now. Due once a second."""
        if self._file is not None and self._is_gone:
            self._next_file(self._file.hour)
        if not self._memory and not self._lost_hours:
            return
        file = self._file or self._next_file(self._memory[-1][0] if self._memory else max(self._lost_hours))
        if file is None or self.is_full:
            return
        while self._memory:
            if not file.append(self._memory[0][1]):
                self._fails(OSError(ENOSPC, os.strerror(ENOSPC)))
                return
            self._memory.popleft()
        if self._lost_hours and file.append(framed(msgspec.json.encode({"lost": sorted(self._lost_hours.items())}))):
            self._lost_hours.clear()
        self._is_failing = False

    @property
    def in_memory(self) -> int:
        return len(self._memory)

    def sync(self) -> None:
        """Make sure that the disk has what was written so far."""
        try:
            while self._retired:
                retired = self._retired[0]
                retired.sync()
                retired.close()
                self._retired.popleft()
            file = self._file
            if file is not None and file.is_gone:
                self._is_missed()
            elif file is not None and file.is_dirty:
                file.sync()
            self.is_full = size_of(self._directory) >= MOST_ON_DISK
        except OSError as error:
            self._fails(error)

    def close(self) -> None:
        """Whatever waits in memory is tried once more."""
        self._append_all()
        self._stopping.set()
        if self._syncing is not None:
            self._syncing.join()
        self.is_full = False
        self.flush()
        if self._file is not None:
            self._retired.append(self._file)
            self._file = None
        self.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append_all(self) -> None:
        soon, then = self._soon, self._then
        self._soon, self._then = [], []
        if soon:
            self._append([line for _, line in soon], soon[-1][0])
        for each in then:
            try:
                each()
            except Exception:
                log.exception("traffic.answer-failed")

    def _append(self, lines: list[bytes], at: int) -> bool:
        file = self._file
        if file is None or not file.hour <= at < file.hour + MS_PER_HOUR or file.size >= LARGEST_FILE:
            file = self._next_file(at)
        in_order = not (self._memory or self._lost_hours or self.is_full)
        if file is not None and in_order and file.append(lines[0] if len(lines) == 1 else b"".join(lines)):
            return True
        for line in lines:
            self._keep(line, at)
        self.flush()
        return not self._memory

    def _next_file(self, at: int) -> SpoolFile | None:
        """The old one stays in use as long as there is no new one."""
        try:
            make_directory(self._directory)
            self._name = self._name or self._new_name()
            file = SpoolFile(self._directory, f"{hour_of(at):013}-{self._name}-{self._files:06}", hour_of(at))
        except OSError as error:
            self._fails(error)
            return self._file
        if self._file is not None:
            if self._is_gone:
                self._save(self._file, file)
            self._retired.append(self._file)
        self._file, self._is_gone = file, False
        self._files += 1
        file.count_answers(self._answers)
        self._answers = 0
        if self._syncing is None:
            self._syncing = threading.Thread(target=self._sync_for_ever, name="traffic-sync", daemon=True)
            self._syncing.start()
        return file

    def _save(self, gone: SpoolFile, file: SpoolFile) -> None:
        """What was shipped before is known by then, and counts once."""
        file.count_answers(gone.answers)
        lines = gone.lines()
        if not file.append(lines):
            for line in lines.splitlines(keepends=True):
                self._keep(line, gone.hour)

    def _leave_to_the_parent(self) -> None:
        """A process that was forked writes to files of its own."""
        for file in (*self._retired, self._file):
            if file is not None:
                file.close()
        self._retired.clear()
        self._memory.clear()
        self._lost_hours.clear()
        self._soon, self._then = [], []
        self._file, self._syncing, self._name, self._answers = None, None, "", 0

    def _sync_for_ever(self) -> None:
        while not self._stopping.wait(SYNC_SECONDS):
            self.sync()

    def _keep(self, line: bytes, at: int) -> None:
        if len(self._memory) >= MOST_IN_MEMORY:
            self.lose(at)
        else:
            self._memory.append((at, line))

    def _is_missed(self) -> None:
        if not self._is_gone:
            log.error("traffic.spool-failed", reason="The file was removed; its lines are written to another.")
        self._is_gone = True

    def _fails(self, error: OSError) -> None:
        if not self._is_failing:
            log.error("traffic.spool-failed", reason=error.strerror or str(error))
        self._is_failing = True


def framed(body: bytes) -> bytes:
    return b"%08x %b\n" % (crc32(body), body)


def size_of(directory: Path) -> int:
    """How much of the disk the spools take, but for the one that each process writes to: most of it was shipped."""
    sizes: dict[str, int] = {}
    total = 0
    for name, size in sorted(_sizes(directory)):
        process = name.partition("-")[2].rpartition("-")[0]
        total += sizes.get(process, 0)
        sizes[process] = size
    return total


def whole_size_of(directory: Path) -> int:
    """All of it."""
    return sum(size for _, size in _sizes(directory))


def _sizes(directory: Path) -> Iterator[tuple[str, int]]:
    """Of nothing, if they cannot be looked at: whoever writes there says so."""
    with suppress(OSError):
        for entry in os.scandir(directory):
            with suppress(OSError):
                yield entry.name, entry.stat().st_size
