"""What a limit costs: in one process, in the store, and in the store one call each. `python -m benchmarks.kit_limits`.

Callers at once charge to the logs of a thousand addresses. "One by one" is the same script with a call for each
charge, on up to 64 connections: what gathering saves.
"""

import argparse
import asyncio
import os
import platform
from collections.abc import Sequence
from functools import partial

import uvloop

from benchmarks.load import Load, Run, measure
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import Runs, ratio, take_turns
from dawr.bootstrap.system import ticks
from dawr.reliability.rate_limit import Limiter, LocalLimiter, Policy
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.rate_limit.shared_log import SharedLog
from dawr.reliability.shared import Shared
from tests.servers import ValkeyServer, server_directory

CALLERS = (1, 16, 256)
ADDRESSES = tuple(f"198.51.{number // 250}.{number % 250}" for number in range(1000))
LOOKS = Policy("look", 600, 60)
MOST = 400_000
CONNECTIONS = 64
SECRET = b"the secret of one installation"


def main() -> int:
    given = _arguments()
    machine = f"{len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    with server_directory() as directory, ValkeyServer(directory) as server:
        figures = uvloop.run(bench(server.url, rounds=given.rounds, seconds=given.seconds))
    print(f"{machine} before\n\n{table(figures)}")
    return 0


async def bench(url: str, *, rounds: int, seconds: float) -> list[Figure]:
    shared = Shared.open(url, ticks, prefix="bench:")
    figures: list[Figure] = []
    async with SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 1).running() as limiter:
        for callers in CALLERS:
            load = Load(callers, seconds, MOST)
            contestants = {
                f"in one process, {callers} at once": partial(_charges, LocalLimiter(ticks), load),
                f"in the store, {callers} at once": partial(_charges, limiter, load),
                f"one by one, {callers} at once": partial(_one_by_one, SharedLog(shared, SECRET), load),
            }
            figures += _compared(await take_turns(contestants, rounds=rounds))
    await shared.close()
    return figures


async def _charges(limiter: Limiter, load: Load) -> Run:
    return await measure(_asked(load), partial(limiter.charge, LOOKS), load)


async def _one_by_one(log: SharedLog, load: Load) -> Run:
    met = await log.meet(processes=1)
    connections = asyncio.Semaphore(CONNECTIONS)

    async def charge(address: str) -> None:
        async with connections:
            charged = await log.charge(met.life, {(LOOKS, address): 1}, [])
        assert charged is not None

    return await measure(_asked(load), charge, load)


def _asked(load: Load) -> Sequence[str]:
    return [ADDRESSES[number % len(ADDRESSES)] for number in range(load.most)]


def _compared(runs: Runs) -> list[Figure]:
    """Beside each stands its ratio to one call each."""
    *_, alone = runs
    return [_beside(figure(name, those), runs, alone) for name, those in runs.items()]


def _beside(one: Figure, runs: Runs, alone: str) -> Figure:
    against = None if one.what == alone else ratio(runs[one.what], runs[alone])
    return Figure(one.what, one.rate, one.p50_ms, one.p99_ms, ratio=against)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
