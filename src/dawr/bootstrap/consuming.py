"""The traffic process: ships the spools of its host, and counts what was shipped if no other host does.

One per host, of low priority. It alone writes to `traffic.sqlite`; tools that want to write ask it through its socket.
Whoever started it holds its standard input open, so that it ends when they are gone.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import structlog
import uvloop

from dawr import __version__
from dawr.bootstrap.control import Handler, listening
from dawr.bootstrap.system import correlation_id, is_synchronised, now
from dawr.bootstrap.traffic import REFRESH, follow, keys_of, on_postgres
from dawr.observe import logs
from dawr.ports.faults import StoreAway
from dawr.reliability.file_lock import try_lock
from dawr.reliability.lease import LEASE_MS, Lease, Leases
from dawr.reliability.works import Work, Works
from dawr.settings import Settings, from_environment
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit
from dawr.traffic import snapshot
from dawr.traffic.care import Care
from dawr.traffic.commands import Commands
from dawr.traffic.consumer import Consumer, Names
from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.details import DetailLimits, FreeSpace
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.heartbeat import HeartbeatWriter
from dawr.traffic.shipping import Shipper
from dawr.traffic.sqlite import SqliteDatabase

NICENESS = 10
SHIP_SECONDS = 0.2
CONSUME_SECONDS = 0.1
BEAT_SECONDS = 10.0
LOCK_SECONDS = 0.2
EMBEDDED_LEASE_MS = 60 * 60 * 1000
"""Nobody waits for it, and a renewal is a write."""
HEALTH_CHECKS = frozenset({"/health", "/health/live", "/health/ready", "/api/v1/health/status", "/api/v1/status"})
"""Counted without details. They are the paths of `web/health.py`, which this process does not load."""
SHOWN = 8
STANDARD_INPUT = 0

log = structlog.get_logger("dawr.traffic")


async def consume(settings: Settings, *, ends_with_input: bool) -> None:
    """Until a signal says stop, or whoever started it is gone."""
    directory = traffic_in(settings.data)
    directory.prepare()
    stopped = _told_to_stop(ends_with_input=ends_with_input)
    holding = asyncio.create_task(_held(directory))
    await asyncio.wait({holding, asyncio.ensure_future(stopped.wait())}, return_when=asyncio.FIRST_COMPLETED)
    if not holding.done():
        holding.cancel()
        return
    _must_be_here(settings)
    os.nice(NICENESS)
    async with _running(settings, directory, name=_named(holding.result())):
        await stopped.wait()
    os.close(holding.result())


def _must_be_here(settings: Settings) -> None:
    """What was written down since belongs to where the installation has moved to."""
    directory = DataDirectory(Path(settings.data))
    to = directory.moved_to()
    if not settings.database_url:
        directory.must_be_whole()
    if to is not None and not settings.database_url:
        raise DataDirectoryUnfit(
            f"The installation in {settings.data} has moved to {to}: its requests are counted there. "
            "Set DAWR_DATABASE_URL to that database."
        )


@asynccontextmanager
async def _running(settings: Settings, directory: TrafficDirectory, *, name: str) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        database = await _opened(settings, directory)
        stack.push_async_callback(database.close)
        space = FreeSpace(directory.path, settings.traffic_free_mb)
        shipper = Shipper(database, directory.spools, now, space.is_low)
        heartbeat = HeartbeatWriter(
            database,
            directory,
            keys_of(settings, directory),
            shipper,
            now,
            host=f"{os.uname().nodename} {name[:SHOWN]}",
            pid=os.getpid(),
            version=__version__,
        )
        stack.push_async_callback(heartbeat.stop)
        works = _works(settings, directory, database, name=name, shipper=shipper, heartbeat=heartbeat, space=space)
        await stack.enter_async_context(works.running())
        await stack.enter_async_context(listening(directory.socket, _handlers(settings, directory, database)))
        yield


def _handlers(settings: Settings, directory: TrafficDirectory, database: Database) -> Mapping[str, Handler]:
    """What tools and servers ask for."""

    async def refresh(_: msgspec.Raw) -> bool:
        try:
            return await snapshot.refresh(database, now())
        except DatabaseAway as away:
            raise StoreAway(str(away)) from away

    commands = Commands(database, directory, now, details_days=settings.traffic_details_days)
    return {**commands.handlers(), REFRESH: refresh}


async def _opened(settings: Settings, directory: TrafficDirectory) -> Database:
    """PostgreSQL has the tables from the installation's own migrations."""
    if settings.database_url:
        return await on_postgres(settings)
    database = SqliteDatabase(directory.database)
    for made in await database.create_tables():
        log.info("traffic.migrated", migration=made)
    return database


def _works(
    settings: Settings,
    directory: TrafficDirectory,
    database: Database,
    *,
    name: str,
    shipper: Shipper,
    heartbeat: HeartbeatWriter,
    space: FreeSpace,
) -> Works:
    holder, lease_ms = f"{os.uname().nodename} {name}", LEASE_MS
    if not settings.database_url:
        # A container that was made anew has another host name, and the same directory.
        holder, lease_ms = name, EMBEDDED_LEASE_MS
    leases = Leases(database, now)
    consumer = Consumer(
        database,
        now,
        batch=settings.traffic_batch,
        wait_ms=settings.traffic_batch_seconds * 1000,
        retries=settings.traffic_retries,
        names=Names(settings.traffic_queue, settings.traffic_dead_letters),
        limits=DetailLimits(settings.traffic_details_per_hour, HEALTH_CHECKS, space.is_low),
        told=follow if settings.traffic_log == "on" else None,
    )
    care = _care(settings, directory, database, space)

    def lease(name: str) -> Lease:
        return Lease(leases, name, holder=holder, lease_ms=lease_ms)

    return Works(
        [
            Work(name="ship", run=shipper.ship, every=SHIP_SECONDS),
            Work(name="consume", run=consumer.consume, every=CONSUME_SECONDS, lease=lease(settings.traffic_queue)),
            Work(name="beat", run=heartbeat.beat, every=BEAT_SECONDS),
            Work(name="care", run=care.go_on, lease=lease(f"{settings.traffic_queue}-care")),
        ],
        expected=(DatabaseAway,),
    )


def _care(settings: Settings, directory: TrafficDirectory, database: Database, space: FreeSpace) -> Care:
    return Care(
        database,
        directory,
        now,
        details_days=settings.traffic_details_days,
        archive_days=settings.traffic_archive_days,
        is_synchronised=is_synchronised,
        is_disk_low=space.is_low,
    )


async def _held(directory: TrafficDirectory) -> int:
    """The lock of the directory. Another process that has it is waited for."""
    handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    is_told = False
    while not try_lock(handle):
        if not is_told:
            log.info("traffic.standing-by", reason="Another traffic process of this directory is running.")
            is_told = True
        await asyncio.sleep(LOCK_SECONDS)
    return handle


def _named(lock: int) -> str:
    """What this directory is called, whichever process has it: it gets its leases back at once when it starts again."""
    name = os.pread(lock, 32, 0).decode(errors="replace")
    if not name.isalnum():
        name = correlation_id()
        os.pwrite(lock, name.encode(), 0)
    return name


def _told_to_stop(*, ends_with_input: bool) -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if ends_with_input:
        loop.add_reader(STANDARD_INPUT, partial(_end, loop, stopped))
    return stopped


def _end(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Nobody writes to it: what there is to read is its end."""
    loop.remove_reader(STANDARD_INPUT)
    stopped.set()


def main() -> None:
    settings = from_environment(dict(os.environ))
    logs.configure_server(settings)
    uvloop.run(consume(settings, ends_with_input=True))


if __name__ == "__main__":
    main()
