"""Ends what was left open when a day or a round ended, in small steps, and drops what has expired. Safe to run twice.

One process of all does it by the clock, under a lease. Whoever begins a new round sweeps its queue at once, in
whichever process; what that leaves behind is found here, because the line has changed.
"""

import asyncio
from collections.abc import Iterable

import structlog

from dawr.domain import NOBODY, Alarm, Day, LineKey, Origin, QueueId, VenueId
from dawr.domain.day import is_date
from dawr.domain.errors import CannotRepairDay
from dawr.engine.engine import Engine
from dawr.engine.timekeeping import DAY_MS, Doubt, Timekeeper
from dawr.operations.admin import Reset
from dawr.operations.alarms import IsUnwound, Ring, WindUp
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.repair import RepairDay, Repaired
from dawr.operations.snapshots import LookAtLines, LookAtVenue
from dawr.ports import BULK_STEP, Clock, Store
from dawr.ports.faults import Busy, StoreAway, StoreFault
from dawr.reliability.lease import Fence, LeaseLost

log = structlog.get_logger("dawr.engine")

EVERY_SECONDS = 15.0
RING_SECONDS = 0.25
MOST_LOOKS = 5
LONGEST_SAID = 32
MOST_AHEAD_MS = 3 * DAY_MS
"""The longest timer ends with a day, which a change of zone may have put a day ahead."""
CLOCK = Origin(actor="clock")


class Sweeper:
    def __init__(self, engine: Engine, store: Store) -> None:
        self._engine = engine
        self._store = store
        self._swept: dict[VenueId, set[LineKey]] = {}

    async def sweep_all(self, under: Fence | None = None) -> None:
        """Sweep every queue whose line has changed since it was last swept.

        What is wrong with one venue is logged, and keeps no other one waiting. While the clock is doubted nobody's
        day has ended.
        """
        if await self._engine.doubts_clock():
            return
        for venue_id in (await self._store.venue_ids()).values():
            try:
                await self._sweep(venue_id, under)
            except (StoreAway, Busy, LeaseLost):
                raise
            except Exception:
                log.exception("sweep.failed", venue=venue_id)

    async def _sweep(self, venue_id: VenueId, under: Fence | None) -> None:
        lines = await self._engine.read(venue_id, LookAtLines())
        if venue_id not in self._swept and await self._engine.read(venue_id, IsUnwound()):
            await self._engine.do(venue_id, WindUp(), origin=CLOCK, under=under)
        swept = self._swept.get(venue_id, set())
        await sweep(self._engine, venue_id, [key.queue_id for key in lines if key not in swept], under=under)
        self._swept[venue_id] = set(lines)


class Ringer:
    """Does what is due at any venue. A step with nothing due is one look, however many venues there are."""

    def __init__(self, engine: Engine, store: Store, clock: Clock) -> None:
        self._engine = engine
        self._store = store
        self._clock = clock

    async def ring_due(self, under: Fence | None = None) -> int:
        """All that is due now, and how many that were. One that fails is logged, and keeps no other one waiting.

        Whether it is due is judged again by the store's clock, when it rings.
        """
        rung = 0
        while due := await self._store.due_alarms(self._clock(), most=BULK_STEP):
            outcomes = await asyncio.gather(*(self._ring(alarm, under) for alarm in due))
            rung += sum(outcomes)
            if not any(outcomes):
                return rung
        return rung

    async def _ring(self, alarm: Alarm, under: Fence | None) -> bool:
        try:
            return await self._engine.do(alarm.venue_id, Ring(alarm.kind, alarm.subject), origin=CLOCK, under=under)
        except (StoreAway, Busy, LeaseLost):
            raise
        except Exception:
            log.exception("ring.failed", venue=alarm.venue_id, alarm=alarm.kind)
            return False


async def purge(store: Store, clock: Clock, time: Timekeeper) -> None:
    """Drop answers and sessions that have expired, and alarms that have rung. It needs no fence: they are nobody's.

    While the clock is doubted, or the store has another one, nothing has expired. What such a clock set rings after it.
    """
    while await store.purge_alarms(most=BULK_STEP) == BULK_STEP:
        pass
    now = clock()
    if await time.judge() is not None or await store.put_right(now) != now:
        return
    await store.ring_far_alarms(now, beyond=now + MOST_AHEAD_MS)
    while await store.purge_answers(time.ran_ms, most=BULK_STEP) == BULK_STEP:
        pass
    while await store.accounts.purge_sessions(now, most=BULK_STEP) == BULK_STEP:
        pass


async def reset(engine: Engine, venue_id: VenueId, queue: str, *, origin: Origin = NOBODY) -> LineKey:
    """Begin a new round, and expire who waited in the old one."""
    key = await engine.do(venue_id, Reset(queue), origin=origin)
    await sweep_old_rounds(engine, venue_id, queue)
    return key


async def sweep_old_rounds(engine: Engine, venue_id: VenueId, queue: str) -> None:
    """After a reset, expire who waited: in steps, now or, if that fails, by the clock, in whichever process.

    The new round has begun anyway. While the clock is doubted they wait for that: with them, earlier days would end.
    """
    try:
        if await engine.doubts_clock():
            return
        venue, _ = await engine.read(venue_id, LookAtVenue())
        await sweep(engine, venue_id, [venue.queue(queue).id])
    except (Busy, StoreFault) as fault:
        log.warning("sweep.postponed", venue=engine.name_of(venue_id), reason=str(fault) or type(fault).__name__)


async def sweep(engine: Engine, venue_id: VenueId, queues: Iterable[QueueId], *, under: Fence | None = None) -> None:
    for queue_id in queues:
        while expired := await engine.do(venue_id, ExpireEnded(queue_id), origin=CLOCK, under=under):
            log.info("line.swept", venue=venue_id, queue=queue_id, expired=expired)


async def repair_day(
    engine: Engine, store: Store, venue_id: VenueId, *, epoch: int, today: str | None = None, origin: Origin = NOBODY
) -> Repaired:
    """Bring a venue whose day is ahead back to today. Where the clock is doubted, somebody must say which that is."""
    await engine.ready()
    for _ in range(MOST_LOOKS):
        venue, _ = await engine.read(venue_id, LookAtVenue())
        day = venue.today(engine.now())
        _must_be_today(venue.slug, day, await engine.doubt(), said=today)
        lines = [key for queue in venue.queues for key in await store.lines_since(venue_id, queue.id, day)]
        repaired = await engine.do(venue_id, RepairDay(epoch, tuple(lines)), origin=origin)
        if repaired is not None:
            return repaired
    raise Busy


def _must_be_today(venue: str, day: Day, doubt: Doubt | None, *, said: str | None) -> None:
    """A clock that is behind what it said last is not confirmed by somebody who reads that date from it."""
    if said is not None and not is_date(said):
        raise CannotRepairDay(venue, "no-date", said=said[:LONGEST_SAID])
    if said not in {None, day}:
        raise CannotRepairDay(venue, "other-day", day=day)
    if doubt is not None and doubt.days < 0:
        raise CannotRepairDay(venue, "clock-went-back", day=day)
    if doubt is not None and said is None:
        raise CannotRepairDay(venue, "clock-doubted", day=day)
