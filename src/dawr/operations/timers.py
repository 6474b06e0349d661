"""What a change of a ticket makes due: saved with it, and decided anew when it rings (`alarms.py`)."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dawr.domain import Alarm, AlarmKind, DeskId, Queue, Ticket, Venue, Verb
from dawr.operations.rows import ALARMS, DESKS
from dawr.operations.transaction import Transaction

FREES_A_DESK: Final[frozenset[Verb]] = frozenset({"finish", "miss", "leave", "expire"})
SHOWS_THAT_PEOPLE_COME: Final[frozenset[Verb]] = frozenset({"start", "finish"})


def set_timers(tx: Transaction, verb: Verb, ticket: Ticket, now: int) -> None:
    """A queue without timers costs nothing here."""
    if verb in SET_BY:
        SET_BY[verb](tx, verb, tx.venue.queue(ticket.queue_id), ticket, now)


def set_alarm(tx: Transaction, kind: AlarmKind, subject: str, due_at: int | None) -> None:
    tx.put(ALARMS, Alarm(tx.venue.id, kind, subject, due_at))


def _called(tx: Transaction, _: Verb, queue: Queue, ticket: Ticket, now: int) -> None:
    """A miss counts from the last call."""
    if queue.miss_after is not None:
        set_alarm(tx, "miss", ticket.ticket_id, now + queue.miss_after * 1000)


def _held(tx: Transaction, _: Verb, queue: Queue, ticket: Ticket, now: int) -> None:
    if queue.hold_limit is not None:
        set_alarm(tx, "hold", ticket.ticket_id, now + queue.hold_limit * 1000)


def call_after(tx: Transaction, desk_id: DeskId, now: int) -> None:
    """The desk calls by itself after the shortest time that one of its queues says."""
    seconds = _auto_call(tx.venue, desk_id)
    if seconds is not None:
        set_alarm(tx, "call", desk_id, now + seconds * 1000)


def take_back_miss(tx: Transaction, desk_id: DeskId) -> None:
    """Somebody did not miss their call there after all."""
    if _auto_call(tx.venue, desk_id) is None:
        return
    desk = tx.find(DESKS, desk_id)
    if desk is not None and desk.misses:
        tx.put(DESKS, msgspec.structs.replace(desk, misses=desk.misses - 1))


def _auto_call(venue: Venue, desk_id: DeskId) -> int | None:
    codes = [code for desk in venue.desks if desk.id == desk_id for code in desk.queues]
    return min((seconds for code in codes if (seconds := venue.queue(code).auto_call) is not None), default=None)


def _at_desk(tx: Transaction, verb: Verb, _: Queue, ticket: Ticket, now: int) -> None:
    """Who came, or did not: the desk calls the next one by itself, until it seems that nobody sits there."""
    if ticket.desk_id is None or _auto_call(tx.venue, ticket.desk_id) is None:
        return
    if verb in FREES_A_DESK:
        call_after(tx, ticket.desk_id, now)
    desk = tx.find(DESKS, ticket.desk_id)
    if desk is None:
        return
    if verb == "miss":
        tx.put(DESKS, msgspec.structs.replace(desk, misses=desk.misses + 1))
    elif verb in SHOWS_THAT_PEOPLE_COME and desk.misses:
        tx.put(DESKS, msgspec.structs.replace(desk, misses=0))


SET_BY: Final[Mapping[Verb, Callable[[Transaction, Verb, Queue, Ticket, int], None]]] = {
    "call": _called,
    "recall": _called,
    "hold": _held,
    **dict.fromkeys(FREES_A_DESK | SHOWS_THAT_PEOPLE_COME, _at_desk),
}
