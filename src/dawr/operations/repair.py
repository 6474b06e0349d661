"""What brings a venue back to today, once a clock had been ahead: its day, its lines, and who waits in them.

Nobody who waits loses their place. What was given on a day ahead becomes later rounds of today. Where people waited
today before that, their line goes on, and who took a number on a day ahead follows behind them with a new one.
"""

from itertools import groupby
from typing import ClassVar, Final, NamedTuple

import msgspec

from dawr.domain import Day, Line, LineKey, More, QueueId, Ticket, Venue
from dawr.domain.errors import CannotRepairDay
from dawr.domain.line import ENDED_BY_A_RESET
from dawr.domain.ticket import PRIORITIES, successor
from dawr.operations.alarms import keep_hours
from dawr.operations.operation import Operation
from dawr.operations.rows import VISITS
from dawr.operations.timers import set_timers
from dawr.operations.transaction import Transaction
from dawr.ports import Search, Wants

MOST_DAYS: Final = 7
"""On more days than this no clock was ahead: it is behind now."""
MOST_CARRIED: Final = 10_000
"""Of one line, in one transaction."""
WAITS: Final = " ".join(sorted(ENDED_BY_A_RESET))


class Carried(NamedTuple):
    """Somebody who has another number now."""

    queue_id: QueueId
    before: str
    label: str


class Repaired(msgspec.Struct, frozen=True):
    day: Day
    before: Day
    carried: list[Carried]


class RepairDay(Operation[Repaired | None], frozen=True):
    """Make today the venue's day again. None: its lines are others by now than those that were looked up."""

    alone: ClassVar[bool] = True
    epoch: int
    lines: tuple[LineKey, ...]
    """All of today and of days ahead."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.lines.update(self.lines)
        wants.current_lines.update(queue.id for queue in venue.queues)

    def decide(self, tx: Transaction, now: int) -> Repaired | None:
        today, before = tx.venue.today(now), tx.day
        self._must_be_ahead(tx, today)
        if not all(self._knows(tx, tx.line(queue.id)) for queue in tx.venue.queues):
            return None
        ways = [WayBack(lines, today) for lines in self._by_queue(tx) if lines[-1].day > today]
        carried = [ticket for way in ways for key in way.carried for ticket in _waiting(tx, key)]
        tx.must_have(tickets=[t.ticket_id for t in carried], rows={VISITS: {t.visit_id for t in carried}})
        lines = {key: line for way in ways for key, line in way.lines.items()}
        tx.go_back_to(today, self.epoch, lines)
        told = [_carry(tx, ticket, lines[ticket.line_key], now) for ticket in carried]
        tx.happened("venue.day_repaired", day=today, before=before, carried=len(told))
        keep_hours(tx, now)
        return Repaired(today, before, told)

    def _must_be_ahead(self, tx: Transaction, today: Day) -> None:
        days = {key.day for key in self.lines if key.day > today}
        if tx.day <= today:
            raise CannotRepairDay(tx.venue.slug, "not-ahead", day=tx.day)
        if len(days) > MOST_DAYS:
            raise CannotRepairDay(tx.venue.slug, "clock-behind", day=today, count=len(days))

    def _knows(self, tx: Transaction, line: Line) -> bool:
        """One that was made on the spot is not stored yet."""
        return line.day < tx.day or line.key in self.lines or line == Line(tx.venue.id, line.queue_id, tx.day, 1)

    def _by_queue(self, tx: Transaction) -> list[list[Line]]:
        queues = groupby(sorted(self.lines), key=lambda key: key.queue_id)
        return [[tx.line_at(key) for key in keys] for _, keys in queues]


class WayBack:
    """What becomes of one queue's lines of today and of days ahead, which come in their order."""

    def __init__(self, lines: list[Line], today: Day) -> None:
        ahead = [line for line in lines if line.day > today]
        latest = max((line for line in lines if line.day == today), key=lambda line: line.key, default=None)
        moved = ahead
        if latest is not None and latest.people_waiting + latest.held + latest.missed:
            moved = [*ahead, latest]
        rounds = 0 if latest is None else latest.round
        self.lines = {
            line.key: msgspec.structs.replace(line, day=today, round=rounds + at) for at, line in enumerate(moved, 1)
        }
        goes_on = moved[-1]
        if goes_on.day > today:
            used = 0 if latest is None else latest.used
            self.lines[goes_on.key] = _counted_anew(self.lines[goes_on.key], used)
        newest = {line.day: line.key for line in ahead}
        self.carried = [key for key in newest.values() if key != goes_on.key]
        """Lines whose people go on in another one; those of earlier rounds were ended by a reset."""


def _counted_anew(line: Line, used: int) -> Line:
    """What was given on a day ahead is no part of today's capacity, of which so much is used."""
    return msgspec.structs.replace(line, used_before=used + line.begins_behind - line.last_number)


def _waiting(tx: Transaction, key: LineKey) -> list[Ticket]:
    found = tx.search(Search("open", (*key, PRIORITIES, 0, WAITS, MOST_CARRIED + 1)))
    if len(found) > MOST_CARRIED:
        raise CannotRepairDay(tx.venue.slug, "too-many", queue=key.queue_id, count=MOST_CARRIED)
    return found


def _carry(tx: Transaction, stored: Ticket, line: Line, now: int) -> Carried:
    """A new number in the line that goes on, at the place that the visitor had."""
    before = msgspec.structs.replace(stored, day=line.day, round=line.round)
    tx.record("expire", before.after("expire", now), before=before)
    queue, target = tx.venue.queue(stored.queue_id), tx.line(stored.queue_id)
    target = msgspec.structs.replace(target, last_number=target.last_number + 1, used_before=target.used_before - 1)
    ticket = msgspec.structs.replace(
        stored,
        ticket_id=successor(stored.ticket_id, tx.venue.id, now, tx.next_version),
        day=target.day,
        round=target.round,
        number=target.last_number,
        label=queue.label(target.last_number),
        issued_at=min(stored.issued_at, now),
        from_ticket_id=stored.ticket_id,
        previous=None,
    )
    ticket = tx.record("issue", ticket, line=target, more=More(visit=stored.visit_id))
    if ticket.state == "held":
        set_timers(tx, "hold", ticket, now)
    _lead_to(tx, stored, ticket)
    return Carried(queue.id, stored.label, ticket.label)


def _lead_to(tx: Transaction, stored: Ticket, ticket: Ticket) -> None:
    """The visitor's link goes along."""
    visit = tx.find(VISITS, stored.visit_id)
    if visit is None or visit.ticket_id != stored.ticket_id:
        return
    at = next((at for at, stage in enumerate(visit.plan) if stage.ticket_id == stored.ticket_id), None)
    tx.put_visit(
        msgspec.structs.replace(visit, ticket_id=ticket.ticket_id, previous=None)
        if at is None
        else visit.entered(at, ticket)
    )
