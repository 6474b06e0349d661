"""Desks: opened by whoever sits there, on a break until, closed. Rows of their own: a new set-up leaves them alone."""

import msgspec

from dawr.domain import Day, Desk, DeskNow, Line, QueueId, Ticket, Venue
from dawr.domain.desk import checked_break, closed
from dawr.operations.operation import Operation, View
from dawr.operations.pins import make_pins
from dawr.operations.rows import DESKS, PINS
from dawr.operations.staff import paused_among
from dawr.operations.timers import call_after, set_alarm
from dawr.operations.transaction import Transaction
from dawr.ports import Search, Wants

LATEST_CALLS = 6


class _OfDesk(Operation[DeskNow], frozen=True):
    desk: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(DESKS)


class OpenDesk(_OfDesk, frozen=True):
    """Sit down, or come back. Whoever sat there before gives way. Its queues have their PINs from now on."""

    chance: str = ""

    def wants(self, venue: Venue, wants: Wants) -> None:
        super().wants(venue, wants)
        wants.add(PINS)

    def decide(self, tx: Transaction, now: int) -> DeskNow:
        desk, before = _desk(tx, self.desk)
        make_pins(tx, desk.queues, self.chance, now)
        if before.state == "open" and before.occupant == tx.origin.actor and not before.misses:
            return before
        return put_open(tx, desk, tx.origin.actor, now)


class BreakDesk(_OfDesk, frozen=True):
    """Nobody is called there until then, and nobody is missed."""

    until: int

    def decide(self, tx: Transaction, now: int) -> DeskNow:
        desk, before = _desk(tx, self.desk)
        until = checked_break(self.until, now)
        occupant = before.occupant if before.state != "closed" else tx.origin.actor
        now_on_break = DeskNow(tx.venue.id, desk.id, "break", occupant, now, until)
        tx.put(DESKS, now_on_break)
        set_alarm(tx, "break", desk.id, until)
        set_alarm(tx, "close", desk.id, tx.venue.end_of(tx.day))
        tx.happened("desk.on_break", None, desk=desk.id, state="break", until=until)
        return now_on_break


class CloseDesk(_OfDesk, frozen=True):
    def decide(self, tx: Transaction, now: int) -> DeskNow:
        desk, before = _desk(tx, self.desk)
        return before if before.state == "closed" else put_closed(tx, desk, now)


class VenueSnapshot(msgspec.Struct, frozen=True):
    """All of a venue's queues and desks at one moment, in the order of its set-up."""

    venue: Venue
    now: int
    day: Day
    lines: list[Line]
    desks: list[DeskNow]
    calls: list[Ticket]
    """The latest in all queues, the last one first."""


class LookAtVenueNow(View[VenueSnapshot], frozen=True):
    most_calls: int = LATEST_CALLS

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.update(queue.id for queue in venue.queues)
        if venue.desks:
            wants.add(DESKS)

    def look(self, tx: Transaction, now: int) -> VenueSnapshot:
        return VenueSnapshot(
            tx.venue,
            now,
            tx.day,
            [tx.line(queue.id) for queue in tx.venue.queues],
            [desk_now(tx, desk) for desk in tx.venue.desks],
            [call for call in tx.search(Search("called", (tx.day, self.most_calls))) if _is_of_this_round(tx, call)],
        )


def _is_of_this_round(tx: Transaction, call: Ticket) -> bool:
    """After a reset the same number waits again; a queue may have been removed."""
    return any(queue.id == call.queue_id and tx.line(queue.id).key == call.line_key for queue in tx.venue.queues)


class DeskSnapshot(msgspec.Struct, frozen=True):
    desk: DeskNow
    here: list[Ticket]
    """Who was called there or is being served."""
    waiting: int
    """In all of its queues, paused or not."""
    paused: tuple[QueueId, ...]
    """Those of its queues that nobody is called from now."""


class LookAtDesk(View[DeskSnapshot], frozen=True):
    desk: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(DESKS)
        wants.current_lines.update(venue.desk(self.desk).queues)

    def look(self, tx: Transaction, now: int) -> DeskSnapshot:
        desk, seen = _desk(tx, self.desk)
        queues = [tx.venue.queue(code) for code in desk.queues]
        waiting = sum(tx.line(queue.id).people_waiting for queue in queues)
        return DeskSnapshot(seen, tx.at_desk(desk.id), waiting, paused_among(queues))


def desk_now(tx: Transaction, desk: Desk) -> DeskNow:
    return tx.find(DESKS, desk.id) or closed(tx.venue.id, desk.id)


def put_open(tx: Transaction, desk: Desk, occupant: str | None, now: int) -> DeskNow:
    opened = DeskNow(tx.venue.id, desk.id, "open", occupant, now)
    tx.put(DESKS, opened)
    set_alarm(tx, "close", desk.id, tx.venue.end_of(tx.day))
    call_after(tx, desk.id, now)
    tx.happened("desk.opened", None, desk=desk.id, state="open", by=occupant)
    return opened


def put_closed(tx: Transaction, desk: Desk, now: int) -> DeskNow:
    done = DeskNow(tx.venue.id, desk.id, "closed", None, now)
    tx.put(DESKS, done)
    tx.happened("desk.closed", None, desk=desk.id, state="closed")
    return done


def _desk(tx: Transaction, code: str) -> tuple[Desk, DeskNow]:
    desk = tx.venue.desk(code)
    return desk, desk_now(tx, desk)
