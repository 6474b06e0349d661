"""Several workers behind one address: started together, started again when one dies, stopped in order.

The parent serves nobody. It has no loop, no thread and no connection, so that a fork copies
nothing half done. A worker reads from a pipe that the parent holds open, and so learns when
the parent is gone, however that came about.
"""

import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NamedTuple, NoReturn

import structlog

log = structlog.get_logger("dawr.supervisor")

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
STOP_SECONDS = 2.8
SHORT_LIFE_SECONDS = 5.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0


class Life(NamedTuple):
    """What a worker is given."""

    say_ready: Callable[[], None]
    parent_gone: int
    """A file that becomes readable when the parent is no more."""
    slot: int
    """Which of the workers this is: the one that comes after it has the same slot."""


class Worker:
    """One slot among the workers: the process that has it now, or the time when the next one gets it."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.ready = False
        self.due = 0.0
        self._began = 0.0
        self._short_lives = 0

    def started(self, pid: int, now: float) -> None:
        self.pid, self._began = pid, now

    def ended(self, now: float) -> None:
        self.pid, self.ready = None, False
        self._short_lives = self._short_lives + 1 if now - self._began < SHORT_LIFE_SECONDS else 0
        self.due = now + pause_after(self._short_lives)


class Supervisor:
    """`work` runs in each worker; `ready` is called once, when all are; `stopping` when the first signal comes.

    `ended` is told the slot of a worker that ended, however it did.
    """

    def __init__(
        self,
        workers: int,
        work: Callable[[Life], None],
        *,
        ready: Callable[[], None],
        stopping: Callable[[], None],
        ended: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._workers = [Worker() for _ in range(workers)]
        self._work = work
        self._ready = ready
        self._said_ready = False
        self._stopping = stopping
        self._ended = ended
        self._stop_by: float | None = None
        self._told_to_stop = False
        self._killed = False
        self._selector = selectors.DefaultSelector()
        self._lifeline, self._held = os.pipe()

    def run(self) -> int:
        """Until all have stopped; the exit code."""
        with self._hearing_signals():
            while self._stop_by is None or self._alive():
                if self._told_to_stop:
                    self._stop()
                else:
                    self._start_what_is_due()
                for key, _ in self._selector.select(self._seconds_to_wait()):
                    key.data(key.fd)
                self._reap()
        return 1 if self._killed else 0

    def _alive(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.pid is not None]

    def _start_what_is_due(self) -> None:
        for worker in self._workers:
            if worker.pid is None and worker.due <= time.monotonic():
                self._start(worker)

    def _start(self, worker: Worker) -> None:
        heard, said = os.pipe()
        # A signal that comes before the worker can tell it from the parent's own waits until it can.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        pid = _fork()
        if pid == 0:
            os.close(heard)
            self._become_a_worker(said, self._workers.index(worker))
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(said)
        worker.started(pid, time.monotonic())
        self._selector.register(heard, selectors.EVENT_READ, lambda fd: self._hear(worker, fd))

    def _become_a_worker(self, said: int, slot: int) -> NoReturn:
        signal.set_wakeup_fd(-1)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(self._held)
        self._selector.close()
        _end_with(lambda: self._work(Life(lambda: _say(said), self._lifeline, slot)))

    def _hear(self, worker: Worker, heard: int) -> None:
        """A word, or the silence after the worker's end."""
        worker.ready = bool(os.read(heard, 1))
        self._selector.unregister(heard)
        os.close(heard)
        if not self._said_ready and all(each.ready for each in self._workers):
            self._said_ready = True
            self._ready()

    def _reap(self) -> None:
        for worker in self._alive():
            pid, status = os.waitpid(worker.pid or 0, os.WNOHANG)
            if pid:
                worker.ended(time.monotonic())
                self._ended(self._workers.index(worker))
                if self._stop_by is None:
                    log.warning("worker.ended", pid=pid, code=os.waitstatus_to_exitcode(status))

    def _stop(self) -> None:
        if self._stop_by is None:
            self._stop_by = time.monotonic() + STOP_SECONDS
            self._stopping()
            self._send(signal.SIGTERM)
        elif not self._killed and time.monotonic() >= self._stop_by:
            self._killed = True
            log.error("worker.killed", pids=[worker.pid for worker in self._alive()])
            self._send(signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        for worker in self._alive():
            with suppress(ProcessLookupError):
                os.kill(worker.pid or 0, number)

    def _seconds_to_wait(self) -> float | None:
        """Until a worker is due, or is given up; for ever when only a word or a signal is waited for."""
        if self._stop_by is None:
            due = [worker.due for worker in self._workers if worker.pid is None]
        elif self._alive():
            due = [] if self._killed else [self._stop_by]
        else:
            due = [0.0]
        return max(0.0, min(due) - time.monotonic()) if due else None

    @contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        heard, said = os.pipe()
        os.set_blocking(heard, False)
        os.set_blocking(said, False)
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        wakeup = signal.set_wakeup_fd(said, warn_on_full_buffer=False)
        self._selector.register(heard, selectors.EVENT_READ, lambda fd: os.read(fd, 4096))
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
            for fd in (heard, said, self._lifeline, self._held):
                os.close(fd)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = self._told_to_stop or number != signal.SIGCHLD


def pause_after(short_lives: int) -> float:
    """Before the next start: none after a long life, and longer with every short one."""
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (short_lives - 1)) if short_lives else 0.0


def in_a_child(work: Callable[[], bytes]) -> bytes | None:
    """What `work` has to say, done in a process of its own that leaves nothing behind in this one. None: it failed."""
    heard, said = os.pipe()
    pid = _fork()
    if pid == 0:
        os.close(heard)
        _end_with(lambda: os.write(said, work()))
    os.close(said)
    with os.fdopen(heard, "rb") as answer:
        words = answer.read()
    _, status = os.waitpid(pid, 0)
    return words if status == 0 else None


def _say(fd: int) -> None:
    os.write(fd, b"!")
    os.close(fd)


def _fork() -> int:
    """What is buffered is written before it would be there twice."""
    sys.stdout.flush()
    sys.stderr.flush()
    return os.fork()


def _end_with(work: Callable[[], object]) -> NoReturn:
    code = 1
    try:
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        log.exception("worker.failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # the parent's own clean-up is the parent's
