"""Every answer of the server is counted once, and leaves only when it was written down: whole, pipelined, cut off."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dawr.traffic.directory import traffic_in
from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, dawr, eventually, set_up, venue_document

GET = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
GZIPPED = b"POST /v1/venues HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"
GARBAGE = b"\x16\x03\x01 garbage\r\n\r\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("counted")


@pytest.fixture(scope="module", params=["off", "on"])
def server(request: pytest.FixtureRequest, data: Path) -> Iterator[DawrServer]:
    """Whoever follows each event in the log has it written by itself; otherwise those of one turn are one write."""
    settings = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1", "DAWR_TRAFFIC_LOG": str(request.param)}
    queues = ({"id": "lab"}, {"id": "tiny", "capacity": 1})
    set_up("venue", "apply", "-", "--data", data / "data", stdin=venue_document(*queues))
    with DawrServer(data, "serve", "--data", data / "data", **settings) as running:
        yield running


def ledger(data: Path) -> dict[str, int]:
    """What became of all requests so far."""
    rows = rows_in(data, "SELECT sum(answered), sum(spooled), sum(stored) FROM traffic_ledger")
    return dict(zip(("answered", "spooled", "stored"), (int(count or 0) for count in rows[0]), strict=True))


def outcomes(data: Path) -> dict[tuple[str, int, str], int]:
    rows = rows_in(data, "SELECT path, status, outcome, count(*) FROM traffic_events GROUP BY 1, 2, 3")
    return {(str(path), int(status), str(outcome)): int(count) for path, status, outcome, count in rows}


def rows_in(data: Path, sql: str) -> list[tuple[Any, ...]]:
    return rows_of(traffic_in(data / "data").database, sql)


def everything(port: int, request: bytes) -> bytes:
    """What the server says until it says no more."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_answers_leave_in_the_order_of_their_requests_and_what_is_no_request_counts_too(
    server: DawrServer, data: Path
) -> None:
    before = ledger_when_there(data)

    pipelined = everything(server.port, GET * 4 + b"GET /no HTTP/1.1\r\nHost: x\r\n\r\n" + GARBAGE)
    refused = everything(server.port, GARBAGE)

    assert statuses_in(pipelined) == [b"200"] * 4 + [b"404"]
    assert statuses_in(refused) == [b"400"]
    eventually(lambda: ledger(data)["stored"] == before["stored"] + 7)
    assert ledger(data)["answered"] == ledger(data)["spooled"]
    assert outcomes(data)["-", 400, "refused"] % 2 == 0


def statuses_in(said: bytes) -> list[bytes]:
    return [answer[:3] for answer in said.split(b"HTTP/1.1 ")[1:]]


def ledger_when_there(data: Path) -> dict[str, int]:
    eventually(traffic_in(data / "data").socket.exists)
    eventually(lambda: ledger(data)["stored"] == ledger(data)["spooled"])
    return ledger(data)


def test_clients_that_leave_before_their_answer_are_counted_on_both_sides(server: DawrServer, data: Path) -> None:
    before = ledger_when_there(data)

    for _ in range(50):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(GET)
    with Client(server.url) as client:
        client.get("/health/live")

    eventually(lambda: ledger(data)["stored"] >= before["stored"] + 51)
    assert ledger(data)["answered"] == ledger(data)["spooled"]


def test_a_stream_counts_once_when_it_ends(server: DawrServer, data: Path) -> None:
    before = ledger_when_there(data)

    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(b"GET /v1/events?queue=clinic:lab HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        with Client(server.url) as client:
            client.get("/health/live")
        eventually(lambda: ledger(data)["stored"] == before["stored"] + 1)

    eventually(lambda: ledger(data)["stored"] == before["stored"] + 2)
    assert ledger(data)["answered"] == ledger(data)["spooled"]
    assert outcomes(data)["/v1/events", 200, "stream"] >= 1
    timed = "SELECT sum(requests) = sum(streams), sum(sum_us), max(max_us) FROM traffic_hours WHERE path = '/v1/events'"
    assert rows_in(data, timed) == [(1, 0, 0)]
    assert rows_in(data, "SELECT count(*) FROM traffic_buckets WHERE path = '/v1/events'") == [(0,)]


def test_what_a_client_got_wrong_is_no_error_of_ours(server: DawrServer, data: Path) -> None:
    """Enough of them to be a critical error rate, if they were errors."""
    before = ledger_when_there(data)

    refused = [statuses_in(everything(server.port, GZIPPED)) for _ in range(80)]

    assert refused == [[b"501"]] * 80
    eventually(lambda: ledger(data)["stored"] == before["stored"] + 80)
    assert outcomes(data)["-", 501, "refused"] >= 80
    assert rows_in(data, "SELECT sum(errors) FROM traffic_minutes") == [(0,)]
    status = json.loads(dawr("traffic", "status", "--data", data / "data", "--json").said)
    assert status["errors"] == 0


def test_a_refusal_by_a_rule_is_no_error_whatever_its_status(server: DawrServer, data: Path) -> None:
    before = ledger_when_there(data)

    with Client(server.url) as client:
        statuses = [client.enter("tiny", f"visitor {number}").status for number in range(3)]

    assert statuses[-1] == 503
    eventually(lambda: ledger(data)["stored"] == before["stored"] + 3)
    assert ("/api/v1/queue/enter", 503, "refused") in outcomes(data)
    assert ("/api/v1/queue/enter", 503, "error") not in outcomes(data)


def test_no_path_is_kept_as_it_was_asked_for(server: DawrServer, data: Path) -> None:
    before = ledger_when_there(data)

    with Client(server.url) as client:
        client.get("/v1/queues/clinic:lab")
        client.get("/no/such/path/+97455512345")

    eventually(lambda: ledger(data)["stored"] == before["stored"] + 2)
    assert outcomes(data)["/v1/queues/{queue}", 200, "ok"] >= 1
    assert outcomes(data)["-", 404, "refused"] >= 1
    assert not [path for path, _, _ in outcomes(data) if "clinic" in path or "97455512345" in path]


def test_what_was_counted_can_be_verified(server: DawrServer, data: Path) -> None:
    before = ledger_when_there(data)
    with Client(server.url) as client:
        client.get("/health/live")
    eventually(lambda: ledger(data)["stored"] == before["stored"] + 1)

    done = dawr("traffic", "verify", "--data", data / "data")

    assert done.exit_code == 0, done
