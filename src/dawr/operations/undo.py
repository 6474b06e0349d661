"""Take back what happened last to a ticket: it, its line's counts and its visit are as they were.

Only the latest change, within a while, and only while nobody has built on it: what was given to somebody else since
stays theirs. Staff undo anything; whoever holds a visit's link, that they left.
"""

from collections.abc import Mapping
from typing import Final

from dawr.domain import AlarmKey, AlarmKind, Link, More, State, Ticket, Venue, Verb, Visit
from dawr.domain.errors import CannotUndo, ChangedSince, LineEnded, PlaceTaken, UndoTooLate
from dawr.domain.events import NOTHING_MORE
from dawr.domain.ticket import STATES_AT_A_DESK
from dawr.domain.visit import LEAVING_UNDONE_WITHIN_SECONDS
from dawr.operations import journeys
from dawr.operations.operation import Operation
from dawr.operations.rows import ALARMS, VISITS
from dawr.operations.ticket import OfTicket, change, visit_behind
from dawr.operations.timers import call_after, set_alarm, set_timers, take_back_miss
from dawr.operations.transaction import Transaction
from dawr.operations.visits import Whereabouts, whereabouts
from dawr.ports import Search, Wants

MS_PER_MINUTE: Final = 60_000
BEGUN_AGAIN: Final[Mapping[State, Verb]] = {"called": "call", "held": "hold"}
"""States that a timer ends: whom staff put into one again has its whole time again."""
ENDED_BY: Final[Mapping[State, AlarmKind]] = {"called": "miss", "held": "hold"}


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
        if now - ticket.changed_at > self.within_minutes * MS_PER_MINUTE:
            raise UndoTooLate(ticket.label, minutes=self.within_minutes)
        undone = _take_back(tx, ticket, now)
        _begin_timers_again(tx, ticket, undone, now)
        return undone


class UndoLeave(Operation[Whereabouts], frozen=True):
    """Take back leaving, by whoever left by the visit's secret link a moment ago. What staff ended stays ended."""

    link: Link

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(VISITS, self.link.visit_id)

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        visit = visit_behind(tx, self.link)
        ticket = None if visit.ticket_id is None else tx.ticket(visit.ticket_id)
        label = None if ticket is None else ticket.label
        if visit.left_by_link is None:
            raise CannotUndo(label)
        if visit.undo_until(now) is None:
            raise UndoTooLate(label, seconds=LEAVING_UNDONE_WITHIN_SECONDS)
        if ticket is not None and ticket.version == visit.left_by_link:
            _return(tx, ticket, now)
        else:
            _come_back(tx, visit, visit.left_by_link, label, now)
        return whereabouts(tx, tx.get(VISITS, visit.visit_id), now)


def _take_back(tx: Transaction, ticket: Ticket, now: int) -> Ticket:
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
    return undone


def _return(tx: Transaction, ticket: Ticket, now: int) -> None:
    """As if they had stayed: no timer begins again.

    A desk that has called somebody else since does not get them back: they wait at the place they had.
    """
    restored, _ = ticket.before()
    desk_id = restored.desk_id if restored.state in STATES_AT_A_DESK else None
    timer = _timer(restored)
    tx.must_have(
        rows={} if timer is None else {ALARMS: {timer}},
        searches=[] if desk_id is None else [Search("at_desk", (desk_id,))],
    )
    left_at = ticket.left_at or 0
    is_taken = desk_id is not None and any((other.called_at or 0) >= left_at for other in tx.at_desk(desk_id))
    undone = _take_back(tx, ticket, now)
    if is_taken:
        change(tx, undone.ticket_id, "hold", now, desk_id=None)
        change(tx, undone.ticket_id, "resume", now)
    elif timer is not None:
        _go_on_with(tx, timer, undone)


def _timer(ticket: Ticket) -> AlarmKey | None:
    kind = ENDED_BY.get(ticket.state)
    return None if kind is None else AlarmKey(kind, ticket.ticket_id)


def _go_on_with(tx: Transaction, timer: AlarmKey, undone: Ticket) -> None:
    """What rang while they were away is due now."""
    alarm = tx.find(ALARMS, timer)
    if alarm is None or alarm.due_at is not None:
        return
    begun_at = undone.held_at if undone.state == "held" else max(undone.called_at or 0, undone.recalled_at or 0)
    set_timers(tx, BEGUN_AGAIN[undone.state], undone, begun_at or 0)


def _begin_timers_again(tx: Transaction, ticket: Ticket, undone: Ticket, now: int) -> None:
    if ticket.desk_id is not None and undone.desk_id is None:
        call_after(tx, ticket.desk_id, now)
    if "miss" in ticket.latest_verbs and undone.desk_id is not None:
        take_back_miss(tx, undone.desk_id)
    if undone.state in BEGUN_AGAIN:
        set_timers(tx, BEGUN_AGAIN[undone.state], undone, now)


def _must_have_room(tx: Transaction, ticket: Ticket, restored: Ticket) -> None:
    if tx.has_ended(restored):
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
    restored = _restored(tx, visit, ticket.version, ticket.label)
    if visit.ticket_id is not None and visit.ticket_id != restored.ticket_id:
        _give_up(tx, ticket, tx.ticket(visit.ticket_id), now)
    return restored


def _restored(tx: Transaction, visit: Visit, version: int, label: str | None) -> Visit:
    restored = visit.restored(version)
    if restored is None:
        raise PlaceTaken(label, "visit-changed")
    if restored.open_key is not None and restored.open_key != visit.open_key:
        other = tx.planned_visit(restored.open_key)
        if other is not None:
            raise PlaceTaken(label, "another-visit")
    return restored


def _come_back(tx: Transaction, visit: Visit, version: int, label: str | None, now: int) -> None:
    """A visit that stood in no queue when its visitor left: the clock looks at once what can be entered."""
    restored = _restored(tx, visit, version, label)
    journeys.must_be_under_way(tx, restored, "undo")
    tx.put_visit(restored)
    set_alarm(tx, "enter", visit.visit_id, now)
    journeys.tell(tx, restored, "visit.returned")


def _give_up(tx: Transaction, ticket: Ticket, following: Ticket, now: int) -> None:
    if following.state != "waiting" or following.previous is not None:
        raise PlaceTaken(ticket.label, "moved-on", state=following.state, queue=following.queue_id)
    if following.from_ticket_id != ticket.ticket_id:
        raise PlaceTaken(ticket.label, "had-number", other=following.label)
    tx.must_have(lines=[following.line_key])
    tx.record("leave", following.after("leave", now), before=following)
