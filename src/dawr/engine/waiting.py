"""How many wait in every queue, and for how long: kept in one process of all, for whoever watches the service."""

import asyncio
from collections.abc import Mapping

from dawr.domain import VenueId
from dawr.engine.engine import Engine
from dawr.operations.snapshots import LookAtWaiting, QueueWaiting
from dawr.ports import Clock, Store
from dawr.reliability.lease import Fence

EVERY_SECONDS = 5.0
REST = 20
"""So many times as long as a look took it is left alone: with however many venues, it is a small part of the work."""
MS_PER_SECOND = 1000

Place = tuple[str, ...]
"""The venue's slug, and the queue."""


class WaitingLines:
    """Empty in every process but the one that looks: whoever adds up several processes counts nobody twice."""

    def __init__(self, engine: Engine, store: Store, clock: Clock) -> None:
        self._engine = engine
        self._store = store
        self._clock = clock
        self._seen: dict[Place, QueueWaiting] = {}

    def people(self) -> Mapping[Place, float]:
        """Who waits in each queue, as they were last seen."""
        return {place: seen.people for place, seen in self._seen.items()}

    def longest_seconds(self) -> Mapping[Place, float]:
        """How long whoever has waited longest in each queue has waited by now; nothing where nobody waits."""
        now = self._clock()
        return {
            place: 0.0 if seen.since is None else max(0, now - seen.since) / MS_PER_SECOND
            for place, seen in self._seen.items()
        }

    async def keep_looking(self, _: Fence) -> None:
        """For as long as this is the process that does. What it has seen means nothing afterwards."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                began = loop.time()
                self._seen = await self._look()
                await asyncio.sleep(max(EVERY_SECONDS, REST * (loop.time() - began)))
        finally:
            self._seen = {}

    async def _look(self) -> dict[Place, QueueWaiting]:
        venues = await self._store.venue_ids()
        return {(slug, seen.queue_id): seen for slug, venue_id in venues.items() for seen in await self._at(venue_id)}

    async def _at(self, venue_id: VenueId) -> list[QueueWaiting]:
        return await self._engine.read(venue_id, LookAtWaiting())
