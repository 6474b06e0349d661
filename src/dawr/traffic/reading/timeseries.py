"""One figure, step by step. A step without a request is there: with 0, or null where nothing can be said."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Literal

import msgspec

from dawr.traffic.counting import ALL_PATHS
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.ranges import Range, Unanswerable, minutes_until
from dawr.traffic.reading.figures import P50, P95, P99, Counts, quantile_ms, sum_of
from dawr.traffic.reading.paths import NO_REQUESTS, Histogram
from dawr.traffic.visitors import KEPT, estimate

Metric = Literal["requests", "errors", "refused", "mean", "p50", "p95", "p99", "visitors", "rpm"]
Step = Literal["minute", "hour", "day"]

MS_PER_STEP: Mapping[Step, int] = {"minute": MS_PER_MINUTE, "hour": MS_PER_HOUR, "day": MS_PER_DAY}
BY_MINUTE: frozenset[Metric] = frozenset({"requests", "errors", "refused", "rpm"})
QUANTILES: Mapping[Metric, float] = {"p50": P50, "p95": P95, "p99": P99}

Values = Mapping[int, float | None]


class Point(msgspec.Struct, frozen=True):
    at: int
    value: int | float | None


class Timeseries(msgspec.Struct, frozen=True):
    range: Range
    """What was really looked at: whole steps."""
    metric: Metric
    step: Step
    path: str | None
    points: list[Point]


async def timeseries(
    database: Database, metric: Metric, step: Step, asked: Range, *, path: str | None, now: int
) -> Timeseries:
    if path is not None and not path.isprintable():
        raise Unanswerable("path", "A path has printable characters only.")
    if step == "minute":
        _must_be_known_by_minute(metric, path, asked)
    ms = MS_PER_STEP[step]
    range_ = asked.widened(ms)

    async def look(transaction: Transaction) -> list[Point]:
        values = await _values(transaction, metric, range_, ms, path=path, now=now)
        nothing = None if metric == "mean" or metric in QUANTILES else 0
        return [Point(at, values.get(at, nothing)) for at in range_.steps(ms)]

    return Timeseries(range_, metric, step, path, await database.read(look))


def _must_be_known_by_minute(metric: Metric, path: str | None, asked: Range) -> None:
    if metric not in BY_MINUTE:
        raise Unanswerable("metric", f"By the minute there are {', '.join(sorted(BY_MINUTE))}.")
    if path is not None:
        raise Unanswerable("path", "By the minute all paths are counted together.")
    if asked.ms > MS_PER_DAY:
        raise Unanswerable("step", "By the minute a range has at most 24 hours.")


async def _values(
    transaction: Transaction, metric: Metric, range_: Range, ms: int, *, path: str | None, now: int
) -> Values:
    if metric == "visitors":
        return await _visitors(transaction, range_, ms, ALL_PATHS if path is None else path)
    counts = await _counts(transaction, range_, ms, path)
    if metric in QUANTILES:
        histograms = await _histograms(transaction, range_, ms, path)
        part = QUANTILES[metric]
        return {at: quantile_ms(histograms.get(at, NO_REQUESTS), part, c.max_us) for at, c in counts.items()}
    if metric == "rpm":
        return {at: round(c.requests / minutes_until(Range(at, at + ms), now), 2) for at, c in counts.items()}
    by: Mapping[Metric, Values] = {
        "requests": {at: c.requests for at, c in counts.items()},
        "errors": {at: c.errors for at, c in counts.items()},
        "refused": {at: c.refused for at, c in counts.items()},
        "mean": {at: c.mean_ms for at, c in counts.items()},
    }
    return by[metric]


async def _counts(transaction: Transaction, range_: Range, ms: int, path: str | None) -> dict[int, Counts]:
    if ms == MS_PER_MINUTE:
        rows = await transaction.select_rows("minutes_between", range_.start, range_.end)
        return {at: Counts(*row) for at, *row in rows}
    if path is None:
        rows = await transaction.select_rows("counts_by_start", ms, range_.start, range_.end)
        return {at: Counts(*row) for at, *row in rows}
    found: defaultdict[int, list[Counts]] = defaultdict(list)
    for at, _, _, *row in await transaction.select_rows("counts_of_path_by_start", ms, range_.start, range_.end, path):
        found[at].append(Counts(*row))
    return {at: sum_of(counts) for at, counts in found.items()}


async def _histograms(transaction: Transaction, range_: Range, ms: int, path: str | None) -> dict[int, Histogram]:
    bounds = (ms, range_.start, range_.end)
    if path is None:
        rows = await transaction.select_rows("buckets_by_start", *bounds)
    else:
        rows = await transaction.select_rows("buckets_of_path_by_start", *bounds, path)
    found: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for at, bucket, requests in rows:
        found[at][bucket] = requests
    return {**found}


async def _visitors(transaction: Transaction, range_: Range, ms: int, path: str) -> Values:
    rows = await transaction.select_each("visitors_by_start", [(path, range_.start, range_.end, KEPT, ms)])
    return {at: estimate(found, largest, KEPT).count for _, at, found, largest in rows if found}
