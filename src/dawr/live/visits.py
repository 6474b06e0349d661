"""A visit that is watched: whoever holds its link is told of whichever ticket it has come to.

When it goes on, those who watch are between two lines until the next one is read (`moving.py`). Meanwhile they
keep the id of what they were told last, so that whoever goes away in between misses nothing.
"""

from collections.abc import Iterable

import msgspec

from dawr.domain import Ticket, TicketId, VisitId
from dawr.live.forms import PersonalForm, Published
from dawr.live.frames import EventId
from dawr.live.watcher import Watcher

LINK_RENEWED = "visit.link_renewed"


class VisitNow(msgspec.Struct, frozen=True):
    """Where a visit was at a moment."""

    at: EventId
    ticket: Ticket | None
    """The one it has come to, ended or not; None if it waits to enter its first queue."""
    reserve_mode: bool = False
    """Whether that ticket's number is beyond the day's capacity."""
    others: tuple[TicketId, ...] = ()
    """The tickets that its plan names."""

    def is_outdated_by(self, published: Published, visit_id: VisitId) -> bool:
        """Whether it has gone on since, its link was renewed, or its ticket is another visit's now."""
        if published.event.version <= self.at.version:
            return False
        has_moved = published.facts is not None or published.event.kind == LINK_RENEWED
        is_lost = self.ticket is not None and is_adoption(published, self.ticket.ticket_id)
        return is_lost or (published.visit_id == visit_id and has_moved)


class WatchedVisit:
    def __init__(self, visit_id: VisitId) -> None:
        self.visit_id = visit_id
        self.watchers: dict[Watcher, PersonalForm] = {}
        self.between: dict[Watcher, int] = {}
        """Who is to be seated where it went, and the version up to which they were told."""
        self.went_to: list[TicketId] = []
        """Since somebody is between: the latest last."""

    def heard(self, published: Published) -> None:
        """It has come to another ticket, or has another link: whoever came by the old one must show theirs again."""
        if published.event.kind == LINK_RENEWED:
            for watcher in tuple(self.watchers):
                watcher.end()
        elif published.event.ticket_id is not None:
            self._go_on(published.event.ticket_id, published.event.version)

    def leave(self, watcher: Watcher) -> None:
        self.watchers.pop(watcher, None)
        self.between.pop(watcher, None)

    def arrived(self) -> None:
        """Nobody is between any more."""
        self.between.clear()
        self.went_to.clear()

    def _go_on(self, ticket_id: TicketId, version: int) -> None:
        for watcher in self.watchers:
            if watcher not in self.between and not watcher.seat.follows(ticket_id):
                watcher.seat.stand_up(watcher)
                self.between[watcher] = version - 1
        if self.between:
            self.went_to = [*(earlier for earlier in self.went_to if earlier != ticket_id), ticket_id]


def is_adoption(published: Published, ticket_id: TicketId) -> bool:
    """Whether a single ticket became one of a visit with a plan: its own link and its visitor's name lead nowhere."""
    return published.event.kind == "ticket.adopted" and published.event.ticket_id == ticket_id


def was_adopted(ticket: Ticket, version: int, ring: Iterable[Published]) -> bool:
    """Since it was read at this version."""
    return any(published.event.version > version and is_adoption(published, ticket.ticket_id) for published in ring)
