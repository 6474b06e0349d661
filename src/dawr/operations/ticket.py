"""How a verb changes a ticket, and where a ticket stands. Shared by visitors and staff."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Generic

from dawr.domain import Link, More, Queue, Standing, Ticket, TicketId, Venue, Verb, Visit
from dawr.domain.errors import LineEnded, TicketInWrongState, UnknownVisit
from dawr.domain.events import NOTHING_MORE
from dawr.domain.standing import wait_minutes
from dawr.operations import journeys
from dawr.operations.operation import Operation, R
from dawr.operations.rows import VISITS
from dawr.operations.timers import set_timers
from dawr.operations.transaction import Transaction
from dawr.ports import Wants

VERBS_OF_A_CURRENT_LINE: frozenset[Verb] = frozenset({"call", "rejoin", "hold", "resume", "prioritize"})
"""Who waits in a line that has ended will not be called any more."""


class Joined(Standing, frozen=True):
    """Where a ticket stands, and how its visitor joined."""

    already: bool = False
    """The visitor had this ticket before; no number was given."""
    reserve_mode: bool = False
    """The number is beyond the day's capacity."""
    current: int | None = None
    """The number that its line called last."""


class OfTicket(Operation[R], Generic[R], frozen=True):
    """What is done with one ticket, which is named."""

    ticket_id: TicketId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.tickets.add(self.ticket_id)


class OneVerb(OfTicket[Ticket], frozen=True):
    """A verb that needs nothing but its ticket."""

    verb: ClassVar[Verb]

    def decide(self, tx: Transaction, now: int) -> Ticket:
        return change(tx, self.ticket_id, self.verb, now)


def change(
    tx: Transaction,
    ticket_id: TicketId,
    verb: Verb,
    now: int,
    *,
    more: More = NOTHING_MORE,
    for_good: bool = False,
    undone_to: Ticket | None = None,
    **facts: str | int | None,
) -> Ticket:
    """Let a verb happen to a ticket, and to its visit and its timers what follows from it."""
    before = tx.ticket(ticket_id)
    current = tx.line(before.queue_id).current_number if verb == "call" else None
    with desk_named(tx.venue):
        after = before.after(verb, now, current=current, undone_to=undone_to, **facts)
    if verb in VERBS_OF_A_CURRENT_LINE and tx.line(before.queue_id).key != before.line_key:
        raise LineEnded(before.label, verb)
    if after.open_key is None:
        changed = journeys.end(tx, verb, before, after, now, more=more, for_good=for_good)
    else:
        changed = tx.record(verb, after, before=before, more=more)
    set_timers(tx, verb, changed, now)
    return changed


@contextmanager
def desk_named(venue: Venue) -> Iterator[None]:
    """Whoever is refused because a desk has the visitor is told what people call that desk."""
    try:
        yield
    except TicketInWrongState as refusal:
        names = [desk.name for desk in venue.desks if desk.id == refusal.facts.get("desk")]
        if names:
            refusal.facts = {**refusal.facts, "desk_name": names[0]}
        raise


def visit_behind(tx: Transaction, link: Link) -> Visit:
    """A wrong secret is as if there were no visit."""
    visit = tx.get(VISITS, link.visit_id)
    if not link.opens(visit):
        raise UnknownVisit
    return visit


def ticket_behind(tx: Transaction, link: Link) -> Ticket:
    """The ticket that a visit has come to."""
    visit = visit_behind(tx, link)
    if visit.ticket_id is None:
        raise UnknownVisit
    return tx.ticket(visit.ticket_id)


def standing_of(tx: Transaction, ticket: Ticket) -> Joined:
    return joined(tx, tx.venue.queue(ticket.queue_id), ticket, ahead=tx.ahead_of(ticket))


def joined(tx: Transaction, queue: Queue, ticket: Ticket, *, ahead: int, already: bool = False) -> Joined:
    line = tx.line_at(ticket.line_key)
    return Joined(
        queue,
        ticket,
        ahead,
        wait_minutes(queue, line, ahead),
        already=already,
        reserve_mode=queue.capacity is not None and line.place_of(ticket.number) > queue.capacity,
        current=line.current_number,
    )
