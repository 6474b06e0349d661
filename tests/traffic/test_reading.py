"""Every figure of every range is what a plain count of the events has: nothing deviates."""

from random import Random

import pytest

from dawr.traffic.database import Database
from dawr.traffic.details import LIMITED
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, Event, day_of
from dawr.traffic.ranges import Range
from dawr.traffic.reading.cursor import Listing
from dawr.traffic.reading.figures import Figures
from dawr.traffic.reading.overview import Overview, overview
from dawr.traffic.reading.path import path_details
from dawr.traffic.reading.paths import paths
from dawr.traffic.reading.timeseries import Metric, Step, timeseries
from dawr.traffic.visitors import Visitors, trim_visitors
from tests.traffic.builders import NOON, an_event, counted
from tests.traffic.plain_count import PATHS, PlainCount, driven_days, some_ranges

START = day_of(NOON)
WEEK = 7
LATER = START + 30 * MS_PER_DAY
BATCH = 700


async def drive(database: Database, each: int) -> list[Event]:
    """Seven days, counted as they go by."""
    events = list(driven_days(START, WEEK, each, Random(7)))
    for first in range(0, len(events), BATCH):
        batch = events[first : first + BATCH]
        await counted(database, batch, now=batch[-1].timestamp)
        await trim_visitors(database, batch[-1].timestamp - MS_PER_HOUR)
    return events


def must_be_equal(found: Figures, plain: PlainCount) -> None:
    requests, errors, refused = plain.requests, plain.outcome("error"), plain.outcome("refused")
    assert (found.requests, found.errors, found.refused) == (requests, errors, refused)
    assert found.error_rate == (round(errors / requests, 6) if requests else None)
    assert found.refused_rate == (round(refused / requests, 6) if requests else None)
    assert (found.mean_ms, found.max_ms) == (plain.mean_ms, plain.max_ms)
    for share, estimate in ((0.5, found.p50_ms), (0.95, found.p95_ms), (0.99, found.p99_ms)):
        exact = plain.quantile_ms(share)
        assert estimate == (None if exact is None else pytest.approx(exact, rel=0.01))


def count_of(visitors: Visitors | None) -> int:
    assert visitors is None or (visitors.how == "exact" and visitors.lower_bound == visitors.count)
    return 0 if visitors is None else visitors.count


@pytest.mark.parametrize("each", [700, pytest.param(20_000, marks=pytest.mark.prove)])
async def test_seven_days_deviate_by_nothing_from_a_plain_count(database: Database, each: int) -> None:
    events = await drive(database, each)

    for asked in some_ranges(START, WEEK, Random(1)):
        range_ = asked.widened(MS_PER_HOUR)
        await overview_must_be_equal(database, events, asked, range_)
        await paths_must_be_equal(database, events, range_)
        await steps_must_be_equal(database, events, asked)
    await path_must_be_equal(database, events, Range(START + MS_PER_HOUR, START + 2 * MS_PER_DAY))


async def overview_must_be_equal(database: Database, events: list[Event], asked: Range, range_: Range) -> None:
    plain, found = PlainCount(events, range_), await overview(database, asked, LATER)

    must_be_equal(found, plain)
    assert found.range == range_
    assert count_of(found.visitors) == plain.visitors
    assert found.rpm == round(plain.requests / (range_.ms / MS_PER_MINUTE), 2)
    assert (None if found.peak is None else (found.peak.rpm, found.peak.at)) == plain.peak


async def paths_must_be_equal(database: Database, events: list[Event], range_: Range) -> None:
    page = await paths(database, Listing(range_, "path"), limit=100)

    assert [item.path for item in page.items] == sorted(PlainCount(events, range_).by("path"))
    for item in page.items:
        plain = PlainCount(events, range_, item.path)
        must_be_equal(item, plain)
        assert count_of(item.visitors) == plain.visitors


async def steps_must_be_equal(database: Database, events: list[Event], asked: Range) -> None:
    steps: list[tuple[Step, int, str | None]] = [("hour", MS_PER_HOUR, PATHS[0]), ("day", MS_PER_DAY, None)]
    for step, ms, path in steps:
        for metric in ("errors", "mean", "p95", "visitors"):
            found = await timeseries(database, metric, step, asked, path=path, now=LATER)
            range_ = asked.widened(ms)
            assert [point.at for point in found.points] == list(range(range_.start, range_.end, ms))
            for point in found.points:
                plain = PlainCount(events, Range(point.at, point.at + ms), path or "")
                assert point.value == value_of(metric, plain)


def value_of(metric: Metric, plain: PlainCount) -> object:
    if metric == "p95":
        exact = plain.quantile_ms(0.95)
        return None if exact is None else pytest.approx(exact, rel=0.01)
    return {"errors": plain.outcome("error"), "mean": plain.mean_ms, "visitors": plain.visitors}[metric]


async def path_must_be_equal(database: Database, events: list[Event], range_: Range) -> None:
    for method in (None, "POST"):
        found = await path_details(database, PATHS[0], method, range_)
        plain = PlainCount(events, range_, PATHS[0], method or "")
        must_be_equal(found, plain)
        assert sum(hour.requests for hour in found.hours) == plain.requests
        assert sum(found.statuses.values()) == plain.requests
        assert found.methods == PlainCount(events, range_, PATHS[0]).by("method")
        detailed = PlainCount([e for e in events if e.status != LIMITED], range_, PATHS[0], method or "")
        assert found.agents.families == detailed.by("user_agent")
        assert found.agents.requests == detailed.requests
        assert [event.id for event in found.latest] == [
            e.idempotent_id for e in sorted(detailed.events, key=lambda e: e.idempotent_id, reverse=True)[:20]
        ]


async def the_overview(database: Database, now: int) -> Overview:
    return await overview(database, Range(now - MS_PER_DAY, now), now)


async def test_an_hour_that_runs_is_compared_with_the_same_part_of_the_day_before(database: Database) -> None:
    yesterday = [an_event(n, at=NOON - MS_PER_DAY + n * MS_PER_MINUTE) for n in range(60)]
    today = [an_event(100 + n, at=NOON + n * MS_PER_MINUTE // 2, status=500) for n in range(60)]
    await counted(database, [*yesterday, *today], now=NOON + MS_PER_HOUR)

    found = (await overview(database, Range(NOON, NOON + MS_PER_HOUR), NOON + 30 * MS_PER_MINUTE)).before

    assert found.range == Range(NOON, NOON + 30 * MS_PER_MINUTE).earlier(MS_PER_DAY)
    assert (found.requests, found.errors, found.change.requests, found.change.errors) == (30, 0, 100.0, None)


async def test_a_week_is_compared_with_the_week_before(database: Database) -> None:
    week = 7 * MS_PER_DAY
    before = [an_event(n, at=NOON - week + n, ms=10.0) for n in range(4)]
    await counted(database, [*before, an_event(9, at=NOON, ms=5.0)], now=NOON + week)

    found = (await overview(database, Range(NOON, NOON + week), NOON + week)).before

    assert (found.requests, found.mean_ms) == (4, 10.0)
    assert (found.change.requests, found.change.mean, found.change.p95) == (-75.0, -50.0, -50.0)


async def test_an_overview_of_nothing_says_so(database: Database) -> None:
    found = await the_overview(database, NOON)

    assert (found.requests, found.rpm, found.top) == (0, 0.0, [])
    assert (found.error_rate, found.mean_ms, found.p95_ms, found.max_ms) == (None, None, None, None)
    assert (found.visitors, found.peak, found.before.change.requests) == (None, None, None)


async def test_the_rate_of_an_hour_that_runs_is_that_of_its_minutes_so_far(database: Database) -> None:
    await counted(database, [an_event(n, at=NOON + n) for n in range(30)])

    found = await overview(database, Range(NOON, NOON + MS_PER_HOUR), NOON + 10 * MS_PER_MINUTE)

    assert found.rpm == 3.0
    assert found.peak is not None
    assert (found.peak.rpm, found.peak.at) == (30, NOON)


async def test_the_paths_with_the_most_requests_are_in_the_overview(database: Database) -> None:
    await counted(database, [an_event(n * 100 + k, at=NOON - 1, path=f"/{n:02}") for n in range(13) for k in range(n)])

    found = await the_overview(database, NOON)

    assert [(item.path, item.requests) for item in found.top] == [(f"/{n:02}", n) for n in range(12, 2, -1)]
