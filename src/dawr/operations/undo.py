"""Take back what happened last to a ticket: it, its line's counts and its visit are as they were.

Only the latest change, within a while, and only while nobody has built on it: what was given to somebody else since
stays theirs.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from dawr.domain import More, State, Ticket, Verb, Visit
from dawr.domain.errors import CannotUndo, ChangedSince, LineEnded, PlaceTaken, UndoTooLate
from dawr.domain.events import NOTHING_MORE
from dawr.operations.rows import VISITS
from dawr.operations.ticket import OfTicket
from dawr.operations.timers import call_after, set_timers, take_back_miss
from dawr.operations.transaction import Transaction

MS_PER_MINUTE: Final = 60_000
BEGUN_AGAIN: Final[Mapping[State, Verb]] = {"called": "call", "held": "hold"}
"""States that a timer ends: whoever is in one again has its whole time again."""


class Undo(OfTicket[Ticket], frozen=True):
    version: int
    """Of the change: if it is not the latest any more, whoever asks has not seen what came since."""
    within_minutes: int = 10

    def decide(self, tx: Transaction, now: int) -> Ticket:
        ticket = tx.ticket(self.ticket_id)
        if ticket.version != self.version:
            raise ChangedSince(ticket.label, ticket.version)
        if ticket.previous is None or ticket.state == "expired":
            raise CannotUndo(ticket.label)
        if now - _changed_at(ticket) > self.within_minutes * MS_PER_MINUTE:
            raise UndoTooLate(ticket.label, self.within_minutes)
        restored, current = ticket.before()
        tx.must_have(
            lines=[ticket.line_key],
            rows={VISITS: {ticket.visit_id}},
            current_lines=[ticket.queue_id],
            open_keys=[] if restored.open_key is None else [restored.open_key],
        )
        _must_have_room(tx, ticket, restored)
        gone_on = tx.find(VISITS, ticket.visit_id)
        visit = _visit_before(tx, ticket, now) if _has_changed_its_visit(ticket, restored) else None
        line = tx.line_at(ticket.line_key).uncounting(ticket, restored, current)
        comes_back = visit is not None and gone_on is not None and visit.ticket_id != gone_on.ticket_id
        more = More(visit=ticket.visit_id) if comes_back else NOTHING_MORE
        undone = tx.rewrite("ticket.undone", ticket, restored, line, more=more)
        if visit is not None:
            tx.put_visit(visit)
        if ticket.desk_id is not None and restored.desk_id is None:
            call_after(tx, ticket.desk_id, now)
        if ticket.state == "missed" and ticket.desk_id is not None:
            take_back_miss(tx, ticket.desk_id)
        if restored.state in BEGUN_AGAIN:
            set_timers(tx, BEGUN_AGAIN[restored.state], undone, now)
        return undone


def _changed_at(ticket: Ticket) -> int:
    replaced = msgspec.json.decode(ticket.previous or "{}")
    stamps = [getattr(ticket, name) for name in replaced if name.endswith("_at")]
    return max((stamp for stamp in stamps if stamp is not None), default=ticket.issued_at)


def _must_have_room(tx: Transaction, ticket: Ticket, restored: Ticket) -> None:
    if tx.line(ticket.queue_id).has_ended(restored):
        raise LineEnded(ticket.label, "undo")
    if restored.open_key is not None:
        other = tx.open_ticket(restored.open_key)
        if other is not None and other.ticket_id != ticket.ticket_id:
            raise PlaceTaken(ticket.label, "another-number", other=other.label)


def _has_changed_its_visit(ticket: Ticket, before: Ticket) -> bool:
    """A ticket's end and another priority go along with the visit; all else leaves it alone."""
    return not ticket.is_open or ticket.state == before.state == "waiting"


def _visit_before(tx: Transaction, ticket: Ticket, now: int) -> Visit | None:
    """The visit as it was before the change. What it went on to is given up, its number used."""
    visit = tx.find(VISITS, ticket.visit_id)
    if visit is None:
        return None
    restored = visit.restored(ticket.version)
    if restored is None:
        raise PlaceTaken(ticket.label, "visit-changed")
    if restored.open_key is not None and restored.open_key != visit.open_key:
        other = tx.planned_visit(restored.open_key)
        if other is not None:
            raise PlaceTaken(ticket.label, "another-visit")
    if visit.ticket_id is not None and visit.ticket_id != restored.ticket_id:
        _give_up(tx, ticket, tx.ticket(visit.ticket_id), now)
    return restored


def _give_up(tx: Transaction, ticket: Ticket, following: Ticket, now: int) -> None:
    if following.state != "waiting" or following.previous is not None:
        raise PlaceTaken(ticket.label, "moved-on", state=following.state, queue=following.queue_id)
    if following.from_ticket_id != ticket.ticket_id:
        raise PlaceTaken(ticket.label, "had-number", other=following.label)
    tx.must_have(lines=[following.line_key])
    tx.record("leave", following.after("leave", now), before=following)
