"""Who waits in each queue, and since when whoever has waited longest."""

import asyncio
import contextlib

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.engine.waiting import WaitingLines
from dawr.operations.admin import Reset
from dawr.operations.snapshots import LookAtWaiting, QueueWaiting
from dawr.operations.staff import Miss
from dawr.operations.visitor import Rejoin
from dawr.ports import Store
from dawr.reliability.lease import Fence
from tests.builders import DrivenClock, call_next, issue
from tests.stores.doing import take


async def waiting(engine: Engine, venue: Venue) -> dict[str, tuple[int, int | None]]:
    seen: list[QueueWaiting] = await engine.read(venue.id, LookAtWaiting())
    return {queue.queue_id: (queue.people, queue.since) for queue in seen}


async def test_whoever_came_first_has_waited_longest_though_another_is_called_before_them(
    engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    began = clock()
    await take(engine, venue)
    clock.advance(minutes=1)
    await engine.do(venue.id, issue("lab", priority=2))

    assert await waiting(engine, venue) == {"lab": (2, began), "xray": (0, None), "eye": (0, None)}


async def test_whoever_was_called_waits_no_more_and_whoever_rejoins_waits_anew(
    engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    first = await take(engine, venue)
    clock.advance(minutes=1)
    second_came = clock()
    await take(engine, venue)

    await engine.do(venue.id, call_next("lab"))
    assert (await waiting(engine, venue))["lab"] == (1, second_came)

    clock.advance(minutes=1)
    await engine.do(venue.id, Miss(first.ticket_id))
    await engine.do(venue.id, Rejoin(first.ticket_id))
    assert (await waiting(engine, venue))["lab"] == (2, second_came)

    await engine.do(venue.id, call_next("lab"))
    await engine.do(venue.id, call_next("lab"))
    assert (await waiting(engine, venue))["lab"] == (0, None)


async def test_after_a_reset_and_on_another_day_nobody_waits_yet(
    engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    await take(engine, venue)
    await engine.do(venue.id, Reset("lab"))
    assert (await waiting(engine, venue))["lab"] == (0, None)

    await take(engine, venue)
    clock.advance(days=1)
    assert (await waiting(engine, venue))["lab"] == (0, None)


async def test_whoever_looks_no_more_tells_nothing(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    """Another process tells it from then on: whoever lost the lease must not go on."""
    await take(engine, venue)
    lines = WaitingLines(engine, store, clock)
    looking = asyncio.create_task(lines.keep_looking(Fence("waiting", 1)))
    async with asyncio.timeout(60):
        while not lines.people():  # noqa: ASYNC110 - it looks by itself
            await asyncio.sleep(0.01)

    looking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await looking

    assert (lines.people(), lines.longest_seconds()) == ({}, {})
