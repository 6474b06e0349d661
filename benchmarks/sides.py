"""Who competes: the engine, and one transaction per ticket. Every run begins with an empty database.

A run ends with a look at every row, so no figure comes from numbers that are missing or given twice.
"""

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec

from benchmarks.arrivals import Arrival, arrivals, found_venue, receipt_of
from benchmarks.load import Load, Run, measure
from benchmarks.one_by_one import SqliteOneByOne, postgres_one_by_one
from dawr.bootstrap.system import now
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.ports import Store
from dawr.reliability.idempotency import Reply
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from tests.servers import PostgresServer

Issuing = Callable[[Arrival], Awaitable[Reply]]


class WrongResult(Exception):
    """The database does not hold exactly what was answered."""


class Database(msgspec.Struct, frozen=True):
    """An empty database with one venue, and how to reach it without the store."""

    store: Store
    venue: Venue
    address: str


Databases = Callable[[], AbstractAsyncContextManager[Database]]


def sqlite_databases(directory: Path) -> Databases:
    @asynccontextmanager
    async def new() -> AsyncIterator[Database]:
        with tempfile.TemporaryDirectory(dir=directory) as inside:
            path = Path(inside) / "dawr.sqlite"
            store = SqliteStore(path, clock=now)
            try:
                await store.migrate()
                yield Database(store, await found_venue(store), str(path))
            finally:
                await store.close()

    return new


def postgres_databases(server: PostgresServer) -> Databases:
    @asynccontextmanager
    async def new() -> AsyncIterator[Database]:
        with server.lend_database() as url:
            store = await PostgresStore.open(url, clock=now)
            try:
                await store.migrate()
                yield Database(store, await found_venue(store), url)
            finally:
                await store.close()

    return new


async def run_engine(new: Databases, load: Load, *, batch_limit: int = 256) -> Run:
    async with new() as database:
        engine = Engine(database.store, now, batch_limit=batch_limit)
        run = await _run(database, issuing(engine, database.venue), load)
        await engine.stop()
        return run


async def run_sqlite_one_by_one(new: Databases, load: Load) -> Run:
    async with new() as database:
        baseline = SqliteOneByOne(Path(database.address), database.venue)
        try:
            return await _run(database, baseline.issue, load)
        finally:
            baseline.close()


async def run_postgres_one_by_one(new: Databases, load: Load, *, connections: int) -> Run:
    async with (
        new() as database,
        postgres_one_by_one(database.address, database.venue, connections=connections) as baseline,
    ):
        return await _run(database, baseline.issue, load)


def issuing(engine: Engine, venue: Venue) -> Issuing:
    return lambda arrival: engine.answer(venue.id, arrival.issue, receipt_of, claim=arrival.claim)


async def must_be_whole(store: Store) -> None:
    faults = await store.faults()
    if faults:
        raise WrongResult(" ".join(faults))


async def _run(database: Database, issue: Issuing, load: Load) -> Run:
    run = await measure(arrivals(database.venue, load.most), issue, load)
    await must_be_whole(database.store)
    return run
