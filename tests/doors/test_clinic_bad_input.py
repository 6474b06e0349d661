"""Whatever is sent, the answer is a problem that says what is wrong, and the next visitor is served."""

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.running import Answer, Client, DawrServer, eventually, must_be_problem

LARGEST_BODY = 64 * 1024
SECONDS = 60

MALFORMED = {
    "a space": b" ",
    "a word": b"lab",
    "half an object": b'{"clinic":"QUEUE","user":"Ba',
    "two objects": b'{"clinic":"QUEUE","user":"Basma"}{"clinic":"QUEUE","user":"Basma"}',
    "a trailing NUL": b'{"clinic":"QUEUE","user":"Basma"}\x00',
    "a NUL in a string": b'{"clinic":"QUEUE","user":"Ba\x00sma"}',
    "a newline in a string": b'{"clinic":"QUEUE","user":"Ba\nsma"}',
    "bytes that are no UTF-8": b'{"clinic":"QUEUE","user":"\xff\xfe"}',
    "an encoded surrogate": b'{"clinic":"QUEUE","user":"\xed\xa0\x80"}',
    "a lone high surrogate": b'{"clinic":"QUEUE","user":"\\ud800"}',
    "a lone low surrogate": b'{"clinic":"QUEUE","user":"\\udc00"}',
    "two high surrogates": b'{"clinic":"QUEUE","user":"\\ud800\\ud800"}',
    "another encoding": '{"clinic":"QUEUE","user":"Basma"}'.encode("utf-16"),
    "a form": b"clinic=QUEUE&user=Basma",
    "not a number": b'{"clinic":"QUEUE","user":NaN}',
    "nesting in a field that is not known": b'{"clinic":"QUEUE","user":"Basma","x":' + b"[" * 60_000,
}

DOES_NOT_FIT = {
    "nothing, which is an empty object": b"",
    "null": b"null",
    "a number": b"42",
    "an array": b'["QUEUE","Basma"]',
    "an empty object": b"{}",
    "no user": b'{"clinic":"QUEUE"}',
    "no clinic": b'{"user":"Basma"}',
    "a number as user": b'{"clinic":"QUEUE","user":42}',
    "a number beyond 2^53": b'{"clinic":"QUEUE","user":9007199254740993}',
    "a huge number": b'{"clinic":"QUEUE","user":1e400}',
    "null as user": b'{"clinic":"QUEUE","user":null}',
    "an object as user": b'{"clinic":"QUEUE","user":{"$ne":null}}',
    "an array as clinic": b'{"clinic":["QUEUE"],"user":"Basma"}',
    "nesting": b"[" * 60_000,
}

CANNOT_BE_A_NAME = {
    "empty": "",
    "spaces": "   ",
    "too long": "x" * 129,
    "NUL": "Ba\0sma",
    "newline": "Ba\nsma",
    "carriage return": "Basma\r\nX-Header: 1",
    "escape": "\x1b[2J",
    "right-to-left override": "Ba\u202esma",
    "right-to-left mark": "\u200fBasma",
    "zero width": "\u200b",
    "byte order mark": "\ufeffBasma",
    "private use": "\ue000",
}


@pytest.fixture
def untouched(client: Client, queue: str) -> Iterator[str]:
    """A queue with one visitor. Whatever a test sends to it, the next visitor gets number 2."""
    client.enter(queue, "Amna")
    yield queue
    assert client.enter(queue, "the next visitor").json["number"] == 2


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_body_that_is_not_json_is_refused(client: Client, untouched: str, body: bytes) -> None:
    must_be_problem(client.send(body.replace(b"QUEUE", untouched.encode())), 400, "malformed-json")


@pytest.mark.parametrize("body", DOES_NOT_FIT.values(), ids=DOES_NOT_FIT.keys())
def test_a_body_that_does_not_fit_is_refused(client: Client, untouched: str, body: bytes) -> None:
    must_be_problem(client.send(body.replace(b"QUEUE", untouched.encode())), 422, "invalid-body")


@pytest.mark.parametrize("user", CANNOT_BE_A_NAME.values(), ids=CANNOT_BE_A_NAME.keys())
def test_what_cannot_be_shown_is_no_name(client: Client, untouched: str, user: str) -> None:
    answer = client.enter(untouched, user)

    must_be_problem(answer, 422, "invalid-value")
    assert answer.json["field"] == "user"


@pytest.mark.parametrize("code", ["", " ", "\0", "\n", "nowhere", "x" * 10_000, "\u202e", "'; DROP TABLE tickets;--"])
def test_what_is_no_queue_is_not_found(client: Client, untouched: str, code: str) -> None:
    must_be_problem(client.enter(code, "Basma"), 404, "unknown-queue")


@pytest.mark.parametrize("size", [LARGEST_BODY + 1, 100_000, 1024 * 1024])
@pytest.mark.parametrize("filler", [b"[", b" ", b"x"])
def test_a_body_that_is_too_large_is_refused(client: Client, untouched: str, size: int, filler: bytes) -> None:
    must_be_problem(client.send(filler * size), 413, "body-too-large")


def test_a_body_of_the_largest_size_is_read(client: Client, untouched: str) -> None:
    entered = json.dumps({"clinic": untouched, "user": "Amna"}).encode().ljust(LARGEST_BODY)

    assert client.send(entered).json["message"] == "already in queue"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"]
)
def test_a_body_of_another_kind_is_refused(client: Client, untouched: str, kind: str) -> None:
    body = json.dumps({"clinic": untouched, "user": "Basma"}).encode()

    must_be_problem(client.send(body, kind=kind), 415, "not-json")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json ;x=y"])
def test_json_is_json_however_it_is_written(client: Client, untouched: str, kind: str) -> None:
    body = json.dumps({"clinic": untouched, "user": "Amna"}).encode()

    assert client.send(body, kind=kind).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_numbers_are_taken_by_post_only(client: Client, untouched: str, method: str) -> None:
    answer = client.ask("/api/v1/queue/enter", method=method)

    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    if method != "HEAD":
        must_be_problem(answer, 405, "method-not-allowed")


@pytest.mark.parametrize(
    "path", ["/api/v1/queue/status?clinic=xray", "/api/v1/health/status", "/api/v1/status", "/health/ready"]
)
def test_what_is_read_is_not_posted_to(client: Client, path: str) -> None:
    answer = client.ask(path, method="POST", body=b"{}")

    must_be_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", ["/api", "/api/v1/queue/enter/", "/api/v1/queue/Enter", "/%00", "/../etc/passwd"])
def test_an_unknown_path_is_not_found(client: Client, path: str) -> None:
    must_be_problem(client.ask(path), 404, "no-such-path")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GARBAGE\r\n\r\n",
        b"PURPLE /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Name: a\x00b\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Na\nme: b\r\n\r\n",
        b"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    ],
)
def test_what_is_not_http_is_refused_as_a_problem_too(clinic: DawrServer, request_bytes: bytes) -> None:
    with connected(clinic) as connection:
        connection.sendall(request_bytes)

        must_be_problem(received(connection), 400, "malformed-request")


def test_headers_that_do_not_end_are_refused_and_the_next_visitor_is_served(
    clinic: DawrServer, client: Client, queue: str
) -> None:
    endless = b"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"a" * 100_000

    with connected(clinic) as connection:
        connection.sendall(endless)

        must_be_problem(received(connection), 431, "headers-too-large")
    assert client.enter(queue, "Amna").json["number"] == 1


def test_a_large_body_in_the_same_breath_as_its_headers_is_no_large_header(
    clinic: DawrServer, client: Client, queue: str
) -> None:
    with connected(clinic) as connection:
        connection.sendall(
            b"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 70000\r\n\r\n"
            + b" " * 70_000
        )

        must_be_problem(received(connection), 413, "body-too-large")


def test_a_visitor_who_goes_away_in_the_middle_of_a_request_gets_no_number(
    clinic: DawrServer, client: Client, untouched: str
) -> None:
    for cut in (1, 10, 30):
        with connected(clinic) as connection:
            connection.sendall(entry(untouched, "Basma")[:-cut])

    assert client.status(untouched).json["length"] == 1


def test_a_visitor_who_goes_away_before_the_answer_finds_their_number_waiting(
    clinic: DawrServer, client: Client, queue: str
) -> None:
    with connected(clinic) as connection:
        connection.sendall(entry(queue, "Amna"))

    eventually(lambda: client.status(queue).json["length"] == 1)
    again = client.enter(queue, "Amna").json
    assert (again["number"], again["message"]) == (1, "already in queue")


def test_two_requests_in_one_packet_are_both_answered(clinic: DawrServer, client: Client, queue: str) -> None:
    with connected(clinic) as connection:
        connection.sendall(entry(queue, "Amna") + entry(queue, "Basma"))

        eventually(lambda: client.status(queue).json["length"] == 2)


def connected(clinic: DawrServer) -> socket.socket:
    address = urlsplit(clinic.url)
    assert address.port is not None
    return socket.create_connection(("127.0.0.1", address.port), timeout=SECONDS)


def entry(queue: str, user: str) -> bytes:
    body = json.dumps({"clinic": queue, "user": user}).encode()
    said = f"Content-Type: application/json\r\nContent-Length: {len(body)}"
    head = f"POST /api/v1/queue/enter HTTP/1.1\r\nHost: x\r\n{said}\r\n\r\n"
    return head.encode() + body


def received(connection: socket.socket) -> Answer:
    """Everything until the server hangs up."""
    with connection.makefile("rb") as stream:
        head, _, body = stream.read().partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), headers, body)
