"""Looks that many ask for and that show nobody's own data: how a queue or a venue stands, kept for a moment.

Nothing is decided by them. Whoever was answered sees what they wrote, in this process always, and
through every other one as long as the shared store answers; without it others may see what
was for `KEPT_MS` at most. Hours and days begin with a minute, and nothing is kept from one minute
to the next: after closing time nobody is told that a queue is open.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Self

from dawr.domain import QueueId, Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.desks import LookAtVenueNow, VenueSnapshot
from dawr.operations.rows import DESKS
from dawr.operations.snapshots import AtMoment, LookAtQueue, LookAtVenue, QueueSnapshot
from dawr.ports import Changes
from dawr.reliability.cache import Cache, Entries, MemoryEntries, SharedEntries
from dawr.reliability.shared import Shared

KEPT_MS = 1000
MINUTE_MS = 60_000
LEAD_MS, WAIT_SECONDS = 1000, 0.25
"""A look takes a few milliseconds: another process that began one and died is not waited for any longer."""
PATIENCE_SECONDS, SHORT_PATIENCE_SECONDS = 0.1, 0.01
"""So long answers wait until other processes cannot see what was; the shorter, after that took too long."""


class StatusCache:
    """`names` is always this process's own: only a queue whose name was given to another can be mistaken by it."""

    def __init__(self, cache: Cache, names: Cache) -> None:
        self._cache = cache
        self._names = names
        self._is_prompt = True

    @classmethod
    def kept(
        cls,
        shared: Shared | None,
        ticks: Callable[[], int],
        new_token: Callable[[], str],
        count: Callable[[str], None] = lambda _: None,
    ) -> Self:
        """Where all processes share them, if they share anything."""
        entries: Entries = MemoryEntries(ticks)
        if shared is not None:
            entries = SharedEntries(shared, new_token, name="status", lead_ms=LEAD_MS)
        return cls(Cache(entries, count=count, wait_seconds=WAIT_SECONDS), Cache(MemoryEntries(ticks)))

    async def at_queue(
        self, engine: Engine, venue_id: VenueId, code: str, form: str, render: Callable[[Venue, QueueSnapshot], bytes]
    ) -> bytes:
        """How a queue stands, in a door's own form."""
        queue_id = await self._queue_id(engine, venue_id, code)

        async def look() -> bytes:
            moment = await engine.read(venue_id, AtMoment(LookAtQueue(queue_id)))
            return render(moment.venue, moment.seen)

        tags = (_queue_tag(venue_id, queue_id), _venue_tag(venue_id))
        key = f"{form}:{venue_id}:{queue_id}:{_minute(engine)}"
        return await self._cache.get(key, look, tags=tags, ttl_ms=KEPT_MS)

    async def at_venue(
        self, engine: Engine, venue_id: VenueId, form: str, render: Callable[[VenueSnapshot], bytes]
    ) -> bytes:
        """How all queues and desks of a venue stand."""

        async def look() -> bytes:
            return render(await engine.read(venue_id, LookAtVenueNow()))

        queues = await self._queue_ids(engine, venue_id)
        tags = (_venue_tag(venue_id), *(_queue_tag(venue_id, queue_id) for queue_id in queues))
        return await self._cache.get(f"{form}:{venue_id}:{_minute(engine)}", look, tags=tags, ttl_ms=KEPT_MS)

    async def outdate(self, changed: Iterable[Changes]) -> None:
        """Let go of what was kept from before these changes.

        A changed set-up or day concerns all of its venue's queues; a desk that opens or closes, all that it serves.
        """
        await self._invalidate({tag for changes in changed for tag in _tags_of(changes)})

    async def doubt(self, venues: Iterable[VenueId]) -> None:
        await self._invalidate({_venue_tag(venue_id) for venue_id in venues})

    async def close(self) -> None:
        await self._cache.close()
        await self._names.close()

    async def _invalidate(self, tags: set[str]) -> None:
        if not tags:
            return
        await self._names.invalidate(*tags)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS if self._is_prompt else SHORT_PATIENCE_SECONDS):
                self._is_prompt = await self._cache.invalidate(*tags)
        except TimeoutError:
            self._is_prompt = False

    async def _queue_id(self, engine: Engine, venue_id: VenueId, code: str) -> QueueId:
        """By its code or an alias. One that is not known is looked for every time: it may be new."""

        async def look() -> bytes:
            venue, _ = await engine.read(venue_id, LookAtVenue())
            return venue.queue(code).id.encode()

        key = f"{venue_id}:{code.lower()}"
        return QueueId((await self._names.get(key, look, tags=(_venue_tag(venue_id),), ttl_ms=KEPT_MS)).decode())

    async def _queue_ids(self, engine: Engine, venue_id: VenueId) -> list[QueueId]:
        async def look() -> bytes:
            venue, _ = await engine.read(venue_id, LookAtVenue())
            return " ".join(queue.id for queue in venue.queues).encode()

        names = await self._names.get(venue_id, look, tags=(_venue_tag(venue_id),), ttl_ms=KEPT_MS)
        return [QueueId(name) for name in names.decode().split()]


def _minute(engine: Engine) -> int:
    """Two are enough to tell one from the next: by the one after that, what was kept is too old."""
    return engine.now() // MINUTE_MS % 2


def _tags_of(changes: Changes) -> Iterable[str]:
    venue_id = changes.head.venue_id
    if changes.venue is not None or changes.redated is not None or changes.of(DESKS):
        yield _venue_tag(venue_id)
    for event in changes.events:
        if event.queue_id is not None:
            yield _queue_tag(venue_id, event.queue_id)


def _venue_tag(venue_id: VenueId) -> str:
    return f"venue:{venue_id}"


def _queue_tag(venue_id: VenueId, queue_id: QueueId) -> str:
    return f"queue:{venue_id}:{queue_id}"
