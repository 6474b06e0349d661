"""The composition root: settings in, running parts out. The only file that knows all others."""

import asyncio
import gc
import logging
import os
import secrets
import socket
import string
import sys
import threading
import time
from binascii import b2a_base64
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
from dawr.reliability import correlation
from dawr.reliability.rate_limit import LocalLimiter
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit, make_private
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from dawr.sweeper import Sweeper, reset
from dawr.web.access_log import AccessLog, NoAccessLog
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
    ids: "SystemIds"
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


def _accounts_of(settings: Settings, store: Store, engine: Engine, passwords: Passwords, ids: "SystemIds") -> Accounts:
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


def now() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def ticks() -> int:
    """Milliseconds that never go back, since some moment."""
    return time.monotonic_ns() // 1_000_000


class Chance(threading.local):
    """Random bytes from the system, fetched by the thousand: asking for a few at a time costs more than they do.

    Each thread has its own, so none is given twice.
    """

    _fetched = b""
    _used = 0

    def take(self, count: int) -> bytes:
        fetched, start = self._fetched, self._used
        if start + count > len(fetched):
            fetched, start = os.urandom(4096), 0
            self._fetched = fetched
        self._used = start + count
        return fetched[start : start + count]

    def forget(self) -> None:
        self._fetched = b""


_chance = Chance()
# A child that went on with what its parent had fetched would give the same ids.
os.register_at_fork(after_in_child=_chance.forget)


def correlation_id() -> str:
    return _chance.take(16).hex()


FOR_URLS = bytes.maketrans(b"+/", b"-_")
IN_ORDER = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~",
)
"""From base64 to letters that fit a URL and sort as their bytes do."""


class SystemIds:
    def token(self) -> str:
        return b2a_base64(_chance.take(16), newline=False).translate(FOR_URLS, b"=").decode()

    def new(self, venue_id: VenueId) -> str:
        """Ids made one after the other stand side by side in an index, so that a batch touches few of its pages."""
        raw = now().to_bytes(6, "big") + _chance.take(18)
        return f"{venue_id}-{b2a_base64(raw, newline=False).translate(IN_ORDER).decode()}"

    def venue_code(self) -> str:
        return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(6))

    def epoch(self) -> int:
        return secrets.randbits(48)


def environment() -> dict[str, str]:
    return dict(os.environ)


def configure_logs(settings: Settings) -> None:
    """JSON lines on standard error, or something readable when a person is watching."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            correlation.add_to_log_line,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[_IntoOurLog()], force=True)


def access_log(settings: Settings) -> AccessLog:
    """A line per request on standard error, unless only warnings are wanted."""
    shown = logging.getLevelNamesMapping()[settings.log_level.upper()] <= logging.INFO
    return (AccessLog if shown else NoAccessLog)(_to_standard_error, time.time_ns, readable=sys.stderr.isatty())


def _to_standard_error(lines: bytes) -> None:
    sys.stderr.buffer.write(lines)
    sys.stderr.buffer.flush()


class _IntoOurLog(logging.Handler):
    """What libraries say becomes one line like every other."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        log.log(record.levelno, "library", said=record.getMessage(), exc_info=record.exc_info or None)
