"""A venue on each store, an engine whose commits the hub hears, and chance that is the same every time."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.live.hub import Hub
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_queue, a_venue
from tests.live.watching import Watched
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "dawr.db")
    url = "migrated_url" if "store" in request.fixturenames else "postgres_url"
    return PostgresDatabase(request.getfixturevalue(url))


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    store = await database.open()
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def venue(store: Store) -> Venue:
    queues = (a_queue("lab", prefix="A"), a_queue("xray"))
    return await create_venue(store, a_venue(*queues, desks=(a_desk("desk-1", "lab"),)))


@pytest.fixture
async def watched(store: Store, clock: DrivenClock, venue: Venue) -> AsyncIterator[Watched]:
    hub = Hub(store, clock, Random(1))
    engine = Engine(store, clock, listeners=[hub])
    yield Watched(hub, engine, store, venue, clock)
    hub.close()
    await engine.stop()
