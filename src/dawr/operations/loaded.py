"""What was loaded of one venue while its head is held, as commands have changed it since.

A row that is not here raises `NotLoaded`; the engine loads it and decides the command again.
"""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from dawr.domain import (
    NOBODY,
    Day,
    DeskId,
    Event,
    Head,
    Line,
    LineKey,
    Origin,
    Place,
    QueueId,
    Redated,
    Ticket,
    TicketId,
    Venue,
    Visit,
    VisitId,
)
from dawr.domain.day import later_of
from dawr.domain.errors import UnknownTicket
from dawr.domain.ticket import STATES_IN_LINE
from dawr.domain.waiting import Exhausted, Waiting, overlaid
from dawr.operations.ahead import ahead_of_new_place, ahead_of_stored_place
from dawr.operations.rows import ANSWERS, KINDS, VISITS, Table
from dawr.ports import IssuedTo, K, Kind, R, Rows, Search, Wants
from dawr.reliability.idempotency import Answer, AnswerKey


class NotLoaded(Exception):
    """A row is needed that was not loaded yet."""

    def __init__(self, wants: Wants) -> None:
        super().__init__()
        self.wants = wants


NO_ROWS: Mapping[Kind[Any, Any], set[Any]] = {}
NOTHING = Wants()


class Loaded:
    def __init__(
        self,
        venue: Venue,
        head: Head,
        *,
        now: int,
        ran_ms: int,
        clock_trusted: bool = True,
        clock_doubted: bool = False,
    ) -> None:
        today = venue.today(now)
        self.venue = venue
        self.day: Day = later_of(head.day, today) if clock_trusted else head.day
        self.may_end_days = not clock_doubted and self.day <= today
        """Whether what came on an earlier day is over. Not while the clock is doubted, or was ahead."""
        self.origin: Origin = NOBODY
        self.now = now
        self.ran_ms = ran_ms
        """How long the installation has run: what answers are kept by."""
        self._head = head
        self._venue_before = venue
        self._tickets: Table[TicketId, Ticket] = Table(attrgetter("ticket_id"))
        self._by_open_key: dict[str, TicketId | None] = {}
        self._by_visitor: dict[str, VisitId | None] = {}
        self._lines: Table[LineKey, Line] = Table(attrgetter("key"))
        self._current: dict[QueueId, LineKey | None] = {}
        self._waiting: dict[LineKey, Waiting] = {}
        self._ended: dict[LineKey, list[TicketId]] = {}
        self._issued: dict[IssuedTo, list[int]] = {}
        self._has_history: dict[QueueId, bool] = {}
        self._tables: dict[Kind[Any, Any], Table[Any, Any]] = {}
        self._stored_places: dict[LineKey, list[Place]] = {}
        self._searches: dict[Search, list[Ticket]] = {}
        self._redated: Redated | None = None
        self._retried: tuple[int, int] | None = None
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

    def must_have(
        self,
        *,
        tickets: Iterable[TicketId] = (),
        places: Iterable[LineKey] = (),
        lines: Iterable[LineKey] = (),
        rows: Mapping[Kind[Any, Any], set[Any]] = NO_ROWS,
        current_lines: Iterable[QueueId] = (),
        waiting: Iterable[QueueId] = (),
        open_keys: Iterable[str] = (),
        searches: Iterable[Search] = (),
    ) -> None:
        """Ask for all that is missing of these at once: one by one, each would be a round trip."""
        missing = Wants(
            tickets={ticket_id for ticket_id in tickets if ticket_id not in self._tickets.rows},
            places={key for key in places if key not in self._stored_places},
            lines={key for key in lines if key not in self._lines.rows},
            current_lines={queue_id for queue_id in current_lines if queue_id not in self._current},
            waiting={queue_id for queue_id in waiting if not self._knows_who_waits(queue_id)},
            open_keys={key for key in open_keys if key not in self._by_open_key},
            searches={search for search in searches if search not in self._searches},
        )
        for kind, keys in rows.items():
            if unknown := keys - self._table(kind).rows.keys():
                missing.add(kind, *unknown)
        if missing != NOTHING:
            raise NotLoaded(missing)

    def _knows_who_waits(self, queue_id: QueueId) -> bool:
        """Of a line that is not stored yet, everybody is here."""
        if queue_id not in self._current:
            return False
        key = self._current[queue_id]
        return key is None or key in self._waiting or key not in self._lines.stored

    def search(self, search: Search) -> list[Ticket]:
        """As they are stored: for a view, which changes nothing."""
        if search not in self._searches:
            raise NotLoaded(Wants(searches={search}))
        return self._searches[search]

    def at_desk(self, desk_id: DeskId) -> list[Ticket]:
        """Who was called to a desk or is being served there."""
        stored = [self._tickets.rows.get(t.ticket_id) or t for t in self.search(Search("at_desk", (desk_id,)))]
        known = {ticket.ticket_id: ticket for ticket in (*stored, *self._tickets.changed())}
        return [t for t in known.values() if t.desk_id == desk_id and t.state in {"called", "serving"}]

    def planned_visit(self, visitor: str) -> Visit | None:
        """The one visit with a plan that a visitor has open."""
        if visitor not in self._by_visitor:
            raise NotLoaded(Wants(visitors={visitor}))
        visit_id = self._by_visitor[visitor]
        return None if visit_id is None else self.get(VISITS, visit_id)

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

    def is_over(self, day: Day) -> bool:
        """For those who came on it."""
        return day < self.day and self.may_end_days

    def has_ended(self, ticket: Ticket) -> bool:
        """Whether a later line took the place of the ticket's."""
        line = self.line(ticket.queue_id)
        return line.has_ended(ticket) and (self.may_end_days or ticket.day == line.day)

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
        if abs(ticket.sequence) > self._head.version:
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
        return None if answer is None or answer.expires_at <= self.ran_ms else answer

    def issued_to(self, asked: IssuedTo) -> list[int]:
        """When this mobile number was given its latest numbers here, the newest first."""
        if asked not in self._issued:
            raise NotLoaded(Wants(issued={asked}))
        unsaved = (t.issued_at for t in self._tickets.changed() if t.visitor == asked.visitor and self._is_new(t))
        return sorted([*unsaved, *self._issued[asked]], reverse=True)

    def has_history(self, queue_id: QueueId) -> bool:
        """Whether the queue ever gave a number, or was part of somebody's plan."""
        if queue_id not in self._has_history:
            raise NotLoaded(Wants(histories={queue_id}))
        planned = (stage.queue for visit in self._table(VISITS).changed() for stage in visit.plan)
        return (
            self._has_history[queue_id]
            or any(ticket.queue_id == queue_id for ticket in self._tickets.changed())
            or queue_id in planned
        )

    # What a load brings

    def absorb(self, wants: Wants, rows: Rows, *, depth: int) -> None:
        """Take in what a load brought; what was changed here meanwhile stays as it is."""
        self._tickets.absorb(wants.tickets, rows.tickets + rows.open + rows.ended + rows.waiting)
        for ticket in rows.open:
            if ticket.open_key is not None:
                self._by_open_key.setdefault(ticket.open_key, ticket.ticket_id)
        self._absorb_visits(wants, rows)
        for key in wants.places:
            self._stored_places[key] = rows.places.get(key, [])
        self._searches.update({search: rows.searches.get(search, []) for search in wants.searches})
        self._issued.update({asked: rows.issued.get(asked.visitor, []) for asked in wants.issued})
        self._has_history.update({queue_id: queue_id in rows.histories for queue_id in wants.histories})
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

    def _absorb_visits(self, wants: Wants, rows: Rows) -> None:
        """Those that were asked for by their visitor."""
        if not wants.visitors:
            return
        self._table(VISITS).absorb((), rows.planned)
        for visit in rows.planned:
            if visit.open_key is not None:
                self._by_visitor.setdefault(visit.open_key, visit.visit_id)
        for visitor in wants.visitors:
            self._by_visitor.setdefault(visitor, None)

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

    def _table(self, kind: Kind[K, R]) -> Table[K, R]:
        table = self._tables.get(kind)
        if table is None:
            if kind not in KINDS:
                raise LookupError(f"rows of the kind {kind.name} are never saved: it is not in KINDS")
            table = self._tables[kind] = Table(kind.key)
        return table

    def _is_new(self, ticket: Ticket) -> bool:
        return ticket.ticket_id not in self._tickets.stored

    def _unsaved_waiting(self, key: LineKey) -> list[Ticket]:
        return [t for t in self._tickets.changed() if t.state == "waiting" and t.line_key == key]
