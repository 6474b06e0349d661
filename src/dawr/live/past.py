"""What the store knows: the events that were missed, and where things stand now. Each read is one moment's picture."""

from collections.abc import Awaitable, Callable, Collection

import msgspec

from dawr.domain import Event, Head, Line, QueueId, Ticket, TicketId, Venue, VenueId
from dawr.domain.errors import UnknownVenue
from dawr.domain.events import line_facts
from dawr.live.line import WatchedLine
from dawr.ports import Clock, Session, Store, T, Wants

NOTHING_IS_AFTER = 2**62


class Since(msgspec.Struct, frozen=True):
    head: Head
    venue: Venue
    events: list[Event]


class Tickets(msgspec.Struct, frozen=True):
    version: int
    """Of the last event that is in them."""
    found: list[Ticket]
    in_reserve: frozenset[TicketId] = frozenset()
    """Those whose number is beyond the day's capacity, where that was asked for."""


class Past:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def since(self, venue_id: VenueId, version: int = NOTHING_IS_AFTER, *, most: int = 1) -> Since:
        async def read(session: Session) -> Since:
            events = await session.events_after(venue_id, version, most=most)
            return Since(session.heads[venue_id], session.venues[venue_id], events)

        return await self._read(venue_id, read)

    async def line(self, venue_id: VenueId, queue_id: QueueId) -> WatchedLine:
        """A queue's line today, and where everybody stands in it."""

        async def read(session: Session) -> WatchedLine:
            head, venue = session.heads[venue_id], session.venues[venue_id]
            day = head.day if session.clock_error_ms else venue.day_at(self._clock(), reached=head.day)
            rows = (await session.load({venue_id: Wants(current_lines={queue_id})}, depth=1))[venue_id]
            line = next(
                (line for line in rows.current_lines if line.day >= day), Line(venue_id, queue_id, day=day, round=1)
            )
            rows = (await session.load({venue_id: Wants(places={line.key})}, depth=1))[venue_id]
            places = rows.places.get(line.key, [])
            return WatchedLine(line.key, version=head.version, facts=line_facts(line), places=places)

        return await self._read(venue_id, read)

    async def tickets(
        self, venue_id: VenueId, *, ids: Collection[TicketId] = (), open_keys: Collection[str] = ()
    ) -> Tickets:
        async def read(session: Session) -> Tickets:
            wants = Wants(tickets=set(ids), open_keys=set(open_keys))
            rows = (await session.load({venue_id: wants}, depth=1))[venue_id]
            return Tickets(session.heads[venue_id].version, rows.tickets + rows.open)

        return await self._read(venue_id, read)

    async def visited(self, venue_id: VenueId, ids: Collection[TicketId]) -> Tickets:
        """Tickets that a visit has come to, with what the holder of its link is told of each."""

        async def read(session: Session) -> Tickets:
            venue = session.venues[venue_id]
            rows = (await session.load({venue_id: Wants(tickets=set(ids))}, depth=1))[venue_id]
            keys = {ticket.line_key for ticket in rows.tickets}
            lines = (await session.load({venue_id: Wants(lines=keys)}, depth=1))[venue_id].lines
            by_key = {line.key: line for line in lines}
            in_reserve = {
                ticket.ticket_id
                for ticket in rows.tickets
                if (capacity := venue.queue(ticket.queue_id).capacity) is not None
                and (line := by_key.get(ticket.line_key)) is not None
                and line.place_of(ticket.number) > capacity
            }
            return Tickets(session.heads[venue_id].version, rows.tickets, frozenset(in_reserve))

        return await self._read(venue_id, read)

    async def _read(self, venue_id: VenueId, read: Callable[[Session], Awaitable[T]]) -> T:
        """Refusals are raised here, not inside: a store takes what is raised in it for a fault."""

        async def read_if_there(session: Session) -> T | None:
            return await read(session) if venue_id in session.heads else None

        seen = await self._store.read([venue_id], read_if_there)
        if seen is None:
            raise UnknownVenue(venue_id)
        return seen
