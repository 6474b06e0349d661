"""Gather while one is under way: what comes meanwhile goes together in the next batch.

A transaction, or a trip to a server, costs about the same however much it carries. Whoever comes when
nothing is under way waits for nobody; under load the batches grow by themselves.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, Generic, TypeVar

from dawr.reliability.log import log

T = TypeVar("T")
Batch = TypeVar("Batch")


class Drain(Generic[T, Batch]):
    """Items in, batches out, one batch at a time, for as long as there are items.

    Drain(take: (deque[T]) -> Batch, handle: async (Batch) -> None, fail: (Batch, BaseException) -> None)

    `take` removes the next batch from what waits: one item at least, as many as it likes. `handle` does the
    work, and answers whoever waits for it. `fail` is told what `handle` raised, with the batch it had.

    - An item that was added is handled, or failed.
    - What `handle` raises reaches those whose items it had, and nobody else: the next batch is handled.
    - It runs in a task of its own, so a caller who is cancelled takes nobody along; and in a context of its
      own, so what it logs is not the doing of whoever came first.
    - When that task is cancelled, as at the end of an event loop, all that waits is failed.

    One drain belongs to one event loop at a time.
    """

    def __init__(
        self,
        take: Callable[[deque[T]], Batch],
        handle: Callable[[Batch], Awaitable[None]],
        fail: Callable[[Batch, BaseException], None],
    ) -> None:
        self.waiting: deque[T] = deque()
        self._take = take
        self._handle = handle
        self._fail = fail
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def add(self, item: T) -> None:
        self.waiting.append(item)
        if self._task is None or self._task.done():  # done, and still there: it was cancelled before it began
            self._begin()

    async def join(self) -> None:
        """Wait until everything is handled, also what is added meanwhile."""
        while (task := self._begin()) is not None:
            await asyncio.wait([task])

    def _begin(self) -> asyncio.Task[None] | None:
        """The task that is under way; begun, if something waits and none is."""
        if not self.is_running:
            self._task = None
            if self.waiting:
                self._task = asyncio.get_running_loop().create_task(self._run(), context=Context())
        return self._task

    async def _run(self) -> None:
        # Nothing is awaited between the last check of what waits and giving the task up: no item is left behind.
        try:
            while self.waiting:
                batch = self._take(self.waiting)
                try:
                    await self._handle(batch)
                except BaseException as error:
                    self._fail_or_log(batch, error)
                    if not _goes_on_after(error):
                        self._fail_all(error)
                        raise
        finally:
            self._task = None

    def _fail_all(self, error: BaseException) -> None:
        while self.waiting:
            self._fail_or_log(self._take(self.waiting), error)

    def _fail_or_log(self, batch: Batch, error: BaseException) -> None:
        """Those of the next batch are not to suffer from it."""
        try:
            self._fail(batch, error)
        except Exception:
            log.exception("drain.failed")


def _goes_on_after(error: BaseException) -> bool:
    """A cancellation from inside is one batch's; one of this task is everybody's."""
    task = asyncio.current_task()
    cancelled_inside = isinstance(error, asyncio.CancelledError) and task is not None and not task.cancelling()
    return isinstance(error, Exception) or cancelled_inside


def take_all(waiting: deque[T]) -> list[T]:
    batch = list(waiting)
    waiting.clear()
    return batch


def settle(future: asyncio.Future[Any], outcome: object) -> None:
    """Whoever waits for it is told what came of it, or went wrong; whoever went away need not be."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    elif isinstance(outcome, BaseException):
        future.cancel()
    else:
        future.set_result(outcome)
