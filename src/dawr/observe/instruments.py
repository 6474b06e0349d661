"""What watches the running service and never gets in its way: its log lines, its numbers, its traces."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import structlog

from dawr import __version__
from dawr.domain.events import Event
from dawr.domain.venue import VenueId
from dawr.engine.deciding import Command
from dawr.engine.engine import READY_SECONDS, Busy, Committed, Engine
from dawr.live.hub import Hub
from dawr.observe.access_log import AccessLog, NoLog
from dawr.observe.metrics import families
from dawr.observe.metrics.metrics import Metrics
from dawr.observe.operation_log import OperationLog
from dawr.observe.tracing import Tracing
from dawr.ports import Changes, OutcomeUnknown, StoreAway, StoreFault
from dawr.reliability.shared import Shared

T = TypeVar("T")

log = structlog.get_logger("dawr.instruments")

MEASURED_EVERY_SECONDS = 1.0
PATIENCE_SECONDS = 2.0


class Instruments:
    """Without a log or a place to count in, nothing is written and nobody reads what is counted."""

    def __init__(
        self, log: AccessLog | None = None, metrics: Metrics | None = None, tracing: Tracing | None = None
    ) -> None:
        self.log = log or NoLog(lambda _: None, lambda: 0)
        self.metrics = metrics or Metrics()
        self.tracing = tracing
        self.limits_are_local: Callable[[], bool] = lambda: True
        self._operations = OperationLog(self.log, self._name_of)
        self._engine: Engine | None = None
        self._hub: Hub | None = None
        self._shared: Shared | None = None
        self._scraping = asyncio.Lock()
        self._store_is_up = True
        self._failed_at = -math.inf

    def watch(self, engine: Engine, hub: Hub, shared: Shared | None) -> None:
        self._engine, self._hub, self._shared = engine, hub, shared
        self.metrics.name_of = engine.name_of

    def hearing(self, committed: Committed) -> Committed:
        """What a batch changed is told to those who watch, and then noted."""

        def both(changed: list[Changes]) -> None:
            committed(changed)
            self.metrics.committed(changed)
            if self.log.shows_operations:
                self._operations.committed(changed)

        return both

    async def around(self, batch: list[Command[Any]], transaction: Awaitable[T]) -> T:
        """Await the transaction of a batch, and note how it went."""
        loop = asyncio.get_running_loop()
        began, fault = loop.time(), None
        try:
            return await transaction
        except Exception as error:
            fault = error
            raise
        finally:
            self._note(batch, loop.time() - began, fault)

    def published(self, events: Sequence[Event], now: int) -> None:
        """Events, to those who watch."""
        for event in events:
            self.metrics.published(now - event.at)

    def failed(self, fault: Exception) -> None:
        """A batch or a request."""
        if isinstance(fault, StoreAway | OutcomeUnknown):
            self._store_is_up, self._failed_at = False, asyncio.get_running_loop().time()

    async def run(self) -> None:
        """Measure once a second, for as long as the server runs."""
        while True:
            try:
                if not self._store_is_up:
                    await self._ask_the_store()
                self._measure()
            except Exception:
                log.exception("measure.failed")
            await asyncio.sleep(MEASURED_EVERY_SECONDS)

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

    def _name_of(self, venue_id: VenueId) -> str:
        return venue_id if self._engine is None else self._engine.name_of(venue_id)

    def _note(self, batch: list[Command[Any]], seconds: float, fault: Exception | None) -> None:
        """The batch may be stored already: a fault of those who measure must not look like its own."""
        try:
            if fault is None:
                self._store_is_up = True
            else:
                self.failed(fault)
            self.metrics.ran(len(batch), seconds)
            if self.tracing is not None:
                requests = [command.trace for command in batch if command.trace is not None]
                self.tracing.ran(requests, len(batch), seconds, fault)
        except Exception:
            log.exception("measure.failed")

    async def _ask_the_store(self) -> None:
        """The engine believes for a moment what it knew before: what failed since then knows better."""
        if self._engine is None or asyncio.get_running_loop().time() < self._failed_at + READY_SECONDS:
            return
        with suppress(Busy):
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._engine.ready()
            except (StoreFault, TimeoutError):
                self._store_is_up = False
            else:
                self._store_is_up = True

    def _measure(self) -> None:
        if self._engine is None or self._hub is None:
            return
        measured: dict[families.Family, float] = {
            families.LANE_DEPTH: self._engine.depth,
            families.WATCHERS: self._hub.streams,
            families.FEEDS_STALE: self._hub.stale_feeds,
            families.STORE_UP: self._store_is_up,
            families.LIMITS_LOCAL: self.limits_are_local(),
        }
        if self._shared is not None:
            measured[families.SHARED_UP] = not self._shared.is_away
        self.metrics.measure(measured)
