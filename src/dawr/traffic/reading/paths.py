"""Which paths were asked for: in any order, a page at a time."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping

import msgspec

from dawr.traffic.database import Database, Transaction
from dawr.traffic.ranges import Range
from dawr.traffic.reading import cursor
from dawr.traffic.reading.cursor import Listing, Place, Sort
from dawr.traffic.reading.figures import P95, Counts, Figures, figures, quantile_us
from dawr.traffic.visitors import KEPT, Visitors, count_visitors

Histogram = Mapping[int, int]
NO_REQUESTS: Histogram = {}

MOST_HASHES = 2**20
"""So many hashes of visitors are looked at for a page: the more paths and days it has, the fewer of each."""
LEAST_HASHES = 1024


class PathFigures(Figures, frozen=True, kw_only=True):
    path: str
    visitors: Visitors | None
    """Null when none is known: visitors need not be counted."""


class PathsPage(msgspec.Struct, frozen=True):
    range: Range
    """What was really looked at: whole hours."""
    items: list[PathFigures]
    next: str | None
    """The cursor of the next page; null on the last."""


async def paths(database: Database, listing: Listing, *, limit: int, behind: Place | None = None) -> PathsPage:
    async def look(transaction: Transaction) -> PathsPage:
        counts = await counts_by_path(transaction, listing.range)
        return await page_of(transaction, counts, listing, limit=limit, behind=behind)

    return await database.read(look)


async def counts_by_path(transaction: Transaction, range_: Range) -> dict[str, Counts]:
    rows = await transaction.select_rows("counts_by_path", *range_.bounds)
    return {path: Counts(*row) for path, *row in rows}


async def page_of(
    transaction: Transaction,
    counts: Mapping[str, Counts],
    listing: Listing,
    *,
    limit: int,
    behind: Place | None = None,
) -> PathsPage:
    """Histograms and visitors cost the most: they are read for the page, unless it is sorted by them."""
    range_, searched = listing.range, listing.search.casefold()
    found = [path for path in counts if searched in path.casefold()]
    histograms = await histograms_of(transaction, found, range_) if listing.sort == "p95" else {}
    value = _values(listing.sort, counts, histograms)
    places = sorted((Place(value(path), path) for path in found), key=lambda place: place.key)
    if behind is not None:
        places = [place for place in places if place.key > behind.key]
    shown = [place.path for place in places[:limit]]
    if listing.sort != "p95":
        histograms = await histograms_of(transaction, shown, range_)
    visitors = await count_visitors(transaction, shown, range_, kept=_hashes_of_each(len(shown), range_))
    return PathsPage(
        range_,
        [_path_figures(path, counts[path], histograms.get(path, NO_REQUESTS), visitors.get(path)) for path in shown],
        cursor.encoded(listing, places[limit - 1]) if len(places) > limit else None,
    )


async def histograms_of(
    transaction: Transaction, paths: Collection[str], range_: Range, method: str = ""
) -> dict[str, Histogram]:
    """By path; of all methods, unless one is given."""
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    keys = [(path, method, *range_.bounds) for path in paths]
    for path, bucket, requests in await transaction.select_each("buckets_of_path", keys):
        found[path][bucket] = requests
    return {**found}


def _values(sort: Sort, counts: Mapping[str, Counts], histograms: Mapping[str, Histogram]) -> Callable[[str], float]:
    """What a list is sorted by."""
    by: Mapping[Sort, Callable[[str], float | None]] = {
        "requests": lambda path: counts[path].requests,
        "errors": lambda path: counts[path].errors,
        "mean": lambda path: counts[path].mean_ms,
        "p95": lambda path: quantile_us(histograms.get(path, NO_REQUESTS), P95, counts[path].max_us),
        "path": lambda _: 0,
    }
    return lambda path: float(by[sort](path) or 0)


def _hashes_of_each(paths: int, range_: Range) -> int:
    """With half as many hashes of twice as many days, a sum over all days is as good."""
    groups = max(paths * range_.days, 1)
    return min(max(MOST_HASHES // groups, LEAST_HASHES), KEPT)


def _path_figures(path: str, counts: Counts, histogram: Histogram, visitors: Visitors | None) -> PathFigures:
    return PathFigures(**msgspec.structs.asdict(figures(counts, histogram)), path=path, visitors=visitors)
