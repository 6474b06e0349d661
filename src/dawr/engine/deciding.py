"""A batch inside its transaction: load what it needs, decide each command, save what changed.

A row that was not expected to be needed is loaded when it is missed, and that command is
decided again. What a command does is its own: a refusal or a fault leaves nothing behind.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic

import msgspec
import structlog

from dawr.domain import Origin, Venue, VenueId
from dawr.domain.errors import Refused, UnknownVenue
from dawr.engine.timekeeping import Timekeeper
from dawr.operations.loaded import NotLoaded
from dawr.operations.operation import Operation, R, View
from dawr.operations.rows import ANSWERS
from dawr.operations.transaction import Transaction
from dawr.ports import Changes, Session, Wants
from dawr.reliability.correlation import Trace
from dawr.reliability.idempotency import Claim, KeyConflict, Reply
from dawr.reliability.lease import Fence, LeaseLost

log = structlog.get_logger("dawr.engine")

MOST_LOADS = 1000
ASKED_TOO_OFTEN = f"one command asked for missing rows {MOST_LOADS} times"


class Command(msgspec.Struct, Generic[R], eq=False):
    """An operation, who waits for it, and how the answer is to look."""

    venue_id: VenueId
    operation: Operation[R]
    origin: Origin
    future: asyncio.Future[object]
    since: float
    """When it was asked for, by the loop's clock."""
    trace: Trace | None = None
    render: Callable[[Any], Reply] | None = None
    """Of what came of it, or of a refusal that the operation returned."""
    claim: Claim | None = None
    under: Fence | None = None
    """Whose work it is: refused once somebody else took that over."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.operation.wants(venue, wants)
        if self.claim is not None:
            wants.add(ANSWERS, self.claim.key)

    def decide(self, tx: Transaction) -> object:
        if self.claim is not None and (first := tx.answer(self.claim.key)) is not None:
            reply = first.replay(self.claim, tx.ran_ms)
            if reply is not None:
                return reply
        result = self.operation.decide(tx, tx.now)
        if self.render is None:
            return result
        is_refused = isinstance(result, Refused)
        if is_refused and not (tx.has_changed and self.operation.keeps_refusals):
            return result
        reply = self.render(result)
        if self.claim is not None and tx.has_changed:
            tx.put(ANSWERS, reply.kept(self.claim, tx.ran_ms))
        return result if is_refused else reply


async def decide_all(
    session: Session, batch: list[Command[Any]], now: int, time: Timekeeper | None = None
) -> tuple[list[object], list[Changes]]:
    """Decide a batch and save what it changed. One outcome per command: an exception is that command's alone.

    Where nobody keeps the time, answers are kept by the clock, and it is believed.
    """
    transactions = _open(session, now, time)
    depth = len(batch) + 2
    by_venue: dict[VenueId, list[Command[Any]]] = {}
    for command in batch:
        by_venue.setdefault(command.venue_id, []).append(command)
    await _load(session, transactions, by_venue, depth=depth)
    lost = await _with_old_fences(session, batch)
    outcomes = [
        LeaseLost() if c in lost else await _decide(session, transactions.get(c.venue_id), c, depth) for c in batch
    ]
    changed = [changes for tx in transactions.values() if not (changes := tx.changes()).is_empty]
    if changed:
        await session.save(changed)
    return outcomes, changed


async def _with_old_fences(session: Session, batch: list[Command[Any]]) -> list[Command[Any]]:
    """Commands of a work that somebody else has taken over. Nobody takes over that of the others until the commit."""
    fenced = [(command, command.under) for command in batch if command.under is not None]
    if not fenced:
        return []
    current = await session.fences({under.lease for _, under in fenced})
    return [command for command, under in fenced if current.get(under.lease) != under.number]


async def _decide(session: Session, tx: Transaction | None, command: Command[Any], depth: int) -> object:
    """One command's outcome. A refusal or a fault of its own is an outcome; a fault of the store is everybody's.

    What was changed before a refusal was raised is taken back; what was changed by an operation that returns its
    refusal is kept.
    """
    if tx is None:
        return UnknownVenue(command.venue_id)
    for _ in range(MOST_LOADS):
        tx.begin(command.origin)
        try:
            return command.decide(tx)
        except NotLoaded as missing:
            wants, deeper = missing.wants, depth + tx.touched
        except (Refused, KeyConflict) as refusal:
            tx.take_back()
            return refusal
        except Exception as fault:
            tx.take_back()
            name, request = type(command.operation).__name__, command.origin.correlation_id
            traced = {} if command.trace is None else {"trace_id": command.trace.trace_id}
            log.exception("command.failed", operation=name, correlation_id=request, **traced)
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


def _open(session: Session, now: int, time: Timekeeper | None) -> dict[VenueId, Transaction]:
    error_ms = session.clock_error_ms
    if error_ms:
        now = now - error_ms if time is None else time.nearer(now, now - error_ms)
    ran_ms = now if time is None else time.ran_ms
    is_doubted = time is not None and time.doubts_now()
    return {
        venue_id: Transaction(
            session.venues[venue_id],
            head,
            now=now,
            ran_ms=ran_ms,
            clock_trusted=not error_ms,
            clock_doubted=is_doubted,
        )
        for venue_id, head in session.heads.items()
    }


async def look_at(
    session: Session, venue_id: VenueId, view: View[R], now: int, time: Timekeeper | None = None
) -> R | Refused:
    """What is seen of a venue in one picture, or the refusal."""
    transactions = _open(session, now, time)
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
