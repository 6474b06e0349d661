"""What happened to somebody's own tickets while they were not told, each change as things stood after it."""

from collections.abc import Mapping, Sequence

from dawr.domain import LineFacts, QueueId, TicketFacts, Venue
from dawr.live.following import Followed, Following, onward
from dawr.live.forms import Placed, Published
from dawr.live.past import Tickets

NOTHING_KNOWN = LineFacts()

Lines = Mapping[QueueId, Following]


class Retold:
    """One event after the other, in their order."""

    def __init__(
        self, venue: Venue, lines: Lines, tickets: Tickets, missed: Sequence[Published], *, by_link: bool
    ) -> None:
        self._venue = venue
        self._lines = lines
        self._missed = missed
        self._by_link = by_link
        self._own = {
            ticket.ticket_id: Followed(ticket, reserve_mode=ticket.ticket_id in tickets.in_reserve)
            for ticket in tickets.found
        }
        self._theirs_from = {p.event.ticket_id: p.event.version for p in missed if p.event.kind == "ticket.adopted"}

    def standing(self, published: Published) -> Placed | None:
        """Where the ticket stood after this; None if it is not theirs."""
        ticket_id, facts = published.event.ticket_id, published.facts
        if ticket_id is None or facts is None or ticket_id not in self._own:
            return None
        if published.event.version < self._theirs_from.get(ticket_id, 0):
            return None
        standing = self._standing_after(self._own[ticket_id], published.event.version, facts)
        return onward(standing, facts, self._venue) if self._by_link else standing

    def all(self) -> list[tuple[Published, Placed]]:
        told = ((published, self.standing(published)) for published in self._missed)
        return [(published, standing) for published, standing in told if standing is not None]

    def _standing_after(self, followed: Followed, version: int, facts: TicketFacts) -> Placed:
        followed.take(facts)
        following = self._lines.get(followed.key.queue_id)
        if following is None:
            return followed.standing_with(self._venue, 0, facts.line or NOTHING_KNOWN)
        ahead = 0
        if followed.has_place_in(following.line):
            ahead = following.ahead_after(version, followed.ticket.place, self._missed)
        return followed.standing_with(self._venue, ahead, facts.line or following.line.facts)
