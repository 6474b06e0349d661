"""The statistics as a web process shows them: it reads, and asks the traffic process to do what must be written."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from dawr.traffic import snapshot
from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.event import MS_PER_HOUR, hour_of
from dawr.traffic.ranges import Range, Unanswerable, asked_range
from dawr.traffic.reading import cursor
from dawr.traffic.reading.alerts import Alert, alerts
from dawr.traffic.reading.cursor import Listing, Sort
from dawr.traffic.reading.overview import Overview, overview
from dawr.traffic.reading.path import PathDetails, path_details
from dawr.traffic.reading.paths import PathsPage, paths
from dawr.traffic.reading.timeseries import Metric, Step, Timeseries, timeseries
from dawr.traffic.snapshot import STALE_MS, Snapshot
from dawr.traffic.status import Status, failed_gates, status

KEPT_MS = 1000
MS_PER_SECOND = 1000


class TrafficProcessAway(Exception):
    """The process that writes the statistics does not answer."""


class Freshness(msgspec.Struct, frozen=True):
    source: Literal["snapshot", "live"]
    age_seconds: float
    stale: bool
    """Older than two minutes: it should have been computed anew."""


class OverviewAnswer(Overview, frozen=True, kw_only=True):
    source: Literal["snapshot", "live"]
    age_seconds: float
    stale: bool
    """Older than two minutes: it should have been computed anew."""


class TrafficHealth(Status, frozen=True, kw_only=True):
    healthy: bool
    reasons: list[str]
    """Why the statistics cannot be relied on now, if they cannot."""


class TrafficView:
    """`refresh` asks the traffic process for a new snapshot; it raises `TrafficProcessAway`."""

    def __init__(self, database: Database, clock: Callable[[], int], refresh: Callable[[], Awaitable[None]]) -> None:
        self._database = database
        self._clock = clock
        self._refresh = refresh
        self._kept: Snapshot | None = None
        self._kept_until = 0
        self._asking: asyncio.Task[None] | None = None
        self.seen: Status | None = None
        """How the statistics fared when they were last looked at; None if they could not be."""
        self.count_unspooled: Callable[[], int] = lambda: 0
        """Return how many requests of this process are in no file now."""

    async def overview(self, start: int | None, end: int | None) -> OverviewAnswer:
        """The latest 24 hours as the snapshot has them, however old it is; any other range as it is now."""
        now = self._clock()
        kept = await self._snapshot(now) if start is None and end is None else None
        if kept is None:
            return _answer(await overview(self._database, asked_range(start, end, now), now), LIVE)
        freshness = _freshness(kept, now)
        if freshness.stale:
            self._asked()  # nobody waits for it: the old one is shown meanwhile
        return _answer(kept.overview, freshness)

    async def refresh(self) -> Freshness:
        """Have a new snapshot computed, unless there is one of this minute; how old the latest is then."""
        await asyncio.shield(self._asked())
        self._kept_until = 0
        now = self._clock()
        kept = await self._snapshot(now)
        if kept is None:
            raise TrafficProcessAway
        return _freshness(kept, now)

    async def paths(
        self,
        start: int | None,
        end: int | None,
        *,
        sort: Sort | None,
        search: str | None,
        limit: int,
        behind: str | None,
    ) -> PathsPage:
        """A cursor goes on with its own list: what is given beside it must not be of another."""
        if behind is None:
            range_ = asked_range(start, end, self._clock()).widened(MS_PER_HOUR)
            return await paths(self._database, Listing(range_, sort or "requests", search or ""), limit=limit)
        found = cursor.decoded(behind)
        if not _is_of(found.listing, start, end, sort, search):
            raise Unanswerable("cursor", "It is of a list with another range, order or search.")
        return await paths(self._database, found.listing, limit=limit, behind=found.place)

    async def path(self, path: str, method: str | None, start: int | None, end: int | None) -> PathDetails:
        return await path_details(self._database, path, method, asked_range(start, end, self._clock()))

    async def timeseries(
        self, metric: Metric, step: Step, path: str | None, *, start: int | None, end: int | None
    ) -> Timeseries:
        now = self._clock()
        return await timeseries(self._database, metric, step, asked_range(start, end, now), path=path, now=now)

    async def alerts(self) -> list[Alert]:
        return await alerts(self._database, self._clock())

    async def health(self) -> TrafficHealth:
        found = await status(self._database, self._clock())
        reasons = failed_gates(found)
        return TrafficHealth(**msgspec.structs.asdict(found), healthy=not reasons, reasons=reasons)

    async def look(self) -> None:
        """For whoever asks without waiting. Due every ten seconds."""
        try:
            self.seen = await self.health()
        except DatabaseAway:
            self.seen = None

    async def close(self) -> None:
        """Whatever was asked for and is not answered yet is given up; the database is its owner's to close."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    async def _snapshot(self, now: int) -> Snapshot | None:
        """As it was a second ago at most."""
        if not now < self._kept_until <= now + KEPT_MS:
            self._kept = await snapshot.latest(self._database)
            self._kept_until = now + KEPT_MS
        return self._kept

    def _asked(self) -> asyncio.Task[None]:
        """Once at a time: whoever asks meanwhile waits for the same answer."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
            self._asking.add_done_callback(_is_known)
        return self._asking

    async def _ask(self) -> None:
        await self._refresh()


def _is_known(asked: asyncio.Task[None]) -> None:
    """Whoever waits is told that it failed; if nobody does, it is no news."""
    if not asked.cancelled():
        asked.exception()


LIVE = Freshness("live", 0.0, stale=False)


def _freshness(kept: Snapshot, now: int) -> Freshness:
    age_ms = kept.age_ms(now)
    return Freshness("snapshot", age_ms / MS_PER_SECOND, stale=age_ms > STALE_MS)


def _answer(shown: Overview, freshness: Freshness) -> OverviewAnswer:
    return OverviewAnswer(**msgspec.structs.asdict(shown), **msgspec.structs.asdict(freshness))


def _is_of(listing: Listing, start: int | None, end: int | None, sort: Sort | None, search: str | None) -> bool:
    range_ = listing.range
    return (
        (start is None or hour_of(start) == range_.start)
        and (end is None or Range(range_.start, end).widened(MS_PER_HOUR).end >= range_.end)
        and sort in {None, listing.sort}
        and search in {None, listing.search}
    )
