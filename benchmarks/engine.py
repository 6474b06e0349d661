"""`make bench`: is a batch worth it? Every bar is a ratio within this run, on this machine and this disk.

The exit code is 1 when a bar is missed.
"""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import asyncpg
import msgspec
import uvloop

from benchmarks.arrivals import DESKS
from benchmarks.calling import run_line
from benchmarks.load import Load
from benchmarks.machine import Machine, NotADisk, look_at_machine, must_be_disk
from benchmarks.report import Figure, figure, judged, table
from benchmarks.rounds import take_turns
from benchmarks.sides import (
    Databases,
    postgres_databases,
    run_engine,
    run_postgres_one_by_one,
    run_sqlite_one_by_one,
    sqlite_databases,
)
from benchmarks.two_processes import run_two_processes
from tests.servers import PostgresServer, server_directory

SQLITE_CALLERS = 256
POSTGRES_CALLERS = 64
LONG_LINE = 3_000


class Plan(msgspec.Struct, frozen=True):
    """How much of everything."""

    rounds: int
    seconds: float
    tickets: int
    """So many people come to every side; one that is not done with them in time stops."""
    lines: tuple[int, ...]
    """Lengths of the lines that are called from."""


FULL = Plan(rounds=5, seconds=2.0, tickets=20_000, lines=(1_000, 100_000))
QUICK = Plan(rounds=1, seconds=0.2, tickets=1_500, lines=(1_000,))


class Result(msgspec.Struct, frozen=True):
    at: str
    machine: Machine
    figures: list[Figure]

    @property
    def all_held(self) -> bool:
        return all(figure.held is not False for figure in self.figures)


def main() -> int:
    given = _arguments()
    plan = QUICK if given.quick else FULL
    try:
        must_be_disk(given.directory)
    except NotADisk as error:
        sys.exit(str(error))
    tempfile.tempdir = str(given.directory)
    result = uvloop.run(bench(plan, given.directory))
    print(f"{result.machine.sentence()}\n\n{table(result.figures)}")
    if given.json is not None:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(result)))
    return 0 if given.quick or result.all_held else 1


async def bench(plan: Plan, directory: Path) -> Result:
    with server_directory() as inside, PostgresServer(inside) as server:
        machine = look_at_machine(directory, postgres=await _version(server))
        sqlite, postgres = sqlite_databases(directory), postgres_databases(server)
        figures = [
            *await _sqlite_figures(sqlite, plan),
            *await _postgres_figures(postgres, plan),
            *await _line_figures("SQLite", sqlite, plan, callers=SQLITE_CALLERS),
            *await _line_figures("PostgreSQL", postgres, plan, callers=POSTGRES_CALLERS),
        ]
    return Result(datetime.now(UTC).isoformat(timespec="seconds"), machine, figures)


async def _sqlite_figures(new: Databases, plan: Plan) -> list[Figure]:
    ours = f"SQLite, {SQLITE_CALLERS} callers: engine"
    load = Load(SQLITE_CALLERS, plan.seconds, plan.tickets)
    runs = await take_turns(
        {
            "  one transaction per ticket, by hand": partial(run_sqlite_one_by_one, new, load),
            ours: partial(run_engine, new, load),
            "  one transaction per ticket, engine with batches of one": partial(run_engine, new, load, batch_limit=1),
        },
        rounds=plan.rounds,
    )
    return judged(runs, ours)


async def _postgres_figures(new: Databases, plan: Plan) -> list[Figure]:
    ours = f"PostgreSQL, {POSTGRES_CALLERS} callers, one queue: engine"
    load = Load(POSTGRES_CALLERS, plan.seconds, plan.tickets)
    by_hand = {
        f"  one transaction per ticket, by hand, {_count(connections, 'connection')}": partial(
            run_postgres_one_by_one, new, load, connections=connections
        )
        for connections in (1, 8, 16)
    }
    runs = await take_turns({**by_hand, ours: partial(run_engine, new, load)}, rounds=plan.rounds)
    together = [await run_two_processes(new, load) for _ in range(min(3, plan.rounds))]
    return [*judged(runs, ours), figure("  engine in two processes", together)]


async def _line_figures(name: str, new: Databases, plan: Plan, *, callers: int) -> list[Figure]:
    figures = []
    for people in plan.lines:
        times = min(plan.rounds, max(1, LONG_LINE // people))
        runs = [await run_line(new, people=people, seconds=plan.seconds, callers=callers) for _ in range(times)]
        figures += [
            figure(f"{name}, a line of {people:,}: {DESKS} desks call", [run.calls for run in runs]),
            figure(f"  {callers} newcomers at once", [run.newcomers for run in runs]),
            figure(f"  {callers} who are in it ask again with their key", [run.replays for run in runs]),
            figure(f"  {callers} who are in it ask again without a key", [run.returns for run in runs]),
        ]
    return figures


async def _version(server: PostgresServer) -> str:
    connection = await asyncpg.connect(server.url, ssl=False)
    try:
        return f"PostgreSQL {await connection.fetchval('SHOW server_version')}"
    finally:
        await connection.close()


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a few seconds, to see that everything runs; judges nothing"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where the databases are made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
