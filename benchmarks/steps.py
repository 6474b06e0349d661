"""Where the time of a ticket goes, in µs: `python -m benchmarks.steps`.

The engine is given a store that looks at the clock when work begins and ends; nothing in the engine knows.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar, cast

import uvloop

from benchmarks.arrivals import arrivals
from benchmarks.engine import POSTGRES_CALLERS, SQLITE_CALLERS
from benchmarks.load import Load, ask_all, warm_up
from benchmarks.machine import must_be_disk
from benchmarks.sides import Databases, issuing, must_be_whole, postgres_databases, sqlite_databases
from dawr.bootstrap.system import now
from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.ports import Changes, Rows, Session, Store, Wants
from tests.servers import PostgresServer, server_directory

T = TypeVar("T")

ROUNDS = 5
STEPS = {
    "lock": "begin, lock and read the head",
    "load": "read what the batch needs",
    "decide": "the rules, and the rows that come of them",
    "save": "write all rows",
    "commit": "wait for the disk",
    "loop": "event loop, futures, callers",
}

Seconds = dict[str, float]


class TimedSession:
    """A session that remembers how long loading and saving took."""

    def __init__(self, session: Session, taken: Seconds) -> None:
        self.heads = session.heads
        self.venues = session.venues
        self.clock_error_ms = session.clock_error_ms
        self.events_after = session.events_after
        self.fences = session.fences
        self._session = session
        self._taken = taken

    async def load(self, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        begun = time.perf_counter()
        rows = await self._session.load(wants, depth=depth)
        self._taken["load"] += time.perf_counter() - begun
        return rows

    async def save(self, changes: Iterable[Changes]) -> None:
        begun = time.perf_counter()
        await self._session.save(changes)
        self._taken["save"] += time.perf_counter() - begun


class TimedStore:
    """A store's `transact`, which is all that an engine uses to change something."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.taken: Seconds = dict.fromkeys(STEPS, 0.0)

    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        taken = self.taken
        asked = time.perf_counter()
        ended = asked

        async def timed(session: Session) -> T:
            nonlocal ended
            begun = time.perf_counter()
            before = taken["load"] + taken["save"]
            result = await work(TimedSession(session, taken))
            ended = time.perf_counter()
            taken["lock"] += begun - asked
            taken["decide"] += ended - begun - (taken["load"] + taken["save"] - before)
            return result

        result = await self._store.transact(venues, timed)
        taken["commit"] += time.perf_counter() - ended
        return result


async def measure_steps(new: Databases, load: Load) -> Seconds:
    """Seconds per ticket, by step."""
    async with new() as database:
        timed = TimedStore(database.store)
        engine = Engine(cast("Store", timed), now)
        issue = issuing(engine, database.venue)
        waiting = iter(arrivals(database.venue, load.most))
        await warm_up(waiting, issue, load)
        timed.taken.update(dict.fromkeys(STEPS, 0.0))
        run = await ask_all(waiting, issue, load)
        await engine.stop()
        await must_be_whole(database.store)
    timed.taken["loop"] = run.seconds - sum(timed.taken.values())
    return {step: seconds / len(run.latencies) for step, seconds in timed.taken.items()}


def main() -> None:
    given = _arguments()
    must_be_disk(given.directory)
    tempfile.tempdir = str(given.directory)
    uvloop.run(_print_steps(given.directory))


async def _print_steps(directory: Path) -> None:
    with server_directory() as inside, PostgresServer(inside) as server:
        measured = {
            f"SQLite, batches of {SQLITE_CALLERS}": await _median_steps(sqlite_databases(directory), SQLITE_CALLERS),
            f"PostgreSQL, batches of {POSTGRES_CALLERS}": await _median_steps(
                postgres_databases(server), POSTGRES_CALLERS
            ),
        }
    print("µs per ticket".ljust(56), *measured, sep="  ")
    for step, meaning in STEPS.items():
        print(f"{step:8}{meaning:48}", *(f"{steps[step]:{len(name)}.1f}" for name, steps in measured.items()), sep="  ")
    print("all".ljust(56), *(f"{sum(steps.values()):{len(name)}.1f}" for name, steps in measured.items()), sep="  ")


async def _median_steps(new: Databases, callers: int) -> Seconds:
    rounds = [await measure_steps(new, Load(callers, seconds=2.0, most=20_000)) for _ in range(ROUNDS)]
    return {step: 1e6 * statistics.median(taken[step] for taken in rounds) for step in STEPS}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steps", description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where the databases are made")
    return parser.parse_args()


if __name__ == "__main__":
    main()
