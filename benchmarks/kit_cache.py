"""What the cache costs: a hit, a miss, and an invalidation. `python -m benchmarks.kit_cache`.

In this process and on a Valkey, one caller and 64 at once. To invalidate a tag costs the same with one entry
under it as with 10,000: every sample fills both tags anew.
"""

import argparse
import asyncio
import os
import platform
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count

import msgspec
import uvloop

from benchmarks.load import Load, Run, measure
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import ratio, take_turns
from dawr.bootstrap.system import correlation_id, ticks
from dawr.reliability.cache import Cache, MemoryEntries, SharedEntries
from dawr.reliability.shared import Shared
from tests.servers import ValkeyServer, server_directory

CALLERS = (1, 64)
MOST = 300_000
TTL_MS = 600_000
VALUE = b"x" * 400
MANY = 10_000
SAMPLES = 20

_names = count(1)


def main() -> int:
    given = _arguments()
    machine = f"{len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    with server_directory() as directory, ValkeyServer(directory) as server:
        figures = uvloop.run(bench(server.url, rounds=given.rounds, seconds=given.seconds))
    print(f"{machine} before\n\n{table(figures)}")
    return 0


async def bench(url: str, *, rounds: int, seconds: float) -> list[Figure]:
    figures: list[Figure] = []
    async with _caches(url) as caches:
        for place, cache in caches.items():
            for callers in CALLERS:
                load = Load(callers, seconds, MOST)
                contestants = {
                    f"{place}, {callers} at once: a hit of one key": partial(_hits, cache, load, keys=1),
                    f"{place}, {callers} at once: hits of 1,000 keys": partial(_hits, cache, load, keys=1000),
                    f"{place}, {callers} at once: a miss, computed and kept": partial(_misses, cache, load),
                }
                figures += [figure(name, runs) for name, runs in (await take_turns(contestants, rounds=rounds)).items()]
            figures += await _invalidations(place, cache, rounds)
    return figures


@asynccontextmanager
async def _caches(url: str) -> AsyncIterator[dict[str, Cache]]:
    shared = Shared.open(url, ticks, prefix="bench:")
    caches = {
        "in this process": Cache(MemoryEntries(ticks, most_entries=1_000_000, most_bytes=2**30)),
        "on Valkey": Cache(SharedEntries(shared, correlation_id)),
    }
    yield caches
    for cache in caches.values():
        await cache.close()
    await shared.close()


async def _compute() -> bytes:
    return VALUE


async def _hits(cache: Cache, load: Load, *, keys: int) -> Run:
    asked = [f"key-{number}" for number in range(keys)]
    await asyncio.gather(*(cache.put(key, VALUE, tags=["queue", "venue"], ttl_ms=TTL_MS) for key in asked))
    return await measure(_many(asked, load), partial(_get, cache), load)


async def _misses(cache: Cache, load: Load) -> Run:
    name = next(_names)
    return await measure([f"{name}-{number}" for number in range(load.most // 10)], partial(_get, cache), load)


async def _get(cache: Cache, key: str) -> bytes:
    return await cache.get(key, _compute, tags=["queue", "venue"], ttl_ms=TTL_MS)


def _many(asked: Sequence[str], load: Load) -> list[str]:
    return [asked[number % len(asked)] for number in range(load.most)]


async def _invalidations(place: str, cache: Cache, rounds: int) -> list[Figure]:
    runs = [await _invalidate(cache) for _ in range(rounds)]
    one, many = [run[1] for run in runs], [run[MANY] for run in runs]
    return [
        figure(f"{place}: an invalidation with 1 under the tag", one),
        msgspec.structs.replace(
            figure(f"{place}: an invalidation with {MANY:,} under the tag", many), ratio=ratio(many, one)
        ),
    ]


async def _invalidate(cache: Cache) -> dict[int, Run]:
    """Only the invalidations are timed, and both after the same filling: it leaves the machine hot."""
    latencies: dict[int, list[float]] = {1: [], MANY: []}
    for sample in range(SAMPLES):
        for entries in latencies:
            filling = (cache.put(f"{sample}-{n}", VALUE, tags=[f"{entries}"], ttl_ms=TTL_MS) for n in range(entries))
            await asyncio.gather(*filling)
        await cache.invalidate("another")
        for entries in sorted(latencies, reverse=bool(sample % 2)):
            began = time.perf_counter()
            await cache.invalidate(f"{entries}")
            latencies[entries].append(time.perf_counter() - began)
    return {entries: _in_the_middle(those) for entries, those in latencies.items()}


def _in_the_middle(latencies: list[float]) -> Run:
    """The median for all: with a few samples, one pause of the machine would outweigh the rest."""
    return Run(statistics.median(latencies) * len(latencies), sorted(latencies))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
