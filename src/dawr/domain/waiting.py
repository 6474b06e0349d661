"""The first people of a line, in the order of calling.

Only the head of a long line is in memory. `Exhausted` says that more of it is needed;
it is never mistaken for an empty line, so nobody is skipped.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable

from dawr.domain.ticket import Place, Ticket, TicketId


class Exhausted(Exception):
    """Everybody in memory was taken, and more may wait."""


class Waiting:
    """All who wait, up to and including one place in the line; `up_to=None` is the whole line."""

    def __init__(self, tickets: Iterable[Ticket], *, up_to: Place | None) -> None:
        self._tickets = sorted(tickets, key=_place)
        self._up_to = up_to

    def first(self) -> Ticket | None:
        if self._tickets:
            return self._tickets[0]
        if self._up_to is None:
            return None
        raise Exhausted

    def add(self, ticket: Ticket) -> None:
        if self._up_to is None or ticket.place <= self._up_to:
            self._tickets.insert(bisect_left(self._tickets, ticket.place, key=_place), ticket)

    def remove(self, ticket: Ticket) -> None:
        at = bisect_left(self._tickets, ticket.place, key=_place)
        if at < len(self._tickets) and self._tickets[at].ticket_id == ticket.ticket_id:
            del self._tickets[at]


def overlaid(stored: list[Ticket], *, depth: int, touched: Container[TicketId], unsaved: Iterable[Ticket]) -> Waiting:
    """What the store holds, overlaid by what a transaction changed and has not saved yet.

    `stored` are the first `depth` waiting tickets of the line; fewer means that they are all.
    """
    up_to = stored[-1].place if len(stored) >= depth else None
    waiting = Waiting((ticket for ticket in stored if ticket.ticket_id not in touched), up_to=up_to)
    for ticket in unsaved:
        waiting.add(ticket)
    return waiting


def _place(ticket: Ticket) -> Place:
    return ticket.place
