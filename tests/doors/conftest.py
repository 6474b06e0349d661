"""The clinic's door from outside: a real server on each store, and queues nobody has used yet."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dawr.bootstrap import SystemIds
from dawr.domain.venue import Venue
from dawr.engine import Engine
from dawr.settings import Settings
from dawr.stores.sqlite import SqliteStore
from dawr.web.app import App
from dawr.web.server import Server, listen, url_of
from tests.builders import DrivenClock, a_head, a_queue, a_venue
from tests.doors.here import Here
from tests.running import Client, DawrServer, dawr, venue_document
from tests.servers import PostgresServer

FRESH = [f"fresh{number}" for number in range(100)]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def clinic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    """A clinic that is served, with queues of every kind."""
    directory = tmp_path_factory.mktemp("clinic")
    if request.param == "sqlite":
        with served(directory, DAWR_DATA=directory / "data") as server:
            yield server
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    with postgres.lend_database() as url, served(directory, DAWR_DATABASE_URL=url) as server:
        yield server


def served(directory: Path, **settings: str | Path) -> DawrServer:
    applied = dawr("venue", "apply", "-", stdin=venue_document(*every_kind_of_queue()), **settings)
    assert applied.exit_code == 0, applied
    return DawrServer(directory, "serve", **settings)


def every_kind_of_queue() -> list[dict[str, Any]]:
    return [
        {"id": "xray", "prefix": "B", "aliases": ["xr", "radiology"]},
        {"id": "small", "capacity": 3, "reserve": 2},
        {"id": "paused", "state": "paused"},
        {"id": "closed", "state": "closed"},
        {"id": "later", "hours": {"week": [[(18 * 60, 19 * 60)]] * 7}},
        {"id": "never", "hours": {"week": [[]] * 7}},
        *({"id": code} for code in FRESH),
    ]


@pytest.fixture
def client(clinic: DawrServer) -> Iterator[Client]:
    with Client(clinic.url) as client:
        yield client


@pytest.fixture(scope="module")
def fresh_queues() -> Iterator[str]:
    return itertools.cycle(FRESH)


@pytest.fixture
def queue(clinic: DawrServer, fresh_queues: Iterator[str]) -> str:
    """A queue that nobody has asked for anything yet."""
    return next(fresh_queues)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A clinic in this process, on a real socket and a real file, whose clock and desks the test drives."""
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    venue = a_venue(a_queue("lab", prefix="A"), a_queue("eye"))
    await store.add_venue(venue, a_head(venue))
    engine = Engine(store, clock)
    listener = listen("127.0.0.1", 0)
    server = Server(App(engine, SystemIds(), settings_for(venue)), listener, ready=lambda _: None)
    serving = asyncio.create_task(server.run_until_stopped())
    yield Here(url_of(listener), engine, venue, clock)
    server.should_exit = True
    await serving
    await engine.stop()
    await store.close()


def settings_for(venue: Venue) -> Settings:
    return Settings(clinic_venue=venue.slug)
