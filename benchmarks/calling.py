"""A line of people: they ask again with the key that they used, more come behind them, desks call them."""

import asyncio

import msgspec

from benchmarks.arrivals import DESKS, Arrival, arrivals
from benchmarks.load import Load, Run, measure
from benchmarks.sides import Database, Databases, WrongResult, issuing, must_be_whole
from dawr.bootstrap.system import now
from dawr.engine.engine import Engine
from dawr.operations.staff import CallNext

FILLING_BATCH = 2000
MOST_NEWCOMERS = 10_000


class LineRuns(msgspec.Struct, frozen=True):
    replays: Run
    returns: Run
    newcomers: Run
    calls: Run


async def run_line(new: Databases, *, people: int, seconds: float, callers: int) -> LineRuns:
    """The line is filled first, which is not measured."""
    async with new() as database:
        came = arrivals(database.venue, people)
        await _let_come(database, came)
        engine = Engine(database.store, now)
        runs = LineRuns(
            replays=await _ask_again(database, engine, came, Load(callers, seconds, people)),
            returns=await _come_back(database, engine, came, Load(callers, seconds, people)),
            newcomers=await measure(
                arrivals(database.venue, MOST_NEWCOMERS),
                issuing(engine, database.venue),
                Load(callers, seconds, MOST_NEWCOMERS),
            ),
            calls=await _call(database, engine, Load(DESKS, seconds, people)),
        )
        await engine.stop()
        await must_be_whole(database.store)
        return runs


async def _let_come(database: Database, came: list[Arrival]) -> None:
    engine = Engine(database.store, now, batch_limit=FILLING_BATCH, most_waiting=2 * FILLING_BATCH)
    issue = issuing(engine, database.venue)
    for first in range(0, len(came), FILLING_BATCH):
        await asyncio.gather(*(issue(arrival) for arrival in came[first : first + FILLING_BATCH]))
    await engine.stop()


async def _ask_again(database: Database, engine: Engine, came: list[Arrival], load: Load) -> Run:
    issue = issuing(engine, database.venue)

    async def again(arrival: Arrival) -> None:
        if not (await issue(arrival)).replayed:
            raise WrongResult("a second request with the same key was given another number")

    return await measure(came, again, load)


async def _come_back(database: Database, engine: Engine, came: list[Arrival], load: Load) -> Run:
    """Without a key: each is told the number they have, and how many are ahead."""

    async def back(arrival: Arrival) -> None:
        if not (await engine.do(database.venue.id, arrival.issue)).already:
            raise WrongResult("somebody who was in the line was given another number")

    return await measure(came, back, load)


async def _call(database: Database, engine: Engine, load: Load) -> Run:
    async def call(operation: CallNext) -> None:
        if (await engine.do(database.venue.id, operation)).ticket is None:
            raise WrongResult("nobody was called, though people wait")

    return await measure([CallNext(f"desk-{n % DESKS + 1}") for n in range(load.most)], call, load)
