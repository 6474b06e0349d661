"""The traffic statistics of a process that serves: what writes requests down, and the process that counts them."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import structlog

from dawr.bootstrap import control
from dawr.bootstrap.system import correlation_id, now
from dawr.observe.metrics import families
from dawr.observe.metrics.metrics import Gauge
from dawr.reliability.works import Work
from dawr.settings import Settings, as_environment
from dawr.traffic.collector import Collector, Kept
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.keys import KEY_BYTES, VisitorKeys
from dawr.traffic.spool import Spool, size_of
from dawr.traffic.sqlite import SqliteDatabase
from dawr.traffic.status import Status
from dawr.traffic.view import TrafficProcessAway, TrafficView

STOP_SECONDS = 1.0
PROGRAM = ("-m", "dawr.bootstrap.consuming")
REFRESH = "refresh-snapshot"
REFRESH_SECONDS = 5.0
FLUSH_SECONDS = 1.0
LOOK_SECONDS = 10.0

log = structlog.get_logger("dawr.traffic")


class TrafficProcessEnded(Exception):
    """The traffic process ended; it is started again."""


class Traffic(NamedTuple):
    """The statistics of one process that serves."""

    collector: Collector
    view: TrafficView
    works: tuple[Work, ...]
    spools: Path

    def gauges(self) -> Mapping[Gauge, Callable[[], float]]:
        """What is measured of them once a second, as it was last seen."""

        def seen(figure: Callable[[Status], float]) -> Callable[[], float]:
            return lambda: 0.0 if self.view.seen is None else figure(self.view.seen)

        return {
            families.TRAFFIC_BACKLOG: seen(lambda status: status.backlog),
            families.TRAFFIC_LAG_SECONDS: seen(lambda status: status.lag_seconds),
            families.TRAFFIC_DEAD_LETTERS: seen(lambda status: status.dead_letters),
            families.TRAFFIC_SPOOL_BYTES: lambda: size_of(self.spools),
            (families.TRAFFIC_ALERTS, "warning"): seen(lambda status: _open(status, "warning")),
            (families.TRAFFIC_ALERTS, "critical"): seen(lambda status: _open(status, "critical")),
            families.TRAFFIC_LOST: lambda: self.collector.spool.lost,
        }


@asynccontextmanager
async def traffic_of(settings: Settings, environment: Mapping[str, str], *, slot: int) -> AsyncIterator[Traffic | None]:
    """None if they are switched off. The first of the workers keeps the traffic process of the host."""
    collector = collector_of(settings)
    if collector is None:
        yield None
        return
    async with traffic_viewed(settings) as view:
        view.count_unspooled = lambda: collector.spool.unspooled
        works = [
            Work(name="spool", run=partial(_flush, collector.spool), every=FLUSH_SECONDS),
            Work(name="traffic-status", run=view.look, every=LOOK_SECONDS),
        ]
        if slot == 0:
            works.append(Work(name="traffic", run=TrafficProcess(settings, environment).keep))
        try:
            yield Traffic(collector, view, tuple(works), traffic_in(settings.data).spools)
        finally:
            collector.spool.close()


def _open(status: Status, level: str) -> int:
    return sum(alert.level == level for alert in status.alerts)


async def _flush(spool: Spool) -> None:
    spool.flush()


def collector_of(settings: Settings) -> Collector | None:
    """None: nothing is counted."""
    if settings.traffic == "off":
        return None
    directory = traffic_in(settings.data)
    with suppress(OSError):  # whoever writes there says why it cannot
        directory.prepare()
    return Collector(
        Spool(directory.spools, correlation_id),
        keys_of(settings, directory),
        clock=now,
        new_id=correlation_id,
        kept=Kept(
            visitors=settings.traffic_visitors == "on",
            agents=settings.traffic_agents == "on",
            details=settings.traffic_details_percent / 100,
        ),
        told=follow if settings.traffic_log == "on" else None,
    )


def follow(said: str) -> None:
    """What became of one event, or of some, for whoever follows them in the log."""
    log.info("traffic.followed", said=said)


def keys_of(settings: Settings, directory: TrafficDirectory) -> VisitorKeys:
    file = Path(settings.traffic_key) if settings.traffic_key else directory.key
    return VisitorKeys(file, lambda: secrets.token_bytes(KEY_BYTES))


@asynccontextmanager
async def traffic_read(settings: Settings) -> AsyncIterator[Database]:
    """For looks only, beside the process that writes. It may not be there yet, or be away."""
    database = await _database_to_read(settings)
    try:
        yield database
    finally:
        await database.close()


async def _database_to_read(settings: Settings) -> Database:
    if settings.database_url:
        return await on_postgres(settings)
    return SqliteDatabase(traffic_in(settings.data).database, read_only=True, in_thread=True)


async def on_postgres(settings: Settings) -> Database:
    from dawr.traffic.postgres import PostgresDatabase  # noqa: PLC0415 - its driver is large, and few need it

    return await PostgresDatabase.open(settings.database_url)


@asynccontextmanager
async def traffic_viewed(settings: Settings) -> AsyncIterator[TrafficView]:
    """What a server shows of the statistics. New snapshots are made by the traffic process of its host."""
    socket = traffic_in(settings.data).socket

    async def refresh() -> None:
        try:
            await asyncio.to_thread(control.ask, socket, REFRESH, seconds=REFRESH_SECONDS)
        except control.ControlFailed as failure:
            raise TrafficProcessAway from failure

    async with traffic_read(settings) as database:
        view = TrafficView(database, now, refresh)
        try:
            yield view
        finally:
            await view.close()


class TrafficProcess:
    """Kept running beside the server, on its host and of low priority. It ends when this process is gone."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self._environment = {**environment, **as_environment(settings)}

    async def keep(self) -> None:
        """Until it ends, which it should not, or this is cancelled."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, *PROGRAM, stdin=asyncio.subprocess.PIPE, env=self._environment
        )
        try:
            code = await process.wait()
            raise TrafficProcessEnded(f"The traffic process ended with code {code}.")
        finally:
            if process.returncode is None:
                process.terminate()
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), STOP_SECONDS)
            if process.returncode is None:
                process.kill()
                await process.wait()
