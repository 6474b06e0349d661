"""One address holds only so many connections, and nobody else pays for those that it tries to open beyond."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from dawr.reliability.client_address import Clients
from dawr.settings import Settings
from dawr.web.server.addresses import AddressConnections, TooManyConnections
from tests.running import DawrServer, dawr, eventually, venue_document

LIMIT = 20
REQUEST = b"GET /v1/venues/clinic HTTP/1.1\r\nHost: x\r\n\r\n"
PROXY = "127.0.0.9"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    directory = tmp_path_factory.mktemp("addresses")
    settings: dict[str, str | Path] = {
        "DAWR_DATA": directory / "data",
        "DAWR_RATE_LIMITS": "on",
        "DAWR_TRUSTED_PROXIES": f"{PROXY}/32",
        "DAWR_MAX_CONNECTIONS_PER_ADDRESS": str(LIMIT),
        "DAWR_METRICS_TOKEN": "a token for tests",
    }
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
    with DawrServer(directory, "serve", **settings) as server:
        yield server


def connect(server: DawrServer, address: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(address, 0))


def ask(connection: socket.socket, request: bytes = REQUEST) -> bytes:
    """Return the first bytes of the answer; a connection that is refused answers without being asked."""
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(request)
    return connection.recv(65536)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def fill(server: DawrServer, address: str, stack: ExitStack) -> list[socket.socket]:
    connections = [stack.enter_context(connect(server, address)) for _ in range(LIMIT)]
    assert {status_of(ask(connection)) for connection in connections} == {200}
    return connections


def test_the_default_is_1024() -> None:
    assert Settings().max_connections_per_address == 1024


def test_an_address_with_too_many_connections_is_refused_and_no_other_is(server: DawrServer) -> None:
    with ExitStack() as stack:
        fill(server, "127.0.0.2", stack)

        for _ in range(100):
            with connect(server, "127.0.0.2") as refused:
                answer = refused.recv(65536)
                assert status_of(answer) == 429
                assert b'"code":"too-many-connections"' in answer
                assert b'"most":20' in answer
                assert b"\r\nretry-after: 1\r\n" in answer
                assert refused.recv(1) == b""
        with connect(server, "127.0.0.3") as other:
            assert status_of(ask(other)) == 200

    lines = server.log.read_text()
    assert lines.count('"policy": "connections"') + lines.count('"policy":"connections"') < 50


def test_a_connection_that_ends_makes_room_for_another(server: DawrServer) -> None:
    with ExitStack() as stack:
        first, *_ = fill(server, "127.0.0.4", stack)
        first.close()

        eventually(lambda: is_admitted(server, "127.0.0.4"))


def test_the_connections_of_a_trusted_proxy_are_not_counted(server: DawrServer) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(server, PROXY)) for _ in range(2 * LIMIT)]

        assert [status_of(ask(connection)) for connection in connections] == [200] * (2 * LIMIT)


def test_refused_connections_are_counted(server: DawrServer) -> None:
    before = refused_so_far(server)
    with ExitStack() as stack:
        fill(server, "127.0.0.5", stack)
        for _ in range(7):
            with connect(server, "127.0.0.5") as refused:
                assert status_of(refused.recv(65536)) == 429

    assert [after - earlier for after, earlier in zip(refused_so_far(server), before, strict=True)] == [7, 7]


def test_the_connections_of_an_ipv6_network_count_together() -> None:
    addresses = AddressConnections(2, Clients(()), lambda _: None)

    first = addresses.admit(("2001:db8:0:1::1", 1))
    second = addresses.admit(("2001:db8:0:1:ffff::2", 2))

    assert first is not None
    assert first == second
    with pytest.raises(TooManyConnections):
        addresses.admit(("2001:db8:0:1::3", 3))
    assert addresses.admit(("2001:db8:0:2::1", 4)) is not None
    addresses.release(first)
    assert addresses.admit(("2001:db8:0:1::3", 5)) == first


def is_admitted(server: DawrServer, address: str) -> bool:
    with connect(server, address) as connection:
        return status_of(ask(connection)) == 200


def refused_so_far(server: DawrServer) -> list[int]:
    """Return the counts of the limit and of the problem's code."""
    with connect(server, PROXY) as connection:
        wanted = b"Authorization: Bearer a token for tests\r\nConnection: close\r\n"
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + wanted + b"\r\n")
        said = b""
        while more := connection.recv(65536):
            said += more
    assert status_of(said) == 200
    series = ('dawr_limit_hits_total{policy="connections"}', 'dawr_refusals_total{code="too-many-connections"}')
    found = [re.search(re.escape(name) + r" (\d+)", said.decode()) for name in series]
    return [0 if count is None else int(count[1]) for count in found]
