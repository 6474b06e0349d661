"""The doors from outside: a real server on each store, and queues and restaurants nobody has used yet."""

import itertools
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dawr.domain.staff import Role
from dawr.domain.venue import Venue
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_desk, a_head, a_new, a_queue, a_venue
from tests.doors.exams import EXAMS, Exam, journey_documents, queue_documents, queues_of
from tests.doors.here import Here
from tests.doors.restaurant import Restaurant, restaurant_document
from tests.doors.roles import CLINIC, OWNER, PASSWORD, bearers_of, signed_in
from tests.running import Client, DawrServer, set_up, venue_document
from tests.servers import PostgresServer
from tests.serving import installed, quiet, served

FRESH = [f"fresh{number}" for number in range(500)]
LARGE = {"DAWR_MAX_QUEUES_PER_VENUE": "2000", "DAWR_MAX_JOURNEYS_PER_VENUE": "1000", "DAWR_MAX_DESKS_PER_VENUE": "500"}
"""Every test has queues of its own, so the clinic has many."""

_slugs = (f"bistro-{number}" for number in itertools.count(1))


@pytest.fixture(scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def clinic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    """A clinic that is served, with queues of every kind and an owner.

    What stores do differently is shown by `tests/stores`; the doors are tried on PostgreSQL among the slow tests.
    """
    directory = tmp_path_factory.mktemp("clinic")
    if request.param == "sqlite":
        with founded(directory, DAWR_DATA=directory / "data") as server:
            yield server
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    with postgres.lend_database() as url, founded(directory, DAWR_DATABASE_URL=url) as server:
        yield server


def founded(directory: Path, **settings: str | Path) -> DawrServer:
    clinic = json.loads(venue_document(*every_kind_of_queue()))
    clinic["desks"] = [
        {"id": "window", "name": {"en": "Window"}, "queues": ["xray", *FRESH]},
        {"id": "back-room", "name": {"en": "Back room"}, "queues": ["small"]},
        *({"id": f"{exam}-desk", "name": {"en": exam}, "queues": [queues_of(exam)[0]]} for exam in EXAMS),
    ]
    clinic["pin_digits"] = 6
    clinic["journeys"] = journey_documents(FRESH)
    clinic["walking_minutes"] = {"M": {"2": 2, "3": 4}}
    set_up("venue", "apply", "-", stdin=json.dumps(clinic), **settings, **LARGE)
    set_up("staff", "add", OWNER, "--role", "owner", "--password-stdin", stdin=PASSWORD, **settings)
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
        *queue_documents(),
    ]


@pytest.fixture
def client(clinic: DawrServer) -> Iterator[Client]:
    with Client(clinic.url) as client:
        yield client


@pytest.fixture(scope="session")
def fresh_queues(clinic: DawrServer) -> Iterator[str]:
    return iter(FRESH)


@pytest.fixture
def queue(fresh_queues: Iterator[str]) -> str:
    """A queue that nobody has asked for anything yet."""
    return next(fresh_queues)


@pytest.fixture(scope="session")
def fresh_exams(clinic: DawrServer) -> Iterator[str]:
    return iter(EXAMS)


@pytest.fixture
def exam(client: Client, fresh_exams: Iterator[str], bearers: dict[Role, str]) -> Exam:
    """An exam type that nobody has come for yet, with three queues of its own."""
    return Exam(client, next(fresh_exams), bearers)


@pytest.fixture(scope="session")
def owner(clinic: DawrServer) -> str:
    """The session of the owner."""
    with Client(clinic.url) as client:
        return signed_in(client)


@pytest.fixture(scope="session")
def bearers(clinic: DawrServer, owner: str) -> dict[Role, str]:
    """A token of each role at the clinic."""
    with Client(clinic.url) as client:
        return bearers_of(client, CLINIC, owner)


@pytest.fixture
def staff(bearers: dict[Role, str]) -> str:
    return bearers["staff"]


@pytest.fixture
def restaurant(client: Client, owner: str) -> Restaurant:
    """A restaurant that nobody has been to yet, with a token of each role."""
    return a_new_restaurant(client, owner)


@pytest.fixture
def another(client: Client, owner: str) -> Restaurant:
    """A second one, with the same owner."""
    return a_new_restaurant(client, owner)


def a_new_restaurant(client: Client, owner: str) -> Restaurant:
    slug = next(_slugs)
    made = client.post(f"/v1/venues/{slug}/set-up", restaurant_document(), bearer=owner, method="PUT")
    assert made.status == 201, made
    return Restaurant(client, slug, bearers_of(client, slug, owner), owner)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    """A clinic in this process, on a real socket and a real file, whose clock and desks the test drives."""
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    venue = a_venue(a_queue("lab", prefix="A"), a_queue("eye"), desks=(a_desk("desk-1"),))
    await store.add_venue(venue, a_head(venue))
    async with installed(store, clock, quiet(clinic_venue=venue.slug)) as dawr, served(dawr) as url:
        yield Here(url, dawr, venue, clock)
    await store.close()


@pytest.fixture
async def hospital(tmp_path: Path) -> AsyncIterator[Here]:
    """The same with a journey through queues that leave people out, each for another reason."""
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    venue = msgspec.convert(hospital_document(), Venue)
    await store.add_venue(venue, a_head(venue))
    async with installed(store, clock, quiet(clinic_venue=venue.slug)) as dawr, served(dawr) as url:
        yield Here(url, dawr, venue, clock)
    await store.close()


def hospital_document() -> dict[str, Any]:
    queues: dict[str, dict[str, Any]] = {
        "closed": {"state": "closed"},
        "full": {"capacity": 0},
        "later": {"hours": {"week": [[(18 * 60, 19 * 60)]] * 7}},
        "ladies": {"audience": "women"},
        "far": {},
        "near": {},
    }
    return {
        "id": a_new("v"),
        "slug": "hospital",
        "name": {"en": "A hospital"},
        "zone": "Asia/Qatar",
        "queues": [{"id": code, "name": {"en": code}, **facts} for code, facts in queues.items()],
        "journeys": [
            {"id": "everything", "name": {"en": "Everything"}, "free": [{"queue": code} for code in queues]},
            {"id": "quick", "name": {"en": "Quick"}, "free": [{"queue": "near"}, {"queue": "far"}]},
        ],
    }
