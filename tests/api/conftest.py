"""The native API from outside: a running server, two venues, and everybody who may ask."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.building import Building, a_building
from tests.api.operations import Things
from tests.api.world import FRESH, PASSWORD, Api, create_world, secret_of
from tests.builders import a_new
from tests.running import DawrServer


@pytest.fixture(scope="session")
def everybodys_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("api") / "data"


@pytest.fixture(scope="session")
def everybody(everybodys_data: Path) -> Iterator[Api]:
    """One installation for all tests of the API: each uses queues and names of its own."""
    world = create_world(everybodys_data)
    settings = {"DAWR_CLINIC_VENUE": "clinic"}  # tests make clinics of their own
    with DawrServer(everybodys_data.parent, "serve", DAWR_DATA=everybodys_data, **settings) as server:
        yield Api(server.url, world)


@pytest.fixture
def api(everybody: Api) -> Api:
    return everybody


@pytest.fixture(scope="session")
def fresh_codes() -> Iterator[str]:
    return iter(FRESH)


@pytest.fixture
def code(fresh_codes: Iterator[str]) -> str:
    """The code of a queue at the clinic that nobody has asked for anything yet."""
    return next(fresh_codes)


@pytest.fixture
def queue(code: str) -> str:
    """The same queue, as the API names it."""
    return f"clinic:{code}"


@pytest.fixture(scope="session")
def target(everybody: Api) -> None:
    """Somebody at the clinic to be promoted and shut out."""
    added = {"username": "target", "role": "viewer", "password": PASSWORD}
    assert everybody.post("/v1/venues/clinic/staff", added, by="owner@clinic").status == 201


@pytest.fixture(scope="session")
def set_up(everybody: Api) -> dict[str, Any]:
    found = everybody.get("/v1/venues/clinic/set-up", by="owner@clinic").json
    return {name: value for name, value in found.items() if name not in {"id", "slug"}}


@pytest.fixture(scope="session")
def token(everybody: Api) -> str:
    made = everybody.post("/v1/venues/clinic/tokens", {"kind": "display", "name": "A wall"}, by="owner@clinic")
    return str(made.json["token"]["token"])


@pytest.fixture(scope="session")
def shared_code(fresh_codes: Iterator[str]) -> str:
    return next(fresh_codes)


@pytest.fixture
def things(everybody: Api, shared_code: str, set_up: dict[str, Any], token: str, target: None) -> Things:
    """A ticket that waits, in a queue that is open: the operation before may have left it otherwise."""
    queue, visitor = f"clinic:{shared_code}", a_new("visitor")
    for verb in ("open", "resume"):
        everybody.post(f"/v1/queues/{queue}/{verb}", {}, by="owner@clinic")
    taken = everybody.take(queue, visitor=visitor)
    body = {"journey": "recruitment", "visitor": a_new("visitor")}
    begun = everybody.post("/v1/venues/clinic/journeys", body).json
    version = everybody.look(begun["ticket"])["version"]
    visit = secret_of(taken["link"])
    planned = secret_of(begun["link"])
    return Things(queue, shared_code, taken["ticket"], visitor, visit, planned, token, set_up, version)


@pytest.fixture(scope="session")
def stricts_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strict") / "data"


@pytest.fixture(scope="session")
def strict(stricts_data: Path) -> Iterator[Api]:
    """An installation that limits how often one may ask, and lets one other site's pages call it."""
    directory = stricts_data.parent
    world = create_world(stricts_data)
    settings = {"DAWR_RATE_LIMITS": "on", "DAWR_CORS_ORIGINS": "https://board.example, https://other.example"}
    with DawrServer(directory, "serve", DAWR_DATA=stricts_data, **settings) as server:
        yield Api(server.url, world)


@pytest.fixture
async def building(tmp_path: Path) -> AsyncIterator[Building]:
    async with a_building(tmp_path) as made:
        yield made
