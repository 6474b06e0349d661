"""What it is worth to keep for a moment how queues stand: `python -m benchmarks.status_cache`.

How a queue stands, asked by 64 at once: read from the store each time, kept in this process, kept on a Valkey. Quiet,
and while somebody takes a number a hundred times a second, so that whatever is kept is outdated as often. Then what it
costs those who take numbers that others are to see them: numbers taken by 64 at once, with status kept and without.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
import uvloop

from benchmarks.arrivals import arrivals
from benchmarks.load import Load, Run, measure
from benchmarks.machine import NotADisk, look_at_machine, must_be_disk
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import Runs, ratio, take_turns
from benchmarks.sides import Database, Databases, issuing, postgres_databases, sqlite_databases
from dawr.bootstrap.system import correlation_id, now, ticks
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.engine.status_cache import StatusCache
from dawr.operations.snapshots import AtMoment, LookAtQueue, QueueSnapshot
from dawr.reliability.shared import Shared
from dawr.web.api.answers import queue_answer
from dawr.web.response import encoded
from tests.servers import PostgresServer, ValkeyServer, server_directory

CALLERS = 64
MOST = 200_000
PAUSE_SECONDS = 0.01


def main() -> int:
    given = _arguments()
    try:
        must_be_disk(given.directory)
    except NotADisk as error:
        sys.exit(str(error))
    tempfile.tempdir = str(given.directory)
    machine = look_at_machine(given.directory, postgres="PostgreSQL")
    figures = uvloop.run(bench(given.directory, rounds=given.rounds, seconds=given.seconds))
    print(f"{machine.sentence()}\n\n{table(figures)}")
    return 0


async def bench(directory: Path, *, rounds: int, seconds: float) -> list[Figure]:
    figures: list[Figure] = []
    with (
        server_directory() as one,
        server_directory() as two,
        PostgresServer(one) as postgres,
        ValkeyServer(two) as valkey,
    ):
        shared = Shared.open(valkey.url, ticks, prefix="bench:")
        figures += await _figures("SQLite", sqlite_databases(directory), [None], rounds, seconds)
        figures += await _figures("PostgreSQL", postgres_databases(postgres), [None, shared], rounds, seconds)
        await shared.close()
    return figures


async def _figures(
    name: str, databases: Databases, places: list[Shared | None], rounds: int, seconds: float
) -> list[Figure]:
    figures: list[Figure] = []
    load = Load(CALLERS, seconds, MOST)
    for busy in (False, True):
        what = f"{name}, a look{' while numbers are taken' if busy else ''}: "
        contestants = {f"{what}read each time": partial(_asked, databases, None, load, busy=busy)}
        for shared in places:
            keep = partial(StatusCache.kept, shared, ticks, correlation_id)
            contestants[f"{what}{_where(shared)}"] = partial(_asked, databases, keep, load, busy=busy)
        figures += _compared(await take_turns(contestants, rounds=rounds))
    contestants = {f"{name}, numbers taken: nothing is kept": partial(_numbers, databases, None, load)}
    for shared in places:
        keep = partial(StatusCache.kept, shared, ticks, correlation_id)
        contestants[f"{name}, numbers taken: status {_where(shared)}"] = partial(_numbers, databases, keep, load)
    return figures + _compared(await take_turns(contestants, rounds=rounds))


def _where(shared: Shared | None) -> str:
    return "kept in this process" if shared is None else "kept on Valkey"


@asynccontextmanager
async def _running(
    databases: Databases, keep: Callable[[], StatusCache] | None
) -> AsyncIterator[tuple[Database, Engine, StatusCache | None]]:
    async with databases() as database:
        cached = None if keep is None else keep()
        engine = Engine(database.store, now) if cached is None else Engine(database.store, now, caches=[cached])
        yield database, engine, cached
        await engine.stop()
        if cached is not None:
            await cached.close()


async def _asked(databases: Databases, keep: Callable[[], StatusCache] | None, load: Load, *, busy: bool) -> Run:
    async with _running(databases, keep) as (database, engine, cached):

        async def look(_: int) -> None:
            await asyncio.sleep(0)  # as a request does: what is kept here is found without waiting for anything
            venue_id, code = database.venue.id, database.venue.queues[0].id
            if cached is not None:
                await cached.at_queue(engine, venue_id, code, "bench", _rendered)
                return
            moment = await engine.read(venue_id, AtMoment(LookAtQueue(code)))
            _rendered(moment.venue, moment.seen)

        taking = asyncio.create_task(_take_numbers(engine, database.venue)) if busy else None
        run = await measure(range(load.most), look, load)
        if taking is not None:
            taking.cancel()
            await asyncio.wait([taking])
        return run


async def _take_numbers(engine: Engine, venue: Venue) -> None:
    issue = issuing(engine, venue)
    for arrival in arrivals(venue, 10_000):
        await issue(arrival)
        await asyncio.sleep(PAUSE_SECONDS)


async def _numbers(databases: Databases, keep: Callable[[], StatusCache] | None, load: Load) -> Run:
    async with _running(databases, keep) as (database, engine, _):
        few = msgspec.structs.replace(load, most=60_000)
        return await measure(arrivals(database.venue, few.most), issuing(engine, database.venue), few)


def _rendered(venue: Venue, seen: QueueSnapshot) -> bytes:
    return encoded(queue_answer(venue, seen))


def _compared(runs: Runs) -> list[Figure]:
    """Beside each stands its ratio to the first."""
    first, *others = runs
    return [
        figure(first, runs[first]),
        *(msgspec.structs.replace(figure(name, runs[name]), ratio=ratio(runs[name], runs[first])) for name in others),
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.status_cache", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where the database is made: a disk")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
