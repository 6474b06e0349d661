"""What a visitor can do in one queue: take a number, leave, come back after a missed call."""

from typing import ClassVar, Literal

import msgspec

from dawr.domain import Queue, QueueCode, Ticket, TicketId, Venue, Verb, Visit, VisitId, Why
from dawr.domain.errors import InvalidValue, JoinedTooOften
from dawr.domain.events import NOTHING_MORE
from dawr.domain.ticket import LARGEST_PARTY, LONGEST_VISITOR, PRIORITIES, checked_text, checked_visitor, open_key
from dawr.domain.visit import checked_note
from dawr.operations import journeys
from dawr.operations.operation import Operation
from dawr.operations.overtaking import overtaking
from dawr.operations.rows import VISITS
from dawr.operations.ticket import Joined, OfTicket, OneVerb, change, joined, standing_of
from dawr.operations.transaction import Transaction
from dawr.ports import IssuedTo, Wants

HOUR_MS = 60 * 60 * 1000


class Issue(Operation[Joined], frozen=True):
    """Take a number. A visitor who has an open ticket in this line already gets that ticket.

    A restaurant limits the tickets of one mobile number within an hour. A caller who only guesses a name meets the same
    refusals whether its visitor has a ticket or not.
    """

    queue: QueueCode
    visitor: str | None
    """None: nobody in particular, so every request is somebody new."""
    ticket_id: TicketId
    visit_id: VisitId
    secret_hash: str
    priority: int = 0
    name: str | None = None
    party_size: int = 1
    area: str | None = None
    why: Why = "other"
    """Of somebody with priority: why they overtake."""
    most_per_hour: int | None = None
    """Of one mobile number. None: as many as they like."""
    note: str | None = None
    """What staff should know."""
    by_staff: bool = False
    """Staff find the visitor's ticket, also where nobody can join."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        queue = venue.queue(self.queue)
        wants.current_lines.add(queue.id)
        wants.open_keys.add(open_key(queue.id, self._name()))
        if self.most_per_hour is not None and self._is_counted(venue):
            wants.issued.add(IssuedTo(self._name(), self.most_per_hour))

    def decide(self, tx: Transaction, now: int) -> Joined:
        queue, visitor = tx.venue.queue(self.queue), self._name()
        self._check_input()
        held = tx.open_ticket(open_key(queue.id, visitor))
        is_kept = held is not None and self._keeps(tx, held)
        if held is not None and is_kept and not self._is_secret(tx.venue, held):
            return _with_held_ticket(tx, queue, held, now)
        tx.venue.must_be_active()
        queue.must_take_people(now, zone=tx.venue.zone)
        if held is not None and is_kept:
            tx.line(queue.id).with_next_number(queue)  # a full queue refuses them like a visitor who is not here
            return _with_held_ticket(tx, queue, held, now)
        if self.most_per_hour is not None and self._is_counted(tx.venue):
            _must_not_be_too_often(tx, IssuedTo(visitor, self.most_per_hour), now)
        if held is not None:
            journeys.end(tx, "expire", held, held.after("expire", now), now)
        return self._issue(tx, queue, visitor, now)

    def _check_input(self) -> None:
        """Refuse invalid fields before the visitor is looked up."""
        if not 0 <= self.priority < PRIORITIES:
            raise InvalidValue("priority", "range", least=0, most=PRIORITIES - 1)
        if not 1 <= self.party_size <= LARGEST_PARTY:
            raise InvalidValue("party_size", "range", least=1, most=LARGEST_PARTY)
        if self.name is not None:
            checked_text(self.name, field="name", most=LONGEST_VISITOR)
        checked_note(self.note)

    def _is_secret(self, venue: Venue, held: Ticket) -> bool:
        """Return whether a caller who only knows the name must not learn that its visitor is here."""
        return not self.by_staff and (held.is_planned or self._is_counted(venue))

    def _issue(self, tx: Transaction, queue: Queue, visitor: str, now: int) -> Joined:
        line = tx.line(queue.id).with_next_number(queue)
        visit = Visit(
            tx.venue.id,
            self.visit_id,
            self.secret_hash,
            visitor,
            "open",
            now,
            ticket_id=self.ticket_id,
            note=checked_note(self.note),
        )
        if self.priority:
            visit = msgspec.structs.replace(visit, priority=self.priority, why=self.why)
        tx.put(VISITS, visit)
        ticket = Ticket(
            venue_id=tx.venue.id,
            ticket_id=self.ticket_id,
            queue_id=queue.id,
            day=line.day,
            round=line.round,
            number=line.last_number,
            label=queue.label(line.last_number),
            priority=self.priority,
            sequence=tx.next_version,
            version=tx.next_version,
            state="waiting",
            visitor=visitor,
            open_key=open_key(queue.id, visitor),
            visit_id=self.visit_id,
            issued_at=now,
            name=None if self.name is None else checked_text(self.name, field="name", most=LONGEST_VISITOR),
            party_size=self.party_size,
            area=self.area,
        )
        ahead = line.ahead_of_newcomer(self.priority)
        more = overtaking(tx, self.why, line.people_waiting - ahead) if self.priority else NOTHING_MORE
        return joined(tx, queue, tx.record("issue", ticket, line=line, more=more), ahead=ahead)

    def _keeps(self, tx: Transaction, held: Ticket) -> bool:
        """Whether the visitor's open ticket is still good."""
        return not tx.has_ended(held)

    def _is_counted(self, venue: Venue) -> bool:
        """A restaurant knows its visitors by their mobile numbers, and only those begin with a plus."""
        return venue.kind == "restaurant" and self._name().startswith("+")

    def _name(self) -> str:
        return self.visit_id if self.visitor is None else checked_visitor(self.visitor)


def _with_held_ticket(tx: Transaction, queue: Queue, held: Ticket, now: int) -> Joined:
    """Return where the visitor stands with the number they have. A visitor who missed their call rejoins, last."""
    if held.state == "missed":
        held = change(tx, held.ticket_id, "rejoin", now, sequence=tx.next_version, desk_id=None)
    return joined(tx, queue, held, ahead=tx.ahead_of(held), already=True)


def _must_not_be_too_often(tx: Transaction, counted: IssuedTo, now: int) -> None:
    """The hour slides: there is room again an hour after the first of the latest so many.

    What was given more than a day from now was given while a clock was ahead.
    """
    mobile, most = counted
    issued = [at for at in tx.issued_to(counted) if at < now + 24 * HOUR_MS]
    again_ms = issued[most - 1] + HOUR_MS - now if len(issued) >= most else 0
    if again_ms > 0:
        raise JoinedTooOften(mobile, most, again_seconds=-(-min(again_ms, HOUR_MS) // 1000))


class Join(Issue, frozen=True):
    """Take a number where a missed call is final: whoever missed theirs and comes back gets a new one."""

    def _keeps(self, tx: Transaction, held: Ticket) -> bool:
        return held.state != "missed" and super()._keeps(tx, held)

    def _is_counted(self, venue: Venue) -> bool:
        """Whoever joins does so by their mobile number."""
        return True


class Leave(OneVerb, frozen=True):
    """Give the place up."""

    verb: ClassVar[Verb] = "leave"


class Rejoin(OfTicket[Joined], frozen=True):
    """Come back after a missed call: to the front of the line, or to its end."""

    where: Literal["first", "last"] = "last"
    why: Why = "returned"
    """Of those who come back to the front: why they overtake."""

    def decide(self, tx: Transaction, now: int) -> Joined:
        return self.rejoin(tx, now)

    def rejoin(self, tx: Transaction, now: int, *, undone_to: Ticket | None = None) -> Joined:
        sequence, more = tx.next_version, NOTHING_MORE
        if self.where == "first":
            ticket = tx.ticket(self.ticket_id)
            alike = tx.line(ticket.queue_id).waiting[ticket.priority]
            sequence, more = -tx.next_version, overtaking(tx, self.why, alike)
        changed = change(
            tx, self.ticket_id, "rejoin", now, more=more, undone_to=undone_to, sequence=sequence, desk_id=None
        )
        return standing_of(tx, changed)
