"""Those who watch a visit go with it to its next queue: subscribed there, and told of all that happened meanwhile.

What must be read is awaited first: the tickets, and the lines of their queues. Then each visit's watchers get their
new places in one step in which nothing is awaited, so no change falls between.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dawr.domain.ticket import STATES_IN_LINE
from dawr.live.following import Followed, Following
from dawr.live.forms import PersonalForm
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
                _seat(feed, visit, _only(tickets, visit), lines)


def _only(tickets: Tickets, visit: WatchedVisit) -> Tickets:
    """This visit's, in the order in which it came to them."""
    by_id = {ticket.ticket_id: ticket for ticket in tickets.found}
    found = [by_id[ticket_id] for ticket_id in visit.went_to if ticket_id in by_id]
    return Tickets(tickets.version, found, tickets.in_reserve)


def _seat(feed: "Feed", visit: WatchedVisit, tickets: Tickets, lines: Lines) -> None:
    groups: dict[tuple[PersonalForm, int], list[Watcher]] = {}
    for watcher, told in visit.between.items():
        groups.setdefault((visit.watchers[watcher], told), []).append(watcher)
    visit.arrived()
    for (form, told), watchers in groups.items():
        if not tickets.found or not feed.covers(EventId(feed.epoch, told)):
            for watcher in watchers:
                watcher.end()
            continue
        latest = tickets.found[-1]
        following = lines[latest.queue_id]
        followed = following.follow(latest, tickets.version, feed.ring)
        followed.reserve_mode = latest.ticket_id in tickets.in_reserve
        _tell(feed, following, followed, watchers, form, _frames(feed, form, told, tickets, lines, followed))


def _tell(
    feed: "Feed",
    following: Following,
    followed: Followed,
    watchers: Sequence[Watcher],
    form: PersonalForm,
    frames: bytes,
) -> None:
    standing = followed.standing(feed.venue, following.line)
    for watcher in watchers:
        watcher.seat.following, watcher.seat.followed = following, followed
        following.add(followed, watcher, form, standing, feed.at)
        watcher.push(frames)


def _frames(
    feed: "Feed", form: PersonalForm, told: int, tickets: Tickets, lines: Lines, followed: Followed
) -> bytes:
    """What they were not told yet. Where they wait now, the last of it is a fresh picture."""
    missed = feed.after(EventId(feed.epoch, told))
    retold = Retold(feed.venue, lines, tickets, missed, by_link=True).all()
    fresh = b""
    if followed.ticket.state in STATES_IN_LINE:
        retold = retold[:-1]
        standing = followed.standing(feed.venue, lines[followed.key.queue_id].line)
        fresh = form.present(standing, feed.at)
    return b"".join([form.happened(p.event.kind, standing, p.at) for p, standing in retold]) + fresh
