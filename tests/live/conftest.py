"""A venue on each store, an engine whose commits the hub hears, and chance that is the same every time."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import msgspec
import pytest

from dawr.domain.journey import Journey, Stage
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.live.hub import Hub
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_queue, a_venue
from tests.live.watching import Watched
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """What stores do differently is shown by `tests/stores`; streams are tried on PostgreSQL among the slow tests."""
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
    """With a journey through all of its queues: the laboratory, the X-ray one floor up, the eyes."""
    queues = (
        a_queue("lab", prefix="A"),
        msgspec.structs.replace(a_queue("xray"), floor="1", room="107"),
        a_queue("eye", capacity=1, reserve=100),
    )
    general = Journey("general", {"en": "General"}, fixed=tuple(Stage(queue.id) for queue in queues))
    venue = a_venue(*queues, desks=(a_desk("desk-1", "lab"),))
    return await create_venue(store, msgspec.structs.replace(venue, journeys=(general,)))


@pytest.fixture
async def watched(store: Store, clock: DrivenClock, venue: Venue) -> AsyncIterator[Watched]:
    hub = Hub(store, clock, Random(1), most_per_visit=500)
    engine = Engine(store, clock, listeners=[hub])
    yield Watched(hub, engine, store, venue, clock)
    hub.close()
    await engine.stop()
