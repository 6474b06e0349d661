"""Rows in, rows out: the part of a transaction that both databases share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Protocol

import msgspec

from dawr.domain import Event, Head, Line, LineKey, Ticket, Venue, VenueId, Visit
from dawr.domain.errors import Refused
from dawr.ports import BULK_STEP, Changes, Clock, Kind, Rows, Search, Wants
from dawr.ports.faults import StoreAway
from dawr.reliability.migrations import Owners
from dawr.reliability.statements import read_statements
from dawr.stores.migrations import OWNERS

Row = Any
"""A database row: a tuple from SQLite, a record from PostgreSQL. Only this package sees one."""

MOST_SKEW_MS = 2000


class Gateway(Protocol):
    """Runs a named statement once for many keys or rows, inside the open transaction."""

    async def fetch(self, name: str, keys: Sequence[Row]) -> Iterable[Row]: ...

    async def write(self, name: str, rows: Sequence[Row]) -> None: ...


class VenueCache:
    """Set-ups as they were committed, by their version."""

    def __init__(self) -> None:
        self._venues: dict[VenueId, tuple[int, int, Venue]] = {}

    async def get(self, gateway: Gateway, heads: Mapping[VenueId, Head]) -> dict[VenueId, Venue]:
        """Other threads may replace what is cached at any moment, so nothing is looked up twice."""
        venues = {head.venue_id: venue for head in heads.values() if (venue := self._cached(head)) is not None}
        missing = [(venue_id,) for venue_id in heads if venue_id not in venues]
        if missing:
            for (document,) in await gateway.fetch("venues_by_id", missing):
                venue = _read(document)
                head = heads[venue.id]
                self._venues[venue.id] = (head.epoch, head.config_version, venue)
                venues[venue.id] = venue
        return venues

    def _cached(self, head: Head) -> Venue | None:
        epoch, version, venue = self._venues.get(head.venue_id, (None, None, None))
        return venue if (epoch, version) == (head.epoch, head.config_version) else None


def _read(document: bytes) -> Venue:
    """What the rules say about hours is for whoever writes them, and not for visitors of a set-up that is damaged."""
    try:
        return msgspec.json.decode(document, type=Venue)
    except Refused as error:
        raise StoreAway("How a venue is set up cannot be read: `dawr check` names it") from error


class RowSession:
    """One open transaction over a gateway."""

    def __init__(
        self,
        gateway: Gateway,
        heads: Mapping[VenueId, Head],
        venues: Mapping[VenueId, Venue],
        *,
        clock_error_ms: int = 0,
    ) -> None:
        self.heads = heads
        self.venues = venues
        self.clock_error_ms = clock_error_ms
        self._gateway = gateway

    async def load(self, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        rows = {venue_id: Rows() for venue_id in wants}
        await self._load_tickets(wants, rows, depth)
        await self._load_lines(wants, rows)
        for row in await self._fetch("latest_issues", [(v, *k) for v, w in wants.items() for k in w.issued]):
            rows[row[0]].issued.setdefault(row[1], []).append(row[2])
        for row in await self._fetch("visits_by_open_key", [(v, k) for v, w in wants.items() for k in w.visitors]):
            rows[row[0]].planned.append(Visit(*row))
        for row in await self._fetch("queues_with_history", [(v, q) for v, w in wants.items() for q in w.histories]):
            rows[row[0]].histories.add(row[1])
        await self._search(wants, rows)
        for kind in dict.fromkeys(kind for wanted in wants.values() for kind in wanted.rows):
            await self._load_kind(kind, wants, rows)
        return rows

    async def fences(self, leases: Iterable[str]) -> dict[str, int]:
        return dict(tuple(row) for row in await self._fetch("hold_fences", [(name,) for name in sorted(set(leases))]))

    async def save(self, changes: Iterable[Changes]) -> None:
        """Ended tickets are written before new ones, because they free their visitor's key."""
        done = list(changes)
        for redated in [c for c in done if c.redated is not None]:
            await self._redate(redated)
        for c in done:
            if c.retried is not None:
                await self._gateway.write("retry_parked_visits", [(c.head.venue_id, *c.retried)])
        await self._write("change_tickets", [t for c in done for t in c.changed_tickets])
        for kind in dict.fromkeys(kind for c in done for kind in c.rows):
            await self._write(f"save_{kind.name}", [row for c in done for row in c.of(kind)])
        await self._write("add_tickets", [t for c in done for t in c.new_tickets])
        await self._write("save_lines", [_line_for_store(line) for c in done for line in c.lines])
        await self._write("add_events", [event for c in done for event in c.events])
        for venue in [c.venue for c in done if c.venue is not None]:
            await self._gateway.write("save_venues", [(venue.id, venue.slug, document_of(venue))])
        await self._write("save_heads", [c.head for c in done])

    async def _redate(self, changes: Changes) -> None:
        """Before all else: whatever is saved with it knows the lines by what they become."""
        venue_id, redated = changes.head.venue_id, changes.redated
        if redated is not None:
            for before, after in redated.lines.items():
                for name in ("redate_lines", "redate_tickets"):
                    await self._gateway.write(name, [(venue_id, *before, after.day, after.round)])
            await self._gateway.write("bring_alarms_back", [(venue_id, redated.day_ends, redated.now)])

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        return [Event(*row) for row in await self._gateway.fetch("events_after", [(venue_id, version, most)])]

    async def _fetch(self, name: str, keys: list[Row]) -> Iterable[Row]:
        return await self._gateway.fetch(name, keys) if keys else ()

    async def _write(self, name: str, structs: Sequence[msgspec.Struct]) -> None:
        if structs:
            await self._gateway.write(name, [msgspec.structs.astuple(struct) for struct in structs])

    async def _load_tickets(self, wants: Mapping[VenueId, Wants], rows: Mapping[VenueId, Rows], depth: int) -> None:
        for row in await self._fetch("tickets_by_id", [(v, t) for v, w in wants.items() for t in w.tickets]):
            rows[row[0]].tickets.append(Ticket(*row))
        for row in await self._fetch("tickets_by_open_key", [(v, k) for v, w in wants.items() for k in w.open_keys]):
            rows[row[0]].open.append(Ticket(*row))
        for row in await self._fetch("tickets_waiting", [(v, q, depth) for v, w in wants.items() for q in w.waiting]):
            rows[row[0]].waiting.append(Ticket(*row))
        for row in await self._fetch("tickets_ended", [(v, *k, BULK_STEP) for v, w in wants.items() for k in w.ended]):
            rows[row[0]].ended.append(Ticket(*row))

    async def _load_lines(self, wants: Mapping[VenueId, Wants], rows: Mapping[VenueId, Rows]) -> None:
        for row in await self._fetch("waiting_places", [(v, *k) for v, w in wants.items() for k in w.places]):
            venue_id, queue_id, day, number, priority, sequence = row
            rows[venue_id].places.setdefault(LineKey(queue_id, day, number), []).append((-priority, sequence))
        for row in await self._fetch("lines_by_key", [(v, *k) for v, w in wants.items() for k in w.lines]):
            rows[row[0]].lines.append(line_of(row))
        current = [(v, q) for v, w in wants.items() for q in w.current_lines | w.waiting]
        for row in await self._fetch("lines_current", current):
            rows[row[0]].current_lines.append(line_of(row))

    async def _search(self, wants: Mapping[VenueId, Wants], rows: Mapping[VenueId, Rows]) -> None:
        """What is looked for in many lines goes together, as long as a ticket tells which line it was found in."""
        for venue_id, wanted in wants.items():
            for how, searches in _together(wanted.searches):
                found = await self._fetch(f"tickets_{how}", [(venue_id, *search.key) for search in searches])
                tickets = [Ticket(*row) for row in found]
                for search in searches:
                    rows[venue_id].searches[search] = [ticket for ticket in tickets if _is_found_by(search, ticket)]

    async def _load_kind(
        self, kind: Kind[Any, Any], wants: Mapping[VenueId, Wants], rows: Mapping[VenueId, Rows]
    ) -> None:
        asked = {venue_id: wanted.rows[kind] for venue_id, wanted in wants.items() if kind in wanted.rows}
        if kind.whole:
            name, keys = f"{kind.name}_of_venue", [(venue_id,) for venue_id in asked]
        else:
            name, keys = (
                f"{kind.name}_by_key",
                [_key_columns(kind, v, k) for v, wanted in asked.items() for k in wanted],
            )
        for columns in await self._fetch(name, list(dict.fromkeys(keys))):
            row = kind.row(*columns)
            for venue_id in [row.venue_id] if kind.of_venue else [v for v in asked if kind.key(row) in asked[v]]:
                rows[venue_id].rows.setdefault(kind, []).append(row)


FOUND_IN: Mapping[str, Callable[[Ticket], tuple[Any, ...]]] = {
    "waiting": lambda ticket: (ticket.queue_id,),
    "longest": lambda ticket: (ticket.queue_id,),
    "aside": lambda ticket: (*ticket.line_key, ticket.state),
    "found": lambda ticket: ticket.line_key,
    "noted": lambda ticket: ticket.line_key,
}
"""The part of its search's key that a ticket tells; the rest of it is the same for all that go together."""
PARTS: Mapping[str, int] = {"waiting": 1, "longest": 1, "aside": 4, "found": 3, "noted": 3}


def _together(searches: Iterable[Search]) -> Iterator[tuple[str, list[Search]]]:
    groups: dict[tuple[Any, ...], list[Search]] = {}
    for search in searches:
        groups.setdefault((search.how, *search.key[PARTS.get(search.how, 0) :]), []).append(search)
    for (how, *_), group in groups.items():
        yield how, group


def _is_found_by(search: Search, ticket: Ticket) -> bool:
    told = FOUND_IN.get(search.how)
    return told is None or told(ticket) == search.key[: PARTS[search.how]]


def _key_columns(kind: Kind[Any, Any], venue_id: VenueId, key: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any key
    columns = key if isinstance(key, tuple) else (key,)
    return (venue_id, *columns) if kind.of_venue else columns


async def begin(
    gateway: Gateway, cache: VenueCache, venues: Iterable[VenueId], *, lock: bool, clock: Clock
) -> RowSession:
    """Lock or read the heads, then see how their venues are set up."""
    asked_at = clock()
    found = await gateway.fetch("lock_heads" if lock else "read_heads", [(v,) for v in sorted(set(venues))])
    heads: dict[VenueId, Head] = {}
    error_ms = 0
    for *head, store_now in found:
        heads[head[0]] = Head(*head)
        error_ms = error_ms or clock_error_ms(store_now, asked_at, clock())
    return RowSession(gateway, heads, await cache.get(gateway, heads), clock_error_ms=error_ms)


async def add_venue(gateway: Gateway, venue: Venue, head: Head, first: Changes | None) -> None:
    """In the open transaction, so that nobody ever meets a venue without what was made with it."""
    await gateway.write("add_venues", [(venue.id, venue.slug, document_of(venue))])
    await gateway.write("add_heads", [msgspec.structs.astuple(head)])
    if first is not None:
        await RowSession(gateway, {venue.id: head}, {venue.id: venue}).save([first])


def document_of(venue: Venue) -> str:
    """A set-up as it is stored: without what says nothing, so that a version that knows no such field can read it."""
    said = _said(venue)
    if venue.queues:
        said["queues"] = [_said(queue) for queue in venue.queues]
    return msgspec.json.encode(said).decode()


def _said(struct: msgspec.Struct) -> dict[str, Any]:
    fields = msgspec.structs.fields(struct)
    return {field.name: value for field in fields if (value := getattr(struct, field.name)) != _default(field)}


def _default(field: msgspec.structs.FieldInfo) -> object:
    made: object = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return made


def clock_error_ms(store_now: int | None, asked_at: int, answered_at: int) -> int:
    """How far ours is ahead. Nothing if the store's lies between the two moments, give or take two seconds.

    A store on this machine has no clock of its own.
    """
    if store_now is None or asked_at - MOST_SKEW_MS <= store_now <= answered_at + MOST_SKEW_MS:
        return 0
    return answered_at - store_now


def all_statements(dialect: str, owners: Owners = OWNERS) -> dict[str, str]:
    """Those of all owners of tables, by name."""
    return read_statements(*(files(package) / "sql" / dialect for package in owners.values()))


def line_of(row: Row) -> Line:
    line = Line(*row)
    return msgspec.structs.replace(line, waiting=tuple(msgspec.json.decode(row[6])))


def _line_for_store(line: Line) -> Line:
    return msgspec.structs.replace(line, waiting=msgspec.json.encode(line.waiting).decode())
