"""A running installation: all its parts, and what goes on by itself."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
import structlog

from dawr.accounts.accounts import Accounts
from dawr.accounts.create_venue import create_venue
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.bootstrap.control import QueueChange
from dawr.bootstrap.store import opened
from dawr.bootstrap.system import SystemIds, correlation_id, now, ticks
from dawr.domain.events import Origin
from dawr.domain.venue import Venue, VenueId
from dawr.engine.clockwork import CLOCKWORK, Sweeper, reset
from dawr.engine.engine import Engine, Outdate
from dawr.engine.status_cache import StatusCache
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.observe.instruments import Instruments
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.ports import Changes, Store
from dawr.reliability import correlation
from dawr.reliability.channel import Channel
from dawr.reliability.lease import Lease
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.rate_limit import Limiter, LocalLimiter
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.shared import Shared
from dawr.settings import Settings, SettingUnfit

MS_PER_HOUR = 60 * 60 * 1000
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
    status_cache: StatusCache
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
        return (await create_venue(self.store, now, self.ids, venue)).id

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

    A store whose `identity` is known was prepared before, and may be away. They end in order: lanes, status cache,
    relay, store, lock.
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
        status_cache = StatusCache.kept(shared, ticks, correlation_id, instruments.metrics.cache_read)
        stack.push_async_callback(status_cache.close)
        remembered = Remembered(ticks)

        async def outdate(changed: list[Changes]) -> None:
            await remembered.outdate(changed)
            await status_cache.outdate(changed)

        engine = _engine_of(settings, store, hub, outdate, instruments)
        stack.push_async_callback(engine.stop)
        instruments.watch(engine, hub, shared)
        passwords = Passwords()
        stack.callback(passwords.close)
        accounts = _accounts_of(settings, store, engine, passwords, ids, remembered=remembered)
        limiter = _limiter_of(shared, relay, instruments)
        yield Dawr(
            settings, store, engine, ids, passwords, accounts, hub, status_cache, shared, relay, instruments, limiter
        )


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
    process_count = ProcessCount(shared, name, expected=settings.workers * settings.hosts)
    relay = Relay(Channel(shared, "hints", secrets.SystemRandom()), process_count, name)
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


def _engine_of(settings: Settings, store: Store, hub: Hub, outdate: Outdate, instruments: Instruments) -> Engine:
    return Engine(
        store,
        now,
        lanes=settings.lanes if settings.database_url else 1,
        batch_limit=settings.batch_limit,
        most_waiting=settings.most_waiting,
        committed=instruments.hearing(hub.committed),
        outdate=outdate,
        around=instruments.around,
        trace_of=None if instruments.tracing is None else correlation.current_trace,
    )


def _clockwork_of(settings: Settings, store: Store, ids: SystemIds) -> Lease:
    """The embedded file has one server, which gets its lease back at once when it starts again."""
    if not settings.database_url:
        return Lease(store.leases, CLOCKWORK, holder="the embedded server", lease_ms=EMBEDDED_LEASE_MS)
    return Lease(store.leases, CLOCKWORK, holder=f"{socket.gethostname()} {os.getpid()} {ids.token()}")


def _accounts_of(
    settings: Settings, store: Store, engine: Engine, passwords: Passwords, ids: SystemIds, *, remembered: Remembered
) -> Accounts:
    return Accounts(
        store,
        engine,
        passwords,
        now,
        ids,
        remembered=remembered,
        idle_ms=settings.session_idle_hours * MS_PER_HOUR,
        session_ms=settings.session_hours * MS_PER_HOUR,
    )
