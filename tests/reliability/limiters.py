"""Limiters by a clock that the test drives, here and in the store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import redis

from dawr.bootstrap.system import ticks
from dawr.reliability.lua import Script
from dawr.reliability.rate_limit import Limiter, LocalLimiter
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.rate_limit.shared_log import SharedLog, script
from dawr.reliability.shared import Shared
from tests.servers.place import free_port

SERVERS_TIME = "redis.call('TIME')"
TESTS_TIME = "redis.call('HMGET', 'the clock of the test', 'seconds', 'microseconds')"

SECRET = b"the secret of one installation"

_prefixes = (f"test-{number}:" for number in count(1))


class DrivenClock:
    """Milliseconds. With a store, its clock shows the same."""

    def __init__(self, url: str | None = None) -> None:
        self._store = None if url is None else redis.Redis.from_url(url)
        self._ms = 0
        self.ms = 1_000_000

    @property
    def ms(self) -> int:
        return self._ms

    @ms.setter
    def ms(self, ms: int) -> None:
        self._ms = ms
        self.set_store(ms)

    def set_store(self, ms: int) -> None:
        if self._store is not None:
            seconds, milliseconds = divmod(ms, 1000)
            shown = ["seconds", str(seconds), "microseconds", str(milliseconds * 1000)]
            self._store.hset("the clock of the test", items=shown)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def __call__(self) -> int:
        return self._ms


def driven_log(shared: Shared) -> SharedLog:
    """One that asks the test for the time, and is otherwise what it is."""

    def driven(name: str) -> Script:
        text = script(name).text
        assert text.count(SERVERS_TIME) == 1
        return Script.of(text.replace(SERVERS_TIME, TESTS_TIME))

    return SharedLog(shared, SECRET, script=driven)


PATIENCE_SECONDS = 5.0
"""A busy machine is no store that is away."""


@asynccontextmanager
async def sharing(
    url: str, prefix: str | None = None, *, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Shared]:
    shared = Shared.open(url, ticks, prefix=prefix or next(_prefixes), patience_seconds=patience_seconds)
    try:
        yield shared
    finally:
        await shared.close()


@asynccontextmanager
async def limiter_of(kind: str, clock: DrivenClock, url: str) -> AsyncIterator[Limiter]:
    """One of every kind, each alone in its installation, so that its share is the whole."""
    if kind == "local":
        yield LocalLimiter(clock)
        return
    if kind == "away":
        async with sharing(f"redis://127.0.0.1:{free_port()}/0") as shared:
            limiter = SharedLimiter(SharedLog(shared, SECRET), clock, lambda: 1)
            await limiter.check_store()
            assert limiter.is_local
            yield limiter
            return
    async with sharing(url) as shared:
        limiter = SharedLimiter(driven_log(shared), clock, lambda: 1)
        await limiter.check_store()
        assert not limiter.is_local
        if kind == "both":
            limiter._state = "both"
        yield limiter
