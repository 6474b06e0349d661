"""The commands of some venues, one batch after the other: many commands, one transaction, one wait for the disk.

A caller is answered after the commit, or with an error. A batch that fails as a whole is halved
until the culprit is alone with its fault, and all others are stored.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

import structlog

from dawr.domain import VenueId
from dawr.engine.deciding import Command, decide_all
from dawr.engine.timekeeping import Timekeeper
from dawr.ports import Batch, Changes, Clock, Store
from dawr.ports.faults import OutcomeUnknown, StoreAway, StoreFault
from dawr.reliability.drain import Drain, settle

log = structlog.get_logger("dawr.engine")

PATIENCE_SECONDS = 5.0


class Cached(Protocol):
    """Keeps what was read from the store."""

    async def outdate(self, changed: list[Changes]) -> None:
        """Let go of what was kept from before these changes. The answers wait for it, so it is soon done."""

    async def doubt(self, venues: Collection[VenueId]) -> None:
        """Let go of all that is kept of these venues: what was to be changed there may be stored, or not."""


class Listener(Protocol):
    """Hears of every batch."""

    def ran(self, batch: Batch) -> None:
        """After the disk has it and its callers are answered, in the order of commits of each venue. Never waits."""


class Lane:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        batch_limit: int,
        caches: Sequence[Cached],
        listeners: Sequence[Listener],
        time: Timekeeper | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._time = time
        self._batch_limit = batch_limit
        self._caches = caches
        self._listeners = listeners
        self._drain = Drain(self._next_batch, self._run, _fail)
        self._stopping = False

    def __len__(self) -> int:
        return len(self._drain.waiting)

    def add(self, command: Command[Any]) -> None:
        self._drain.add(command)

    async def stop(self) -> None:
        """Finish what is there; if the store turns out to be away, waiting for it any longer is of no use."""
        self._stopping = True
        await self._drain.join()

    def _next_batch(self, waiting: deque[Command[Any]]) -> list[Command[Any]]:
        batch = [waiting.popleft()]
        if not batch[0].operation.alone:
            while waiting and len(batch) < self._batch_limit and not waiting[0].operation.alone:
                batch.append(waiting.popleft())
        return batch

    async def _run(self, batch: list[Command[Any]]) -> None:
        """Answer every command of the batch, whatever happens to it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        changed: list[Changes] = []
        fault: Exception | None = None
        outcomes: Iterable[object] = ()
        try:
            if self._time is not None and not self._time.has_begun:
                await self._time.begin()
            venues = {command.venue_id for command in batch}
            outcomes, changed = await self._store.transact(
                venues, lambda session: decide_all(session, batch, self._clock(), self._time)
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to those whose commands it was
            fault = error
        seconds = loop.time() - began
        if fault is not None:
            await self._failed(batch, fault)
        else:
            if changed:
                await self._each_cache(lambda cache: cache.outdate(changed))
            _resolve(batch, outcomes)
        self._tell(batch, changed, seconds, fault)

    async def _failed(self, batch: list[Command[Any]], fault: Exception) -> None:
        if isinstance(fault, StoreAway | OutcomeUnknown):
            log.warning("batch.failed", commands=len(batch), fault=type(fault).__name__, reason=str(fault))
            if isinstance(fault, OutcomeUnknown):
                venues = {command.venue_id for command in batch}
                await self._each_cache(lambda cache: cache.doubt(venues))
            _resolve(batch, [type(fault)(*fault.args) for _ in batch])
            self._give_up_waiting(fault)
        elif len(batch) == 1:
            log.error("command.failed", operation=type(batch[0].operation).__name__, exc_info=fault)
            _resolve(batch, [fault])
        else:
            half = len(batch) // 2
            await self._run(batch[:half])
            await self._run(batch[half:])

    async def _each_cache(self, let_go: Callable[[Cached], Awaitable[None]]) -> None:
        """Before anybody is answered: whoever was answered reads what they wrote. It is stored, so nothing fails it."""
        for cache in self._caches:
            try:
                await let_go(cache)
            except Exception:
                log.exception("cache.not-outdated", cache=type(cache).__name__)

    def _tell(self, batch: list[Command[Any]], changed: list[Changes], seconds: float, fault: Exception | None) -> None:
        """It is stored and answered: a fault of those who listen is not the batch's."""
        traces = [(command.origin.correlation_id, command.trace) for command in batch if command.trace is not None]
        ran = Batch(len(batch), seconds, changed, traces, fault)
        for listener in self._listeners:
            try:
                listener.ran(ran)
            except Exception:
                log.exception("listener.failed", listener=type(listener).__name__)

    def _give_up_waiting(self, fault: StoreFault) -> None:
        """The store is away: whoever waited too long already, or all if we stop, need not wait for it again."""
        overdue = asyncio.get_running_loop().time() - PATIENCE_SECONDS
        waiting = self._drain.waiting
        kind = type(fault) if isinstance(fault, StoreAway) else StoreAway
        while waiting and (self._stopping or waiting[0].since < overdue):
            _resolve([waiting.popleft()], [kind(*fault.args)])


def _fail(batch: list[Command[Any]], error: BaseException) -> None:
    for command in batch:
        settle(command.future, error)


def _resolve(batch: Iterable[Command[Any]], outcomes: Iterable[object]) -> None:
    for command, outcome in zip(batch, outcomes, strict=True):
        if command.future.done():
            continue
        if isinstance(outcome, StopIteration):  # the one exception that a future does not take
            command.future.set_exception(RuntimeError(f"{type(command.operation).__name__} raised StopIteration"))
        elif isinstance(outcome, Exception):
            command.future.set_exception(outcome)
        else:
            command.future.set_result(outcome)
