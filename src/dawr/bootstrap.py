"""The composition root: settings in, running parts out. The only file that knows all others."""

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from dawr.accounts import Accounts
from dawr.control import QueueChange
from dawr.domain.events import Origin
from dawr.domain.venue import Venue, VenueId
from dawr.engine import Engine
from dawr.founding import found
from dawr.live.hub import Hub
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.passwords import Passwords
from dawr.ports import Store
from dawr.reliability.rate_limit import LocalLimiter
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit, make_private
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from dawr.sweeper import Sweeper, reset
from dawr.system import SystemIds, correlation_id, now, ticks
from dawr.web.access_log import AccessLog
from dawr.web.app import App
from dawr.web.auth import Auth
from dawr.web.client_address import Clients, networks
from dawr.web.edge import Edge
from dawr.web.limits import Limits
from dawr.web.server import Server
from dawr.web.table import ROUTES

MS_PER_HOUR = 60 * 60 * 1000
SECONDS_PER_HOUR = 60 * 60
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
COMMAND_LINE = Origin(actor="command line")


class Dawr(msgspec.Struct, frozen=True):
    """A running installation."""

    settings: Settings
    store: Store
    engine: Engine
    ids: SystemIds
    passwords: Passwords
    accounts: Accounts
    hub: Hub
    sweeper: Sweeper

    async def set_up(self, venue: Venue) -> VenueId:
        """Make the venue, or change the one that has its slug."""
        existing = (await self.store.venue_ids()).get(venue.slug)
        if existing is not None:
            await self.engine.do(existing, SetUp(venue), origin=COMMAND_LINE)
            return existing
        return (await found(self.store, now, self.ids, venue)).id

    async def change_queue(self, change: QueueChange) -> str:
        """What a tool asks for, done, and said in a sentence."""
        venue_id = await self.engine.find_venue(change.venue)
        if change.verb == "reset":
            queue_id, day, number = await reset(self.engine, venue_id, change.queue, origin=COMMAND_LINE)
            return f"Queue {queue_id} begins round {number} of {day} at number 1."
        queue = await self.engine.do(venue_id, ChangeQueue(change.queue, change.verb), origin=COMMAND_LINE)
        return f"Queue {queue.id} is {queue.state}."


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Dawr]:
    """Open, migrate and start everything; stop it in order: streams, sweeper, lanes, store, lock."""
    async with opened(settings) as store:
        await store.migrate()
        ids = SystemIds()
        if venues := await store.renew_epochs(ids.epoch):
            structlog.get_logger("dawr").info("epochs.renewed", venues=venues)
        hub = Hub(
            store,
            now,
            secrets.SystemRandom(),
            stream_seconds=settings.stream_seconds,
            most_per_address=settings.most_streams_per_address,
        )
        engine = Engine(
            store,
            now,
            lanes=settings.lanes if settings.database_url else 1,
            batch_limit=settings.batch_limit,
            most_waiting=settings.most_waiting,
            committed=hub.committed,
        )
        passwords = Passwords()
        accounts = _accounts_of(settings, store, engine, passwords, ids)
        sweeper = Sweeper(engine, store, now)
        tasks = [asyncio.create_task(sweeper.run()), asyncio.create_task(hub.run())]
        try:
            yield Dawr(settings, store, engine, ids, passwords, accounts, hub, sweeper)
        finally:
            hub.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await engine.stop()
            passwords.close()


def _accounts_of(settings: Settings, store: Store, engine: Engine, passwords: Passwords, ids: SystemIds) -> Accounts:
    return Accounts(
        store,
        engine,
        passwords,
        now,
        ids,
        idle_ms=settings.session_idle_hours * MS_PER_HOUR,
        session_ms=settings.session_hours * MS_PER_HOUR,
    )


def web_app(dawr: Dawr, log: AccessLog) -> App:
    """Everything that talks HTTP, around a running installation."""
    settings = dawr.settings
    clients = Clients(networks(settings.trusted_proxies))
    auth = Auth(
        dawr.accounts,
        clients,
        on_loopback=settings.host in LOOPBACK,
        session_seconds=settings.session_hours * SECONDS_PER_HOUR,
    )
    limits = Limits(LocalLimiter(ticks), clients, settings)
    edge = Edge(
        dawr.engine, dawr.ids, dawr.accounts, dawr.hub, auth, limits, clients, settings, dawr.sweeper.sweep_again
    )
    return App(ROUTES, edge, log, new_id=correlation_id)


def collect_garbage_seldom() -> None:
    """What is made by now lives as long as the process, and a request leaves nothing in circles behind it.

    Looking for garbage after every 700 things, as is usual, took a tenth of the time of a busy server.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def web_server(dawr: Dawr, log: AccessLog, listener: socket.socket, ready: Callable[[str], None]) -> Server:
    return Server(
        web_app(dawr, log),
        listener,
        access_log=log,
        new_id=correlation_id,
        ready=ready,
        stopping=dawr.hub.close,
    )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store alone; an embedded one is locked, because it has one writer."""
    if settings.database_url:
        async with _opened_postgres(settings) as postgres:
            yield postgres
        return
    directory = DataDirectory(Path(settings.data))
    directory.prepare()
    directory.lock()
    make_private(directory.database)
    sqlite = SqliteStore(directory.database, clock=now)
    try:
        yield sqlite
    finally:
        await sqlite.close()
        directory.unlock()


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Store]:
    """The store for a tool that only reads, also while a server writes."""
    if settings.database_url:
        async with _opened_postgres(settings) as postgres:
            yield postgres
        return
    database = DataDirectory(Path(settings.data)).database
    if not database.exists():
        raise DataDirectoryUnfit(f"There is no database in {settings.data} yet: `dawr serve` makes one.")
    sqlite = SqliteStore(database, clock=now)
    try:
        yield sqlite
    finally:
        await sqlite.close()


@asynccontextmanager
async def _opened_postgres(settings: Settings) -> AsyncIterator[Store]:
    try:
        store = await PostgresStore.open(settings.database_url, clock=now, lanes=settings.lanes)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_DATABASE_URL cannot be used: {error}.") from error
    try:
        yield store
    finally:
        await store.close()


def refuse_what_cannot_be(settings: Settings) -> None:
    """Combinations that would be unsafe or would not do what they say."""
    if settings.database_url and not settings.database_url.startswith(("postgresql://", "postgres://")):
        raise SettingUnfit("DAWR_DATABASE_URL must begin with postgresql://; leave it empty for the embedded database.")
    try:
        networks(settings.trusted_proxies)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_TRUSTED_PROXIES cannot be used: {error}.") from error
    if settings.workers > 1 and not settings.database_url:
        raise SettingUnfit(
            f"The embedded database has one writer, so {settings.workers} workers cannot share it. "
            "Use --workers 1, or PostgreSQL with DAWR_DATABASE_URL."
        )


def environment() -> dict[str, str]:
    return dict(os.environ)
