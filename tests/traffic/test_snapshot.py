"""The overview that is computed once a minute, and how a server shows it: at once, with its age, old or not."""

import asyncio

import pytest

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.ranges import Range
from dawr.traffic.reading.overview import overview
from dawr.traffic.snapshot import Snapshot, latest, refresh
from dawr.traffic.view import TrafficProcessAway, TrafficView
from tests.traffic.builders import NOON, an_event, counted


class Process:
    """The traffic process, as a server asks it; and a clock for both."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.now = NOON
        self.asked = 0
        self.is_away = False
        self.answered = asyncio.Event()
        self.view = TrafficView(database, lambda: self.now, self.refresh)

    async def refresh(self) -> None:
        self.asked += 1
        if self.is_away:
            raise TrafficProcessAway
        await refresh(self.database, self.now)
        self.answered.set()


@pytest.fixture
def process(database: Database) -> Process:
    return Process(database)


async def test_a_snapshot_is_the_overview_of_the_latest_24_hours(database: Database) -> None:
    await counted(database, [an_event(n, at=NOON - n * MS_PER_HOUR, status=500 if n == 3 else 200) for n in range(40)])

    assert await latest(database) is None
    assert await refresh(database, NOON)

    assert await latest(database) == Snapshot(NOON, await overview(database, Range(NOON - MS_PER_DAY, NOON), NOON))


async def test_it_is_computed_at_most_once_a_minute(database: Database) -> None:
    moments = range(NOON, NOON + 3 * MS_PER_MINUTE + 1, 10_000)

    computed = [now for now in moments if await refresh(database, now)]

    assert computed == [NOON, NOON + MS_PER_MINUTE, NOON + 2 * MS_PER_MINUTE, NOON + 3 * MS_PER_MINUTE]


async def test_the_newer_of_two_snapshots_stays(database: Database) -> None:
    await database.change_rows("save_traffic_snapshot", "overview", NOON, "new", MS_PER_MINUTE)

    older = await database.change_rows("save_traffic_snapshot", "overview", NOON - 1000, "old", MS_PER_MINUTE)

    assert older == 0
    assert [tuple(row) for row in await database.select_rows("traffic_snapshot", "overview")] == [(NOON, "new")]


async def test_a_snapshot_from_the_future_does_not_stay(database: Database) -> None:
    await refresh(database, NOON + MS_PER_DAY)

    assert await refresh(database, NOON)

    kept = await latest(database)
    assert kept is not None
    assert kept.at == NOON


async def test_a_snapshot_in_another_form_is_as_if_there_were_none(database: Database) -> None:
    for at, body in enumerate(('{"requests": 1}', "{"), start=NOON):
        assert await database.change_rows("save_traffic_snapshot", "overview", at, body, MS_PER_MINUTE)

        assert await latest(database) is None


async def test_a_server_shows_the_snapshot_with_its_age(database: Database, process: Process) -> None:
    await counted(database, [an_event(1, at=NOON - 1)])
    await refresh(database, NOON)
    await counted(database, [an_event(2, at=NOON - 1)])
    process.now = NOON + 90_000

    shown = await process.view.overview(None, None)

    assert (shown.requests, shown.source, shown.age_seconds, shown.stale) == (1, "snapshot", 90.0, False)
    assert process.asked == 0


async def test_before_the_first_snapshot_and_for_any_other_range_a_server_looks_itself(
    database: Database, process: Process
) -> None:
    await counted(database, [an_event(1, at=NOON - 1)])

    first = await process.view.overview(None, None)
    await refresh(database, NOON)
    await counted(database, [an_event(2, at=NOON - 1)])
    other = await process.view.overview(NOON - MS_PER_HOUR, None)

    assert (first.requests, first.source, first.age_seconds, first.stale) == (1, "live", 0.0, False)
    assert (other.requests, other.source) == (2, "live")


async def test_an_old_snapshot_is_shown_at_once_while_a_new_one_is_asked_for(
    database: Database, process: Process
) -> None:
    await refresh(database, NOON)
    process.now = NOON + 2 * MS_PER_MINUTE + 1

    shown = [await process.view.overview(None, None) for _ in range(3)]
    await asyncio.wait_for(process.answered.wait(), 10)
    process.now += 1001
    after = await process.view.overview(None, None)

    assert [(answer.source, answer.stale) for answer in shown] == [("snapshot", True)] * 3
    assert process.asked == 1
    assert (after.age_seconds, after.stale) == (1.001, False)


async def test_an_old_snapshot_is_shown_although_the_process_is_away(database: Database, process: Process) -> None:
    await refresh(database, NOON)
    process.now, process.is_away = NOON + MS_PER_HOUR, True

    shown = await process.view.overview(None, None)
    await process.view.close()

    assert (shown.source, shown.age_seconds, shown.stale) == ("snapshot", 3600.0, True)


async def test_a_snapshot_is_read_once_a_second(database: Database, process: Process) -> None:
    await refresh(database, NOON)
    ages = []

    for seconds in (70, 70.9, 71.1):
        process.now = NOON + round(seconds * 1000)
        ages.append((await process.view.overview(None, None)).age_seconds)
        await refresh(database, NOON + 65_000)

    assert ages == [70.0, 70.9, 6.1]


async def test_whoever_asks_for_a_new_snapshot_hears_how_old_it_is(database: Database, process: Process) -> None:
    await process.view.overview(None, None)

    made = await process.view.refresh()
    process.now += 30_000
    within_the_minute = await process.view.refresh()
    process.is_away = True

    assert (made.source, made.age_seconds, made.stale) == ("snapshot", 0.0, False)
    assert within_the_minute.age_seconds == 30.0
    with pytest.raises(TrafficProcessAway):
        await process.view.refresh()


async def test_many_who_ask_for_a_new_snapshot_at_once_wait_for_one(database: Database, process: Process) -> None:
    await refresh(database, NOON)

    await asyncio.gather(*(process.view.refresh() for _ in range(20)))

    assert process.asked == 1


async def test_all_of_them_are_told_when_the_process_is_away(process: Process) -> None:
    process.is_away = True

    told = await asyncio.gather(*(process.view.refresh() for _ in range(3)), return_exceptions=True)

    assert [type(each) for each in told] == [TrafficProcessAway] * 3
    assert process.asked == 1
