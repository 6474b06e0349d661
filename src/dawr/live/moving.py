"""Those who watch a visit go with it to its next queue: subscribed there, and told of all that happened meanwhile.

What must be read is awaited first: the tickets, and the lines of their queues. Then each visit's watchers get their
new places in one step in which nothing is awaited, so no change falls between.
"""

from typing import TYPE_CHECKING

from dawr.domain.ticket import STATES_IN_LINE
from dawr.live.forms import PersonalForm, Placed
from dawr.live.frames import EventId
from dawr.live.past import Past, Tickets
from dawr.live.replay import Lines, Retold
from dawr.live.visits import WatchedVisit
from dawr.live.watcher import Watcher

if TYPE_CHECKING:
    from dawr.live.feed import Feed


async def seat_who_is_between(feed: "Feed", past: Past) -> None:
    """All of them, and those who come to be so while this reads."""
    while going := feed.visits_between():
        ids = {ticket_id for visit in going for ticket_id in visit.went_to}
        tickets = await past.visited(feed.venue_id, ids)
        await feed.hear_of(tickets.version)
        lines = {queue_id: await feed.follow(queue_id) for queue_id in {ticket.queue_id for ticket in tickets.found}}
        # From here on nothing is awaited.
        if feed.last < 0:
            return
        for visit in going:
            if ids.issuperset(visit.went_to):
                _Move(feed, visit, tickets, lines).seat_all()


class _Move:
    """One visit's watchers to the ticket that it has come to."""

    def __init__(self, feed: "Feed", visit: WatchedVisit, tickets: Tickets, lines: Lines) -> None:
        by_id = {ticket.ticket_id: ticket for ticket in tickets.found}
        found = [by_id[ticket_id] for ticket_id in visit.went_to if ticket_id in by_id]
        self._feed = feed
        self._visit = visit
        self._tickets = Tickets(tickets.version, found, tickets.in_reserve)
        self._lines = lines

    def seat_all(self) -> None:
        """All who see the same, and were told as much, share their bytes."""
        groups: dict[tuple[PersonalForm, int], list[Watcher]] = {}
        for watcher, told in self._visit.between.items():
            groups.setdefault((self._visit.watchers[watcher], told), []).append(watcher)
        self._visit.arrived()
        for (form, told), watchers in groups.items():
            if self._tickets.found and self._feed.covers(EventId(self._feed.epoch, told)):
                self._seat(watchers, form, told)
            else:
                for watcher in watchers:
                    watcher.end()

    def _seat(self, watchers: list[Watcher], form: PersonalForm, told: int) -> None:
        feed, latest = self._feed, self._tickets.found[-1]
        following = self._lines[latest.queue_id]
        followed = following.follow(latest, self._tickets.version, feed.ring)
        followed.reserve_mode = latest.ticket_id in self._tickets.in_reserve
        standing = followed.standing(feed.venue, following.line)
        frames = self._frames(form, told, standing)
        for watcher in watchers:
            watcher.seat.following, watcher.seat.followed = following, followed
            following.add(followed, watcher, form, standing, feed.at)
            watcher.push(frames)

    def _frames(self, form: PersonalForm, told: int, standing: Placed) -> bytes:
        """What they were not told yet. Where they wait now, the last of it is a fresh picture."""
        feed = self._feed
        missed = feed.after(EventId(feed.epoch, told))
        retold = Retold(feed.venue, self._lines, self._tickets, missed, by_link=True).all()
        fresh = b""
        if standing.ticket.state in STATES_IN_LINE:
            retold = retold[:-1]
            fresh = form.present(standing, feed.at)
        return b"".join([form.happened(p.kind_for_visitor, then, p.at) for p, then in retold]) + fresh
