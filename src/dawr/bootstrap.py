"""The composition root: settings in, running parts out. The only file that knows all others."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import time_ns

import msgspec
import structlog
from starlette.types import ASGIApp

from dawr import logs, tracing
from dawr.accounts import Accounts
from dawr.control import QueueChange
from dawr.domain.events import Origin
from dawr.domain.venue import Venue, VenueId
from dawr.engine import Engine
from dawr.founding import found
from dawr.instruments import Instruments
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.looks import Looks
from dawr.metrics.metrics import Metrics
from dawr.metrics.region import Region
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.passwords import Passwords
from dawr.ports import Store
from dawr.reliability import correlation
from dawr.reliability.census import Census
from dawr.reliability.channel import Channel
from dawr.reliability.lease import Lease
from dawr.reliability.rate_limit import Hits, Limiter, LocalLimiter
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.shared import Shared
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit, make_private
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from dawr.sweeper import CLOCKWORK, Sweeper, reset
from dawr.system import SystemIds, correlation_id, now, ticks
from dawr.web.access_log import AccessLog
from dawr.web.app import App
from dawr.web.auth import Auth
from dawr.web.client_address import Clients, networks
from dawr.web.edge import Edge
from dawr.web.limits import Limits
from dawr.web.metrics import ByPort, MetricsEndpoint
from dawr.web.server import Server, listen
from dawr.web.table import ROUTES

MS_PER_HOUR = 60 * 60 * 1000
SECONDS_PER_HOUR = 60 * 60
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
EMBEDDED_LEASE_MS = MS_PER_HOUR
"""Nobody waits for it, and a renewal is a write."""
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
    looks: Looks
    shared: Shared | None = None
    """What all processes of this installation share in memory; the embedded profile has none."""
    relay: Relay | None = None
    instruments: Instruments = msgspec.field(default_factory=Instruments)
    limiter: Limiter = msgspec.field(default_factory=lambda: LocalLimiter(ticks))

    @property
    def processes(self) -> int:
        """How many serve this installation, at least."""
        return self.settings.workers * self.settings.hosts if self.relay is None else self.relay.processes

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
async def running(
    settings: Settings, instruments: Instruments | None = None, *, identity: str | None = None
) -> AsyncIterator[Dawr]:
    """A server: everything at hand, and what goes on by itself until it stops. Streams end first, then that."""
    async with AsyncExitStack() as stack:
        dawr = await stack.enter_async_context(at_hand(settings, instruments, identity=identity))
        if isinstance(dawr.limiter, SharedLimiter):
            await stack.enter_async_context(dawr.limiter.running())
        clockwork = _clockwork_of(settings, dawr.store, dawr.ids)
        works = [clockwork.run(Sweeper(dawr.engine, dawr.store, now).run), dawr.hub.run(), dawr.instruments.run()]
        if dawr.relay is not None:
            works.append(dawr.relay.run(dawr.hub))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield dawr
        finally:
            dawr.hub.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


@asynccontextmanager
async def at_hand(
    settings: Settings, instruments: Instruments | None = None, *, identity: str | None = None
) -> AsyncIterator[Dawr]:
    """All parts of an installation, migrated, for a tool that does one thing and leaves; nothing goes on by itself.

    A store whose `identity` is known was prepared before, and may be away. They end in order: lanes, looks, relay,
    store, lock.
    """
    instruments = instruments or Instruments()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(instruments.close)
        store = await stack.enter_async_context(opened(settings))
        ids = SystemIds()
        if identity is None:
            identity = await _prepared(store, ids)
        shared = await stack.enter_async_context(_sharing(settings, identity))
        relay = await stack.enter_async_context(_relaying(settings, shared, ids))
        hub = _hub_of(settings, store, relay, instruments)
        looks = Looks.kept(shared, ticks, correlation_id, instruments.metrics.cache_read)
        stack.push_async_callback(looks.close)
        engine = _engine_of(settings, store, hub, looks, instruments)
        stack.push_async_callback(engine.stop)
        instruments.watch(engine, hub, shared)
        passwords = Passwords()
        stack.callback(passwords.close)
        accounts = _accounts_of(settings, store, engine, passwords, ids)
        limiter = _limiter_of(shared, relay, instruments)
        yield Dawr(settings, store, engine, ids, passwords, accounts, hub, looks, shared, relay, instruments, limiter)


async def _prepared(store: Store, ids: SystemIds) -> str:
    await store.migrate()
    if venues := await store.renew_epochs(ids.epoch):
        structlog.get_logger("dawr").info("epochs.renewed", venues=venues)
    return await store.identity()


@asynccontextmanager
async def _sharing(settings: Settings, identity: str) -> AsyncIterator[Shared | None]:
    """The Redis or Valkey of all processes, if there is one; it may be away. Its keys say whose they are."""
    if not (settings.redis_url and settings.database_url):
        yield None
        return
    try:
        shared = Shared.open(settings.redis_url, ticks, prefix=f"dawr:{identity}:")
    except ValueError as error:
        # The error may quote a part of the URL, and that may be its password.
        raise SettingUnfit("DAWR_REDIS_URL cannot be used: write redis://host:port/number.") from error
    try:
        yield shared
    finally:
        await shared.close()


@asynccontextmanager
async def _relaying(settings: Settings, shared: Shared | None, ids: SystemIds) -> AsyncIterator[Relay | None]:
    if shared is None:
        yield None
        return
    name = ids.token()
    census = Census(shared, name, expected=settings.workers * settings.hosts)
    relay = Relay(Channel(shared, "hints", secrets.SystemRandom()), census, name)
    try:
        yield relay
    finally:
        await relay.close()


def _limiter_of(shared: Shared | None, relay: Relay | None, instruments: Instruments) -> Limiter:
    """Counted for all processes together where they share a store; by one for itself otherwise."""
    if shared is None or relay is None:
        return LocalLimiter(ticks)
    limiter = SharedLimiter(shared, ticks, lambda: relay.processes)
    instruments.limits_are_local = lambda: limiter.is_local
    return limiter


def _hub_of(settings: Settings, store: Store, relay: Relay | None, instruments: Instruments) -> Hub:
    return Hub(
        store,
        now,
        secrets.SystemRandom(),
        stream_seconds=settings.stream_seconds,
        most_per_address=settings.most_streams_per_address,
        others=relay,
        told=lambda events: instruments.published(events, now()),
    )


def _engine_of(settings: Settings, store: Store, hub: Hub, looks: Looks, instruments: Instruments) -> Engine:
    return Engine(
        store,
        now,
        lanes=settings.lanes if settings.database_url else 1,
        batch_limit=settings.batch_limit,
        most_waiting=settings.most_waiting,
        committed=instruments.hearing(hub.committed),
        outdate=looks.outdate,
        around=instruments.around,
        trace_of=None if instruments.tracing is None else correlation.current_trace,
    )


def _clockwork_of(settings: Settings, store: Store, ids: SystemIds) -> Lease:
    """The embedded file has one server, which gets its lease back at once when it starts again."""
    if not settings.database_url:
        return Lease(store.leases, CLOCKWORK, holder="the embedded server", lease_ms=EMBEDDED_LEASE_MS)
    return Lease(store.leases, CLOCKWORK, holder=f"{socket.gethostname()} {os.getpid()} {ids.token()}")


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


def web_app(dawr: Dawr, log: AccessLog, metrics_listener: socket.socket | None = None) -> ASGIApp:
    """Everything that talks HTTP, around a running installation."""
    settings, instruments = dawr.settings, dawr.instruments
    log.count, log.count_problem = instruments.metrics.answered, instruments.metrics.failed
    clients = Clients(networks(settings.trusted_proxies))
    auth = Auth(
        dawr.accounts,
        clients,
        on_loopback=settings.host in LOOPBACK,
        session_seconds=settings.session_hours * SECONDS_PER_HOUR,
    )
    hits = Hits(ticks, secrets.token_bytes(32), count=dawr.instruments.metrics.limit_hit)
    limits = Limits(dawr.limiter, clients, settings, hits)
    edge = Edge(
        dawr.engine,
        dawr.looks,
        dawr.ids,
        dawr.accounts,
        dawr.hub,
        auth,
        limits,
        clients,
        settings,
        dawr.shared,
        processes=lambda: dawr.processes,
    )
    guarded = [MetricsEndpoint(edge, instruments, token=settings.metrics_token)] if settings.metrics_token else []
    app = App(ROUTES, edge, log, instruments, new_id=correlation_id, others=guarded)
    if metrics_listener is None:
        return app
    open_to_all = MetricsEndpoint(edge, instruments, token=None)
    beside = App((), edge, log, instruments, new_id=correlation_id, others=[open_to_all])
    return ByPort(app, metrics_listener, beside)


def instruments_of(settings: Settings, regions: Sequence[Region] | None = None, place: int = 0) -> Instruments:
    """Of a process that serves: `place` is which of the workers it is, and `regions` where all of them count."""
    streams = {route.path for route in ROUTES if route.limit == "stream"}
    metrics = Metrics(regions, place, untimed=streams)
    return Instruments(logs.access_log_of_server(settings), metrics, tracing.from_environment(environment(), time_ns))


def listen_for_metrics(settings: Settings) -> socket.socket | None:
    return listen(settings.metrics_host, settings.metrics_port) if settings.metrics_port else None


def web_server(
    dawr: Dawr, listener: socket.socket, ready: Callable[[str], None], *, metrics_listener: socket.socket | None
) -> Server:
    log = dawr.instruments.log
    return Server(
        web_app(dawr, log, metrics_listener),
        listener,
        also=metrics_listener,
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
    if settings.redis_url and not settings.redis_url.startswith(("redis://", "rediss://", "unix://")):
        raise SettingUnfit("DAWR_REDIS_URL must begin with redis://, rediss:// or unix://.")
    try:
        networks(settings.trusted_proxies)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_TRUSTED_PROXIES cannot be used: {error}.") from error
    if settings.workers > 1 and not settings.database_url:
        raise SettingUnfit(
            f"The embedded database has one writer, so {settings.workers} workers cannot share it. "
            "Use --workers 1, or PostgreSQL with DAWR_DATABASE_URL."
        )


def refuse_to_serve_without(settings: Settings) -> None:
    """What serving needs besides: tools do without it, and `dawr check` says what is missing."""
    processes = settings.workers * settings.hosts
    if settings.database_url and processes > 1 and not settings.redis_url:
        raise SettingUnfit(
            f"{processes} processes (DAWR_WORKERS on each of DAWR_HOSTS) need a Redis or Valkey, to share limits and "
            "to tell each other of changes. Set DAWR_REDIS_URL, or serve with one worker on one host."
        )
    if settings.redis_url and not settings.database_url:
        raise SettingUnfit(
            "DAWR_REDIS_URL is for several processes on PostgreSQL, and the embedded database has one process. "
            "Leave it empty, or set DAWR_DATABASE_URL."
        )


def environment() -> dict[str, str]:
    return dict(os.environ)
