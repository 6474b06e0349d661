"""One venue's changes, as they are committed: each published once, in order, without a gap.

Only the event after the last one is published. What is missing in between is read from
the store, so it does not matter who wrote it. A ring holds the latest, for those who resume.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence

import msgspec
import structlog

from dawr.domain import Event, QueueId, TicketId, Venue, VenueId, VisitId
from dawr.live.following import Followed, Following
from dawr.live.forms import Form, Published
from dawr.live.frames import EventId
from dawr.live.moving import seat_who_is_between
from dawr.live.past import Past
from dawr.live.visits import WatchedVisit
from dawr.live.watcher import Watcher
from dawr.ports import Changes
from dawr.ports.faults import StoreAway, StoreFault

log = structlog.get_logger("dawr.live")

RING = 1024
FARTHEST_BEHIND = 1000
BEGAN_ANEW = "the venue's events began anew"
JUDGED_AGAIN_BY = ("staff.", "token.")
"""After such an event, who watches as staff may no longer be it."""


class Unresumable(Exception):
    """The id is of another epoch, too old or not one of ours: a fresh picture is needed."""


class Channel:
    """All who see the same."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.watchers: set[Watcher] = set()

    def frame(self, published: Published) -> bytes | None:
        """Made once, and kept with the event for those who resume."""
        frames = published.frames
        if self.form not in frames:
            frames[self.form] = self.form.frame(published)
        return frames[self.form]


class Seat(msgspec.Struct, eq=False, kw_only=True):
    """Where a watcher sits, so that it can be shown out."""

    feed: "Feed"
    counts_for: tuple[str, ...]
    bucket: set[Watcher]
    """Those who get their heartbeat at the same time."""
    channel: Channel | None
    following: Following | None = None
    followed: Followed | None = None
    open_key: str | None = None
    """Of who is known by name."""
    visit: WatchedVisit | None = None
    """Of who came by a link."""
    still_may: Callable[[], Awaitable[bool]] | None
    ends: asyncio.TimerHandle | None = None

    def follows(self, ticket_id: TicketId) -> bool:
        return self.followed is not None and self.followed.ticket.ticket_id == ticket_id

    def stand_up(self, watcher: Watcher) -> None:
        """From the ticket that is followed; the watcher stays."""
        if self.following is not None:
            self.following.leave(watcher, self.followed, self.open_key)
        self.following = self.followed = None

    def is_between(self, watcher: Watcher) -> bool:
        """Whether what happens to the visitor cannot be told yet: the id must not go on without it."""
        return self.visit is not None and watcher in self.visit.between


Told = Callable[[Sequence[Event]], None]
"""Hears what was published, when it was."""


class Feed:
    def __init__(self, venue_id: VenueId, past: Past, told: Sequence[Told] = ()) -> None:
        self.venue_id = venue_id
        self.epoch = 0
        self.last = -1
        """The version published last; below 0 until the head was read."""
        self.ring: deque[Published] = deque()
        self.watchers: set[Watcher] = set()
        self.channels: dict[Form, Channel] = {}
        self.queues: dict[QueueId, Following] = {}
        self.visits: dict[VisitId, WatchedVisit] = {}
        self.guests = 0
        """How many are about to join."""
        self.is_stale = False
        self._venue: Venue | None = None
        self._known = 0
        self._past = past
        self._told = told
        self._reading = asyncio.Lock()
        self._catching_up: asyncio.Task[None] | None = None
        self._going: set[WatchedVisit] = set()
        self._moving: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        return not self.watchers and not self.guests

    @property
    def venue(self) -> Venue:
        if self._venue is None:
            raise LookupError(f"the feed of {self.venue_id} is not open")
        return self._venue

    @property
    def at(self) -> bytes:
        return bytes(EventId(self.epoch, self.last))

    # What is committed

    def committed(self, changes: Changes) -> None:
        """By this process. What was missed before it is read first."""
        if self.last < 0:
            self._known = max(self._known, changes.head.version)
            return
        if changes.venue is not None:
            self._venue = changes.venue
        events = [event for event in changes.events if event.version > self.last]
        if changes.head.epoch == self.epoch and events and events[0].version == self.last + 1:
            self.publish(events)
        elif events or changes.head.epoch != self.epoch:
            self._known = max(self._known, changes.head.version)
            self._catch_up_soon()

    def hint(self, epoch: int, version: int) -> None:
        """By another process, it says. What it was is read; a hint of what is known already costs nothing."""
        if epoch == self.epoch or self.last < 0:
            self._known = max(self._known, version)
        if self.last >= 0 and (epoch != self.epoch or version > self.last):
            self._catch_up_soon()

    async def catch_up(self) -> None:
        """Publish what others wrote, up to now."""
        async with self._reading:
            await self._publish_missed()

    def publish(self, events: Iterable[Event]) -> None:
        """To all who watch, in one step. A commit's changes go out together, as one piece of bytes for each channel."""
        fresh = [Published(event, bytes(EventId(self.epoch, event.version))) for event in events]
        for published in fresh:
            self.last = published.event.version
            self.ring.append(published)
            if len(self.ring) > RING:
                self.ring.popleft()
            self._advance(published)
        for channel in tuple(self.channels.values()):
            piece = b"".join([frame for published in fresh if (frame := channel.frame(published)) is not None])
            if piece:
                for watcher in tuple(channel.watchers):
                    watcher.push(piece)
        if any(published.event.kind.startswith(JUDGED_AGAIN_BY) for published in fresh):
            self.judge_again()
        self.move_soon()
        for told in self._told:
            told([published.event for published in fresh])

    def _advance(self, published: Published) -> None:
        queue_id = published.event.queue_id
        if queue_id is None:
            for following in self.queues.values():
                following.touch()
        elif queue_id in self.queues:
            self.queues[queue_id].advance(published, self.venue)
        visit = None if published.visit_id is None else self.visits.get(published.visit_id)
        if visit is not None:
            visit.heard(published)
            self._going.add(visit)

    # Visits that go on

    def visits_between(self) -> list[WatchedVisit]:
        """Those of which somebody who watches is not seated at the ticket that it has come to."""
        self._going = {visit for visit in self._going if visit.between}
        return list(self._going)

    def move_soon(self) -> None:
        """Those who are between two queues. If the store is away, whoever beats the time asks again."""
        if self._going and not self._is_moving and self.visits_between():
            self._moving = asyncio.get_running_loop().create_task(self._move_if_there())

    @property
    def _is_moving(self) -> bool:
        return self._moving is not None and not self._moving.done()

    async def _move_if_there(self) -> None:
        try:
            await seat_who_is_between(self, self._past)
        except StoreFault as fault:
            log.warning("visits.behind", venue=self.venue_id, reason=str(fault) or type(fault).__name__)

    def judge_again(self) -> None:
        """End what only staff may see: whoever still may comes back at once."""
        for watcher in self._staff():
            watcher.end()

    async def judge_each(self) -> None:
        """Ask of everybody who watches as staff whether they still may, and end who may not."""
        for watcher in self._staff():
            still_may = watcher.seat.still_may
            if still_may is not None and not watcher.is_ended and not await still_may():
                watcher.end()

    def _staff(self) -> list[Watcher]:
        channels = [channel for channel in self.channels.values() if channel.form.is_staffs]
        return [watcher for channel in channels for watcher in channel.watchers]

    # Joining

    async def open(self) -> None:
        """Read where the venue is. The feed is registered before, so nothing that commits meanwhile is lost."""
        if self.last >= 0:
            return
        async with self._reading:
            if self.last < 0:
                since = await self._past.since(self.venue_id)
                self.epoch, self._venue, self.last = since.head.epoch, since.venue, since.head.version
        if self._known > self.last:
            await self.catch_up()

    async def reach(self, at: EventId) -> None:
        """Have everything after this id in the ring, or raise."""
        if at.epoch == self.epoch:
            await self.hear_of(at.version)
        if not self.covers(at):
            async with self._reading:
                if self._may_cover(at) and not self.covers(at):
                    await self._fill_ring()
        if not self.covers(at):
            raise Unresumable

    async def hear_of(self, version: int) -> None:
        """A reader may see a commit before it is told here: what was read must not be ahead of what is told."""
        if version > self.last:
            await self.catch_up()

    def covers(self, at: EventId) -> bool:
        first = self.ring[0].event.version if self.ring else self.last + 1
        return self._may_cover(at) and first <= at.version + 1

    def after(self, at: EventId) -> Sequence[Published]:
        return [published for published in self.ring if published.event.version > at.version]

    async def follow(self, queue_id: QueueId) -> Following:
        """The queue's line, read once and shared by all."""
        async with self._reading:
            while queue_id not in self.queues:
                line = await self._past.line(self.venue_id, queue_id)
                if line.version > self.last:
                    await self._publish_missed()
                if self.last < 0:
                    raise StoreAway(BEGAN_ANEW)
                newer = [published for published in self.ring if published.event.version > line.version]
                if len(newer) != self.last - line.version:
                    continue
                line.trace_back(p for p in reversed(self.ring) if p.event.version <= line.version)
                for published in newer:
                    if published.event.queue_id == queue_id:
                        line.advance(published, self.venue)
                self.queues[queue_id] = Following(line)
            return self.queues[queue_id]

    def visit(self, visit_id: VisitId) -> WatchedVisit:
        return self.visits.setdefault(visit_id, WatchedVisit(visit_id))

    def channel(self, form: Form) -> Channel:
        return self.channels.setdefault(form, Channel(form))

    def let_go(self, seat: Seat, watcher: Watcher) -> None:
        self.watchers.discard(watcher)
        if seat.channel is not None:
            seat.channel.watchers.discard(watcher)
            if not seat.channel.watchers:
                self.channels.pop(seat.channel.form, None)
        if seat.following is not None:
            seat.following.leave(watcher, seat.followed, seat.open_key)
        if seat.visit is not None:
            seat.visit.leave(watcher)
            if not seat.visit.watchers:
                self.visits.pop(seat.visit.visit_id, None)
        self._forget_idle_lines()

    def _may_cover(self, at: EventId) -> bool:
        return at.epoch == self.epoch and self.last - FARTHEST_BEHIND <= at.version <= self.last

    async def _publish_missed(self) -> None:
        while self.last >= 0:
            known = self._known
            since = await self._past.since(self.venue_id, self.last, most=FARTHEST_BEHIND)
            events = [event for event in since.events if event.version > self.last]
            if since.head.epoch != self.epoch or (events and events[0].version != self.last + 1):
                self._begin_again()
                return
            self._venue = since.venue
            if events:
                self.publish(events)
            # What was heard of while reading may not be in it.
            is_news = self._known > known
            if len(since.events) < FARTHEST_BEHIND and (self.last >= self._known or not (events or is_news)):
                return

    async def _fill_ring(self) -> None:
        """With all that anybody may still resume from, so that one read serves everybody."""
        begin = max(0, self.last - FARTHEST_BEHIND)
        since = await self._past.since(self.venue_id, begin, most=FARTHEST_BEHIND)
        first = self.ring[0].event.version if self.ring else self.last + 1
        older = [event for event in since.events if event.version < first]
        for event in reversed(older):
            published = Published(event, bytes(EventId(self.epoch, event.version)))
            if event.version != first - 1 or len(self.ring) >= RING or not published.is_complete:
                break
            self.ring.appendleft(published)
            first = event.version
        for following in self.queues.values():
            following.line.trace_back(reversed(self.ring))

    def _forget_idle_lines(self) -> None:
        if self.guests or self._is_moving:
            return
        shown = {channel.form.queue_id for channel in self.channels.values()}
        for queue_id, following in tuple(self.queues.items()):
            if following.is_idle and queue_id not in shown:
                del self.queues[queue_id]

    # Faults

    def _catch_up_soon(self) -> None:
        if self._catching_up is None or self._catching_up.done():
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up_if_there())

    async def _catch_up_if_there(self) -> None:
        try:
            await self.catch_up()
        except StoreFault as fault:
            log.warning("feed.behind", venue=self.venue_id, reason=str(fault))

    def _begin_again(self) -> None:
        """The events are not the ones that were followed: whoever watches must take a fresh picture."""
        self.last, self._known = -1, 0
        self.ring.clear()
        self.queues.clear()
        for watcher in tuple(self.watchers):
            watcher.end()
