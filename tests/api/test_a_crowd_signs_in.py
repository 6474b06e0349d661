"""Many sign in at once from different addresses: all are let in, and known browsers first."""

import json
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.running import Client, DawrServer, dawr, set_up, venue_document

CROWD = 120
NAME, PASSWORD = "noor", "a long walk to the sea"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DawrServer]:
    settings: dict[str, str | Path] = {"DAWR_DATA": tmp_path / "data", "DAWR_RATE_LIMITS": "on"}
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
    set_up("staff", "add", NAME, "--role", "owner", "--password-stdin", stdin=PASSWORD, **settings)
    with DawrServer(tmp_path, "serve", **settings, DAWR_LIMIT_LOGIN_ACCOUNT="1000") as server:
        yield server


def begin_to_sign_in(server: DawrServer, address: str, cookie: str = "") -> socket.socket:
    """Send the request, and leave the answer to be read."""
    body = json.dumps({"username": NAME, "password": PASSWORD}).encode()
    head = "POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    head += f"X-Forwarded-For: {address}\r\nContent-Length: {len(body)}\r\n"
    head += f"Cookie: {cookie}\r\n" if cookie else ""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=120)
    connection.sendall(head.encode() + b"\r\n" + body)
    return connection


def status_of(connection: socket.socket) -> int:
    return int(connection.recv(65536).split(b" ", 2)[1])


def answered(connections: list[socket.socket]) -> int:
    ready, _, _ = select.select(connections, [], [], 0)
    return len(ready)


def known_browser(server: DawrServer) -> str:
    with Client(server.url) as client:
        signed_in = client.post("/v1/login", {"username": NAME, "password": PASSWORD})
    (cookie,) = (cookie for cookie in signed_in.cookies if cookie.startswith("dawr-browser="))
    return cookie.partition(";")[0]


def test_a_crowd_is_let_in_and_a_known_browser_before_it(server: DawrServer) -> None:
    cookie = known_browser(server)
    with ExitStack() as stack:
        crowd = [
            stack.enter_context(begin_to_sign_in(server, f"198.51.{number // 250}.{number % 250 + 1}"))
            for number in range(CROWD)
        ]
        waiting = CROWD - answered(crowd)
        known = stack.enter_context(begin_to_sign_in(server, "203.0.113.1", cookie))

        assert status_of(known) == 200
        # It came last, and most of those that waited before it still wait.
        assert CROWD - answered(crowd) > waiting / 2
        assert [status_of(connection) for connection in crowd] == [200] * CROWD
