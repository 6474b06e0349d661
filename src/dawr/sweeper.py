"""Ends what was left open when a day or a round ended, in small steps. Safe to run twice."""

import asyncio
from collections.abc import Iterable

import structlog

from dawr.domain.day import Day
from dawr.domain.events import NOBODY, Origin
from dawr.domain.queue import QueueId
from dawr.domain.ticket import LineKey
from dawr.domain.venue import VenueId
from dawr.engine import Busy, Engine
from dawr.operations.admin import Reset
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.snapshots import LookAtVenue
from dawr.ports import BULK_STEP, Clock, Store, StoreAway, StoreFault

log = structlog.get_logger("dawr.sweeper")

LOOKS_EVERY_SECONDS = 15.0
CLOCK = Origin(actor="clock")


class Sweeper:
    def __init__(self, engine: Engine, store: Store, clock: Clock) -> None:
        self._engine = engine
        self._store = store
        self._clock = clock
        self._swept: dict[VenueId, Day] = {}

    def sweep_again(self, venue_id: VenueId) -> None:
        """At the next look, whatever day it is."""
        self._swept.pop(venue_id, None)

    async def run(self) -> None:
        """Look around for ever. A store that is away is looked at again later."""
        while True:
            try:
                await self.look_around()
            except (StoreFault, Busy) as fault:
                log.warning("sweep.failed", reason=str(fault) or type(fault).__name__)
            await asyncio.sleep(LOOKS_EVERY_SECONDS)

    async def look_around(self) -> None:
        """Sweep every venue whose day has changed since it was last swept; drop answers and sessions that expired.

        What is wrong with one venue is logged, and keeps no other one waiting.
        """
        for venue_id in (await self._store.venue_ids()).values():
            try:
                await self._look_at(venue_id)
            except (StoreAway, Busy):
                raise
            except Exception:
                log.exception("sweep.failed", venue=venue_id)
        while await self._store.purge_answers(self._clock(), most=BULK_STEP) == BULK_STEP:
            pass
        while await self._store.accounts.purge_sessions(self._clock(), most=BULK_STEP) == BULK_STEP:
            pass

    async def _look_at(self, venue_id: VenueId) -> None:
        venue, day = await self._engine.read(venue_id, LookAtVenue())
        if self._swept.get(venue_id) != day:
            await sweep(self._engine, venue_id, [queue.id for queue in venue.queues])
            self._swept[venue_id] = day


async def reset(engine: Engine, venue_id: VenueId, queue: str, *, origin: Origin = NOBODY) -> LineKey:
    """Begin a new round, and expire who waited in the old one."""
    key = await engine.do(venue_id, Reset(queue), origin=origin)
    await sweep(engine, venue_id, [key[0]])
    return key


async def sweep(engine: Engine, venue_id: VenueId, queues: Iterable[QueueId]) -> None:
    for queue_id in queues:
        while expired := await engine.do(venue_id, ExpireEnded(queue_id), origin=CLOCK):
            log.info("line.swept", venue=venue_id, queue=queue_id, expired=expired)
