"""All who watch, by venue. It hears what is committed, polls the store now and then, and keeps streams alive.

It never holds a commit up: everything it does for a commit is in memory and waits for nobody.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Sequence
from random import Random
from typing import TYPE_CHECKING

import structlog

from dawr.domain import VenueId
from dawr.live import frames
from dawr.live.feed import BEGAN_ANEW, Feed, Seat, Told, Unresumable
from dawr.live.following import Following
from dawr.live.joining import FollowName, FollowVisit, Found, Wish, find
from dawr.live.opening import Opening
from dawr.live.past import Past
from dawr.live.visits import was_adopted
from dawr.live.watcher import Watcher
from dawr.ports import Batch, Clock, Store
from dawr.ports.faults import StoreAway, StoreFault

if TYPE_CHECKING:
    from dawr.live.relay import Relay

log = structlog.get_logger("dawr.live")

HEARTBEAT_SECONDS = 15
BEAT_SECONDS = 1.0
PLACES_SECONDS = 0.5
"""How often those are told for whom it makes a difference that others moved."""
POLL_SECONDS = 5.0
SENDING_SECONDS = 30.0
SHORTEST_RETRY_MS, LONGEST_RETRY_MS = 1000, 5000


class HubClosed(Exception):
    """The server is stopping."""


class TooManyStreams(Exception):
    """This address, or this visit, has as many streams open as one may have."""


class Hub:
    """`relays` tell other processes of what happened here; nobody waits for them. `told` hears what was published."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        chance: Random,
        *,
        stream_seconds: int = 300,
        most_per_address: int = 500,
        most_per_visit: int = 10,
        most_of_visits_per_address: int = 5000,
        relays: "Sequence[Relay]" = (),
        told: Sequence[Told] = (),
    ) -> None:
        self._past = Past(store, clock)
        self._chance = chance
        self._stream_seconds = stream_seconds
        self._most_per_address = most_per_address
        self._most_per_visit = most_per_visit
        self._most_of_visits_per_address = most_of_visits_per_address
        self._relays = relays
        self._told = told
        self._feeds: dict[VenueId, Feed] = {}
        self._counted: Counter[str] = Counter()
        self._buckets: list[set[Watcher]] = [set() for _ in range(HEARTBEAT_SECONDS)]
        self._next_bucket = 0
        self._beats = 0
        self._background: set[asyncio.Task[None]] = set()
        self.is_closed = False

    @property
    def streams(self) -> int:
        return sum(len(feed.watchers) for feed in self._feeds.values())

    @property
    def feeds(self) -> int:
        return len(self._feeds)

    @property
    def stale_feeds(self) -> int:
        return sum(feed.is_stale for feed in self._feeds.values())

    @property
    def is_stale(self) -> bool:
        """Whether somebody watches what may be out of date."""
        return self.stale_feeds > 0

    def ran(self, batch: Batch) -> None:
        """The engine tells of every batch, when the disk has it."""
        for relay in self._relays:
            relay.committed(batch.changed)
        for changes in batch.changed:
            feed = self._feeds.get(changes.head.venue_id)
            if feed is not None:
                feed.committed(changes)

    async def join(self, venue_id: VenueId, wish: Wish, *, address: str) -> Watcher:
        """A stream of what is wished for, from where it was left. `Unresumable` if that is not known any more.

        Whoever follows a visit by its link counts for the visit, and with all others who do for their address, which
        may have many: a hall full of phones has one.
        """
        if self.is_closed:
            raise HubClosed
        most = {address: self._most_per_address}
        if isinstance(wish.follow, FollowVisit):
            most = {f"visit {wish.follow.visit_id}": self._most_per_visit}
            most[f"visits {address}"] = self._most_of_visits_per_address
        if any(self._counted[key] >= most[key] for key in most):
            raise TooManyStreams
        feed = self._feeds.setdefault(venue_id, Feed(venue_id, self._past, self._told))
        feed.guests += 1
        counts_for = tuple(most)
        self._counted.update(counts_for)
        try:
            watcher = await self._join(feed, wish, counts_for)
        except BaseException:
            self._forget(counts_for)
            raise
        finally:
            feed.guests -= 1
            self._drop_if_idle(feed)
        return watcher

    def hear_of(self, venue_id: VenueId, epoch: int, version: int) -> None:
        """Another process committed: whoever watches here is told at once."""
        feed = self._feeds.get(venue_id)
        if feed is not None:
            feed.hint(epoch, version)

    def judge_again(self, venue_id: VenueId) -> None:
        """Let whoever watches as staff, in any process, show again that they still may."""
        for relay in self._relays:
            relay.judge_again(venue_id)
        self.judge_here(venue_id)

    def judge_here(self, venue_id: VenueId) -> None:
        feed = self._feeds.get(venue_id)
        if feed is not None:
            feed.judge_again()

    def close(self) -> None:
        """End every stream in good order, now; whoever does not read is not waited for. Nobody can join any more."""
        self.is_closed = True
        for feed in tuple(self._feeds.values()):
            for watcher in tuple(feed.watchers):
                if watcher.sending_since is None:
                    watcher.end()
                else:
                    watcher.break_off()

    async def tell_places(self) -> None:
        self.settle()

    def settle(self) -> None:
        """What happened since the last time to those who follow a ticket: moved places, and people who came."""
        for feed in tuple(self._feeds.values()):
            for following in tuple(feed.queues.values()):
                following.settle(feed.venue, feed.at)
                if wanted := following.wanted():
                    self._in_background(self._meet(feed, following, wanted))
            feed.move_soon()

    async def heartbeat(self) -> None:
        self.beat(asyncio.get_running_loop().time())

    def beat(self, now: float) -> None:
        """A heartbeat for one in fifteen streams, once a second.

        It carries the id, so that whoever watches a quiet queue of a busy venue need not go far back. Not to
        who is between two queues: what happened to them there is still to be told.
        """
        self._beats += 1
        beats: dict[Feed, bytes] = {}
        for watcher in tuple(self._buckets[self._beats % HEARTBEAT_SECONDS]):
            feed = watcher.seat.feed
            if watcher.sending_since is not None and now - watcher.sending_since > SENDING_SECONDS:
                watcher.break_off()
                continue
            if feed not in beats:
                beats[feed] = frames.COMMENT + frames.mark(feed.at)
            watcher.push(frames.SILENT_BEAT if watcher.seat.is_between(watcher) else beats[feed])

    def poll_soon(self) -> None:
        """Something may have been missed."""
        self._in_background(self._poll_or_log())

    async def poll(self) -> None:
        """Publish what other processes and tools wrote. Say so when the store is away, and when it is back."""
        for feed in tuple(self._feeds.values()):
            if feed.last < 0:
                continue
            try:
                await feed.catch_up()
            except StoreFault as fault:
                log.warning("live.stale", reason=str(fault) or type(fault).__name__)
                self._all_are_stale()
                return
            if feed.is_stale:
                feed.is_stale = False
                for watcher in tuple(feed.watchers):
                    watcher.push(watcher.notices.fresh)
        await self._judge_staff()

    # Inside

    async def _join(self, feed: Feed, wish: Wish, counts_for: tuple[str, ...]) -> Watcher:
        await feed.open()
        if wish.since is not None:
            await feed.reach(wish.since)
        found = await find(self._past, feed, wish)
        # From here on nothing is awaited: what is published next finds the watcher in its place.
        if self.is_closed:
            raise HubClosed
        if feed.last < 0 or any(feed.queues.get(queue_id) is not line for queue_id, line in found.lines.items()):
            raise StoreAway(BEGAN_ANEW)
        if wish.since is not None and not feed.covers(wish.since):
            raise Unresumable
        seat = Seat(
            feed=feed,
            counts_for=counts_for,
            bucket=self._buckets[self._next_bucket],
            channel=None if wish.form is None else feed.channel(wish.form),
            still_may=wish.still_may,
        )
        self._next_bucket = (self._next_bucket + 1) % HEARTBEAT_SECONDS
        watcher = self._open(seat, wish, found)
        if seat.channel is not None:
            seat.channel.watchers.add(watcher)
        feed.watchers.add(watcher)
        seat.bucket.add(watcher)
        life = self._stream_seconds * self._chance.uniform(0.9, 1.1)
        seat.ends = asyncio.get_running_loop().call_later(life, watcher.end)
        return watcher

    def _open(self, seat: Seat, wish: Wish, found: Found) -> Watcher:
        """The watcher with its first bytes, at the ticket that it follows if it follows one."""
        feed, follow = seat.feed, wish.follow
        opening = Opening(feed, wish, seat.channel, found)
        opening.replay()
        seat.followed = None if follow is None else opening.followed()
        standing = None
        if follow is not None and seat.followed is not None:
            standing = opening.personal(follow.form, seat.followed)
        opening.present()
        beginning = [self._retry(), *opening.frames]
        watcher = Watcher(beginning, seat=seat, notices=wish.notices, last_word=self._retry(), left=self._left)
        if isinstance(follow, FollowVisit):
            seat.visit = feed.visit(follow.visit_id)
            seat.visit.watchers[watcher] = follow.form
        elif isinstance(follow, FollowName):
            seat.open_key, seat.following = follow.open_key, found.lines[follow.queue_id]
            if seat.followed is None:
                seat.following.strangers.setdefault(follow.open_key, {})[watcher] = follow.form
                if feed.last > found.tickets.version:
                    seat.following.ask_again()
        if follow is not None and seat.followed is not None and standing is not None:
            seat.following = found.lines[seat.followed.key.queue_id]
            seat.following.add(seat.followed, watcher, follow.form, standing, feed.at)
        return watcher

    def _left(self, watcher: Watcher) -> None:
        seat = watcher.seat
        if seat.ends is not None:
            seat.ends.cancel()
        seat.bucket.discard(watcher)
        self._forget(seat.counts_for)
        seat.feed.let_go(seat, watcher)
        self._drop_if_idle(seat.feed)

    def _forget(self, counts_for: tuple[str, ...]) -> None:
        for key in counts_for:
            self._counted[key] -= 1
            if not self._counted[key]:
                del self._counted[key]

    def _drop_if_idle(self, feed: Feed) -> None:
        if feed.is_idle and self._feeds.get(feed.venue_id) is feed:
            del self._feeds[feed.venue_id]

    def _retry(self) -> bytes:
        return frames.retry(self._chance.randint(SHORTEST_RETRY_MS, LONGEST_RETRY_MS))

    async def _meet(self, feed: Feed, following: Following, keys: list[str]) -> None:
        """Whoever watched without a ticket and has one now is told where they stand."""
        try:
            tickets = await self._past.tickets(feed.venue_id, open_keys=keys)
            await feed.hear_of(tickets.version)
        except StoreFault:
            following.ask_again()
            return
        for ticket in tickets.found:
            key = ticket.open_key or ""
            is_lost = following.has_ended(ticket, feed.venue_id) or was_adopted(ticket, tickets.version, feed.ring)
            if key in following.strangers and not ticket.is_planned and not is_lost:
                followed = following.follow(ticket, tickets.version, feed.ring)
                standing = followed.standing(feed.venue, following.line)
                for watcher, form in following.strangers.pop(key).items():
                    watcher.seat.followed = followed
                    following.add(followed, watcher, form, standing, feed.at)
                    watcher.push(form.present(standing, feed.at))

    async def _judge_staff(self) -> None:
        """Who signed out, or was, in another process is told of by no event. A store that is away ends nobody."""
        try:
            for feed in tuple(self._feeds.values()):
                await feed.judge_each()
        except StoreFault as fault:
            log.warning("live.not-judged", reason=str(fault) or type(fault).__name__)

    def _all_are_stale(self) -> None:
        for feed in self._feeds.values():
            if not feed.is_stale:
                feed.is_stale = True
                for watcher in tuple(feed.watchers):
                    watcher.push(watcher.notices.stale)

    async def _poll_or_log(self) -> None:
        try:
            await self.poll()
        except Exception:
            log.exception("live.poll")

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
