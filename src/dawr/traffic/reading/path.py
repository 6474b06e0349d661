"""One path: when it was asked for, how it was answered, by whose browsers, and its latest requests."""

from collections import Counter, defaultdict

import msgspec

from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_HOUR
from dawr.traffic.identity import DIGITS
from dawr.traffic.ranges import Range, Unanswerable
from dawr.traffic.reading.figures import Counts, Figures, figures, sum_of
from dawr.traffic.reading.paths import NO_REQUESTS, histograms_of
from dawr.traffic.visitors import Visitors, count_visitors

MOST_DETAILS = 10_000
"""Of the latest requests, so many are looked at for agents."""
LATEST = 20


class Hour(msgspec.Struct, frozen=True):
    at: int
    requests: int
    errors: int
    refused: int
    mean_ms: float | None


class Agents(msgspec.Struct, frozen=True):
    requests: int
    """So many of the latest requests still have details."""
    families: dict[str, int]
    """The most frequent first."""


class Detail(msgspec.Struct, frozen=True):
    id: str
    at: int
    method: str
    status: int
    outcome: str
    ms: float
    agent: str
    country: str
    request_id: str
    correlation_id: str


class PathDetails(Figures, frozen=True, kw_only=True):
    range: Range
    """What was really looked at: whole hours."""
    path: str
    method: str | None
    methods: dict[str, int]
    """How many requests came by each method, whichever was asked for."""
    visitors: Visitors | None
    """Of all methods together: null when one was asked for, and when none is known."""
    hours: list[Hour]
    """Those with a request."""
    statuses: dict[str, int]
    """By class, such as `2xx`."""
    agents: Agents
    latest: list[Detail]


async def path_details(database: Database, path: str, method: str | None, asked: Range) -> PathDetails:
    if not path.isprintable():
        raise Unanswerable("path", "A path has printable characters only.")
    range_ = asked.widened(MS_PER_HOUR)
    return await database.read(lambda transaction: _look(transaction, path, method, range_))


async def _look(transaction: Transaction, path: str, method: str | None, range_: Range) -> PathDetails:
    methods, statuses = Counter[str](), Counter[str]()
    by_hour: defaultdict[int, list[Counts]] = defaultdict(list)
    rows = await transaction.select_rows("counts_of_path_by_start", MS_PER_HOUR, range_.start, range_.end, path)
    for start, of_method, status, *row in rows:
        counts = Counts(*row)
        methods[of_method] += counts.requests
        if method in {None, of_method}:
            statuses[status] += counts.requests
            by_hour[start].append(counts)
    hours = {start: sum_of(by_hour[start]) for start in sorted(by_hour)}
    histogram = (await histograms_of(transaction, [path], range_, method or "")).get(path, NO_REQUESTS)
    visitors = await count_visitors(transaction, [path], range_) if method is None else {}
    return PathDetails(
        **msgspec.structs.asdict(figures(sum_of(hours.values()), histogram)),
        range=range_,
        path=path,
        method=method,
        methods=dict(sorted(methods.items())),
        visitors=visitors.get(path),
        hours=[Hour(at, c.requests, c.errors, c.refused, c.mean_ms) for at, c in hours.items()],
        statuses=dict(sorted(statuses.items())),
        agents=await _agents(transaction, path, method, range_),
        latest=await _latest(transaction, path, method, range_),
    )


async def _agents(transaction: Transaction, path: str, method: str | None, range_: Range) -> Agents:
    rows = await transaction.select_rows("agents_of_path", path, *_ids(range_), MOST_DETAILS, method or "")
    return Agents(sum(requests for _, requests in rows), dict(rows))


async def _latest(transaction: Transaction, path: str, method: str | None, range_: Range) -> list[Detail]:
    rows = await transaction.select_rows("latest_of_path", path, *_ids(range_), MOST_DETAILS, method or "", LATEST)
    return [Detail(*row) for row in rows]


def _ids(range_: Range) -> tuple[str, str]:
    """Ids of this range come behind the first, and before the second."""
    return f"{range_.start:0{DIGITS}}", f"{range_.end:0{DIGITS}}"
