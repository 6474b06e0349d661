"""What the contract tests do again and again: found a venue, act together, look at what is stored."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from dawr.domain.events import Event
from dawr.domain.line import Line
from dawr.domain.ticket import LineKey, Ticket, TicketId
from dawr.domain.venue import Head, Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.ticket import Joined
from dawr.ports import Rows, Session, Store, Wants
from dawr.reliability.idempotency import Reply
from tests.builders import MONDAY_AT_TEN, a_head, issue

EVERY_EVENT = 1_000_000


async def create_venue(store: Store, venue: Venue, now: int = MONDAY_AT_TEN) -> Venue:
    await store.add_venue(venue, a_head(venue, now))
    return venue


async def together(*commands: Awaitable[Any]) -> list[Any]:
    """All in one batch, because they are enqueued before the lane first looks. A failure is an outcome."""
    return await asyncio.gather(*commands, return_exceptions=True)


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
