"""A whole installation around a store and a clock of the test's own, served from the test's process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

from starlette.types import ASGIApp

from dawr import bootstrap
from dawr.accounts.accounts import Accounts
from dawr.accounts.known_browsers import KnownBrowsers
from dawr.accounts.passwords import Passwords
from dawr.accounts.remembered import Remembered
from dawr.bootstrap import system
from dawr.bootstrap.installation import MS_PER_HOUR, Dawr, Prepared
from dawr.bootstrap.system import SystemIds
from dawr.engine.engine import Engine
from dawr.engine.status_cache import StatusCache
from dawr.engine.timekeeping import Timekeeper
from dawr.live.hub import Hub
from dawr.observe import logs
from dawr.ports import Clock, Store
from dawr.reliability.rate_limit import LocalLimiter
from dawr.settings import Settings
from dawr.web.server.server import Server, listen, url_of

SECRET = "the secret of a test"


@asynccontextmanager
async def installed(
    store: Store, clock: Clock, settings: Settings, ids: SystemIds | None = None
) -> AsyncIterator[Dawr]:
    """Everything but what runs by itself: no sweeper and no heartbeat do anything behind the test's back."""
    ids, passwords = ids or SystemIds(), Passwords()
    hub = Hub(store, clock, Random(1), stream_seconds=settings.stream_seconds)
    status_cache = StatusCache.kept(None, clock, ids.token)
    remembered = Remembered(clock)
    time = Timekeeper(store, clock, clock, lambda: True)
    engine = Engine(store, clock, listeners=[hub], caches=[remembered, status_cache], time=time)
    accounts = Accounts(
        store,
        engine,
        passwords,
        clock,
        ids,
        remembered=remembered,
        idle_ms=settings.session_idle_hours * MS_PER_HOUR,
        session_ms=settings.session_hours * MS_PER_HOUR,
    )
    try:
        yield Dawr(
            settings=settings,
            store=store,
            prepared=Prepared("a test", SECRET),
            engine=engine,
            time=time,
            ids=ids,
            passwords=passwords,
            accounts=accounts,
            browsers=KnownBrowsers(SECRET, clock, ids),
            hub=hub,
            status_cache=status_cache,
            limiter=LocalLimiter(clock),
        )
    finally:
        hub.close()
        await engine.stop()
        await status_cache.close()
        passwords.close()


@asynccontextmanager
async def served(dawr: Dawr, wrapped: Callable[[ASGIApp], ASGIApp] = lambda app: app) -> AsyncIterator[str]:
    """On a real socket, as `dawr serve` does it; the URL."""
    log = logs.access_log(dawr.settings)
    listener = listen("127.0.0.1", 0)
    server = Server(
        wrapped(bootstrap.web_app(dawr, log)),
        listener,
        access_log=log,
        new_id=system.correlation_id,
        ready=lambda _: None,
        stopping=dawr.hub.close,
    )
    serving = asyncio.create_task(server.run_until_stopped())
    try:
        yield url_of(listener)
    finally:
        server.should_exit = True
        await serving


def quiet(**given: str | int) -> Settings:
    """Settings for tests: nothing is limited and little is logged, unless a test says otherwise."""
    return Settings(**({"rate_limits": "off", "log_level": "error", "traffic": "off"} | given))  # type: ignore[arg-type]
