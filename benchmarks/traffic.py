"""`make bench`, the traffic part: what it costs to count every request, and whether counting keeps up with them.

Slices take turns, and a ratio is taken round by round. The exit code is 1 when a bar is missed. The bars of publish and
batch are the seed's; those of memory and of reading are our own.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import quantiles

import msgspec
import uvloop

from benchmarks.machine import look_at_machine, must_be_disk
from benchmarks.rounds import ratio
from benchmarks.traffic_consumer import Counted, Counting, counting_on_postgres, counting_on_sqlite, varied_lines
from benchmarks.traffic_costs import costs, shipped_one_by_one
from benchmarks.traffic_figures import Measured, at_least, at_most, informed, table
from benchmarks.traffic_load import Entered, Served, served
from benchmarks.traffic_reading import reading
from tests.servers import PostgresServer, server_directory

LEAST_SHARE = 0.9
LEAST_TIMES = {"SQLite": 2.0, "PostgreSQL": 1.0}
MOST_BATCH_MS = 100
MOST_MEMORY_MB = 40


class Plan(msgspec.Struct, frozen=True):
    """How much of everything."""

    rounds: int
    seconds: float
    """Of `enter` in each round."""
    slices: int
    slice_seconds: float
    """Of `enter` with statistics and without."""
    times: int
    """Requests written down, of each round."""
    varied: int
    days: int


FULL = Plan(rounds=11, seconds=1.0, slices=40, slice_seconds=0.5, times=20_000, varied=20_000, days=90)
QUICK = Plan(rounds=2, seconds=0.3, slices=2, slice_seconds=0.3, times=500, varied=500, days=2)


class Side(msgspec.Struct, frozen=True):
    """An installation with statistics, and tables of our own to count its lines in."""

    name: str
    server: Served
    counting: Counting


class Round(msgspec.Struct, frozen=True):
    entered: Entered
    drained: float
    """Seconds that its traffic process was behind when the load ended."""
    counted: Counted
    varied: Counted


def main() -> int:
    given = _arguments()
    must_be_disk(given.directory)
    plan = QUICK if given.quick else FULL
    if given.rounds is not None:
        plan = msgspec.structs.replace(plan, rounds=given.rounds)
    tempfile.tempdir = str(given.directory)
    with tempfile.TemporaryDirectory() as inside:
        machine = look_at_machine(given.directory, postgres="PostgreSQL")
        figures = uvloop.run(bench(Path(inside), plan))
    print(f"{machine.sentence()}\n\n{table(figures)}")
    return 0 if given.quick or all(figure.held is not False for figure in figures) else 1


async def bench(directory: Path, plan: Plan) -> list[Measured]:
    figures = await costs(directory, rounds=plan.rounds, times=plan.times)
    with server_directory() as inside, PostgresServer(inside) as postgres:
        figures += await _load(directory, postgres, plan)
        async with (
            counting_on_sqlite(directory, "reading") as sqlite,
            counting_on_postgres(directory, postgres.create_database("reading")) as on_postgres,
        ):
            for name, counting in (("SQLite", sqlite), ("PostgreSQL", on_postgres)):
                figures.append(await shipped_one_by_one(name, directory, counting.database, rounds=plan.rounds))
                figures += await reading(name, counting.database, days=plan.days)
    return figures


async def _load(directory: Path, postgres: PostgresServer, plan: Plan) -> list[Measured]:
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        without = await enter(served(directory, traffic="off"))
        sides = [
            Side("SQLite", await enter(served(directory)), await enter(counting_on_sqlite(directory, "counted"))),
            Side(
                "PostgreSQL",
                await enter(served(directory, database_url=postgres.create_database("served"))),
                await enter(counting_on_postgres(directory, postgres.create_database("counted"))),
            ),
        ]
        figures = await _with_and_without(without, sides[0].server, plan)
        rounds = {side.name: [await _round(side, plan, 0)] for side in sides}
        for number in range(1, plan.rounds + 1):
            for side in sides:
                rounds[side.name].append(await _round(side, plan, number))
        for side in sides:
            figures += _figures(side, rounds[side.name][1:])  # whoever is asked first has not warmed up
    return figures


async def _with_and_without(without: Served, counted: Served, plan: Plan) -> list[Measured]:
    """In many short slices, and each of the two first as often as the other: so that noise is shared out."""
    runs: dict[Served, list[Entered]] = {without: [], counted: []}
    for number in range(plan.slices + 1):
        for server in (without, counted) if number % 2 else (counted, without):
            runs[server].append(await server.enter(plan.slice_seconds))
            if server is counted:
                await counted.drained()
    of_without, of_counted = runs[without][1:], runs[counted][1:]
    share = ratio([one.run for one in of_counted], [one.run for one in of_without])
    return [
        *_rates("enter without statistics, SQLite", of_without),
        *_rates("enter with statistics, SQLite", of_counted),
        at_least("enter, with ÷ without, SQLite", share, LEAST_SHARE, "without"),
    ]


async def _round(side: Side, plan: Plan, number: int) -> Round:
    entered = await side.server.enter(plan.seconds)
    drained = await side.server.drained()
    counted = await side.counting.count(entered.lines)
    assert counted.lines >= len(entered.run.latencies), "an answer was not written down"
    varied = await side.counting.count(varied_lines(1 + number * plan.varied, plan.varied))
    return Round(entered, drained, counted, varied)


def _figures(side: Side, rounds: Sequence[Round]) -> list[Measured]:
    return [
        *_rates(f"enter with statistics, {side.name}, in the rounds of counting", [one.entered for one in rounds]),
        *_counting(side.name, rounds),
        informed("  the traffic process, of a processor", "µs an event", [side.server.worked_by_traffic_process()]),
        at_most("  memory of the traffic process", "MB", [side.server.memory_of_traffic_process()], MOST_MEMORY_MB),
    ]


def _rates(what: str, entered: Sequence[Entered]) -> list[Measured]:
    return [
        informed(what, "per second", [one.run.rate for one in entered]),
        informed("  the server, of a processor", "µs a request", [one.server_us for one in entered]),
    ]


def _counting(name: str, rounds: Sequence[Round]) -> list[Measured]:
    counted, varied = [one.counted for one in rounds], [one.varied for one in rounds]
    share = ratio([one.run for one in counted], [one.entered.run for one in rounds])
    p99, p99_varied = [_p99_ms(one) for one in counted], [_p99_ms(one) for one in varied]
    return [
        informed(f"counting the lines of that load, {name}", "per second", [one.run.rate for one in counted]),
        at_least("  ÷ the events that enter makes", share, LEAST_TIMES[name], "enter"),
        informed("  shipping alone", "per second", [one.lines / one.ship_seconds for one in counted]),
        informed("  consumer alone", "per second", [one.lines / one.consume_seconds for one in counted]),
        informed("  of a processor", "µs an event", [one.worked_us for one in counted]),
        at_most("  a batch of 100, p99", "ms", p99, MOST_BATCH_MS, strictly=True),
        informed("  60 paths, 10,000 visitors", "per second", [one.run.rate for one in varied]),
        informed("  60 paths, 10,000 visitors, of a processor", "µs an event", [one.worked_us for one in varied]),
        informed("  60 paths, 10,000 visitors, a batch, p99", "ms", p99_varied),
        informed("  behind when the load ended, of low priority", "s", [one.drained for one in rounds]),
    ]


def _p99_ms(counted: Counted) -> float:
    return 1000 * (quantiles(counted.batches, n=100)[-1] if len(counted.batches) > 1 else counted.batches[0])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traffic", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="to see that it runs; judges nothing")
    parser.add_argument("--rounds", type=int)
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where databases and spools are made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
