"""The native API from outside: a running server, two venues, and everybody who may ask."""

import itertools
from collections.abc import Iterator

import pytest

from tests.api.world import FRESH, Api, found_world
from tests.running import DawrServer


@pytest.fixture(scope="session")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One installation for all tests of the API: each uses queues and names of its own."""
    directory = tmp_path_factory.mktemp("api")
    world = found_world(directory / "data")
    with DawrServer(directory, "serve", DAWR_DATA=directory / "data") as server:
        yield Api(server.url, world)


@pytest.fixture
def api(everybody: Api) -> Api:
    return everybody


@pytest.fixture(scope="session")
def fresh_codes() -> Iterator[str]:
    return iter(itertools.chain(FRESH))


@pytest.fixture
def code(fresh_codes: Iterator[str]) -> str:
    """The code of a queue at the clinic that nobody has asked for anything yet, and of the desk that serves it."""
    return next(fresh_codes)


@pytest.fixture
def queue(code: str) -> str:
    """The same queue, as the API names it."""
    return f"clinic:{code}"
