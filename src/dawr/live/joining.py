"""The first bytes of a stream: what was missed, then how things stand. Made in one step: nothing falls between."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec

from dawr.domain import QueueId, Standing, Ticket, TicketFacts, TicketId
from dawr.domain.ticket import ENDED_STATES, STATES_IN_LINE, open_key
from dawr.live.feed import Channel, Feed
from dawr.live.following import Followed, Following
from dawr.live.forms import Form, Notices, PersonalForm, Published
from dawr.live.frames import EventId
from dawr.live.past import Past, Tickets


class Follow(msgspec.Struct, frozen=True):
    """Whose ticket is followed: this one, or whichever is open under a visitor's name."""

    form: PersonalForm
    queue_id: QueueId
    ticket_id: TicketId | None = None
    open_key: str | None = None


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
    follow: Follow | None = None
    still_may: Callable[[], Awaitable[bool]] | None = None
    """Asked now and then of who watches as staff: whether they are still signed in, and may."""

    @property
    def queue_id(self) -> QueueId | None:
        if self.follow is not None:
            return self.follow.queue_id
        return None if self.form is None else self.form.queue_id


NO_TICKETS = Tickets(0, [])


async def own_tickets(past: Past, feed: Feed, wish: Wish) -> Tickets:
    """The tickets to tell about: the open one, and those that ended while nobody watched."""
    follow = wish.follow
    if follow is None:
        return NO_TICKETS
    tickets = NO_TICKETS
    if follow.ticket_id is not None:
        tickets = await past.tickets(feed.venue_id, ids=[follow.ticket_id])
    elif follow.open_key is not None:
        tickets = await past.tickets(feed.venue_id, open_keys=[follow.open_key])
        await feed.hear_of(tickets.version)
        missed = feed.after(wish.since) if wish.since is not None and wish.resumes else []
        ended = _ended(missed, follow.queue_id)
        if ended and not _had(tickets, missed):
            gone = await past.tickets(feed.venue_id, ids=ended)
            theirs = [t for t in gone.found if open_key(t.queue_id, t.visitor) == follow.open_key]
            tickets = Tickets(max(tickets.version, gone.version), [*theirs, *tickets.found])
    await feed.hear_of(tickets.version)
    return tickets


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


class Opening:
    """Everything a stream begins with, for a feed that covers it. Nothing is awaited in here."""

    def __init__(self, feed: Feed, wish: Wish, channel: Channel | None, following: Following | None) -> None:
        self._feed = feed
        self._wish = wish
        self._channel = channel
        self._following = following
        self.at = wish.since or EventId(feed.epoch, feed.last)
        self.frames: list[bytes] = [wish.greeting(bytes(self.at))]
        self._missed = feed.after(self.at)

    def replay(self, own: Sequence[Ticket]) -> None:
        """What was missed, in order; a visitor's own part of an event goes before the frame that has its id."""
        following, follow = self._following, self._wish.follow
        mine = {ticket.ticket_id: Followed(ticket) for ticket in own}
        for published in self._missed:
            frame = None if self._channel is None else self._channel.frame(published)
            followed = mine.get(published.event.ticket_id) if published.event.ticket_id is not None else None
            facts = published.facts if self._wish.resumes else None  # every event of a ticket has them
            if followed is not None and facts is not None and following is not None and follow is not None:
                at = published.at if frame is None else b""
                standing = self._standing_then(following, followed, published.event.version, facts)
                self.frames.append(follow.form.happened(published.event.kind, standing, at))
            if frame is not None:
                self.frames.append(frame)

    def present(self) -> None:
        """How the queue stands now, and whether that can be trusted. Last, for it carries the newest id."""
        form = self._wish.form
        if form is not None and form.queue_id is not None and self._following is not None:
            self.frames.append(form.present(self._following.line.facts, self._feed.at))
        if self._feed.is_stale:
            self.frames.append(self._wish.notices.stale)

    def personal(self, follow: Follow, following: Following, followed: Followed) -> Standing:
        """Where the visitor stands now. Who resumes is told if their turn came near meanwhile, and nothing twice."""
        standing = followed.standing(self._feed.venue, following.line)
        if not self._wish.resumes:
            self.frames.append(follow.form.present(standing, self._feed.at))
            return standing
        if standing.is_near and not self._was_near(following, followed):
            self.frames.append(follow.form.near(standing))
        if standing.ticket.state in STATES_IN_LINE:
            self.frames.append(follow.form.moved(standing, self._feed.at))
        return standing

    def _standing_then(self, following: Following, followed: Followed, version: int, facts: TicketFacts) -> Standing:
        followed.take(facts)
        ahead = 0
        if followed.has_place_in(following.line):
            ahead = following.ahead_after(version, followed.ticket.place, self._missed)
        return followed.standing_with(self._feed.venue, ahead, facts.line or following.line.facts)

    def _was_near(self, following: Following, followed: Followed) -> bool:
        """Whether it was nearly their turn already when they were last told."""
        took_place = any(
            p.event.ticket_id == followed.ticket.ticket_id and p.facts is not None and p.facts.state == "waiting"
            for p in self._missed
        )
        ahead = following.ahead_after(self.at.version, followed.ticket.place, self._missed)
        then = followed.standing_with(self._feed.venue, ahead, following.line.facts)
        return then.is_near and not took_place
