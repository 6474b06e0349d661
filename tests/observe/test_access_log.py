"""One line per request, and nothing that a client sends makes it two."""

import asyncio
import json
import random
import re
import socket
import string
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.observe.access_log import AccessLog, NoAccessLog
from dawr.reliability import correlation
from tests.running import Client, DawrServer

AT_NOON = 1_790_000_000_123_456_789


class Pieces:
    """What was written, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def __call__(self, piece: bytes) -> None:
        self.pieces.append(piece)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in b"".join(self.pieces).split(b"\n")[:-1]]


def test_a_line_says_what_was_asked_and_how_it_went() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON)

    log.record("POST", "/v1/queues/{queue}/tickets", 201, AT_NOON - 1_234_567, "abc", "staff:7", 120)
    log.record("GET", "/health/live", 200, AT_NOON, "def")
    log.flush()

    assert b"".join(written.pieces) == (
        b'{"event":"request","at":"2026-09-21T14:13:20.123Z","level":"info","method":"POST","route":"/v1/queues/{queue}/tickets",'
        b'"status":201,"ms":1.23,"correlation_id":"abc","actor":"staff:7","bytes":120}\n'
        b'{"event":"request","at":"2026-09-21T14:13:20.123Z","level":"info","method":"GET","route":"/health/live",'
        b'"status":200,"ms":0.0,"correlation_id":"def"}\n'
    )


def test_a_clock_that_was_set_back_makes_no_negative_time() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON)

    log.record("GET", "/", 200, AT_NOON + 10**9, "abc")
    log.flush()

    assert written.lines()[0]["ms"] == 0


def test_a_method_that_nobody_knows_is_not_repeated() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON)

    log.record('GET","status":500,"x":"', "/", 405, AT_NOON, "abc")
    log.flush()

    assert written.lines()[0]["method"] == "OTHER"


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1), st.booleans())
def test_whatever_is_in_it_a_line_is_one_line_of_printable_ascii(said: list[tuple[str, str]], readable: bool) -> None:  # noqa: FBT001
    said = [(route.encode(errors="replace").decode(), actor.encode(errors="replace").decode()) for route, actor in said]
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON, readable=readable)

    for route, actor in [*said, ("\u2028\u2029\x85", "\x00\x1b\x7f\x9b\r\n")]:
        log.record("GET", route, 200, AT_NOON, "abc", actor)
    log.flush()

    lines = b"".join(written.pieces).split(b"\n")
    assert len(lines) == len(said) + 2
    assert all(0x20 <= byte < 0x7F for line in lines for byte in line)
    if not readable:
        assert [(line["route"], line["actor"]) for line in written.lines()[:-1]] == said


def test_a_person_who_watches_reads_one_plain_line() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON, readable=True)

    log.record("GET", "/health/live", 200, AT_NOON - 2_500_000, "abc")
    log.record("POST", "/x", 201, AT_NOON, "def", "staff:7")
    with correlation.within("ghi"):
        correlation.stand_at(correlation.Trace("4b" * 16, "00" * 7 + "01"))
        log.record("POST", "/x", 201, AT_NOON, "ghi")
        log.record("POST", "/x", 400, AT_NOON, "of-another-request")
    log.flush()

    assert b"".join(written.pieces) == (
        b"2026-09-21T14:13:20.123Z GET /health/live 200 2.5 ms abc\n"
        b"2026-09-21T14:13:20.123Z POST /x 201 0.0 ms def staff:7\n"
        b"2026-09-21T14:13:20.123Z POST /x 201 0.0 ms ghi 4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b\n"
        b"2026-09-21T14:13:20.123Z POST /x 400 0.0 ms of-another-request\n"
    )


def test_lines_are_handed_over_all_at_once_and_in_order() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON)

    for turn in range(300):
        log.record("GET", "/a/{long}", 200, AT_NOON, f"id-{turn}")
    log.flush()

    assert [line["correlation_id"] for line in written.lines()] == [f"id-{turn}" for turn in range(300)]
    assert len(written.pieces) == 1


def test_a_log_that_is_closed_writes_what_it_has_and_then_lets_its_writer_end() -> None:
    happened: list[str] = []
    log = AccessLog(lambda _: happened.append("written"), lambda: AT_NOON, stop=lambda: happened.append("ended"))

    log.record("GET", "/", 200, AT_NOON, "abc")
    log.close()

    assert happened == ["written", "ended"]


def test_a_full_buffer_does_not_wait() -> None:
    written = Pieces()
    log = AccessLog(written, lambda: AT_NOON)

    for _ in range(1000):
        log.record("GET", "/health/live", 200, AT_NOON, "x" * 128)

    assert sum(map(len, written.pieces)) >= 64 * 1024


async def test_what_is_in_the_buffer_is_written_soon_and_at_the_end() -> None:
    written, soon = Pieces(), asyncio.Event()

    def write(piece: bytes) -> None:
        written(piece)
        soon.set()

    log = AccessLog(write, lambda: AT_NOON)
    async with log.flushing():
        log.record("GET", "/", 200, AT_NOON, "first")
        async with asyncio.timeout(60):
            await soon.wait()
        first = written.lines()
        log.record("GET", "/", 200, AT_NOON, "last")

    assert [line["correlation_id"] for line in first] == ["first"]
    assert [line["correlation_id"] for line in written.lines()] == ["first", "last"]


async def test_a_log_that_cannot_be_written_stops_nobody() -> None:
    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    log = AccessLog(full, lambda: AT_NOON)
    async with log.flushing():
        log.record("GET", "/", 200, AT_NOON, "abc")
        log.flush()
        log.record("GET", "/", 200, AT_NOON, "def")


def test_whoever_wants_warnings_only_gets_no_lines() -> None:
    written = Pieces()
    log = NoAccessLog(written, lambda: AT_NOON)

    log.record("GET", "/", 200, log.begin(), "abc")
    log.flush()

    assert written.pieces == []


REQUESTS = 10_000
NASTY = [
    "\r",
    "\n",
    "\r\n",
    "\x00",
    "\x1b[2J",
    "\x7f",
    "\x85",
    '"',
    "\\",
    "\u2028",
    "\u2029",
    "}",
    '{"event":"request"}',
]
NAMES = [
    "x-correlation-id",
    "x-request-id",
    "traceparent",
    "user-agent",
    "x-forwarded-for",
    "idempotency-key",
    "cookie",
]


def plain_lines(server: DawrServer) -> list[bytes]:
    return [line for line in server.log.read_bytes().split(b"\n") if not line.startswith(b"{")]


@pytest.mark.slow
def test_ten_thousand_fuzzed_requests_are_ten_thousand_lines(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_RATE_LIMITS="off") as demo:
        told_to_people = plain_lines(demo)
        statuses: list[int] = []
        fuzzers = [
            threading.Thread(target=fuzz, args=(demo.port, random.Random(seed), REQUESTS // 8, statuses))
            for seed in range(8)
        ]
        for fuzzer in fuzzers:
            fuzzer.start()
        for fuzzer in fuzzers:
            fuzzer.join()

    logged = demo.log.read_bytes().split(b"\n")
    lines = [json.loads(line) for line in logged if line.startswith(b"{")]
    requests = [line for line in lines if line["event"] == "request"]
    assert len(statuses) == REQUESTS
    assert sorted(line["status"] for line in requests) == sorted(statuses)
    assert set(statuses) >= {200, 400, 404, 431}
    assert all(0x20 <= byte < 0x7F for line in logged for byte in line if line.startswith(b"{"))
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,128}", line["correlation_id"]) for line in requests)
    assert plain_lines(demo) == told_to_people


def fuzz(port: int, chance: random.Random, count: int, statuses: list[int]) -> None:
    """One request per connection: whatever it is, it is answered once."""
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(a_request(chance))
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.count(b"HTTP/1.1 ") == 1, answer
        statuses.append(int(answer[9:12]))


def a_request(chance: random.Random) -> bytes:
    path = chance.choice(["/health/live", "/health/live", "/api/v1/queue/status?clinic=lab", "/" + a_value(chance)])
    headers = "".join(f"{chance.choice(NAMES)}: {a_value(chance)}\r\n" for _ in range(chance.randint(1, 4)))
    if chance.random() < 0.005:
        headers += "x: " + "y" * 70_000 + "\r\n"
    return f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode("utf-8", "surrogatepass")


def a_value(chance: random.Random) -> str:
    plain = "".join(chance.choices(string.ascii_letters + string.digits + " ._-/", k=chance.randint(0, 40)))
    return plain + "".join(chance.choices(NASTY, k=chance.randint(0, 2))) + chance.choice(["", plain[::-1]])


def test_whoever_wants_warnings_only_sees_no_requests(tmp_path: Path) -> None:
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_LOG_LEVEL="warning") as demo,
        Client(demo.url) as client,
    ):
        assert client.ask("/health/live").status == 200

    assert '"event":"request"' not in demo.log.read_text()
