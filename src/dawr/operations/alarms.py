"""What the clock does when something is due. Each is decided anew when it rings: what is no longer so is left alone.

Safe to ring twice: the first ring puts the alarm out, in the change that it makes.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from dawr.domain import AlarmKey, AlarmKind, Queue, TicketId, Venue, VisitId
from dawr.domain.day import service_day
from dawr.domain.desk import MOST_MISSES
from dawr.domain.errors import NotFound
from dawr.operations import desks, journeys
from dawr.operations.operation import Operation, View
from dawr.operations.rows import ALARMS, DESKS, VISITS
from dawr.operations.staff import CallNext
from dawr.operations.ticket import change
from dawr.operations.timers import call_after, set_alarm
from dawr.operations.transaction import Transaction
from dawr.operations.visits import enter, expire_visit
from dawr.ports import Wants


class Ring(Operation[bool], frozen=True):
    """Do what is due. False: it was done before."""

    kind: AlarmKind
    subject: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(ALARMS, AlarmKey(self.kind, self.subject))

    def decide(self, tx: Transaction, now: int) -> bool:
        alarm = tx.find(ALARMS, AlarmKey(self.kind, self.subject))
        if alarm is None or alarm.due_at is None or alarm.due_at > now:
            return False
        set_alarm(tx, self.kind, self.subject, None)
        with suppress(NotFound):  # a desk or queue that the set-up has no more
            RINGS[self.kind](tx, self.subject, now)
        return True


class WindUp(Operation[bool], frozen=True):
    """See to it that the hours of every queue are kept: their next beginning or end is due."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(ALARMS, *(_hours_key(queue) for queue in venue.queues if queue.hours is not None))

    def decide(self, tx: Transaction, now: int) -> bool:
        unwound = [queue for queue in tx.venue.queues if _is_unwound(tx, queue)]
        for queue in unwound:
            _set_hours(tx, queue, now)
        return bool(unwound)


class IsUnwound(View[bool], frozen=True):
    """Whether `WindUp` has something to do."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(ALARMS, *(_hours_key(queue) for queue in venue.queues if queue.hours is not None))

    def look(self, tx: Transaction, now: int) -> bool:
        return any(_is_unwound(tx, queue) for queue in tx.venue.queues)


def _miss(tx: Transaction, ticket_id: str, now: int) -> None:
    """Who was called and did not come. Not while the desk that called them is on a break."""
    ticket = tx.ticket(TicketId(ticket_id))
    queue = tx.venue.queue(ticket.queue_id)
    if ticket.state != "called" or queue.miss_after is None:
        return
    desk = None if ticket.desk_id is None else tx.find(DESKS, ticket.desk_id)
    if desk is not None and desk.state == "break" and desk.until is not None and desk.until > now:
        set_alarm(tx, "miss", ticket_id, desk.until + queue.miss_after * 1000)
        return
    change(tx, ticket.ticket_id, "miss", now)


def _release(tx: Transaction, ticket_id: str, now: int) -> None:
    """Who was held for long enough may be called again, at the place they had."""
    ticket = tx.ticket(TicketId(ticket_id))
    if ticket.state == "held" and tx.line(ticket.queue_id).key == ticket.line_key:
        change(tx, ticket.ticket_id, "resume", now)


def _end_break(tx: Transaction, desk_id: str, now: int) -> None:
    """Whoever sat there sits there again, if it is still their day."""
    desk = tx.venue.desk(desk_id)
    before = desks.desk_now(tx, desk)
    if before.state != "break" or (before.until or 0) > now:
        return
    began_on = service_day(before.since, zone=tx.venue.zone, day_start=tx.venue.day_start)
    if tx.is_over(began_on):
        desks.put_closed(tx, desk, now)
    else:
        desks.put_open(tx, desk, before.occupant, now)


def _close(tx: Transaction, desk_id: str, now: int) -> None:
    """Nobody sits at a desk over night."""
    desk = tx.venue.desk(desk_id)
    if desks.desk_now(tx, desk).state != "closed":
        desks.put_closed(tx, desk, now)


def _call(tx: Transaction, desk_id: str, now: int) -> None:
    """To an open desk with nobody at it, whose staff seem to be there."""
    desk = tx.venue.desk(desk_id)
    there = desks.desk_now(tx, desk)
    if there.state != "open" or there.misses >= MOST_MISSES or tx.at_desk(desk.id):
        return
    calling = [queue for code in desk.queues if (queue := tx.venue.queue(code)).auto_call and queue.state != "paused"]
    for queue in calling:
        tx.first_waiting(queue.id)  # all are loaded before anybody is called
    first = min(
        (ticket for queue in calling if (ticket := tx.first_waiting(queue.id)) is not None),
        key=lambda ticket: ticket.place,
        default=None,
    )
    if first is None:
        call_after(tx, desk.id, now)
    else:
        CallNext(desk.id, first.queue_id).decide(tx, now)


def _enter(tx: Transaction, visit_id: str, now: int) -> None:
    """A stage that nothing took: something may by now. At the day's end the visit ends."""
    visit = tx.get(VISITS, VisitId(visit_id))
    if not visit.is_open or visit.current is not None:
        return
    if journeys.is_over(tx, visit):
        expire_visit(tx, visit, now)
    else:
        enter(tx, visit, now)


def _hours(tx: Transaction, queue_id: str, now: int) -> None:
    """Recorded, for who reads the history; whether a queue gives numbers is computed whenever it is asked."""
    queue = tx.venue.queue(queue_id)
    if queue.hours is None:
        return
    is_open = queue.is_within_hours(now, zone=tx.venue.zone)
    tx.happened("queue.hours_began" if is_open else "queue.hours_ended", queue.id)
    _set_hours(tx, queue, now)


RINGS: Final[Mapping[AlarmKind, Callable[[Transaction, str, int], None]]] = {
    "miss": _miss,
    "hold": _release,
    "break": _end_break,
    "close": _close,
    "call": _call,
    "enter": _enter,
    "hours": _hours,
}


def _hours_key(queue: Queue) -> AlarmKey:
    return AlarmKey("hours", queue.id)


def _is_unwound(tx: Transaction, queue: Queue) -> bool:
    if queue.hours is None or queue.hours.next_change(tx.now, zone=tx.venue.zone) is None:
        return False
    alarm = tx.find(ALARMS, _hours_key(queue))
    return alarm is None or alarm.due_at is None


def keep_hours(tx: Transaction, now: int) -> None:
    """The set-up is another one: so may be the hours."""
    for queue in tx.venue.queues:
        _set_hours(tx, queue, now)


def _set_hours(tx: Transaction, queue: Queue, now: int) -> None:
    due_at = None if queue.hours is None else queue.hours.next_change(now, zone=tx.venue.zone)
    if due_at is not None:
        set_alarm(tx, "hours", queue.id, due_at)
