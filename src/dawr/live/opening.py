"""The first bytes of a stream: what was missed, then how things stand. Made in one step: nothing falls between."""

from dawr.domain.ticket import ENDED_STATES, STATES_IN_LINE
from dawr.live.feed import Channel, Feed
from dawr.live.following import Followed, Following
from dawr.live.forms import PersonalForm, Placed
from dawr.live.frames import EventId
from dawr.live.joining import FollowName, FollowVisit, Found, Wish
from dawr.live.replay import Retold


class Opening:
    """Everything a stream begins with, for a feed that covers it. Nothing is awaited in here."""

    def __init__(self, feed: Feed, wish: Wish, channel: Channel | None, found: Found) -> None:
        self._feed = feed
        self._wish = wish
        self._channel = channel
        self._found = found
        self.at = wish.since or EventId(feed.epoch, feed.last)
        self.frames: list[bytes] = [wish.greeting(bytes(self.at))]
        self._missed = feed.after(self.at)

    def replay(self) -> None:
        """What was missed, in order; a visitor's own part of an event goes before the frame that has its id."""
        follow, found = self._wish.follow, self._found
        by_link = isinstance(follow, FollowVisit)
        retold = Retold(self._feed.venue, found.lines, found.tickets, self._missed, by_link=by_link)
        for published in self._missed:
            frame = None if self._channel is None else self._channel.frame(published)
            if follow is not None and self._wish.resumes:
                standing = retold.standing(published)
                if standing is not None:
                    at = published.at if frame is None else b""
                    self.frames.append(follow.form.happened(published.kind_for_visitor, standing, at))
            if frame is not None:
                self.frames.append(frame)

    def present(self) -> None:
        """How the queue stands now, and whether that can be trusted. Last, for it carries the newest id."""
        form = self._wish.form
        if form is not None and form.queue_id in self._found.lines:
            self.frames.append(form.present(self._found.lines[form.queue_id].line.facts, self._feed.at))
        if self._feed.is_stale:
            self.frames.append(self._wish.notices.stale)

    def followed(self) -> Followed | None:
        """The ticket to follow from now on."""
        return self._by_name() if isinstance(self._wish.follow, FollowName) else self._by_link()

    def personal(self, form: PersonalForm, followed: Followed) -> Placed:
        """Where the visitor stands now. Who resumes is told if their turn came near meanwhile, and nothing twice."""
        following = self._found.lines[followed.key.queue_id]
        standing = followed.standing(self._feed.venue, following.line)
        if not self._wish.resumes:
            self.frames.append(form.present(standing, self._feed.at))
            return standing
        if standing.is_near and not self._was_near(following, followed):
            self.frames.append(form.near(standing))
        if standing.ticket.state in STATES_IN_LINE:
            self.frames.append(form.moved(standing, self._feed.at))
        return standing

    def _by_link(self) -> Followed | None:
        """The ticket that the visit has come to, ended or not."""
        found, ticket = self._found, self._found.current
        if ticket is None:
            return None
        followed = found.lines[ticket.queue_id].follow(ticket, found.tickets.version, self._feed.ring)
        followed.reserve_mode = ticket.ticket_id in found.tickets.in_reserve
        return followed

    def _by_name(self) -> Followed | None:
        """The one that is open."""
        feed, found = self._feed, self._found
        for ticket in reversed(found.tickets.found):
            following = found.lines[ticket.queue_id]
            if ticket.is_open and not following.has_ended(ticket, feed.venue_id):
                followed = following.follow(ticket, found.tickets.version, feed.ring)
                if followed.ticket.state not in ENDED_STATES:
                    return followed
                following.leave_empty(followed)
        return None

    def _was_near(self, following: Following, followed: Followed) -> bool:
        """Whether it was nearly their turn already when they were last told."""
        took_place = any(
            p.event.ticket_id == followed.ticket.ticket_id and p.facts is not None and p.facts.state == "waiting"
            for p in self._missed
        )
        ahead = following.ahead_after(self.at.version, followed.ticket.place, self._missed)
        then = followed.standing_with(self._feed.venue, ahead, following.line.facts)
        return then.is_near and not took_place
