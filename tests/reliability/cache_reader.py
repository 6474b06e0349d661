"""One process that reads through a cache that others share, and says what it saw.

    python -m tests.reliability.cache_reader race URL PREFIX     reads until it is told to stop
    python -m tests.reliability.cache_reader miss URL PREFIX     25 who miss at once
    python -m tests.reliability.cache_reader die URL PREFIX      begins to compute, and never ends

What is true is a number in the server, under `truth`; `floor` is the latest that an invalidation was
done for. Whoever reads the floor first must not be shown less.
"""

import asyncio
import sys

import msgspec
import redis.asyncio as redis

from dawr.bootstrap import system
from dawr.reliability.cache import Cache, SharedEntries
from dawr.reliability.shared import Shared
from tests.reliability.caching import sharing

READERS = 50
MISSING = 25
KEYS = 3
TTL_MS = 60_000


class Report(msgspec.Struct):
    reads: int = 0
    computed: int = 0
    stale: int = 0
    """How often somebody was shown less than they may be."""


class Reader:
    def __init__(self, shared: Shared) -> None:
        self._server: redis.Redis = shared._client
        self._prefix = shared.prefix
        self.cache = Cache(SharedEntries(shared, system.correlation_id))
        self.report = Report()

    async def number(self, name: str) -> int:
        return int(await self._server.get(f"{self._prefix}{name}") or 0)

    async def compute(self) -> bytes:
        self.report.computed += 1
        seen = await self.number("truth")
        await asyncio.sleep(0.001)
        return b"%d" % seen

    async def compute_slowly(self) -> bytes:
        self.report.computed += 1
        await asyncio.sleep(0.2)
        return b"1"

    async def never(self) -> bytes:
        sys.stdout.write("computing\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
        return b""

    async def read(self, key: str) -> None:
        floor = await self.number("floor")
        shown = int(await self.cache.get(key, self.compute, tags=["x"], ttl_ms=TTL_MS))
        self.report.reads += 1
        self.report.stale += shown < floor

    async def race(self, key: str) -> None:
        while not await self.number("stop"):
            await self.read(key)
        await self.read(key)

    async def begin_together(self) -> None:
        """When all processes are there."""
        await self._server.incr(f"{self._prefix}there")
        while not await self.number("go"):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def main(what: str, url: str, prefix: str) -> None:
    async with sharing(url, prefix) as shared:
        reader = Reader(shared)
        await reader.begin_together()
        if what == "race":
            await asyncio.gather(*(reader.race(f"key-{number % KEYS}") for number in range(READERS)))
        elif what == "miss":
            asking = [reader.cache.get("a", reader.compute_slowly, tags=["x"], ttl_ms=TTL_MS) for _ in range(MISSING)]
            await asyncio.gather(*asking)
        else:
            await reader.cache.get("a", reader.never, tags=["x"], ttl_ms=TTL_MS)
        await reader.cache.close()
    sys.stdout.buffer.write(msgspec.json.encode(reader.report))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
