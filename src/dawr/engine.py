"""Lanes, batches, answers: many commands, one transaction, one wait for the disk.

What waits in a lane is drained into one batch: lock, load, decide, save, commit. Only
then are the callers answered. A refused command leaves nothing behind, a failing one
does not harm its batch mates, and a caller who goes away never cancels half of anything.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from typing import Any, ClassVar, Generic, TypeVar, cast
from zlib import crc32

import msgspec
import structlog

from dawr.domain.errors import Refused, UnknownVenue
from dawr.domain.events import NOBODY, Event, Origin
from dawr.domain.venue import Venue, VenueId
from dawr.operations.operation import Operation, View
from dawr.operations.transaction import NotLoaded, Transaction
from dawr.ports import Changes, Clock, OutcomeUnknown, Session, Store, StoreAway, StoreFault, Wants
from dawr.reliability.idempotency import Claim, KeyReused, Reply

R = TypeVar("R")

log = structlog.get_logger("dawr.engine")

MOST_LOADS = 1000
PATIENCE_SECONDS = 5.0
LONGEST_SLUG = 32
READY_SECONDS = 1.0
"""How long it stays believed that the store takes commands: to ask it is a commit, and anybody may ask us."""
ASKED_TOO_OFTEN = f"one command asked for missing rows {MOST_LOADS} times"


Committed = Callable[[list[Changes]], None]
"""Told what a batch changed once the disk has it, in the order of commits of each venue."""


def _nobody_watches(_: list[Changes]) -> None:
    pass


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
    ) -> None:
        self._store = store
        self._clock = clock
        self._most_waiting = most_waiting
        self._lanes = [Lane(store, clock, batch_limit=batch_limit, committed=committed) for _ in range(lanes)]
        self._stopping = False
        self._pinging = asyncio.Lock()
        self._ready_until = 0.0
        self._known_loop: asyncio.AbstractEventLoop | None = None
        self._venue_ids: dict[str, VenueId] = {}
        self._slugs: dict[VenueId, str] = {}

    async def do(self, venue_id: VenueId, operation: Operation[R], *, origin: Origin = NOBODY) -> R:
        """Have an operation decided and stored; what came of it, or the refusal raised."""
        loop = self._loop()
        command = Command(venue_id, operation, origin, loop.create_future(), loop.time())
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

        async def look(session: Session) -> R | Refused:
            transactions = _open(session, self._clock())
            tx = transactions.get(venue_id)
            if tx is None:
                return UnknownVenue(venue_id)
            await _load(session, transactions, {venue_id: [view]}, depth=1)
            for _ in range(MOST_LOADS):
                try:
                    return view.look(tx, tx.now)
                except NotLoaded as missing:
                    await _load_more(session, tx, missing.wants, depth=1)
                except Refused as refusal:
                    return refusal
            raise RuntimeError(ASKED_TOO_OFTEN)

        seen = await self._store.read([venue_id], look)
        if isinstance(seen, Refused):
            raise seen
        return seen

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        return await self._store.read([venue_id], lambda session: session.events_after(venue_id, version, most=most))

    async def find_venue(self, slug: str) -> VenueId:
        """By its slug or its id. A venue keeps both, so what was found once stays true."""
        if slug not in self._venue_ids:
            slugs = await self._store.venue_ids()
            self._venue_ids = {**{venue_id: venue_id for venue_id in slugs.values()}, **slugs}
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

    async def _enqueue(self, command: "Command[Any]") -> object:
        if self._stopping:
            raise Stopping
        lane = self._lanes[crc32(command.venue_id.encode()) % len(self._lanes)]
        if len(lane) >= self._most_waiting:
            raise Busy
        lane.add(command)
        return await command.future


class Command(msgspec.Struct, Generic[R], eq=False):
    """An operation, who waits for it, and how the answer is to look."""

    venue_id: VenueId
    operation: Operation[R]
    origin: Origin
    future: asyncio.Future[object]
    since: float
    """When it was asked for, by the loop's clock."""
    render: Callable[[R], Reply] | None = None
    claim: Claim | None = None

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.operation.wants(venue, wants)
        if self.claim is not None:
            wants.answers.add(self.claim.key)

    def decide(self, tx: Transaction) -> object:
        if self.claim is not None and (first := tx.answer(self.claim.key)) is not None:
            return first.replay(self.claim)
        version = tx.next_version
        result = self.operation.decide(tx, tx.now)
        if self.render is None:
            return result
        reply = self.render(result)
        if self.claim is not None and tx.next_version != version:
            tx.keep_answer(reply.kept(self.claim, tx.now))
        return reply


class Lane:
    """The commands of some venues, one batch after the other."""

    def __init__(self, store: Store, clock: Clock, *, batch_limit: int, committed: Committed) -> None:
        self._store = store
        self._committed = committed
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
            outcomes, changed = await self._store.transact(
                {command.venue_id for command in batch},
                lambda session: decide_all(session, batch, self._clock()),
            )
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
            _resolve(batch, outcomes)
            if changed:
                self._tell(changed)

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


async def decide_all(session: Session, batch: list[Command[Any]], now: int) -> tuple[list[object], list[Changes]]:
    """Decide a batch and save what it changed. One outcome per command: an exception is that command's alone."""
    transactions = _open(session, now)
    depth = len(batch) + 2
    by_venue: dict[VenueId, list[Command[Any]]] = {}
    for command in batch:
        by_venue.setdefault(command.venue_id, []).append(command)
    await _load(session, transactions, by_venue, depth=depth)
    outcomes = [await _decide(session, transactions.get(c.venue_id), c, depth) for c in batch]
    changed = [tx.changes() for tx in transactions.values() if tx.changed]
    if changed:
        await session.save(changed)
    return outcomes, changed


async def _decide(session: Session, tx: Transaction | None, command: Command[Any], depth: int) -> object:
    """One command's outcome. A refusal or a fault of its own is an outcome; a fault of the store is everybody's."""
    if tx is None:
        return UnknownVenue(command.venue_id)
    for _ in range(MOST_LOADS):
        tx.begin(command.origin)
        try:
            return command.decide(tx)
        except NotLoaded as missing:
            wants, deeper = missing.wants, depth + tx.touched
        except (Refused, KeyReused) as refusal:
            tx.take_back()
            return refusal
        except Exception as fault:
            tx.take_back()
            log.exception("command.failed", operation=type(command.operation).__name__)
            return fault
        tx.take_back()
        await _load_more(session, tx, wants, depth=deeper)
    return RuntimeError(ASKED_TOO_OFTEN)


async def _load_more(session: Session, tx: Transaction, wants: Wants, *, depth: int) -> None:
    rows = await session.load({tx.venue.id: wants}, depth=depth)
    tx.absorb(wants, rows[tx.venue.id], depth=depth)


async def _load(
    session: Session,
    transactions: Mapping[VenueId, Transaction],
    asking: Mapping[VenueId, Iterable[Any]],
    *,
    depth: int,
) -> None:
    """Everything that is expected to be needed, in one go. Who refuses here will refuse again when decided."""
    wants = {venue_id: Wants() for venue_id in asking if venue_id in transactions}
    for venue_id, wanted in wants.items():
        for asker in asking[venue_id]:
            try:
                asker.wants(transactions[venue_id].venue, wanted)
            except Refused:
                continue
    for venue_id, rows in (await session.load(wants, depth=depth)).items():
        transactions[venue_id].absorb(wants[venue_id], rows, depth=depth)


def _open(session: Session, now: int) -> dict[VenueId, Transaction]:
    return {
        venue_id: Transaction(session.venues[venue_id], head, now=now, clock_trusted=session.clock_trusted)
        for venue_id, head in session.heads.items()
    }


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
