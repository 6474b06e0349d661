"""Over Dawr's own TLS a connection counts for its address as soon as it is accepted, and a handshake has an end."""

import asyncio
import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from dawr.reliability.client_address import Clients
from dawr.web.server import tls
from dawr.web.server.addresses import AddressConnections
from tests.cli.certificates import Pair
from tests.running import DawrServer, eventually
from tests.web.serving import GET, Echo, Wire, serving, until

LIMIT = 20
ANYBODY = "127.0.0.2"
SOMEBODY_ELSE = "127.0.0.3"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(params=["uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """The loop that serves."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


@pytest.fixture
def server(tmp_path: Path, pair: Pair) -> Iterator[DawrServer]:
    settings: dict[str, str | Path] = {
        "DAWR_DATA": tmp_path / "data",
        "DAWR_RATE_LIMITS": "on",
        "DAWR_TRUSTED_PROXIES": "127.0.0.9/32",
        "DAWR_MAX_CONNECTIONS_PER_ADDRESS": str(LIMIT),
    }
    with DawrServer(tmp_path, "serve", *pair.options, **settings) as server:
        yield server


def connect(server: DawrServer, address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(address, 0))


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed it. A connection that waits for a handshake says nothing."""
    return bool(select.select([connection], [], [], 0)[0])


def is_answered(server: DawrServer, pair: Pair, address: str) -> bool:
    with (
        suppress(OSError),
        connect(server, address) as raw,
        pair.context().wrap_socket(raw, server_hostname="localhost") as secure,
    ):
        secure.sendall(LIVE)
        return secure.recv(100).startswith(b"HTTP/1.1 200 ")
    return False


def fill_silently(server: DawrServer, stack: ExitStack) -> list[socket.socket]:
    """Open as many connections as one address may have, each of which sends nothing."""
    return [stack.enter_context(connect(server, ANYBODY)) for _ in range(LIMIT)]


def refuses_more(server: DawrServer) -> bool:
    with connect(server, ANYBODY) as beyond:
        try:
            return beyond.recv(1) == b""
        except ConnectionResetError:
            return True


def test_connections_that_send_nothing_are_counted_and_closed_beyond_the_limit(server: DawrServer, pair: Pair) -> None:
    with ExitStack() as stack:
        silent = fill_silently(server, stack)

        assert all(refuses_more(server) for _ in range(LIMIT))
        assert not any(is_closed(connection) for connection in silent)
        assert not is_answered(server, pair, ANYBODY)
        assert is_answered(server, pair, SOMEBODY_ELSE)

    eventually(lambda: is_answered(server, pair, ANYBODY))


def test_each_connection_gives_its_place_back_once_however_it_ends(server: DawrServer, pair: Pair) -> None:
    for _ in range(LIMIT):
        with connect(server, ANYBODY) as garbage:
            garbage.sendall(LIVE)
            with suppress(ConnectionResetError):
                while garbage.recv(1000):
                    pass
        with connect(server, ANYBODY) as cut_off:
            cut_off.sendall(b"\x16\x03\x01\x02\x00")
        assert is_answered(server, pair, ANYBODY)
    assert refuses_all_beyond_a_full_house(server)
    eventually(lambda: is_answered(server, pair, ANYBODY))


def refuses_all_beyond_a_full_house(server: DawrServer) -> bool:
    """Not one place was lost, and none was given back twice."""

    def has_room() -> bool:
        with ExitStack() as stack:
            held = fill_silently(server, stack)
            return refuses_more(server) and not any(is_closed(connection) for connection in held)

    eventually(has_room)  # the last connections may still be on their way out
    return True


def test_handshakes_under_way_do_not_keep_the_server_from_stopping(server: DawrServer) -> None:
    with ExitStack() as stack:
        fill_silently(server, stack)

        assert refuses_more(server)
        assert server.stop() == 0


async def test_a_handshake_that_takes_too_long_is_cut_off_and_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch, pair: Pair
) -> None:
    assert tls.HANDSHAKE_SECONDS == 10
    monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 0.05)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    addresses = AddressConnections(1, Clients(()), lambda _: None)

    async with serving(Echo, tls=context, addresses=addresses) as served:
        async with asyncio.timeout(30), await Wire.to(served) as silent:
            assert await silent.rest() == b""
        await until(lambda: not addresses._open)
        monkeypatch.setattr(tls, "HANDSHAKE_SECONDS", 10)
        secure = Wire(*await asyncio.open_connection("localhost", served.port, ssl=pair.context()))
        await secure.say(GET)
        assert (await secure.hear())[2] == b"nothing"
        assert list(addresses._open.values()) == [1]
        await secure.close()
        await until(lambda: not addresses._open)
