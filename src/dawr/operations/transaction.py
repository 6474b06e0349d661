"""One venue's rows while its head is held: what was loaded, what changed, how to take it back.

A ticket cannot be changed here without its event, its line's counts and its place among
the waiting changing with it: `record` is the only way. A row that is not here raises
`NotLoaded`; the engine loads it and decides the command again.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec

from dawr.domain import NOBODY, Day, Event, Head, Line, LineKey, Origin, Place, QueueId, Ticket, TicketId, Venue, Verb
from dawr.domain.errors import UnknownTicket
from dawr.domain.events import plain_data, ticket_data
from dawr.domain.ticket import STATES_IN_LINE, VERBS
from dawr.domain.waiting import Exhausted, Waiting, overlaid
from dawr.operations.ahead import ahead_of_new_place, ahead_of_stored_place
from dawr.operations.rows import ANSWERS, KINDS, Table
from dawr.ports import Changes, IssuedTo, K, Kind, LinePage, R, Rows, Wants
from dawr.reliability.idempotency import Answer, AnswerKey


class NotLoaded(Exception):
    """A row is needed that was not loaded yet."""

    def __init__(self, wants: Wants) -> None:
        super().__init__()
        self.wants = wants


class Transaction:
    def __init__(self, venue: Venue, head: Head, *, now: int, clock_trusted: bool = True) -> None:
        self.venue = venue
        self.day: Day = venue.day_at(now, reached=head.day) if clock_trusted else head.day
        self.origin: Origin = NOBODY
        self.now = now
        self._head = head
        self._venue_before = venue
        self._tickets: Table[TicketId, Ticket] = Table(attrgetter("ticket_id"))
        self._by_open_key: dict[str, TicketId | None] = {}
        self._lines: Table[LineKey, Line] = Table(attrgetter("key"))
        self._current: dict[QueueId, LineKey | None] = {}
        self._waiting: dict[LineKey, Waiting] = {}
        self._ended: dict[LineKey, list[TicketId]] = {}
        self._issued: dict[IssuedTo, list[int]] = {}
        self._tables: dict[Kind[Any, Any], Table[Any, Any]] = {}
        self._stored_places: dict[LineKey, list[Place]] = {}
        self._pages: dict[LinePage, list[Ticket]] = {}
        self._events: list[Event] = []
        self._events_before = 0
        self._undo: list[tuple[Callable[..., object], *tuple[Any, ...]]] = []
        self.has_changed = False
        """Whether the command that is being decided has changed anything yet."""

    # What is there

    def find(self, kind: Kind[K, R], key: K) -> R | None:
        rows = self._table(kind).rows
        if key not in rows and not self._table(kind).is_whole:
            raise NotLoaded(Wants(rows={kind: set() if kind.whole else {key}}))
        return rows.get(key)

    def get(self, kind: Kind[K, R], key: K) -> R:
        row = self.find(kind, key)
        if row is None:
            raise kind.missing()
        return row

    def all(self, kind: Kind[Any, R]) -> list[R]:
        """Of a kind that is loaded whole; those that were disabled or revoked too."""
        if not self._table(kind).is_whole:
            raise NotLoaded(Wants(rows={kind: set()}))
        return [row for row in self._table(kind).rows.values() if row is not None]

    def ticket(self, ticket_id: TicketId) -> Ticket:
        if ticket_id not in self._tickets.rows:
            raise NotLoaded(Wants(tickets={ticket_id}))
        ticket = self._tickets.rows[ticket_id]
        if ticket is None:
            raise UnknownTicket
        return ticket

    def page(self, page: LinePage) -> list[Ticket]:
        """As it is stored: for a view, which changes nothing."""
        if page not in self._pages:
            raise NotLoaded(Wants(pages={page}))
        return self._pages[page]

    def open_ticket(self, open_key: str) -> Ticket | None:
        if open_key not in self._by_open_key:
            raise NotLoaded(Wants(open_keys={open_key}))
        ticket_id = self._by_open_key[open_key]
        return None if ticket_id is None else self.ticket(ticket_id)

    def line(self, queue_id: QueueId) -> Line:
        """The queue's line today, made on the spot if this is its first request."""
        if queue_id not in self._current:
            raise NotLoaded(Wants(current_lines={queue_id}))
        key = self._current[queue_id]
        if key is not None and key.day >= self.day:
            return self.line_at(key)
        return Line(venue_id=self.venue.id, queue_id=queue_id, day=self.day, round=1)

    def line_at(self, key: LineKey) -> Line:
        if key not in self._lines.rows:
            raise NotLoaded(Wants(lines={key}))
        line = self._lines.rows[key]
        if line is None:
            raise LookupError(f"line {key} has tickets but no row")
        return line

    def first_waiting(self, queue_id: QueueId) -> Ticket | None:
        """The ticket to call next. Two desks asking at once never receive the same one."""
        line = self.line(queue_id)
        if line.key not in self._waiting:
            if line.key in self._lines.stored:
                raise NotLoaded(Wants(waiting={queue_id}))
            self._waiting[line.key] = Waiting(self._unsaved_waiting(line.key), up_to=None)
            self._undo.append((self._waiting.pop, line.key))
        try:
            return self._waiting[line.key].first()
        except Exhausted:
            del self._waiting[line.key]
            raise NotLoaded(Wants(waiting={queue_id})) from None

    def ahead_of(self, ticket: Ticket) -> int:
        """How many people are called before this one; of a held one, how many would be."""
        if ticket.state not in STATES_IN_LINE or ticket.open_key is None:
            return 0
        stored = self._tickets.stored.get(ticket.ticket_id)
        if stored is None or stored.place != ticket.place:
            line = self.line_at(ticket.line_key)
            return ahead_of_new_place(ticket, line, self._unsaved_waiting(line.key))
        if ticket.line_key not in self._stored_places:
            raise NotLoaded(Wants(places={ticket.line_key}))
        places = self._stored_places[ticket.line_key]
        return ahead_of_stored_place(ticket, places, self._tickets.changed(), self._tickets.stored)

    def ended_before(self, key: LineKey) -> list[Ticket]:
        """Tickets left open in lines before this one, at most as many as one step takes."""
        if key not in self._ended:
            raise NotLoaded(Wants(ended={key}))
        return [self.ticket(ticket_id) for ticket_id in self._ended[key]]

    def answer(self, key: AnswerKey) -> Answer | None:
        answer = self.find(ANSWERS, key)
        return None if answer is None or answer.expires_at <= self.now else answer

    def issued_to(self, asked: IssuedTo) -> list[int]:
        """When this mobile number was given its latest numbers here, the newest first."""
        if asked not in self._issued:
            raise NotLoaded(Wants(issued={asked}))
        unsaved = (t.issued_at for t in self._tickets.changed() if t.visitor == asked.visitor and self._is_new(t))
        return sorted([*unsaved, *self._issued[asked]], reverse=True)

    # What changes

    @property
    def epoch(self) -> int:
        """Which stream of events this is; a restored copy begins another one."""
        return self._head.epoch

    @property
    def version(self) -> int:
        return self._head.version + len(self._events)

    @property
    def next_version(self) -> int:
        return self.version + 1

    def record(self, verb: Verb, after: Ticket, *, before: Ticket | None = None, line: Line | None = None) -> Ticket:
        """Let a ticket change, with everything that must change with it. `line` is its line, if it changed already."""
        first = self.first_waiting(after.queue_id) if verb == "call" else None
        if after.version != self.next_version:
            after = msgspec.structs.replace(after, version=self.next_version)
        self._set(self._tickets.rows, after.ticket_id, after)
        if after.open_key is not None:
            self._set(self._by_open_key, after.open_key, after.ticket_id)
        elif before is not None and before.open_key is not None:
            self._set(self._by_open_key, before.open_key, None)
        key = after.line_key
        counted = (line or self.line_at(key)).counting(before, after)
        self.put_line(counted)
        self._move_in_waiting(key, before, after)
        out_of_order = first is not None and first.ticket_id != after.ticket_id
        data = ticket_data(before, after, counted, out_of_order=out_of_order)
        self._happened(VERBS[verb].event, after.queue_id, after.ticket_id, data)
        return after

    def happened(self, kind: str, queue_id: QueueId | None = None, **facts: str | int | None) -> None:
        """Record a change that is no ticket's."""
        self._happened(kind, queue_id, None, plain_data(**facts))

    def put_line(self, line: Line) -> None:
        """Whether the line is today's is known only once today's was loaded: one that ended is put here too."""
        self._set(self._lines.rows, line.key, line)
        if line.queue_id in self._current:
            current = self._current[line.queue_id]
            if current is None or current < line.key:
                self._set(self._current, line.queue_id, line.key)

    def put_venue(self, venue: Venue) -> None:
        self._set(vars(self), "venue", venue)

    def put(self, kind: Kind[Any, R], row: R) -> None:
        """A new row, or another one in the place of that with its key: the next command of the batch sees it."""
        self._set(self._table(kind).rows, kind.key(row), row)

    # What a refusal takes back, and what a batch leaves behind

    def begin(self, origin: Origin) -> None:
        """The next command's changes start here."""
        self.origin = origin
        self._undo.clear()
        self._events_before = len(self._events)
        self.has_changed = False

    def take_back(self) -> None:
        """As if the command had never been decided."""
        while self._undo:
            undo, *arguments = self._undo.pop()
            undo(*arguments)
        del self._events[self._events_before :]
        self.has_changed = False

    def absorb(self, wants: Wants, rows: Rows, *, depth: int) -> None:
        """Take in what a load brought; what was changed here meanwhile stays as it is."""
        self._tickets.absorb(wants.tickets, rows.tickets + rows.open + rows.ended + rows.waiting)
        for ticket in rows.open:
            if ticket.open_key is not None:
                self._by_open_key.setdefault(ticket.open_key, ticket.ticket_id)
        for key in wants.places:
            self._stored_places[key] = rows.places.get(key, [])
        self._pages.update({page: rows.pages.get(page, []) for page in wants.pages})
        self._issued.update({asked: rows.issued.get(asked.visitor, []) for asked in wants.issued})
        self._lines.absorb(wants.lines, rows.lines + rows.current_lines)
        for line in rows.current_lines:
            self._current.setdefault(line.queue_id, line.key)
        for kind, keys in wants.rows.items():
            table = self._table(kind)
            table.absorb(keys, rows.of(kind))
            table.is_whole = table.is_whole or kind.whole
        self._note_what_is_not_there(wants)
        self._arrange_waiting(wants, rows, depth)
        for key in wants.ended:
            self._ended[key] = [ticket.ticket_id for ticket in rows.ended if ticket.queue_id == key.queue_id]

    @property
    def touched(self) -> int:
        """How many tickets were changed so far."""
        return len(self._tickets.changed())

    def changes(self) -> Changes:
        venue_changed = self.venue is not self._venue_before
        tickets = self._tickets.changed()
        return Changes(
            head=Head(
                self._head.venue_id,
                self._head.epoch,
                self.day,
                self._head.version + len(self._events),
                self._head.config_version + venue_changed,
            ),
            venue=self.venue if venue_changed else None,
            new_tickets=[t for t in tickets if self._is_new(t)],
            changed_tickets=[t for t in tickets if not self._is_new(t)],
            lines=self._lines.changed(),
            events=self._events,
            rows={kind: self._tables[kind].changed() if kind in self._tables else [] for kind in KINDS},
        )

    # Inside

    def _table(self, kind: Kind[K, R]) -> Table[K, R]:
        table = self._tables.get(kind)
        if table is None:
            if kind not in KINDS:
                raise LookupError(f"rows of the kind {kind.name} are never saved: it is not in KINDS")
            table = self._tables[kind] = Table(kind.key)
        return table

    def _set(self, rows: dict[Any, Any], key: Any, row: Any) -> None:  # noqa: ANN401 - rows of any kind
        if key in rows:
            self._undo.append((rows.__setitem__, key, rows[key]))
        else:
            self._undo.append((rows.__delitem__, key))
        rows[key] = row
        self.has_changed = True

    def _happened(self, kind: str, queue_id: QueueId | None, ticket_id: TicketId | None, data: str) -> None:
        origin = self.origin
        self._events.append(
            Event(
                self.venue.id,
                self.next_version,
                kind,
                self.now,
                queue_id,
                ticket_id,
                origin.actor,
                origin.correlation_id,
                origin.reason,
                data,
            )
        )
        self.has_changed = True

    def _move_in_waiting(self, key: LineKey, before: Ticket | None, after: Ticket) -> None:
        waiting = self._waiting.get(key)
        if waiting is None:
            return
        if before is not None and before.state == "waiting":
            waiting.remove(before)
            self._undo.append((waiting.add, before))
        if after.state == "waiting":
            waiting.add(after)
            self._undo.append((waiting.remove, after))

    def _is_new(self, ticket: Ticket) -> bool:
        return ticket.ticket_id not in self._tickets.stored

    def _unsaved_waiting(self, key: LineKey) -> list[Ticket]:
        return [t for t in self._tickets.changed() if t.state == "waiting" and t.line_key == key]

    def _note_what_is_not_there(self, wants: Wants) -> None:
        for open_key in wants.open_keys:
            self._by_open_key.setdefault(open_key, None)
        for queue_id in wants.current_lines | wants.waiting:
            self._current.setdefault(queue_id, None)

    def _arrange_waiting(self, wants: Wants, rows: Rows, depth: int) -> None:
        for line in rows.current_lines:
            if line.queue_id not in wants.waiting or line.key in self._waiting:
                continue
            stored = [t for t in rows.waiting if t.line_key == line.key]
            touched = {ticket.ticket_id for ticket in self._tickets.changed()}
            self._waiting[line.key] = overlaid(
                stored, depth=depth, touched=touched, unsaved=self._unsaved_waiting(line.key)
            )
