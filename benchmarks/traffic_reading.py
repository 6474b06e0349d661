"""How long the list of paths takes, over a day and over ninety, in tables that were busy all the time."""

import time
from collections.abc import Iterator
from random import Random

from benchmarks.traffic_figures import Measured, at_most
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of
from dawr.traffic.ranges import Range
from dawr.traffic.reading.cursor import Listing
from dawr.traffic.reading.paths import paths

PATHS = 60
BUCKETS_OF_HOUR, BUCKETS_OF_DAY = 20, 60
VISITORS_OF_HOUR, VISITORS_OF_DAY = 10, 150
PAGE = 50
TIMES = 9
MOST_DAY_MS = 200
MOST_QUARTER_MS = 1000
NOW = day_of(1_790_000_000_000) + 13 * MS_PER_HOUR


async def reading(name: str, database: Database, *, days: int) -> list[Measured]:
    for day in range(day_of(NOW) - days * MS_PER_DAY, NOW, MS_PER_DAY):
        await database.transact(lambda transaction, day=day: _fill(transaction, day))  # type: ignore[misc]
    return [
        at_most(f"paths over {span}, {name}", "ms", await _read(database, ms), most)
        for span, ms, most in (
            ("24 hours", MS_PER_DAY, MOST_DAY_MS),
            (f"{days} days", days * MS_PER_DAY, MOST_QUARTER_MS),
        )
    ]


async def _read(database: Database, ms: int) -> list[float]:
    """Sorted by p95, which needs the histograms of all paths: the slowest order."""
    listing = Listing(Range(NOW - ms, NOW), "p95")
    taken = []
    for _ in range(TIMES):
        began = time.perf_counter()
        page = await paths(database, listing, limit=PAGE)
        taken.append(1000 * (time.perf_counter() - began))
        assert len(page.items) == PAGE, page
    return taken


async def _fill(transaction: Transaction, day: int) -> None:
    """The rows of one UTC day and of its hours, in the order of their keys."""
    random = Random(day)
    spans = [(MS_PER_HOUR, start) for start in range(day, min(day + MS_PER_DAY, NOW), MS_PER_HOUR)]
    for span, start in [*spans, (MS_PER_DAY, day)]:
        is_day = span == MS_PER_DAY
        buckets, visitors = (BUCKETS_OF_DAY, VISITORS_OF_DAY) if is_day else (BUCKETS_OF_HOUR, VISITORS_OF_HOUR)
        hours = [(span, start, path, "GET", kind, 100, 0, 0, 500_000, 90_000) for path, kind in _paths_and_classes()]
        await transaction.change_each("count_hours", hours)
        first = random.randrange(300, 400)
        of_path = [(span, start, path, "GET", first + n, 10) for path in _paths() for n in range(buckets)]
        await transaction.change_each("count_buckets", of_path)
        seen = [
            (span, start, path, f"{random.getrandbits(64):016x}") for path in ("", *_paths()) for _ in range(visitors)
        ]
        await transaction.change_each("add_visitors", sorted(seen))


def _paths() -> Iterator[str]:
    return (f"/v1/things/{number:02}/{{id}}" for number in range(PATHS))


def _paths_and_classes() -> Iterator[tuple[str, str]]:
    return ((path, kind) for path in _paths() for kind in ("2xx", "4xx"))
