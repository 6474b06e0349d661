"""Two processes with an engine each give numbers of one queue, through one PostgreSQL."""

import asyncio
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import uvloop

from benchmarks.arrivals import arrivals
from benchmarks.load import Load, Run, measure
from benchmarks.sides import Databases, issuing, must_be_whole
from dawr.bootstrap.system import now
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.stores.postgres import PostgresStore

PROCESSES = 2
STARTING_SECONDS = 2.0


async def run_two_processes(new: Databases, load: Load) -> Run:
    """The callers are shared out; the rate is of both together."""
    share = Load(load.callers // PROCESSES, load.seconds, load.most // PROCESSES)
    async with new() as database:
        begin_at = time.time() + STARTING_SECONDS
        with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
            running = asyncio.get_running_loop()
            runs = await asyncio.gather(
                *(
                    running.run_in_executor(pool, run_here, database.address, database.venue, share, begin_at)
                    for _ in range(PROCESSES)
                )
            )
        await must_be_whole(database.store)
    latencies = sorted(latency for run in runs for latency in run.latencies)
    return Run(max(run.seconds for run in runs), latencies)


def run_here(url: str, venue: Venue, load: Load, begin_at: float) -> Run:
    return uvloop.run(_run(url, venue, load, begin_at))


async def _run(url: str, venue: Venue, load: Load, begin_at: float) -> Run:
    store = await PostgresStore.open(url, clock=now)
    try:
        engine = Engine(store, now)
        come = arrivals(venue, load.most)
        await asyncio.sleep(begin_at - time.time())
        run = await measure(come, issuing(engine, venue), load)
        await engine.stop()
        return run
    finally:
        await store.close()
