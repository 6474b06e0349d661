"""What watches the running service and never gets in its way: its log lines, its numbers, its traces."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

from dawr import __version__
from dawr.domain import Event, VenueId
from dawr.observe.access_log import AccessLog, NoLog
from dawr.observe.metrics import families
from dawr.observe.metrics.families import Family
from dawr.observe.metrics.metrics import Gauge, Metrics
from dawr.observe.operation_log import log_committed
from dawr.observe.tracing import Tracing
from dawr.ports import Batch
from dawr.ports.faults import Busy, OutcomeUnknown, StoreAway, StoreFault

MEASURED_EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 2.0
DOUBTED_SECONDS = 1.0
"""So long after a failure the store is not asked: it may be believed for a moment what was known before."""

Gauges = Mapping[Gauge, Callable[[], float]]
Tables = Mapping[Family, Callable[[], Mapping[tuple[str, ...], float]]]
"""Gauges whose labels come and go."""


class Instruments:
    """Without a log or a place to count in, nothing is written and nobody reads what is counted."""

    def __init__(
        self, log: AccessLog | None = None, metrics: Metrics | None = None, tracing: Tracing | None = None
    ) -> None:
        self.log = log or NoLog(lambda _: None, lambda: 0)
        self.metrics = metrics or Metrics()
        self.tracing = tracing
        self._gauges: Gauges = {}
        self._tables: Tables = {}
        self._ready: Callable[[], Awaitable[None]] | None = None
        self._scraping = asyncio.Lock()
        self._store_is_up = True
        self._failed_at = -math.inf

    def watch(
        self,
        gauges: Gauges,
        tables: Tables,
        ready: Callable[[], Awaitable[None]],
        name_of: Callable[[VenueId], str],
    ) -> None:
        """What is measured, whether a command could be stored, and what a venue is called."""
        self._gauges, self._tables, self._ready, self.metrics.name_of = gauges, tables, ready, name_of

    def ran(self, batch: Batch) -> None:
        """A batch of commands, stored or not."""
        if batch.fault is None:
            self._store_is_up = True
        else:
            self.failed(batch.fault)
        self.metrics.ran(batch.size, batch.seconds)
        if self.tracing is not None:
            self.tracing.ran([trace for _, trace in batch.traces], batch.size, batch.seconds, batch.fault)
        if batch.changed:
            self.metrics.committed(batch.changed)
            if self.log.shows_operations:
                log_committed(self.log, batch, self.metrics.name_of)

    def published(self, events: Sequence[Event], now: int) -> None:
        """Events, to those who watch."""
        for event in events:
            self.metrics.published(now - event.at)

    def failed(self, fault: Exception) -> None:
        """A batch or a request."""
        if isinstance(fault, StoreAway | OutcomeUnknown):
            self._store_is_up, self._failed_at = False, asyncio.get_running_loop().time()

    async def measure(self) -> None:
        """How things stand now. Due once a second, for as long as the server runs."""
        if not self._store_is_up:
            await self._ask_the_store()
        self._measure()

    async def scrape(self) -> bytes:
        """All numbers of all processes on this host, as Prometheus reads them."""
        await self._ask_the_store()
        self._measure()
        async with self._scraping:
            # In a thread: with hundreds of queues it takes some milliseconds, and others are served meanwhile.
            return await asyncio.to_thread(self.metrics.text, __version__)

    async def close(self) -> None:
        """The log last: what comes to an end may have something to say."""
        if self.tracing is not None:
            await self.tracing.close()
        self.log.close()

    # Inside

    async def _ask_the_store(self) -> None:
        """The engine believes for a moment what it knew before: what failed since then knows better."""
        if self._ready is None or asyncio.get_running_loop().time() < self._failed_at + DOUBTED_SECONDS:
            return
        with suppress(Busy):
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._ready()
            except (StoreFault, TimeoutError):
                self._store_is_up = False
            else:
                self._store_is_up = True

    def _measure(self) -> None:
        if self._gauges:
            for family, table in self._tables.items():
                self.metrics.tabulate(family, table())
            measured = {family: gauge() for family, gauge in self._gauges.items()}
            self.metrics.measure({**measured, families.STORE_UP: self._store_is_up})
