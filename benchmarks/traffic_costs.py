"""What a request pays for being counted: its id, and the line that is written down for it.

In microseconds of one core, of the system's part too; the spool is on the disk that was named.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from benchmarks.traffic_figures import Measured, at_most
from dawr.bootstrap.system import correlation_id, now
from dawr.traffic.collector import Answered, Collector
from dawr.traffic.database import Database
from dawr.traffic.identity import generate
from dawr.traffic.keys import KEY_BYTES, VisitorKeys
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import Spool

MOST_ID_US = 10
MOST_COLLECTOR_US = 12
MOST_PUBLISH_MS = 10
LINES_TO_SHIP = 500
TURN = 8
"""Answers that leave in one turn of a busy server's loop."""
AGENT = b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"


async def costs(directory: Path, *, rounds: int, times: int) -> list[Measured]:
    """Each round has a spool of its own: the disk that one may take is bounded."""
    taken: dict[str, list[float]] = defaultdict(list)
    numbers = count(1)
    for _ in range(rounds):
        with TemporaryDirectory(dir=directory) as inside, a_collector(Path(inside)) as collector:
            works: dict[str, Callable[[], object]] = {
                "id": lambda: generate(1_730_956_800_000, "0123456789abcdef", "/api/users", "8c1f-FRA"),
                "direct": lambda c=collector: _write_down(c, next(numbers), None),  # type: ignore[misc]
                "proxied": lambda c=collector: _write_down(c, next(numbers), f"ray-{next(numbers)}"),  # type: ignore[misc]
            }
            for name, work in works.items():
                taken[name].append(_us(work, times))
            taken["gathered"].append(await _gathered_us(collector, times))
            taken["published"].append(_p99_ms(collector, times))
            assert not collector.spool.in_memory, "the spool was full"
    return [
        at_most("an id", "µs", taken["id"], MOST_ID_US, strictly=True),
        at_most("a request written down: direct", "µs", taken["direct"], MOST_COLLECTOR_US),
        at_most("a request written down: from a proxy that numbers it", "µs", taken["proxied"], MOST_COLLECTOR_US),
        at_most(f"a request written down: {TURN} of one turn together", "µs", taken["gathered"], MOST_COLLECTOR_US),
        at_most("publish: append to the spool, p99", "ms", taken["published"], MOST_PUBLISH_MS, strictly=True),
    ]


async def shipped_one_by_one(name: str, directory: Path, database: Database, *, rounds: int) -> Measured:
    """From a line in a spool to its row in the queue, once the traffic process looks."""
    p99 = []
    with TemporaryDirectory(dir=directory) as inside, a_collector(Path(inside)) as collector:
        shipper = Shipper(database, spools_of(Path(inside)), now)
        for _ in range(rounds):
            taken = []
            for number in range(LINES_TO_SHIP):
                _write_down(collector, number, None)
                began = time.perf_counter()
                assert await shipper.ship() == 1
                taken.append(1000 * (time.perf_counter() - began))
            p99.append(quantiles(taken, n=100)[-1])
    return at_most(f"publish: a line to its row in the queue, p99, {name}", "ms", p99, MOST_PUBLISH_MS, strictly=True)


@contextmanager
def a_collector(directory: Path) -> Iterator[Collector]:
    keys = VisitorKeys(directory / "key", lambda: bytes(KEY_BYTES))
    with Spool(spools_of(directory), correlation_id) as spool:
        yield Collector(spool, keys, clock=now, new_id=correlation_id)


def spools_of(directory: Path) -> Path:
    return directory / "spool"


def _write_down(collector: Collector, number: int, request_id: str | None) -> None:
    collector.collect(_answered(number, request_id))
    collector.count_answer()


def _answered(number: int, request_id: str | None) -> Answered:
    client, path = f"198.51.{number // 250 % 4}.{number % 250}", "/api/v1/queue/enter"
    return Answered("POST", path, path, 200, 5_000_000, client, request_id, "5" * 32, AGENT)


async def _gathered_us(collector: Collector, times: int) -> float:
    """As our own server does it; turns of the loop are in it."""
    began = time.process_time()
    for turn in range(times // TURN):
        for number in range(TURN):
            collector.collect_soon(_answered(turn * TURN + number, None))
            collector.spool.when_written(collector.count_answer)
        await asyncio.sleep(0)
    return 1e6 * (time.process_time() - began) / times


def _us(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return 1e6 * (time.process_time() - began) / times


def _p99_ms(collector: Collector, times: int) -> float:
    """By the clock on the wall: what the request waits, whatever else the machine does."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        _write_down(collector, number, None)
        taken.append(1000 * (time.perf_counter() - began))
    return quantiles(taken, n=100)[-1]
