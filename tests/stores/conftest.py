"""One fixture, both stores: whatever is asked of one is asked of the other."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dawr.domain.venue import Venue, checked
from dawr.engine.engine import Engine
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_journey, a_queue, a_venue
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
    """Opened and migrated, as the service finds it."""
    store = await database.open()
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def source(tmp_path: Path) -> SqliteDatabase:
    """A file to be moved: migrated, and without a row of anybody's."""
    database = SqliteDatabase(tmp_path / "dawr.sqlite")
    store = await database.open()
    await store.migrate()
    await store.close()
    return database


@pytest.fixture
def clock() -> DrivenClock:
    """What the rules take for now."""
    return DrivenClock()


@pytest.fixture
async def engine(store: Store, clock: DrivenClock) -> AsyncIterator[Engine]:
    engine = Engine(store, clock)
    yield engine
    await engine.stop()


@pytest.fixture
async def venue(store: Store) -> Venue:
    """Three queues; desk 1 serves the laboratory alone, desk 2 all three."""
    queues = (a_queue("lab", prefix="A"), a_queue("xray"), a_queue("eye"))
    desks = (a_desk("desk-1", "lab"), a_desk("desk-2", "lab", "xray", "eye"))
    return await create_venue(store, a_venue(*queues, desks=desks))


@pytest.fixture
async def clinic(store: Store) -> Venue:
    """Four queues on two floors; recruits begin at the laboratory, and women have an eye clinic without a PIN."""
    queues = (
        replace(a_queue("lab", prefix="A"), floor="1"),
        replace(a_queue("xray"), floor="1"),
        replace(a_queue("ent"), floor="2"),
        replace(a_queue("eye"), floor="2", audience="women"),
    )
    journeys = (
        a_journey("army", "xray", "ent", fixed=("lab",), aliases=("تجنيد",)),
        a_journey("short", "xray"),
        a_journey("women", "eye", "xray", no_pin=("eye",), audience="women"),
    )
    desks = (a_desk("desk-1", "lab"), a_desk("desk-2", "lab", "xray"), a_desk("desk-3", "ent"))
    venue = replace(a_venue(*queues, desks=desks), journeys=journeys, walking_minutes={"1": {"2": 3}})
    return await create_venue(store, checked(venue))
