"""One figure, step by step: every step is there, and what cannot be told is refused."""

import pytest

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.ranges import Range, Unanswerable
from dawr.traffic.reading.timeseries import Metric, Step, timeseries
from tests.traffic.builders import NOON, an_event, counted

PATH = "/v1/queues/{queue}"
QUARTER = Range(NOON, NOON + 6 * MS_PER_HOUR)


async def values(
    database: Database, metric: Metric, step: Step, asked: Range, path: str | None = None
) -> list[int | float | None]:
    found = await timeseries(database, metric, step, asked, path=path, now=NOON + MS_PER_DAY)
    return [point.value for point in found.points]


@pytest.mark.parametrize("path", [None, PATH])
async def test_a_step_without_a_request_is_there_with_nothing(database: Database, path: str | None) -> None:
    await counted(database, [an_event(n, at=NOON + MS_PER_HOUR + n, ms=4.0, status=500) for n in range(6)])
    three_hours = Range(NOON + 5, NOON + 3 * MS_PER_HOUR - 5)

    found = {
        metric: await values(database, metric, "hour", three_hours, path)
        for metric in ("requests", "errors", "refused", "mean", "visitors", "rpm", "p50")
    }

    assert found == {
        "requests": [0, 6, 0],
        "errors": [0, 6, 0],
        "refused": [0, 0, 0],
        "mean": [None, 4.0, None],
        "visitors": [0, 6, 0],
        "rpm": [0, 0.1, 0],
        "p50": [None, pytest.approx(4.0, rel=0.01), None],
    }


async def test_minutes_are_of_all_paths(database: Database) -> None:
    await counted(database, [an_event(n, at=NOON + n * 20_000, path=f"/{n}", status=404) for n in range(9)])

    asked = Range(NOON - MS_PER_MINUTE, NOON + 3 * MS_PER_MINUTE + 1)

    assert await values(database, "requests", "minute", asked) == [0, 3, 3, 3, 0]
    assert await values(database, "refused", "minute", asked) == [0, 3, 3, 3, 0]
    assert await values(database, "rpm", "minute", asked) == [0, 3.0, 3.0, 3.0, 0]


async def test_the_day_that_runs_is_a_step_up_to_now(database: Database) -> None:
    await counted(database, [an_event(n, at=NOON + n) for n in range(720)])

    found = await timeseries(database, "rpm", "day", QUARTER, path=None, now=NOON + 1)

    assert [point.value for point in found.points] == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("metric", "path", "asked", "field"),
    [
        ("p95", None, QUARTER, "metric"),
        ("visitors", None, QUARTER, "metric"),
        ("requests", PATH, QUARTER, "path"),
        ("requests", None, Range(NOON, NOON + MS_PER_DAY + 1), "step"),
    ],
)
async def test_what_is_not_known_by_the_minute_is_refused(
    database: Database, metric: Metric, path: str | None, asked: Range, field: str
) -> None:
    with pytest.raises(Unanswerable) as refused:
        await values(database, metric, "minute", asked, path)

    assert refused.value.field == field


async def test_a_day_by_the_minute_has_a_point_for_every_minute(database: Database) -> None:
    found = await values(database, "rpm", "minute", Range(NOON + 1, NOON + 1 + MS_PER_DAY))

    assert found == [0] * (24 * 60 + 1)
