"""Two hosts with two workers each serve one clinic. Then a worker, Valkey and PostgreSQL are killed in turn.

Nobody loses a number, nobody gets two, everybody who watches sees every change in order,
and whatever was killed is found again without hands.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Client, DawrServer, dawr, eventually, must_be_problem, venue_document
from tests.servers import PostgresServer, ValkeyServer, server_directory
from tests.stories.several import WORKERS, Hosts, Morning, health

pytestmark = pytest.mark.slow

CHANGES = 30
POLL_SECONDS = 5


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    with server_directory() as directory, PostgresServer(directory) as server:
        yield server


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


def test_a_change_through_one_host_is_seen_through_the_other_at_once(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    """One change at a time: by the look alone each would take up to 5 seconds, and all of them minutes."""
    hosts = Hosts(tmp_path, postgres_url, valkey_server.url)
    with hosts.serving():
        morning = Morning(hosts)
        eventually(lambda: hosts.are(200, status="healthy", processes=2 * WORKERS))
        with morning.watched():
            began, first = time.monotonic(), morning.version()
            for turn in range(CHANGES):
                person = morning.visitors[turn % 2]
                person.take(f"visitor-{turn}")
                morning.all_have_seen(first + 1 + turn)
            took = time.monotonic() - began

        morning.must_be_whole()
        assert took < CHANGES * POLL_SECONDS / 3
        assert hosts.are(200, status="healthy", shared="there")


@pytest.mark.parametrize("rounds", [1, pytest.param(15, marks=pytest.mark.prove)])
def test_whatever_is_killed_nothing_told_is_lost_and_the_rest_recovers_by_itself(
    tmp_path: Path, postgres: PostgresServer, valkey: ValkeyServer, rounds: int
) -> None:
    hosts = Hosts(tmp_path, postgres.create_database("dawr"), valkey.url)
    with hosts.serving():
        morning = Morning(hosts)
        with morning.watched(), morning.going_on():
            for turn in range(rounds):
                morning.so_many_more_come(50)
                hosts.kill_a_worker(hosts.servers[turn % 2])
                morning.so_many_more_come(50)
                kill_valkey(hosts, morning, valkey)
                morning.so_many_more_come(50)
                kill_postgres(hosts, morning, postgres)
                morning.so_many_more_come(50)

        morning.must_be_whole()
        assert all(server.is_running() for server in hosts.servers)
        assert sum("worker.ended" in server.log.read_text() for server in hosts.servers) == min(rounds, 2)
    print(  # noqa: T201
        f"{rounds} rounds of kills: {morning.told} numbers told, {sum(len(desk.called) for desk in morning.desks)} "
        f"called, {morning.replays} replayed, refused meanwhile: {dict(morning.refusals)}, "
        f"{len(morning.onlookers)} onlookers saw {morning.version()} changes each"
    )


def kill_valkey(hosts: Hosts, morning: Morning, valkey: ValkeyServer) -> None:
    """Tickets, calls and updates go on meanwhile; who asks is told."""
    valkey.kill()
    eventually(lambda: hosts.are(200, status="degraded", shared="away"), seconds=30)
    morning.so_many_more_come(50)
    morning.all_have_seen(morning.version())
    valkey.start()
    eventually(lambda: hosts.are(200, status="healthy", shared="there"), seconds=30)


def kill_postgres(hosts: Hosts, morning: Morning, postgres: PostgresServer) -> None:
    """Nothing can be stored, and everybody is told so; no stream ends."""
    refused, streams = morning.refusals.total(), [onlooker.streams for onlooker in morning.onlookers]
    for onlooker in morning.onlookers:
        onlooker.notices.clear()
    postgres.kill()
    eventually(lambda: all(onlooker.notices == ["stale"] for onlooker in morning.onlookers), seconds=30)
    for answer in hosts.health():
        must_be_problem(answer, 503, "store-away")
    assert hosts.are(503, shared="there")
    eventually(lambda: morning.refusals.total() > refused, seconds=30)
    postgres.start()
    eventually(lambda: all(onlooker.notices == ["stale", "fresh"] for onlooker in morning.onlookers), seconds=30)
    assert [onlooker.streams for onlooker in morning.onlookers] == streams


def test_a_server_that_starts_without_valkey_says_so_works_and_finds_it_when_it_comes(
    tmp_path: Path, postgres_url: str
) -> None:
    with server_directory() as directory:
        valkey = ValkeyServer(directory)
        settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey.url}
        assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
        with DawrServer(tmp_path, "serve", "--workers", str(WORKERS), **settings) as server:
            with Client(server.url) as client:
                eventually(lambda: client.ask("/health/ready").json == {"status": "degraded"})
                assert client.ask("/api/v1/health/status").json["status"] == "DEGRADED"
                assert client.ask("/health").json["processes"] == WORKERS
                assert client.enter("lab", "Amna", key="Amna").json["number"] == 1
                assert client.enter("lab", "Amna", key="Amna").json["number"] == 1

            with valkey:
                eventually(lambda: health(server.url).json["status"] == "healthy")

                os.kill(valkey.pid, signal.SIGSTOP)  # it hangs, and is as good as away
                try:
                    eventually(lambda: health(server.url).json["status"] == "degraded")
                    with Client(server.url) as client:
                        assert client.enter("lab", "Basma").json["number"] == 2
                finally:
                    os.kill(valkey.pid, signal.SIGCONT)
                eventually(lambda: health(server.url).json["status"] == "healthy")
