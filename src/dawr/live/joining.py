"""What somebody wants to watch, and everything that must be read before they are given their place."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from dawr.domain import QueueId, Ticket, TicketId, VisitId
from dawr.domain.ticket import ENDED_STATES, open_key
from dawr.live.feed import BEGAN_ANEW, Feed
from dawr.live.following import Following
from dawr.live.forms import Form, Notices, PersonalForm, Published
from dawr.live.frames import EventId
from dawr.live.past import Past, Tickets
from dawr.live.visits import VisitNow, was_adopted
from dawr.ports.faults import StoreAway


class FollowName(msgspec.Struct, frozen=True):
    """Whichever ticket is open under a visitor's name in one queue. One of a visit with a plan is never found so."""

    form: PersonalForm
    queue_id: QueueId
    open_key: str


class FollowVisit(msgspec.Struct, frozen=True):
    """Whichever ticket a visit has come to, for whoever holds its link."""

    form: PersonalForm
    visit_id: VisitId
    now: VisitNow
    """As it was when the link was read."""
    look: Callable[[], Awaitable[VisitNow]]
    """Reads the link again; refuses if it leads nowhere by then."""


class Wish(msgspec.Struct, frozen=True):
    """What somebody wants to watch."""

    greeting: Callable[[bytes], bytes]
    """Says hello, given the id that the stream begins at."""
    notices: Notices
    form: Form | None = None
    since: EventId | None = None
    """The last id that was seen, or that of the picture that was taken; None begins now."""
    resumes: bool = False
    """Whether the visitor was told of their ticket before."""
    follow: FollowName | FollowVisit | None = None
    still_may: Callable[[], Awaitable[bool]] | None = None
    """Asked now and then of who watches as staff: whether they are still signed in, and may."""


NO_TICKETS = Tickets(0, [])


class Found(msgspec.Struct, frozen=True):
    """What was read for a wish."""

    lines: dict[QueueId, Following]
    tickets: Tickets = NO_TICKETS
    """The visitor's own: those to tell about."""
    current: Ticket | None = None
    """The one that the visit has come to."""


async def find(past: Past, feed: Feed, wish: Wish) -> Found:
    """Once this returns, nothing is awaited any more until the watcher has its place."""
    follow = wish.follow
    if isinstance(follow, FollowVisit):
        return await _find_visit(past, feed, wish, follow)
    if follow is not None:
        return await _find_name(past, feed, wish, follow)
    queue_id = None if wish.form is None else wish.form.queue_id
    return Found({} if queue_id is None else {queue_id: await feed.follow(queue_id)})


# By name


async def _find_name(past: Past, feed: Feed, wish: Wish, follow: FollowName) -> Found:
    """The open ticket, and those that ended while nobody watched."""
    lines = {follow.queue_id: await feed.follow(follow.queue_id)}
    tickets = await past.tickets(feed.venue_id, open_keys=[follow.open_key])
    await feed.hear_of(tickets.version)
    missed = _missed(feed, wish)
    ended = _ended(missed, follow.queue_id)
    if ended and not _had(tickets, missed):
        gone = await past.tickets(feed.venue_id, ids=ended)
        theirs = [ticket for ticket in gone.found if _is_known_as(ticket, follow.open_key)]
        tickets = Tickets(max(tickets.version, gone.version), [*theirs, *tickets.found])
        await feed.hear_of(tickets.version)
    singles = [ticket for ticket in tickets.found if not ticket.is_planned]
    still = [ticket for ticket in singles if not was_adopted(ticket, tickets.version, feed.ring)]
    return Found(lines, Tickets(tickets.version, still))


def _is_known_as(ticket: Ticket, key: str) -> bool:
    """By name alone nobody learns of a visit that has a plan."""
    return not ticket.is_planned and open_key(ticket.queue_id, ticket.visitor) == key


def _ended(missed: Iterable[Published], queue_id: QueueId) -> list[TicketId]:
    return [
        p.event.ticket_id
        for p in missed
        if p.event.ticket_id is not None
        and p.event.queue_id == queue_id
        and p.facts is not None
        and p.facts.state in ENDED_STATES
    ]


def _had(tickets: Tickets, missed: Iterable[Published]) -> bool:
    """Whether the open ticket was theirs all the while: then no other one of theirs can have ended."""
    issued = {p.event.ticket_id for p in missed if p.event.kind == "ticket.issued"}
    return any(ticket.ticket_id not in issued for ticket in tickets.found)


# By link


async def _find_visit(past: Past, feed: Feed, wish: Wish, follow: FollowVisit) -> Found:
    """Where the visit is, and the tickets that it has come from. If it goes on while this reads, from the start."""
    now = follow.now
    while True:
        await _hear_of(feed, now)
        tickets = await _visited(past, feed, wish, follow.visit_id, now)
        lines = {ticket.queue_id: await feed.follow(ticket.queue_id) for ticket in tickets.found}
        if _is_up_to_date(feed, follow.visit_id, now):
            return Found(lines, tickets, now.ticket)
        now = await follow.look()


async def _hear_of(feed: Feed, now: VisitNow) -> None:
    if now.at.epoch != feed.epoch:
        await feed.catch_up()
    await feed.hear_of(now.at.version)
    if now.at.epoch != feed.epoch or feed.last < 0:
        raise StoreAway(BEGAN_ANEW)


def _is_up_to_date(feed: Feed, visit_id: VisitId, now: VisitNow) -> bool:
    return feed.covers(now.at) and not any(now.is_outdated_by(published, visit_id) for published in feed.ring)


async def _visited(past: Past, feed: Feed, wish: Wish, visit_id: VisitId, now: VisitNow) -> Tickets:
    """The ticket that the visit has come to; before it, those of its earlier ones that something happened to."""
    missed = _missed(feed, wish)
    happened = {p.event.ticket_id for p in missed if p.event.ticket_id is not None}
    wanted = {*now.others, *(p.event.ticket_id for p in missed if p.visit_id == visit_id)}
    earlier: list[Ticket] = []
    latest = [] if now.ticket is None else [now.ticket]
    known = {ticket.ticket_id for ticket in latest}
    in_reserve = set(known) if now.reserve_mode else set()
    wanted |= {ticket.from_ticket_id for ticket in latest}
    while ids := (happened & wanted) - known:
        read = await past.visited(feed.venue_id, ids)
        earlier += read.found
        in_reserve |= read.in_reserve
        wanted |= {ticket.from_ticket_id for ticket in read.found}
        known |= ids
    return Tickets(now.at.version, [*earlier, *latest], frozenset(in_reserve))


def _missed(feed: Feed, wish: Wish) -> Sequence[Published]:
    return feed.after(wish.since) if wish.since is not None and wish.resumes else []
