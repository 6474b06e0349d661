"""The server says when it is ready, and stops in order: exit code 0 within three seconds."""

import contextlib
import http.client
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running import PROGRAM, Client, DawrServer, dawr, eventually

STOP_SECONDS = 3.0
HALF_A_REQUEST = b"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\nContent-Length: 29\r\n\r\n" + b'{"clinic":"lab",'
PART_OF_A_HEAD = b"POST /api/v1/queue/enter HTTP/1.1\r\nHo"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_order_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo:
        took, code = timed(lambda: demo._end(number))

    assert code == 0
    assert took < STOP_SECONDS
    assert "Traceback" not in demo.log.read_text()


@pytest.mark.parametrize("sent", [b"", PART_OF_A_HEAD], ids=["nothing", "half a head"])
def test_a_client_that_lingers_does_not_keep_it_from_stopping(tmp_path: Path, sent: bytes) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as idle:
        assert idle.ask("/health/live").status == 200
        with socket.create_connection(("127.0.0.1", demo.port)) as lingering:
            lingering.sendall(sent)
            assert idle.ask("/health/live").status == 200

            took, code = timed(demo.stop)

    assert code == 0
    assert took < STOP_SECONDS
    assert "Traceback" not in demo.log.read_text()


def test_a_request_that_is_not_sent_to_its_end_is_given_up_with_a_problem(tmp_path: Path) -> None:
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo,
        Client(demo.url) as idle,
        socket.create_connection(("127.0.0.1", demo.port), timeout=60) as lingering,
    ):
        lingering.sendall(HALF_A_REQUEST)
        assert idle.ask("/health/live").status == 200

        took, code = timed(demo.stop)
        told = lingering.recv(4096)

    assert code == 0
    assert took < STOP_SECONDS
    assert told.startswith(b"HTTP/1.1 503 ")
    assert b'"code":"outcome-unknown"' in told
    assert "Traceback" not in demo.log.read_text()


def test_a_tool_that_lingers_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, socket.socket(socket.AF_UNIX) as tool:
        tool.connect(str(tmp_path / "data" / "control.sock"))
        tool.sendall(b'{"command":')

        took, code = timed(demo.stop)

    assert code == 0
    assert took < STOP_SECONDS


def test_what_was_accepted_before_it_stops_is_finished_and_answered(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo:
        numbers: list[int] = []
        visitors = [threading.Thread(target=enter_until_the_end, args=(demo.url, n, numbers)) for n in range(16)]
        for visitor in visitors:
            visitor.start()
        eventually(lambda: len(numbers) > 200)

        took, code = timed(demo.stop)
        for visitor in visitors:
            visitor.join()

    assert code == 0
    assert took < STOP_SECONDS
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as again, Client(again.url) as client:
        assert client.status("lab").json["length"] == len(numbers)


def test_a_port_that_is_in_use_is_said_in_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        done = dawr("demo", "--port", str(port), "--data", tmp_path)

    assert done.exit_code == 1
    assert done.complained == f"Error: Cannot listen on 127.0.0.1:{port}: Address already in use.\n"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.1"])
def test_an_address_that_is_not_ours_is_said_in_a_sentence(tmp_path: Path, host: str) -> None:
    done = dawr("serve", "--host", host, "--port", "0", "--data", tmp_path)

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: Cannot listen on {host}:0: ")


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_port_0_takes_any_free_port_and_says_which(tmp_path: Path, host: str, address: str) -> None:
    with subprocess.Popen(
        [PROGRAM, "serve", "--host", host, "--port", "0", "--data", tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()

        url = said.removeprefix("Dawr is ready at ").strip()
        with Client(url) as client:
            assert client.ask("/health/live").status == 200
        process.terminate()

    assert said.startswith(f"Dawr is ready at http://{address}:")
    assert process.returncode == 0


def test_a_websocket_is_answered_as_the_plain_request_it_also_is(tmp_path: Path) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        assert client.ask("/health/live", headers=upgrade).status == 200


def enter_until_the_end(url: str, visitor: int, numbers: list[int]) -> None:
    with Client(url) as client, contextlib.suppress(OSError, http.client.HTTPException):
        for turn in range(1_000_000):
            answer = client.enter("lab", f"visitor {visitor} for the {turn}th time")
            if answer.status != 200:
                return
            numbers.append(answer.json["number"])


def timed(end: Callable[[], int]) -> tuple[float, int]:
    began = time.monotonic()
    code = end()
    return time.monotonic() - began, code
