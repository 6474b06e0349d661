"""Lanes, batches, answers: many commands, one transaction, one wait for the disk.

What waits in a lane is drained into one batch: lock, load, decide, save, commit. Only
then are the callers answered. A refused command leaves nothing behind, a failing one
does not harm its batch mates, and a caller who goes away never cancels half of anything.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context
from typing import Any, ClassVar, TypeVar, cast
from zlib import crc32

import structlog

from dawr.domain.errors import Refused, UnknownVenue
from dawr.domain.events import NOBODY, Event, Origin
from dawr.domain.venue import VenueId
from dawr.engine.deciding import Command, decide_all, look_at
from dawr.operations.operation import Operation, View
from dawr.ports import Changes, Clock, OutcomeUnknown, Store, StoreAway, StoreFault
from dawr.reliability.correlation import Trace
from dawr.reliability.idempotency import Claim, Reply
from dawr.reliability.lease import Fence

R = TypeVar("R")

log = structlog.get_logger("dawr.engine")

PATIENCE_SECONDS = 5.0
LONGEST_SLUG = 32
READY_SECONDS = 1.0
"""How long it stays believed that the store takes commands: to ask it is a commit, and anybody may ask us."""


Committed = Callable[[list[Changes]], None]
"""Told what a batch changed once the disk has it, in the order of commits of each venue."""


def _nobody_watches(_: list[Changes]) -> None:
    pass


Outdate = Callable[[list[Changes]], Awaitable[object]]
"""Lets go of what was kept from before these changes. The answers wait for it, so it is soon done."""


async def _nothing_is_kept(_: list[Changes]) -> None:
    pass


Around = Callable[[list[Command[Any]], Awaitable[Any]], Awaitable[Any]]
"""Awaits the transaction of a batch, and notes how it went."""


async def _unmeasured(_: list[Command[Any]], transaction: Awaitable[R]) -> R:
    return await transaction


class Busy(Exception):
    """More requests wait than can be answered soon. Try again in a second."""

    code: ClassVar[str] = "busy"


class Stopping(Busy):
    """The server is stopping. Try again in a moment."""

    code = "stopping"


class Engine:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        lanes: int = 1,
        batch_limit: int = 256,
        most_waiting: int = 10_000,
        committed: Committed = _nobody_watches,
        outdate: Outdate = _nothing_is_kept,
        around: Around = _unmeasured,
        trace_of: Callable[[], Trace | None] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._most_waiting = most_waiting
        self._trace_of = trace_of
        self._lanes = [
            Lane(store, clock, batch_limit=batch_limit, committed=committed, outdate=outdate, around=around)
            for _ in range(lanes)
        ]
        self._stopping = False
        self._pinging = asyncio.Lock()
        self._ready_until = 0.0
        self._known_loop: asyncio.AbstractEventLoop | None = None
        self._venue_ids: dict[str, VenueId] = {}
        self._slugs: dict[VenueId, str] = {}

    async def do(
        self, venue_id: VenueId, operation: Operation[R], *, origin: Origin = NOBODY, under: Fence | None = None
    ) -> R:
        """Have an operation decided and stored; what came of it, or the refusal raised.

        Under a fence: only while it is the current one, else `LeaseLost`.
        """
        loop = self._loop()
        command = Command(venue_id, operation, origin, loop.create_future(), loop.time(), under=under)
        return cast("R", await self._enqueue(command))

    async def answer(
        self,
        venue_id: VenueId,
        operation: Operation[R],
        render: Callable[[R], Reply],
        *,
        claim: Claim | None = None,
        origin: Origin = NOBODY,
    ) -> Reply:
        """The same, rendered. Under a claim the reply is stored with its effect, and replayed to a retry."""
        loop = self._loop()
        command = Command(venue_id, operation, origin, loop.create_future(), loop.time(), render, claim)
        return cast("Reply", await self._enqueue(command))

    async def read(self, venue_id: VenueId, view: View[R]) -> R:
        """Look at one consistent picture of a venue, without waiting for writers."""
        seen = await self._store.read([venue_id], lambda session: look_at(session, venue_id, view, self._clock()))
        if isinstance(seen, Refused):
            raise seen
        return seen

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        return await self._store.read([venue_id], lambda session: session.events_after(venue_id, version, most=most))

    async def find_venue(self, slug: str) -> VenueId:
        """By its slug or its id. A venue keeps both, so what was found once stays true."""
        if slug not in self._venue_ids:
            slugs = await self._store.venue_ids()
            self._slugs = {venue_id: slug for slug, venue_id in slugs.items()}
            self._venue_ids = {**{venue_id: venue_id for venue_id in self._slugs}, **slugs}
        if slug not in self._venue_ids:
            raise UnknownVenue(slug[:LONGEST_SLUG])
        return self._venue_ids[slug]

    async def slug_of(self, venue_id: VenueId) -> str:
        """What people call the venue."""
        if venue_id not in self._slugs:
            self._slugs = {known: slug for slug, known in (await self._store.venue_ids()).items()}
        if venue_id not in self._slugs:
            raise UnknownVenue(venue_id[:LONGEST_SLUG])
        return self._slugs[venue_id]

    def name_of(self, venue_id: VenueId) -> str:
        """The same without asking the store: of a venue that nobody asked for yet, its id."""
        return self._slugs.get(venue_id, venue_id)

    @property
    def depth(self) -> int:
        """How many commands wait."""
        return sum(map(len, self._lanes))

    async def ready(self) -> None:
        """Raise unless a command could be stored now."""
        if self._stopping:
            raise Stopping
        async with self._pinging:
            if self._loop().time() >= self._ready_until:
                await self._store.ping()
                self._ready_until = self._loop().time() + READY_SECONDS

    async def stop(self) -> None:
        """Take nothing new, and finish what was accepted."""
        self._stopping = True
        await asyncio.gather(*(lane.stop() for lane in self._lanes))

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The one that this engine runs on. Asking for it anew asks the system for the process's id each time."""
        if self._known_loop is None or not self._known_loop.is_running():
            self._known_loop = asyncio.get_running_loop()
        return self._known_loop

    async def _enqueue(self, command: Command[Any]) -> object:
        if self._stopping:
            raise Stopping
        lane = self._lanes[crc32(command.venue_id.encode()) % len(self._lanes)]
        if len(lane) >= self._most_waiting:
            raise Busy
        if self._trace_of is not None:
            command.trace = self._trace_of()
        lane.add(command)
        return await command.future


class Lane:
    """The commands of some venues, one batch after the other."""

    def __init__(
        self, store: Store, clock: Clock, *, batch_limit: int, committed: Committed, outdate: Outdate, around: Around
    ) -> None:
        self._store = store
        self._committed = committed
        self._outdate = outdate
        self._around = around
        self._clock = clock
        self._batch_limit = batch_limit
        self._commands: deque[Command[Any]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def __len__(self) -> int:
        return len(self._commands)

    def add(self, command: Command[Any]) -> None:
        self._commands.append(command)
        if self._task is None:
            # In a context of its own: what a lane logs is not the doing of whichever request woke it.
            self._task = asyncio.get_running_loop().create_task(self._drain(), context=Context())

    async def stop(self) -> None:
        """Finish what is there; if the store turns out to be away, waiting for it any longer is of no use."""
        self._stopping = True
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        # Nothing is awaited between the last look at the deque and giving the task up: no command is left behind.
        try:
            while self._commands:
                await self._run(self._next_batch())
        finally:
            self._task = None

    def _next_batch(self) -> list[Command[Any]]:
        batch = [self._commands.popleft()]
        if not batch[0].operation.alone:
            while self._commands and len(batch) < self._batch_limit and not self._commands[0].operation.alone:
                batch.append(self._commands.popleft())
        return batch

    async def _run(self, batch: list[Command[Any]]) -> None:
        """Answer every command of the batch, whatever happens to it."""
        try:
            venues = {command.venue_id for command in batch}
            transaction = self._store.transact(venues, lambda session: decide_all(session, batch, self._clock()))
            outcomes, changed = await self._around(batch, transaction)
        except (StoreAway, OutcomeUnknown) as fault:
            log.warning("batch.failed", commands=len(batch), fault=type(fault).__name__, reason=str(fault))
            _resolve(batch, [type(fault)(*fault.args) for _ in batch])
            self._give_up_waiting(fault)
        except Exception as fault:
            if len(batch) == 1:
                log.exception("command.failed", operation=type(batch[0].operation).__name__)
                _resolve(batch, [fault])
            else:
                half = len(batch) // 2
                await self._run(batch[:half])
                await self._run(batch[half:])
        else:
            if changed:
                await self._let_go(changed)
            _resolve(batch, outcomes)
            if changed:
                self._tell(changed)

    async def _let_go(self, changed: list[Changes]) -> None:
        """Before anybody is answered: whoever was answered reads what they wrote. It is stored, so nothing fails it."""
        try:
            await self._outdate(changed)
        except Exception:
            log.exception("status-cache.not-outdated")

    def _tell(self, changed: list[Changes]) -> None:
        """It is stored and answered: a fault of those who watch is not the batch's."""
        try:
            self._committed(changed)
        except Exception:
            log.exception("watchers.failed")

    def _give_up_waiting(self, fault: StoreFault) -> None:
        """The store is away: whoever waited too long already, or all if we stop, need not wait for it again."""
        overdue = asyncio.get_running_loop().time() - PATIENCE_SECONDS
        while self._commands and (self._stopping or self._commands[0].since < overdue):
            _resolve([self._commands.popleft()], [StoreAway(*fault.args)])


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
