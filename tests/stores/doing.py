"""What the contract tests do again and again: found a venue, act together, look at what is stored."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from dawr.domain.events import Event
from dawr.domain.line import Line
from dawr.domain.queue import Audience
from dawr.domain.secret import hash_of
from dawr.domain.ticket import LineKey, Ticket, TicketId, VisitId
from dawr.domain.venue import Head, Venue, VenueId
from dawr.domain.visit import Link, StageState, Visit
from dawr.engine.clockwork import Ringer
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.pins import GivePin
from dawr.operations.rows import VISITS
from dawr.operations.staff import Call, Finish
from dawr.operations.ticket import Joined
from dawr.operations.visits import LookAtVisit, Whereabouts
from dawr.ports import Clock, Rows, Session, Store, Wants
from dawr.reliability.idempotency import Reply
from tests.builders import MONDAY_AT_TEN, DrivenClock, a_head, a_new, issue, start_visit
from tests.stores.databases import Database

EVERY_EVENT = 1_000_000
LOOPS = 4
T = TypeVar("T")


async def create_venue(store: Store, venue: Venue, now: int = MONDAY_AT_TEN) -> Venue:
    await store.add_venue(venue, a_head(venue, now))
    return venue


async def together(*commands: Awaitable[Any]) -> list[Any]:
    """All in one batch, because they are enqueued before the lane first looks. A failure is an outcome."""
    return await asyncio.gather(*commands, return_exceptions=True)


async def in_loops(
    database: Database,
    store: Store,
    clock: DrivenClock,
    work: Callable[[Engine], Awaitable[T]],
    *,
    loops: int = LOOPS,
) -> list[T]:
    """The work in several event loops at once, each in a thread and with an engine of its own."""

    async def one_loop() -> T:
        async with database.share(store) as own:
            engine = Engine(own, clock)
            result = await work(engine)
            await engine.stop()
            return result

    return await asyncio.gather(*(asyncio.to_thread(lambda: asyncio.run(one_loop())) for _ in range(loops)))


async def take(
    engine: Engine, venue: Venue, *, queue: str = "lab", visitor: str | None = None, priority: int = 0
) -> Ticket:
    """A new ticket."""
    return (await engine.do(venue.id, issue(queue, visitor, priority=priority))).ticket


async def do_each(engine: Engine, venue: Venue, *operations: Operation[Any]) -> None:
    """One after the other, each in a transaction of its own."""
    for operation in operations:
        await engine.do(venue.id, operation)


async def load(store: Store, venue: Venue, wants: Wants) -> Rows:
    async def look(session: Session) -> Rows:
        return (await session.load({venue.id: wants}, depth=1000))[venue.id]

    return await store.read([venue.id], look)


async def stored_ticket(store: Store, venue: Venue, ticket_id: TicketId) -> Ticket:
    (ticket,) = (await load(store, venue, Wants(tickets={ticket_id}))).tickets
    return ticket


async def stored_line(store: Store, venue: Venue, key: LineKey) -> Line:
    (line,) = (await load(store, venue, Wants(lines={key}))).lines
    return line


async def stored_head(store: Store, venue: Venue) -> Head:
    async def look(session: Session) -> Head:
        return session.heads[venue.id]

    return await store.read([venue.id], look)


async def events_of(engine: Engine, venue: Venue) -> list[Event]:
    return await engine.events_after(venue.id, 0, most=EVERY_EVENT)


async def kinds_of(engine: Engine, venue: Venue) -> list[str]:
    return [event.kind for event in await events_of(engine, venue)]


async def begin_visit(
    engine: Engine,
    venue: Venue,
    visitor: str | None = None,
    *,
    journey: str = "army",
    audience: Audience = "any",
    priority: int = 0,
) -> Whereabouts:
    """A new visit with a plan, in its first queue."""
    return await engine.do(venue.id, start_visit(journey, visitor, audience=audience, priority=priority))


def ticket_of(seen: Whereabouts) -> Ticket:
    """The ticket that a visit has come to, which it must have."""
    assert seen.ticket is not None
    return seen.ticket


def link_to(visit: Visit) -> Link:
    return Link(visit.visit_id, hash_of(f"secret-of-{visit.visit_id}"))


async def stored_visit(store: Store, venue: Venue, visit_id: VisitId) -> Visit:
    (visit,) = (await load(store, venue, Wants(rows={VISITS: {visit_id}}))).of(VISITS)
    return visit


async def look(engine: Engine, venue: Venue, visit: Visit) -> Whereabouts:
    """Where whoever holds the link sees themselves."""
    return await engine.read(venue.id, LookAtVisit(link_to(visit)))


def stages_of(visit: Visit) -> dict[str, StageState]:
    return {stage.queue: stage.state for stage in visit.plan}


async def finish(engine: Engine, venue: Venue, ticket_id: TicketId) -> Ticket:
    """Call somebody and finish them, as staff do."""
    await engine.do(venue.id, Call(ticket_id))
    return await engine.do(venue.id, Finish(ticket_id))


async def pins_of(engine: Engine, venue: Venue) -> dict[str, str]:
    """Today's PIN of every queue, made if there is none yet."""
    given = [await engine.do(venue.id, GivePin(a_new("chance"), is_manager=True, queue=q.id)) for q in venue.queues]
    return {pin.queue_id: pin.pin for (pin,) in given}


async def ring(engine: Engine, store: Store, clock: Clock) -> int:
    """Do what is due; how many that were."""
    return await Ringer(engine, store, clock).ring_due()


async def data_of(engine: Engine, venue: Venue, kind: str) -> list[dict[str, Any]]:
    """The facts of every event of a kind."""
    return [msgspec.json.decode(event.data) for event in await events_of(engine, venue) if event.kind == kind]


def rendered(result: Joined | Ticket | Any) -> Reply:  # noqa: ANN401 - an parts renders whatever its operation gives
    """As an parts would: a body that names the ticket and the number."""
    ticket = result.ticket if isinstance(result, Joined) else result
    return Reply(201, f"{ticket.ticket_id} has number {ticket.number}".encode())


def numbers(outcomes: list[Any]) -> list[int | str]:
    """The number each was given, or the name of what it got instead."""
    return [outcome.ticket.number if isinstance(outcome, Joined) else type(outcome).__name__ for outcome in outcomes]


def elsewhere(venue: Venue) -> VenueId:
    """A venue that there is not."""
    return VenueId(f"no-{venue.id}")
