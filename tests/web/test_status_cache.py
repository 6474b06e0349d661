"""Status over HTTP: kept for a moment, and never behind what somebody was told."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import msgspec
import pytest

from tests.cli.installations import Installation
from tests.running import Client, DawrServer
from tests.servers import ValkeyServer

VISITORS = 8
TURNS = 12

_visitors = count(1)


@pytest.fixture(params=["embedded", "one process", "workers"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DawrServer]:
    """Every profile; with workers, each new connection may reach another process."""
    settings: dict[str, str | Path] = {"DAWR_DATA": tmp_path / "data"}
    arguments: list[str] = []
    if request.param != "embedded":
        settings = {"DAWR_DATABASE_URL": request.getfixturevalue("postgres_url")}
    if request.param == "workers":
        valkey: ValkeyServer = request.getfixturevalue("valkey_server")
        settings["DAWR_REDIS_URL"] = valkey.url
        arguments = ["--workers", "2"]
    installation = Installation(settings, str(settings.get("DAWR_DATABASE_URL", "")), tmp_path)
    installation.create_venue()
    with installation.serve(*arguments) as server:
        yield server


class Seen(msgspec.Struct):
    number: int
    length: int
    waiting: int


def enter_and_look(server: DawrServer) -> Seen:
    """Each with a connection of its own, so that another process may be asked than the one that wrote."""
    with Client(server.url) as writer:
        number = writer.enter("lab", f"visitor {next(_visitors)}").json["number"]
    with Client(server.url) as reader:
        status = reader.status("lab").json
    with Client(server.url) as another:
        native = another.get("/v1/queues/clinic:lab").json
    return Seen(number, status["length"], native["waiting"])


def test_whoever_was_given_a_number_is_counted_wherever_they_look(server: DawrServer) -> None:
    with ThreadPoolExecutor(VISITORS) as pool:
        seen = list(pool.map(lambda _: enter_and_look(server), range(VISITORS * TURNS)))

    assert sorted(one.number for one in seen) == list(range(1, VISITORS * TURNS + 1))
    assert all(one.length >= one.number and one.waiting >= one.number for one in seen), seen
