"""What goes on by itself in a process: each work has a name, is begun again when it fails, and can be seen.

A work is expected to go on for as long as the process does. One that fails, or just ends, is logged
and counted, and begins again after a pause that doubles with every failure in a row. One work's fault is
its own: the others go on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec

from dawr.reliability.lease import Fence, Lease
from dawr.reliability.log import log

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 15.0
SETTLED_SECONDS = 5.0
"""A work that has run for so long since it failed is well again."""

WorkState = Literal["running", "standing-by", "failing"]


class EndedByItself(Exception):
    """The work ended, though it should have gone on."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """With `every`, `run` is one step, taken again so many seconds after it ended; without, it goes on by itself.

    Under a lease one process of all does it, and `run` is given the fence.
    """

    name: str
    run: Callable[..., Coroutine[Any, Any, object]]
    every: float | None = None
    lease: Lease | None = None


class Works:
    """`expected` are faults that need no traceback: what a work depends on was away. `count` is told who failed."""

    def __init__(
        self,
        works: Iterable[Work],
        *,
        expected: tuple[type[Exception], ...] = (),
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._watched = [WatchedWork(work, expected, count) for work in works]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(watched.run_for_ever(), name=watched.name) for watched in self._watched]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    @property
    def failing(self) -> int:
        return sum(watched.state == "failing" for watched in self._watched)

    def states(self) -> Sequence["WatchedWork"]:
        return self._watched


class WatchedWork:
    """A work while it goes on: how it is, how often it failed, and that it begins again."""

    def __init__(self, work: Work, expected: tuple[type[Exception], ...], count: Callable[[str], None]) -> None:
        self.name = work.name
        self.failures = 0
        """Since the process began."""
        self._work = work
        self._count = count
        self._expected = expected
        self._in_a_row = 0
        self._began: float | None = None

    @property
    def state(self) -> WorkState:
        """Standing by: another process has the lease. Whose it is cannot be asked: failing."""
        if self._in_a_row and not self._has_settled():
            return "failing"
        lease = self._work.lease
        if lease is None or lease.fence is not None:
            return "running"
        return "standing-by" if lease.is_reachable else "failing"

    async def run_for_ever(self) -> None:
        while True:
            self._began = asyncio.get_running_loop().time()
            fault: BaseException = EndedByItself()
            try:
                lease = self._work.lease
                await (self._go_on() if lease is None else lease.run(self._go_on))
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - whatever it is, the work begins again
                fault = error
            if _is_told_to_stop():  # however it answered that
                return
            self._failed(fault)
            await asyncio.sleep(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** min(self._in_a_row - 1, 20)))

    async def _go_on(self, *fence: Fence) -> None:
        while True:
            await self._work.run(*fence)
            if self._work.every is None:
                return
            self._in_a_row = 0
            if _is_told_to_stop():  # a library may have swallowed it
                return
            await asyncio.sleep(self._work.every)

    def _failed(self, fault: BaseException) -> None:
        self._in_a_row = 1 if self._has_settled() else self._in_a_row + 1
        self._began = None
        self.failures += 1
        self._count(self.name)
        if isinstance(fault, self._expected):
            log.warning("work.failed", work=self.name, reason=str(fault) or type(fault).__name__)
        else:
            log.error("work.failed", work=self.name, exc_info=fault)

    def _has_settled(self) -> bool:
        return self._began is not None and asyncio.get_running_loop().time() - self._began >= SETTLED_SECONDS


def _is_told_to_stop() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
