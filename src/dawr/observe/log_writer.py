"""Writes lines in a thread of its own: a log that nobody reads keeps nobody waiting.

Lines stay whole and in order. What waits is bounded; what comes beyond that is lost, and how
much was lost is said as soon as something can be written again.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic

MOST_WAITING = 4 * 1024 * 1024
WRITTEN_WHOLE = 4096
"""A pipe takes this much in one piece (PIPE_BUF), so that the lines of several workers do not mix."""
LAST_SECONDS = 0.5
"""For what still waits at the end."""
STUCK_SECONDS = 0.2
"""Of them, without a single piece written: then nobody reads."""


class LogWriter:
    """`write` may take as long as it likes. Where there is no thread, because nobody is served, lines go `directly`."""

    def __init__(self, write: Callable[[bytes], None], directly: Callable[[bytes], None]) -> None:
        self._write = write
        self._directly = directly
        self.forget()

    def forget(self) -> None:
        """In a process that was forked: threads and what they were at stay behind."""
        self._changed = threading.Condition()  # its lock may be taken again by a signal's handler
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._size = 0
        self._lost = 0
        self._failing = False
        self._thread: threading.Thread | None = None
        self._say_lost: Callable[[int], bytes] = lambda _: b""

    def start(self, say_lost: Callable[[int], bytes]) -> None:
        """`say_lost` makes the line that tells how many were lost."""
        self._say_lost = say_lost
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_for_ever, name="log", daemon=True)
            self._thread.start()

    def __call__(self, lines: bytes) -> None:
        """Whole lines. Returns at once, and what cannot be written harms nobody."""
        with self._changed:
            if self._thread is not None:
                self._keep(lines)
                return
        with suppress(OSError, ValueError):
            self._directly(lines)

    def stop(self) -> None:
        """What waits is written, if somebody reads it. If not, what comes after it will not be either."""
        thread = self._thread
        if thread is None:
            return
        end = monotonic() + LAST_SECONDS
        with self._changed:
            if not self._failing:
                self._tell_of_loss()
            while self._size and (left := end - monotonic()) > 0:
                if not self._changed.wait(min(left, STUCK_SECONDS)):
                    break
            if self._size:
                return
            self._thread = None
            self._changed.notify_all()
        thread.join(LAST_SECONDS)

    # Inside

    def _keep(self, lines: bytes) -> None:
        if self._size + len(lines) > MOST_WAITING:
            self._lost += lines.count(b"\n")
        else:
            self._tell_of_loss()
            self._put(lines, 0)

    def _put(self, lines: bytes, tells_of: int) -> None:
        self._waiting.append((lines, tells_of))
        self._size += len(lines)
        self._changed.notify_all()

    def _tell_of_loss(self) -> None:
        if self._lost:
            lost, self._lost = self._lost, 0
            self._put(self._say_lost(lost), lost)

    def _write_for_ever(self) -> None:
        while (taken := self._next()) is not None:
            lines, tells_of = taken
            for piece in pieces(lines):
                try:
                    self._write(piece)
                except OSError:
                    self._wrote(piece, lost=tells_of or piece.count(b"\n"))
                else:
                    self._wrote(piece, lost=0)

    def _next(self) -> tuple[bytes, int] | None:
        with self._changed:
            while not self._waiting:
                if self._thread is not threading.current_thread():
                    return None
                if self._lost and not self._failing:
                    self._tell_of_loss()
                else:
                    self._changed.wait()
            return self._waiting.popleft()

    def _wrote(self, piece: bytes, *, lost: int) -> None:
        """Or could not: where nothing can be written, the loss is not told before the next lines come."""
        with self._changed:
            self._size -= len(piece)
            self._lost += lost
            self._failing = lost > 0
            self._changed.notify_all()


def pieces(lines: bytes) -> Iterator[bytes]:
    """Whole lines in pieces that a pipe takes whole; a longer line is a piece of its own."""
    start = 0
    while len(lines) - start > WRITTEN_WHOLE:
        end = lines.rfind(b"\n", start, start + WRITTEN_WHOLE) + 1 or lines.find(b"\n", start) + 1
        yield lines[start:end]
        start = end
    if start < len(lines):
        yield lines[start:]
