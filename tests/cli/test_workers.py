"""`dawr serve --workers N`: several processes that look like one."""

import contextlib
import os
import re
import signal
import socket
import threading
import time
from http.client import HTTPException
from pathlib import Path

import msgspec
import pytest

from tests.cli.installations import Installation
from tests.running import READY, Client, DawrServer, dawr, eventually
from tests.servers import PostgresServer, ValkeyServer, server_directory

pytestmark = pytest.mark.slow

STOP_SECONDS = 3.0
WORKERS = 3


@pytest.fixture
def scaled(tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer) -> Installation:
    """Several processes need a Redis or Valkey to share."""
    settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey_server.url}
    return Installation(settings, postgres_url, tmp_path)


def workers_of(server: DawrServer) -> set[int]:
    return {int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()}


def test_they_are_ready_once_and_when_all_are(scaled: Installation) -> None:
    scaled.create_venue()
    with scaled.serve("--workers", str(WORKERS)) as server:
        assert len(workers_of(server)) == WORKERS
        clients = [Client(server.url) for _ in range(20)]
        numbers = [client.enter("lab", f"visitor {turn}").json["number"] for turn, client in enumerate(clients)]
        for client in clients:
            client.close()

    said = server.log.read_text()
    assert numbers == list(range(1, 21))
    assert len(READY.findall(said)) == 1
    assert said.count("/first-run?code=") <= 1


def test_they_stop_within_seconds_though_streams_are_open_and_valkey_hangs(scaled: Installation) -> None:
    scaled.create_venue()
    with server_directory() as directory, ValkeyServer(directory) as valkey, contextlib.ExitStack() as stack:
        settings = {**scaled.settings, "DAWR_REDIS_URL": valkey.url}
        server = msgspec.structs.replace(scaled, settings=settings).serve("--workers", str(WORKERS))
        with server:
            for _ in range(2 * WORKERS):
                stream = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                stream.sendall(b"GET /v1/events?venue=clinic HTTP/1.1\r\nHost: here\r\n\r\n")
                assert stream.recv(12) == b"HTTP/1.1 200"
            os.kill(valkey.pid, signal.SIGSTOP)
            try:
                with Client(server.url) as client:
                    assert client.enter("lab", "one whose hint nobody hears").status == 200
                began = time.monotonic()

                code = server.stop()
            finally:
                os.kill(valkey.pid, signal.SIGCONT)

    assert code == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_they_stop_in_order_whoever_still_lingers(scaled: Installation, number: signal.Signals) -> None:
    with (
        scaled.serve("--workers", str(WORKERS)) as server,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(2 * WORKERS):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port))).sendall(b"GET / HT")
        with Client(server.url) as client:
            assert client.ask("/health/live").status == 200
            began = time.monotonic()

            code = server._end(number)

    assert code == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert "Traceback" not in server.log.read_text()


def test_a_signal_from_the_terminal_reaches_all_of_them_and_is_one(scaled: Installation) -> None:
    with scaled.serve("--workers", str(WORKERS)) as server:
        began = time.monotonic()
        os.killpg(server.pid, signal.SIGINT)

        code = server._end(signal.SIGINT)

    assert code == 0
    assert time.monotonic() - began < STOP_SECONDS
    assert "Traceback" not in server.log.read_text()


def test_a_worker_that_is_killed_under_load_loses_nothing_and_comes_back(scaled: Installation) -> None:
    scaled.create_venue()
    told: dict[str, int] = {}
    over = threading.Event()
    busy = msgspec.structs.replace(scaled, settings={**scaled.settings, "DAWR_RATE_LIMITS": "off"})
    with busy.serve("--workers", str(WORKERS)) as server:
        visitors = [threading.Thread(target=enter_until, args=(server.url, n, told, over)) for n in range(8)]
        for visitor in visitors:
            visitor.start()
        try:
            for _ in range(3):
                a_hundred_more_are_told(told)
                kill_one_and_see_it_replaced(server)
            a_hundred_more_are_told(told)
        finally:
            over.set()
            for visitor in visitors:
                visitor.join()

    stored = dict(scaled.rows("SELECT visitor, number FROM tickets"))
    assert len(set(told.values())) == len(told)
    assert {name: stored.get(name) for name in told} == told
    assert scaled.dawr("check").exit_code == 0
    said = server.log.read_text()
    assert said.count('"event":"worker.ended"') == 3
    assert len(READY.findall(said)) == 1


def a_hundred_more_are_told(told: dict[str, int]) -> None:
    before = len(told)
    eventually(lambda: len(told) > before + 100)


def kill_one_and_see_it_replaced(server: DawrServer) -> None:
    before = workers_of(server)
    os.kill(min(before), signal.SIGKILL)
    eventually(lambda: len(workers_of(server) - before) == 1)


def enter_until(url: str, visitor: int, told: dict[str, int], over: threading.Event) -> None:
    """Take number after number; one that is not answered is asked for again under its key."""
    turn = 0
    while not over.is_set():
        with Client(url) as client, contextlib.suppress(OSError, HTTPException):
            while not over.is_set():
                name = f"visitor {visitor} for the {turn}th time"
                answer = client.enter("lab", name, key=f"{visitor}-{turn}")
                if answer.status == 200:
                    told[name] = answer.json["number"]
                    turn += 1


def test_workers_that_start_while_the_database_is_away_say_so_and_find_it_again(
    tmp_path: Path, valkey_server: ValkeyServer
) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        settings = {"DAWR_DATABASE_URL": postgres.url, "DAWR_REDIS_URL": valkey_server.url}
        here = Installation(settings, postgres.url, tmp_path)
        here.create_venue()
        with here.serve("--workers", "2") as server:
            before = workers_of(server)
            postgres.kill()

            for pid in before:
                os.kill(pid, signal.SIGKILL)

            eventually(lambda: len(workers_of(server) - before) == 2)
            with Client(server.url) as client:
                assert client.get("/health/live").status == 200
                refused = client.enter("lab", "someone")
                assert (refused.status, refused.json["code"]) == (503, "store-away")
                assert "retry-after" in refused.headers
                postgres.start()
                eventually(lambda: client.enter("lab", "someone").status == 200)


def test_workers_whose_parent_is_gone_stop_by_themselves(scaled: Installation) -> None:
    with scaled.serve("--workers", str(WORKERS)) as server:
        code = server.kill()  # returns when every process is gone

        assert code == -signal.SIGKILL
        server.start()


def test_a_tool_says_its_answer_alone_also_when_valkey_is_away(scaled: Installation) -> None:
    scaled.create_venue()

    made = scaled.dawr("token", "new", "--kind", "kiosk", "--name", "Door", DAWR_REDIS_URL="redis://127.0.0.1:1")

    assert re.fullmatch(r"dwt_\S+\n", made.said)
    assert "shared.away" in made.complained


def test_what_keeps_them_from_starting_is_said_once(tmp_path: Path) -> None:
    done = dawr(
        "serve",
        "--workers",
        "2",
        "--port",
        "0",
        DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr",
        DAWR_REDIS_URL="redis://127.0.0.1:1",
    )

    assert done.exit_code == 1
    assert done.complained.startswith("Error: PostgreSQL: ")
    assert done.complained.count("\n") == 1


def test_an_address_that_is_taken_is_said_before_anything_is_started(scaled: Installation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = scaled.dawr("serve", "--workers", "2", "--port", str(port))

    assert done.exit_code == 1
    assert done.complained == f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use.\n"
