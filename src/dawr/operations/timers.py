"""What a change of a ticket makes due: saved with it, and decided anew when it rings (`alarms.py`)."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dawr.domain import Alarm, AlarmKind, Queue, Ticket, Verb
from dawr.operations.rows import ALARMS, DESKS
from dawr.operations.transaction import Transaction

FREES_A_DESK: Final[frozenset[Verb]] = frozenset({"finish", "miss", "leave", "expire"})
SHOWS_THAT_PEOPLE_COME: Final[frozenset[Verb]] = frozenset({"start", "finish"})


def set_timers(tx: Transaction, verb: Verb, ticket: Ticket, now: int) -> None:
    """A queue without timers costs nothing here."""
    if verb not in SET_BY:
        return
    queue = tx.venue.queue(ticket.queue_id)
    if queue.miss_after is None and queue.hold_limit is None and queue.auto_call is None:
        return
    SET_BY[verb](tx, verb, queue, ticket, now)


def set_alarm(tx: Transaction, kind: AlarmKind, subject: str, due_at: int | None) -> None:
    tx.put(ALARMS, Alarm(tx.venue.id, kind, subject, due_at))


def _called(tx: Transaction, _: Verb, queue: Queue, ticket: Ticket, now: int) -> None:
    """A miss counts from the last call."""
    if queue.miss_after is not None:
        set_alarm(tx, "miss", ticket.ticket_id, now + queue.miss_after * 1000)


def _held(tx: Transaction, _: Verb, queue: Queue, ticket: Ticket, now: int) -> None:
    if queue.hold_limit is not None:
        set_alarm(tx, "hold", ticket.ticket_id, now + queue.hold_limit * 1000)


def _at_desk(tx: Transaction, verb: Verb, queue: Queue, ticket: Ticket, now: int) -> None:
    """Who came, or did not: the desk calls the next one by itself, until it seems that nobody sits there."""
    if queue.auto_call is None or ticket.desk_id is None:
        return
    if verb in FREES_A_DESK:
        set_alarm(tx, "call", ticket.desk_id, now + queue.auto_call * 1000)
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
