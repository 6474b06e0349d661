"""Whether a queue says that it takes people, and whether it does: the same at any moment, however it is set up."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dawr.domain.errors import Refused
from dawr.domain.hours import MINUTES_OF_A_DAY, Hours
from dawr.domain.queue import Queue
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.desks import LookAtVenueNow
from dawr.operations.snapshots import AtMoment, LookAtQueue
from dawr.stores.sqlite import SqliteStore
from dawr.web.api.answers import QueueAnswer, queue_answer, venue_answer
from tests.builders import MONDAY_AT_TEN, DrivenClock, a_head, a_queue, a_venue, issue
from tests.stores.doing import create_venue

WEEK_BEFORE_THE_CLOCKS_CHANGE = int(datetime(2026, 3, 22, tzinfo=UTC).timestamp() * 1000)
"""Until the 29th in Berlin, where they go from 02:00 to 03:00; in Qatar they never do."""

minutes = st.integers(0, MINUTES_OF_A_DAY // 15).map(lambda quarter: quarter * 15)
spans = st.sets(minutes, min_size=2, max_size=2).map(lambda ends: (min(ends), max(ends)))
days = st.lists(spans, max_size=2).map(tuple)
hours = st.builds(Hours, week=st.lists(days, min_size=7, max_size=7).map(tuple))
moments = st.integers(0, 14 * MINUTES_OF_A_DAY * 60).map(lambda s: WEEK_BEFORE_THE_CLOCKS_CHANGE + s * 1000)
queues = st.builds(
    a_queue,
    state=st.sampled_from(["open", "paused", "closed"]),
    hours=st.none() | hours,
    capacity=st.none() | st.integers(0, 2),
    reserve=st.integers(0, 1),
)
venues = st.builds(
    lambda queue, zone, active: replace(a_venue(queue, zone=zone), active=active),
    queues,
    st.sampled_from(["Asia/Qatar", "Europe/Berlin"]),
    st.sampled_from([True, True, True, False]),
)


class Place(NamedTuple):
    runner: asyncio.Runner
    store: SqliteStore
    clock: DrivenClock
    engine: Engine


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    clock = DrivenClock()
    store = SqliteStore(tmp_path_factory.mktemp("availability") / "dawr.sqlite", clock=clock)
    with asyncio.Runner() as runner:
        runner.run(store.migrate())
        engine = Engine(store, clock)
        yield Place(runner, store, clock, engine)
        runner.run(engine.stop())
        runner.run(store.close())


async def look(place: Place, venue: Venue) -> QueueAnswer:
    """As anybody sees it. In the venue's picture it is shown the same."""
    seen = await place.engine.read(venue.id, AtMoment(LookAtQueue("lab")))
    alone = queue_answer(seen.venue, seen.seen)
    (in_venue,) = venue_answer(await place.engine.read(venue.id, LookAtVenueNow())).queues
    for field in in_venue.__struct_fields__:
        assert getattr(in_venue, field) == getattr(alone, field)
    return alone


async def join(place: Place, venue: Venue) -> str | None:
    """The code of the refusal, if there is one."""
    try:
        await place.engine.do(venue.id, issue())
    except Refused as refusal:
        return refusal.code
    return None


async def must_agree(place: Place, venue: Venue, now: int) -> QueueAnswer:
    place.clock.now = now
    said = await look(place, venue)

    refusal = await join(place, venue)

    assert (said.joinable, said.why_not) == (refusal is None, refusal)
    assert said.places_left != 0 or not said.joinable
    return said


@given(venue=venues, now=moments, joined=st.integers(0, 3))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_what_is_said_and_what_a_join_gets_agree_now_when_it_opens_and_when_it_closes(
    place: Place, venue: Venue, now: int, joined: int
) -> None:
    async def walk() -> None:
        await place.store.add_venue(venue, a_head(venue, now))
        place.clock.now = now
        for _ in range(joined):
            await join(place, venue)

        said = await must_agree(place, venue, now)

        if said.opens_at is not None:
            assert said.opens_at > now
            assert not (await must_agree(place, venue, said.opens_at - 1)).joinable
            assert (await must_agree(place, venue, said.opens_at)).joinable
        if said.closes_at is not None and venue.queues[0].capacity is None:
            assert (await must_agree(place, venue, said.closes_at - 1)).joinable
            assert (await must_agree(place, venue, said.closes_at)).why_not == "outside-hours"

    place.runner.run(walk())


async def said_of(place: Place, queue: Queue, *, joined: int = 0) -> QueueAnswer:
    place.clock.now = MONDAY_AT_TEN
    venue = await create_venue(place.store, a_venue(queue))
    for _ in range(joined):
        await join(place, venue)
    return await look(place, venue)


WORKDAYS = Hours(week=(((8 * 60, 12 * 60), (13 * 60, 16 * 60)),) * 5 + ((), ()))


def at(text: str) -> int:
    """In Qatar, which is three hours ahead of UTC."""
    return int((datetime.fromisoformat(text).replace(tzinfo=UTC) - timedelta(hours=3)).timestamp() * 1000)


@pytest.mark.parametrize(
    ("queue", "joined", "expected"),
    [
        (a_queue(), 0, (True, None, None, None, None)),
        (a_queue(state="paused"), 0, (True, None, None, None, None)),
        (a_queue(state="closed", hours=WORKDAYS), 0, (False, "queue-closed", None, None, None)),
        (a_queue(hours=WORKDAYS), 0, (True, None, None, at("2026-03-02T12:00"), None)),
        (a_queue(hours=Hours(week=(((0, 1440),),) * 7)), 0, (True, None, None, None, None)),
        (a_queue(hours=Hours(week=((),) * 7)), 0, (False, "outside-hours", None, None, None)),
        (a_queue(capacity=3, reserve=1), 3, (True, None, None, None, 1)),
        (a_queue(capacity=2, reserve=1), 3, (False, "queue-full", at("2026-03-03T05:00"), None, 0)),
        (a_queue(capacity=1, hours=WORKDAYS), 1, (False, "queue-full", at("2026-03-03T08:00"), None, 0)),
        (a_queue(capacity=0), 0, (False, "queue-full", None, None, 0)),
    ],
)
def test_a_queue_says_why_it_takes_nobody_and_what_is_known_of_when_it_does(
    place: Place, queue: Queue, joined: int, expected: tuple[object, ...]
) -> None:
    said = place.runner.run(said_of(place, queue, joined=joined))

    assert (said.joinable, said.why_not, said.opens_at, said.closes_at, said.places_left) == expected
