"""A running installation: all its parts, and what goes on by itself."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from dawr.accounts.accounts import Accounts
from dawr.accounts.create_venue import create_venue
from dawr.accounts.known_browsers import KnownBrowsers
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.bootstrap import system
from dawr.bootstrap.control import DayRepair, QueueChange
from dawr.bootstrap.fitness import environment
from dawr.bootstrap.store import inspect, opened
from dawr.bootstrap.system import SystemIds, correlation_id, now, ticks
from dawr.bootstrap.traffic import Traffic, traffic_of
from dawr.bootstrap.works import works_of
from dawr.domain import Origin, Venue, VenueId
from dawr.domain.venue import VenueLimits
from dawr.engine.clockwork import repair_day, reset
from dawr.engine.engine import Engine
from dawr.engine.lane import Cached, Listener
from dawr.engine.status_cache import StatusCache
from dawr.engine.timekeeping import Timekeeper
from dawr.engine.waiting import WaitingLines
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.observe.instruments import Gauges, Instruments, Tables
from dawr.observe.metrics import families
from dawr.observe.metrics.metrics import Gauge
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.ports import Store
from dawr.reliability.channel import Channel
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.rate_limit import Limiter, LocalLimiter
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.rate_limit.shared_log import SharedLog
from dawr.reliability.shared import Shared
from dawr.reliability.works import Works
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory
from dawr.web.routes import Route

MS_PER_HOUR = 60 * 60 * 1000
COMMAND_LINE = Origin(actor="command line")


class Prepared(msgspec.Struct, frozen=True):
    """What the database says of the installation once its schema is up to date."""

    identity: str
    secret: str
    """All of its processes sign and hash with this one, on every host."""


class Dawr(msgspec.Struct, frozen=True, kw_only=True):
    """A running installation."""

    settings: Settings
    store: Store
    prepared: Prepared
    engine: Engine
    time: Timekeeper
    ids: SystemIds
    passwords: Passwords
    accounts: Accounts
    browsers: KnownBrowsers
    hub: Hub
    status_cache: StatusCache
    shared: Shared | None = None
    """What all processes of this installation share in memory; the embedded profile has none."""
    relay: Relay | None = None
    works: Works = msgspec.field(default_factory=lambda: Works(()))
    """What goes on by itself while it serves."""
    instruments: Instruments = msgspec.field(default_factory=Instruments)
    limiter: Limiter = msgspec.field(default_factory=lambda: LocalLimiter(ticks))
    traffic: Traffic | None = None
    """The statistics; None if they are switched off."""
    routes: tuple[Route, ...] = ()
    """What it answers besides the table of routes, or instead."""
    is_demo: bool = False

    @property
    def processes(self) -> int:
        """How many serve this installation, at least."""
        return self.settings.workers * self.settings.hosts if self.relay is None else self.relay.processes

    async def set_up(self, venue: Venue) -> VenueId:
        """Make the venue, or change the one that has its slug."""
        existing = (await self.store.venues_called(venue.slug)).get(venue.slug)
        if existing is not None:
            await self.engine.do(existing, SetUp(venue, self.accounts.venue_limits), origin=COMMAND_LINE)
            self.engine.look_again()
            return existing
        made = await create_venue(self.store, now, self.ids, venue, limits=self.accounts.venue_limits)
        self.engine.meet(made)
        return made.id

    async def change_queue(self, change: QueueChange) -> str:
        """What a tool asks for, done, and said in a sentence."""
        venue_id = await self.engine.find_venue(change.venue)
        if change.verb == "reset":
            queue_id, day, number = await reset(self.engine, venue_id, change.queue, origin=COMMAND_LINE)
            return f"Queue {queue_id} begins round {number} of {day} at number 1."
        queue = await self.engine.do(venue_id, ChangeQueue(change.queue, change.verb), origin=COMMAND_LINE)
        return f"Queue {queue.id} is {queue.state}."

    async def repair_day(self, asked: DayRepair) -> str:
        """Today is the venue's day again: said in a sentence, and who has another number now in one each."""
        venue_id = await self.engine.find_venue(asked.venue)
        epoch, today = self.ids.epoch(), asked.today
        repaired = await repair_day(self.engine, self.store, venue_id, epoch=epoch, today=today, origin=COMMAND_LINE)
        await self.time.look()
        said = [f"Venue {asked.venue} was at {repaired.before}, and is at {repaired.day} again."]
        said += [f"In queue {queue} {before} is now {label}." for queue, before, label in repaired.carried]
        return "\n".join(said)


@asynccontextmanager
async def running(
    settings: Settings, instruments: Instruments | None = None, *, prepared: Prepared | None = None, slot: int = 0
) -> AsyncIterator[Dawr]:
    """A server: everything at hand, and what goes on by itself until it stops. Streams end first, then that.

    `slot` is which of the workers of this host it is; the first keeps the traffic process.
    """
    async with AsyncExitStack() as stack:
        dawr = await stack.enter_async_context(at_hand(settings, instruments, prepared=prepared))
        await inspect(dawr.store)
        if isinstance(dawr.limiter, SharedLimiter):
            await dawr.limiter.check_store()
        traffic = await stack.enter_async_context(traffic_of(settings, environment(), slot=slot))
        if slot == 0 and (openness := DataDirectory(Path(settings.data)).openness):
            structlog.get_logger("dawr").warning("data-directory.open", sentence=openness)
        waiting = WaitingLines(dawr.engine, dawr.store, now)
        works = works_of(
            settings=settings,
            store=dawr.store,
            engine=dawr.engine,
            hub=dawr.hub,
            relay=dawr.relay,
            limiter=dawr.limiter,
            instruments=dawr.instruments,
            waiting=waiting,
            ids=dawr.ids,
            time=dawr.time,
            beside=() if traffic is None else traffic.works,
        )
        tables: Tables = {families.WAITING: waiting.people, families.LONGEST_WAIT_SECONDS: waiting.longest_seconds}
        dawr.instruments.watch(_gauges(dawr, works, traffic), tables, dawr.engine.ready, dawr.engine.name_of)
        await stack.enter_async_context(works.running())
        stack.callback(dawr.hub.close)
        yield msgspec.structs.replace(dawr, works=works, traffic=traffic)


@asynccontextmanager
async def at_hand(
    settings: Settings, instruments: Instruments | None = None, *, prepared: Prepared | None = None
) -> AsyncIterator[Dawr]:
    """All parts of an installation, migrated, for a tool that does one thing and leaves; nothing goes on by itself.

    A store that was `prepared` before may be away. They end in order: lanes, status cache,
    relay, store, lock.
    """
    instruments = instruments or Instruments()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(instruments.close)
        store, ids = await stack.enter_async_context(opened(settings)), SystemIds()
        prepared = prepared or await _prepare(store, ids)
        shared, relay = _sharing(settings, prepared.identity, ids, stack)
        hub = _hub_of(settings, store, relay, instruments)
        status_cache = StatusCache.kept(shared, ticks, correlation_id, instruments.metrics.cache_read)
        stack.push_async_callback(status_cache.close)
        remembered = Remembered(ticks)
        time = Timekeeper(store, now, ticks, system.is_synchronised)
        engine = _engine_of(settings, store, time, caches=[remembered, status_cache], listeners=[hub, instruments])
        stack.push_async_callback(engine.stop)
        passwords = Passwords()
        stack.callback(passwords.close)
        yield Dawr(
            settings=settings,
            store=store,
            prepared=prepared,
            engine=engine,
            time=time,
            ids=ids,
            passwords=passwords,
            accounts=_accounts_of(settings, store, engine, passwords, ids, remembered=remembered),
            browsers=KnownBrowsers(prepared.secret, now, ids),
            hub=hub,
            status_cache=status_cache,
            shared=shared,
            relay=relay,
            instruments=instruments,
            limiter=_limiter_of(shared, relay, prepared.secret),
        )


async def _prepare(store: Store, ids: SystemIds) -> Prepared:
    await store.migrate()
    if venues := await store.renew_epochs(ids.epoch):
        structlog.get_logger("dawr").info("epochs.renewed", venues=venues)
    return Prepared(await store.identity(), await store.secret(ids.token() + ids.token()))


def _sharing(
    settings: Settings, identity: str, ids: SystemIds, stack: AsyncExitStack
) -> tuple[Shared | None, Relay | None]:
    """The Redis or Valkey of all processes, and what they tell each other through it, if there is one; it may be away.

    Its keys say whose they are. Both are closed with the stack.
    """
    if not (settings.redis_url and settings.database_url):
        return None, None
    try:
        shared = Shared.open(settings.redis_url, ticks, prefix=f"dawr:{identity}:")
    except ValueError as error:
        # The error may quote a part of the URL, and that may be its password.
        raise SettingUnfit("DAWR_REDIS_URL cannot be used: write redis://host:port/number.") from error
    stack.push_async_callback(shared.close)
    name = ids.token()
    process_count = ProcessCount(shared, name, expected=settings.workers * settings.hosts)
    relay = Relay(Channel(shared, "hints", secrets.SystemRandom()), process_count, name)
    stack.push_async_callback(relay.close)
    return shared, relay


def _limiter_of(shared: Shared | None, relay: Relay | None, secret: str) -> Limiter:
    """Counted for all processes together where they share a store; by one for itself otherwise."""
    if shared is None or relay is None:
        return LocalLimiter(ticks)
    return SharedLimiter(SharedLog(shared, secret.encode()), ticks, lambda: relay.processes)


def _hub_of(settings: Settings, store: Store, relay: Relay | None, instruments: Instruments) -> Hub:
    return Hub(
        store,
        now,
        secrets.SystemRandom(),
        stream_seconds=settings.stream_seconds,
        most_per_address=settings.most_streams_per_address,
        most_of_visits_per_address=settings.most_visit_streams_per_address,
        relays=[] if relay is None else [relay],
        told=[lambda events: instruments.published(events, now())],
    )


def _engine_of(
    settings: Settings, store: Store, time: Timekeeper, *, caches: Sequence[Cached], listeners: Sequence[Listener]
) -> Engine:
    return Engine(
        store,
        now,
        lanes=settings.lanes if settings.database_url else 1,
        batch_limit=settings.batch_limit,
        most_waiting=settings.most_waiting,
        caches=caches,
        listeners=listeners,
        time=time,
    )


def _gauges(dawr: Dawr, works: Works, traffic: Traffic | None) -> Gauges:
    """What is measured once a second."""
    shared, limiter = dawr.shared, dawr.limiter
    gauges: dict[Gauge, Callable[[], float]] = {
        families.LANE_DEPTH: lambda: dawr.engine.depth,
        families.WATCHERS: lambda: dawr.hub.streams,
        families.FEEDS_STALE: lambda: dawr.hub.stale_feeds,
        families.LIMITS_LOCAL: lambda: not isinstance(limiter, SharedLimiter) or limiter.is_local,
        families.WORKS_FAILING: lambda: works.failing,
    }
    if shared is not None:
        gauges[families.SHARED_UP] = lambda: not shared.is_away
    return {**gauges, **({} if traffic is None else traffic.gauges())}


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
        most_venues=settings.most_venues_per_account,
        venue_limits=VenueLimits(
            settings.max_queues_per_venue, settings.max_desks_per_venue, settings.max_journeys_per_venue
        ),
    )
