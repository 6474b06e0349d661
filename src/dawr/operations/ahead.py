"""How many people are called before one: counted from what is stored, and from what this batch changed since."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from dawr.domain import Line, Place, Ticket, TicketId


def ahead_of_new_place(ticket: Ticket, line: Line, unsaved: Iterable[Ticket]) -> int:
    """A place taken in this batch is the first or the last of its priority, but for others taken in it."""
    alike = [other.sequence for other in unsaved if other.priority == ticket.priority]
    if ticket.sequence < 0:
        before = sum(sequence < ticket.sequence for sequence in alike)
        return line.ahead_of_newcomer(ticket.priority + 1) + before
    return line.ahead_of_newcomer(ticket.priority) - sum(sequence >= ticket.sequence for sequence in alike)


def ahead_of_stored_place(
    ticket: Ticket, places: Sequence[Place], touched: Iterable[Ticket], stored: Mapping[TicketId, Ticket]
) -> int:
    """Those who stood before it when the batch began, and how many more do since."""
    more = 0
    for other in touched:
        if other.line_key == ticket.line_key:
            before = stored.get(other.ticket_id)
            more += _is_ahead(other, ticket) - (before is not None and _is_ahead(before, ticket))
    return bisect_left(places, ticket.place) + more


def _is_ahead(other: Ticket, ticket: Ticket) -> bool:
    return other.state == "waiting" and other.place < ticket.place
