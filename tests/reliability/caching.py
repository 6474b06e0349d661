"""Caches for the tests, in every place where entries can be kept, and something to be kept."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count

from dawr.bootstrap import system
from dawr.reliability.cache import Cache, MemoryEntries, SharedEntries
from dawr.reliability.shared import Shared

PLACES = ["memory", "shared"]
PATIENCE_SECONDS = 20.0
"""A machine that is busy with other tests is slow; the server is not away."""

_prefixes = (f"test-{number}:" for number in count(1))


class DrivenTicks:
    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


class Truth:
    """What changes, and is dear to read. Counts how often it was read."""

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self.read = 0
        self.go = asyncio.Event()
        self.go.set()
        """Not set: reading takes its time from here."""

    async def __call__(self) -> bytes:
        self.read += 1
        seen = self.value
        await self.go.wait()
        return b"%d" % seen


class Counted:
    def __init__(self) -> None:
        self.words: Counter[str] = Counter()

    def __call__(self, word: str) -> None:
        self.words[word] += 1


@asynccontextmanager
async def cache_at(place: str, url: str = "", count: Callable[[str], None] = lambda _: None) -> AsyncIterator[Cache]:
    """An empty cache: in this process, or on the server at the URL."""
    async with AsyncExitStack() as stack:
        if place == "memory":
            cache = Cache(MemoryEntries(system.ticks), count=count)
        else:
            shared = await stack.enter_async_context(sharing(url))
            cache = Cache(SharedEntries(shared, system.correlation_id), count=count)
        stack.push_async_callback(cache.close)
        yield cache


@asynccontextmanager
async def sharing(
    url: str, prefix: str | None = None, *, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Shared]:
    """A connection to the server, with keys of its own unless they are to be shared."""
    prefix = prefix or f"{next(_prefixes)}{system.correlation_id()}:"
    shared = Shared.open(url, system.ticks, prefix=prefix, patience_seconds=patience_seconds)
    try:
        yield shared
    finally:
        await shared.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for happens elsewhere
            await asyncio.sleep(0.005)
