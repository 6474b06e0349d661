"""Is it alive, is it ready, how is it (MISSION A17)."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from dawr import __version__
from dawr.bootstrap.system import now
from dawr.ports.faults import StoreAway
from dawr.reliability.works import Work, Works
from dawr.stores.sqlite import SqliteStore
from tests.running import Client, DawrServer, dawr, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, server_directory
from tests.serving import installed, quiet, served


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        yield client


def test_a_server_that_can_store_is_live_ready_and_healthy(client: Client) -> None:
    live, ready, status = (client.ask(path) for path in ("/health/live", "/health/ready", "/api/v1/health/status"))

    assert (live.status, live.json) == (200, {"status": "live"})
    assert (ready.status, ready.json) == (200, {"status": "ready"})
    assert (status.status, status.json) == (200, {"success": True, "status": "HEALTHY", "version": __version__})
    assert {answer.headers["cache-control"] for answer in (live, ready, status)} == {"no-store"}


def test_the_whole_picture_of_a_server_that_needs_nobody(client: Client) -> None:
    with closing(HTTPConnection("127.0.0.1", client._connection.port)) as stream:
        stream.request("GET", "/v1/events?venue=clinic")
        assert stream.getresponse().status == 200

        eventually(lambda: set(client.ask("/health").json["works"].values()) == {"running"})
        health = client.ask("/health")

    assert (health.status, health.headers["cache-control"]) == (200, "no-store")
    assert health.json == {
        "status": "healthy",
        "version": __version__,
        "shared": "none",
        "processes": 1,
        "streams": 1,
        "stale": False,
        "works": dict.fromkeys(
            ("clockwork", "purge", "alarms", "time", "waiting", "places", "heartbeat", "poll", "measure", "files"),
            "running",
        ),
        "traffic": "off",
        "alerts": [],
        "time": [],
    }


def test_a_server_whose_database_went_away_says_so_and_recovers_without_hands(tmp_path: Path) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        url = postgres.create_database("dawr")
        dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATABASE_URL=url)
        with DawrServer(tmp_path, "serve", DAWR_DATABASE_URL=url) as server, Client(server.url) as client:
            assert client.enter("lab", "Amna").json["number"] == 1
            pid = server.pid

            postgres.kill()

            must_be_problem(client.ask("/health/ready"), 503, "store-away")
            unwell = client.ask("/health")
            must_be_problem(unwell, 503, "store-away")
            assert {name: unwell.json[name] for name in ("version", "shared", "processes", "streams", "stale")} == {
                "version": __version__,
                "shared": "none",
                "processes": 1,
                "streams": 0,
                "stale": False,
            }
            refused = client.enter("lab", "Basma", key="retried")
            must_be_problem(refused, 503, "store-away")
            assert (refused.json["retryable"], refused.headers["retry-after"]) == (True, "1")
            must_be_problem(client.status("lab"), 503, "store-away")
            must_be_problem(client.ask("/api/v1/health/status"), 503, "store-away")
            down = client.ask("/api/v1/status")
            assert (down.status, down.headers["content-type"]) == (503, "application/json")
            assert (down.headers["retry-after"], down.headers["cache-control"]) == ("1", "no-store")
            assert down.json == {"success": False, "status": "degraded", "backend": "down", "version": __version__}
            assert client.ask("/health/live").status == 200

            postgres.start()

            eventually(lambda: client.ask("/health/ready").status == 200)
            assert client.enter("lab", "Basma", key="retried").json["number"] == 2
            eventually(lambda: client.ask("/api/v1/health/status").json["status"] == "HEALTHY")
            assert client.ask("/health").json["status"] == "healthy"
            up = client.ask("/api/v1/status").json
            assert up == {"success": True, "status": "healthy", "backend": "up", "version": __version__}
            assert (server.pid, server.is_running()) == (pid, True)


def test_a_server_whose_database_is_not_set_up_names_the_venue_it_misses(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path / "data") as server, Client(server.url) as client:
        assert client.ask("/health/ready").status == 200
        must_be_problem(client.enter("lab", "Amna"), 404, "unknown-venue")

        dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path / "data")

        assert client.enter("lab", "Amna").json["number"] == 1


async def test_a_work_that_fails_is_seen_and_its_server_is_degraded(tmp_path: Path) -> None:
    failing = asyncio.Event()

    async def fails() -> None:
        failing.set()
        raise StoreAway("the store is away")

    store = SqliteStore(tmp_path / "dawr.sqlite", clock=now)
    await store.migrate()
    works = Works([Work(name="outbox", run=fails, every=60.0)], expected=(StoreAway,))
    async with (
        works.running(),
        installed(store, now, quiet()) as dawr,
        served(msgspec.structs.replace(dawr, works=works)) as url,
    ):
        await failing.wait()
        with Client(url) as client:
            health, ready = [await asyncio.to_thread(client.ask, path) for path in ("/health", "/health/ready")]
    await store.close()

    assert (health.status, health.json["status"], health.json["works"]) == (200, "degraded", {"outbox": "failing"})
    assert ready.json == {"status": "degraded"}
