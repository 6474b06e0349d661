"""Plays a day in the sample venues: people come, are called, are served, and sometimes do not show up.

It works through the engine like everybody else. It leaves `lab` alone, for the first commands that anybody types, and
the queues whose desks the demo's start page shows: there somebody else calls.
"""

import asyncio
from collections.abc import Iterable
from random import Random

import structlog

from dawr.domain import Desk, Origin, QueueId, TicketId, VenueId, VisitId
from dawr.domain.errors import Refused
from dawr.engine.engine import Engine
from dawr.operations.snapshots import LookAtQueue, LookAtVenue
from dawr.operations.staff import CallNext, Finish, Miss, Start
from dawr.operations.visitor import Issue
from dawr.ports import Ids
from dawr.ports.faults import Busy, StoreFault

log = structlog.get_logger("dawr.sample_life")

LEFT_ALONE = frozenset({QueueId("lab"), QueueId("xray"), QueueId("waitlist")})
LONGEST_LINE = 25
SECONDS_BETWEEN_ARRIVALS = 12.0
SECONDS_TO_THE_DESK = 4.0
SECONDS_OF_SERVICE = 9.0
NO_SHOWS = 0.08

PLAYED = Origin(actor="sample life")


class SampleLife:
    def __init__(self, engine: Engine, ids: Ids, random: Random, *, speed: float = 1.0) -> None:
        self._engine = engine
        self._ids = ids
        self._random = random
        self._speed = speed

    async def play(self, venue_ids: Iterable[VenueId]) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as life:
            for venue_id in venue_ids:
                venue, _ = await self._engine.read(venue_id, LookAtVenue())
                for queue in venue.queues:
                    if queue.id not in LEFT_ALONE:
                        life.create_task(self._people_come(venue_id, queue.id))
                for desk in venue.desks:
                    if LEFT_ALONE.isdisjoint(desk.queues):
                        life.create_task(self._staff_serve(venue_id, desk))

    async def _people_come(self, venue_id: VenueId, queue_id: QueueId) -> None:
        while True:
            await self._pause(SECONDS_BETWEEN_ARRIVALS)
            try:
                seen = await self._engine.read(venue_id, LookAtQueue(queue_id))
                if seen.line.people_waiting < LONGEST_LINE:
                    await self._engine.do(venue_id, self._somebody(venue_id, queue_id), origin=PLAYED)
            except (Refused, StoreFault, Busy) as trouble:
                log.debug("life.paused", reason=str(trouble))

    async def _staff_serve(self, venue_id: VenueId, desk: Desk) -> None:
        while True:
            await self._pause(SECONDS_TO_THE_DESK)
            try:
                called = await self._engine.do(venue_id, CallNext(desk=desk.id), origin=PLAYED)
                if called.ticket is not None:
                    await self._serve(venue_id, called.ticket.ticket_id)
            except (Refused, StoreFault, Busy) as trouble:
                log.debug("life.paused", reason=str(trouble))

    async def _serve(self, venue_id: VenueId, ticket_id: TicketId) -> None:
        await self._pause(SECONDS_TO_THE_DESK)
        if self._random.random() < NO_SHOWS:
            await self._engine.do(venue_id, Miss(ticket_id), origin=PLAYED)
            return
        await self._engine.do(venue_id, Start(ticket_id), origin=PLAYED)
        await self._pause(SECONDS_OF_SERVICE)
        await self._engine.do(venue_id, Finish(ticket_id), origin=PLAYED)

    def _somebody(self, venue_id: VenueId, queue_id: QueueId) -> Issue:
        return Issue(
            queue=queue_id,
            visitor=None,
            ticket_id=TicketId(self._ids.new(venue_id)),
            visit_id=VisitId(self._ids.new(venue_id)),
            secret_hash=self._ids.token(),
        )

    async def _pause(self, mean_seconds: float) -> None:
        await asyncio.sleep(self._random.expovariate(1 / mean_seconds) / self._speed)
