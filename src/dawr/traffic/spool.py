"""Where a process writes down each request that it answered: one line in a file, in one write.

What was written survives the process, however that ends; a power cut takes the last second at most. The file is
locked for as long as its process lives. A new one begins with every start, with every hour and when one is large.
Nobody waits for a disk that is full: lines are kept in memory then, up to a bound, and what is beyond it is counted.
Answers are counted in a file of their own, outside the directory of the lines.
"""

import asyncio
import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from typing import Self, TypeVar
from weakref import WeakMethod
from zlib import crc32

import msgspec

from dawr.reliability.disk import make_directory
from dawr.reliability.log import log
from dawr.traffic.event import MS_PER_HOUR, hour_of
from dawr.traffic.spool_file import COUNTERS_ENDING, SPOOL_ENDING, AnswerCounter, SpoolFile, counters_beside

LARGEST_FILE = 16 * 1024 * 1024
MOST_ON_DISK = 256 * 1024 * 1024
MOST_IN_MEMORY = 10_000
SYNC_SECONDS = 1.0
LOST = b'{"lost":'

F = TypeVar("F", SpoolFile, AnswerCounter)


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
        self._counter: AnswerCounter | None = None
        self._counter_due: tuple[int, str] | None = None
        """Hour and name of the counter whose file could not be created."""
        self._retired: deque[SpoolFile | AnswerCounter] = deque()
        self._memory: deque[tuple[int, bytes]] = deque()
        self._lost_hours = Counter[int]()
        self._answers = 0
        """Sent while there was no counter."""
        self._soon: list[tuple[int, bytes]] = []
        self._then: list[Callable[[], None]] = []
        self._is_failing = False
        self._is_repair_due = True
        """Set by every sync, so that a repair is tried once a second, and not for every request."""
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
        if self._counter is None:
            self._answers += 1
            self._repair_files()
        else:
            self._counter.add(1)

    def lose(self, at: int) -> None:
        """Something that was answered and cannot be written down."""
        self.lost += 1
        self._lost_hours[hour_of(at)] += 1
        self._show_unspooled()

    def flush(self) -> None:
        """Write what was kept in memory, if there is a place for it by now. Due once a second."""
        self._repair_files()
        if self._memory or self._lost_hours:
            file = self._file or self._next_file(self._memory[-1][0] if self._memory else max(self._lost_hours))
            if file is not None and not self.is_full and not file.is_missing:
                self._flush_to(file)
        self._show_unspooled()

    @property
    def in_memory(self) -> int:
        return len(self._memory)

    @property
    def unspooled(self) -> int:
        """Requests that no file has: in memory, lost without a line that says so, or in a file that was removed."""
        removed = self._file.lines if self._file is not None and self._file.is_missing else 0
        return len(self._memory) + self._lost_hours.total() + removed

    def sync(self) -> None:
        """Make sure that the disk has what was written so far."""
        try:
            while self._retired:
                retired = self._retired[0]
                retired.sync()
                retired.close()
                self._retired.popleft()
            for file in (self._file, self._counter):
                if file is not None:
                    file.sync()
            self.is_full = size_of(self._directory) >= MOST_ON_DISK
        except OSError as error:
            self._fails(error)
        self._is_repair_due = True

    def close(self) -> None:
        """Whatever waits in memory is tried once more."""
        self._append_all()
        self._stopping.set()
        if self._syncing is not None:
            self._syncing.join()
        self.is_full, self._is_repair_due = False, True
        self.flush()
        self._retired.extend(file for file in (self._file, self._counter) if file is not None)
        self._file, self._counter = None, None
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
        if file is None or file.is_missing or not in_order:
            is_written = False
        else:
            is_written = file.append(lines[0] if len(lines) == 1 else b"".join(lines), len(lines))
        if is_written:
            return True
        for line in lines:
            self._keep(line, at)
        self.flush()
        return not self._memory

    def _next_file(self, at: int) -> SpoolFile | None:
        """The old one stays in use as long as there is no new one."""
        self._repair_files()
        hour = hour_of(at)
        self._name = self._name or self._new_name()
        name = f"{hour:013}-{self._name}-{self._files:06}"
        self._files += 1
        self._count_in(hour, name)
        if self._file is not None and self._file.is_missing:
            return self._file
        try:
            make_directory(self._directory)
            file = SpoolFile(self._directory / f"{name}{SPOOL_ENDING}", hour)
        except OSError as error:
            self._fails(error)
            return self._file
        if self._file is not None:
            self._retired.append(self._file)
        self._file = file
        if self._syncing is None:
            self._syncing = threading.Thread(target=self._sync_for_ever, name="traffic-sync", daemon=True)
            self._syncing.start()
        return file

    def _count_in(self, hour: int, name: str) -> None:
        """Begin the counter of the hour. Without one, the counter before it stays in use."""
        self._counter_due = None
        if self._counter is not None and self._counter.hour == hour:
            return
        self._counter = self._rewritten(self._counter)
        if self._counter is not None and self._counter.is_missing:
            self._counter_due = (hour, name)  # closed now, a counter without a file would take its answers along
            return
        counters = counters_beside(self._directory)
        try:
            make_directory(counters)
            counter = AnswerCounter(counters / f"{name}{COUNTERS_ENDING}", hour, self._answers)
        except OSError as error:
            self._counter_due = (hour, name)
            self._fails(error)
            return
        if self._counter is not None:
            self._counter.show_unspooled(0)
            self._retired.append(self._counter)
        self._counter, self._answers = counter, 0
        self._show_unspooled()

    def _repair_files(self) -> None:
        """Write removed files again under their names, and retry a counter whose file could not be created."""
        if not self._is_repair_due:
            return
        self._is_repair_due = False
        self._file = self._rewritten(self._file)
        self._counter = self._rewritten(self._counter)
        if self._counter_due is not None:
            self._count_in(*self._counter_due)
        self._show_unspooled()

    def _rewritten(self, file: F | None) -> F | None:
        """Return a copy of a file that was removed, or the file itself if no copy can be written."""
        if file is None or not file.is_missing:
            return file
        try:
            make_directory(file.path.parent)
            copy = file.rewrite()
        except OSError as error:
            self._fails(error)
            return file
        log.error("traffic.spool-failed", reason="The file was removed; it is written again.", file=file.path.name)
        self._retired.append(file)
        return copy

    def _flush_to(self, file: SpoolFile) -> None:
        while self._memory:
            if not file.append(self._memory[0][1]):
                self._fails(OSError(ENOSPC, os.strerror(ENOSPC)))
                return
            self._memory.popleft()
        if self._lost_hours and file.append(framed(msgspec.json.encode({"lost": sorted(self._lost_hours.items())}))):
            self._lost_hours.clear()
        self._is_failing = False

    def _show_unspooled(self) -> None:
        """Tell the traffic process, which alerts the operator."""
        if self._counter is not None:
            self._counter.show_unspooled(self.unspooled)

    def _leave_to_the_parent(self) -> None:
        """A process that was forked writes to files of its own."""
        for file in (*self._retired, self._file, self._counter):
            if file is not None:
                file.close()
        self._retired.clear()
        self._memory.clear()
        self._lost_hours.clear()
        self._soon, self._then = [], []
        self._file, self._counter, self._counter_due = None, None, None
        self._syncing, self._name, self._answers = None, "", 0

    def _sync_for_ever(self) -> None:
        while not self._stopping.wait(SYNC_SECONDS):
            self.sync()

    def _keep(self, line: bytes, at: int) -> None:
        if len(self._memory) >= MOST_IN_MEMORY:
            self.lose(at)
        else:
            self._memory.append((at, line))

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
