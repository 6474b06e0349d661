"""What a range of time came to, over all paths, and against the time before."""

from math import ceil

import msgspec

from dawr.traffic.counting import ALL_PATHS
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.ranges import Range, minutes_until
from dawr.traffic.reading.cursor import Listing
from dawr.traffic.reading.figures import P95, Figures, change, figures, quantile_ms, share, sum_of
from dawr.traffic.reading.paths import Histogram, PathFigures, counts_by_path, page_of
from dawr.traffic.visitors import Visitors, count_visitors

TOP = 10


class Peak(msgspec.Struct, frozen=True):
    """The busiest minute."""

    rpm: int
    at: int


class Change(msgspec.Struct, frozen=True):
    """In per cent of what was before; null if there was nothing."""

    requests: float | None
    errors: float | None
    refused: float | None
    mean: float | None
    p95: float | None


class Before(msgspec.Struct, frozen=True):
    """The same length of time, at the same time of day: a day before, or as many days as the range has."""

    range: Range
    requests: int
    errors: int
    refused: int
    error_rate: float | None
    mean_ms: float | None
    p95_ms: float | None
    change: Change


class Overview(Figures, frozen=True, kw_only=True):
    range: Range
    """What was really looked at: whole hours."""
    visitors: Visitors | None
    """Null when none is known: visitors need not be counted."""
    rpm: float
    """Requests in a minute, in the mean of the time that has passed."""
    peak: Peak | None
    before: Before
    top: list[PathFigures]
    """The paths with the most requests."""


async def overview(database: Database, asked: Range, now: int) -> Overview:
    return await database.read(lambda transaction: read_overview(transaction, asked, now))


async def read_overview(transaction: Transaction, asked: Range, now: int) -> Overview:
    range_ = asked.widened(MS_PER_HOUR)
    by_path = await counts_by_path(transaction, range_)
    counts = sum_of(by_path.values())
    here = figures(counts, await _histogram(transaction, range_))
    visitors = await count_visitors(transaction, [ALL_PATHS], range_)
    busiest = await transaction.select_rows("busiest_minute", range_.start, range_.end)
    top = await page_of(transaction, by_path, Listing(range_), limit=TOP)
    days = ceil(asked.ms / MS_PER_DAY)
    return Overview(
        **msgspec.structs.asdict(here),
        range=range_,
        visitors=visitors.get(ALL_PATHS),
        rpm=round(counts.requests / minutes_until(range_, now), 2),
        peak=Peak(busiest[0][1], busiest[0][0]) if busiest else None,
        before=await _before(transaction, here, range_, now, days * MS_PER_DAY),
        top=top.items,
    )


async def _before(transaction: Transaction, here: Figures, range_: Range, now: int, earlier_ms: int) -> Before:
    """Requests are compared by whole minutes that have passed, so that an hour that runs is compared with its part."""
    passed = Range(range_.start, min(range_.end, now - now % MS_PER_MINUTE))
    then = passed.earlier(earlier_ms)
    now_requests, now_errors, now_refused = await _minutes(transaction, passed)
    requests, errors, refused = await _minutes(transaction, then)
    hours = range_.earlier(earlier_ms)
    counts = sum_of((await counts_by_path(transaction, hours)).values())
    p95_ms = quantile_ms(await _histogram(transaction, hours), P95, counts.max_us)
    return Before(
        then,
        requests,
        errors,
        refused,
        share(errors, requests),
        counts.mean_ms,
        p95_ms,
        Change(
            change(now_requests, requests),
            change(now_errors, errors),
            change(now_refused, refused),
            change(here.mean_ms, counts.mean_ms),
            change(here.p95_ms, p95_ms),
        ),
    )


async def _minutes(transaction: Transaction, range_: Range) -> tuple[int, int, int]:
    ((requests, errors, refused),) = await transaction.select_rows("minutes_together", range_.start, range_.end)
    return requests, errors, refused


async def _histogram(transaction: Transaction, range_: Range) -> Histogram:
    rows = await transaction.select_rows("buckets_together", *range_.bounds)
    return dict(rows)
