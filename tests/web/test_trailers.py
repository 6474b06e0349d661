"""What comes after a chunked body counts as nothing: a proxy has looked at the headers, and at the headers only."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dawr.web.server.protocol import LARGEST_HEAD
from tests.running import Client, DawrServer
from tests.web.serving import CHUNKED, GET, Echo, Wire, serving, until

PASSWORD = "for the demo only"
QUOTA = 4


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop that serves."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    """Behind a proxy that is trusted, with limits on."""
    directory = tmp_path_factory.mktemp("limited")
    settings: dict[str, str | Path] = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_CLINIC_JOIN": str(QUOTA)}
    with DawrServer(directory, "demo", "--password", PASSWORD, "--data", directory / "data", **settings) as demo:
        yield demo


def asked(demo: DawrServer, path: str, given: object, headers: str, trailers: str) -> tuple[int, bytes]:
    """All in one packet, so that the trailers are there before anybody looks at the headers."""
    body = json.dumps(given)
    request = (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Transfer-Encoding: chunked\r\n{headers}\r\n{len(body):x}\r\n{body}\r\n0\r\n{trailers}\r\n"
    )
    with socket.create_connection(("127.0.0.1", demo.port), timeout=60) as connection:
        connection.sendall(request.encode())
        with connection.makefile("rb") as stream:
            answer = stream.read()
    return int(answer.split(b" ", 2)[1]), answer


def test_an_address_made_up_in_a_trailer_does_not_help(demo: DawrServer) -> None:
    statuses = [
        asked(
            demo,
            "/api/v1/queue/enter",
            {"clinic": "lab", "user": f"visitor {number}"},
            "X-Forwarded-For: 203.0.113.5\r\n",
            f"X-Forwarded-For: 198.51.100.{number}\r\n",
        )[0]
        for number in range(QUOTA + 6)
    ]

    assert statuses == [200] * QUOTA + [429] * 6


def test_a_bearer_in_a_trailer_opens_nothing(demo: DawrServer) -> None:
    with Client(demo.url) as client:
        session = client.post("/api/v1/admin/login", {"username": "demo", "password": PASSWORD}).json["token"]
    bearer = f"Authorization: Bearer {session}\r\n"

    refused, problem = asked(demo, "/v1/queues/clinic:lab/pause", {}, "", bearer)
    let_in, _ = asked(demo, "/v1/queues/clinic:lab/pause", {}, bearer, "")

    assert (refused, let_in) == (401, 200)
    assert b'"code":"not-signed-in"' in problem


async def test_a_trailer_is_no_header_of_its_request_nor_of_the_next() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(CHUNKED + b"5\r\nhello\r\n0\r\nX-Correlation-Id: smuggled\r\nHost: y\r\n\r\n")
        await wire.say(GET + GET[:-2] + b"X-Correlation-Id: mine\r\n\r\n")

        answers = [await wire.hear() for _ in range(3)]
        assert [body for _, _, body in answers] == [b"hello", b"nothing", b"nothing"]
        ids = [headers[b"x-correlation-id"] for _, headers, _ in answers]
        assert ids == [b"of-the-app-0", b"of-the-app-1", b"mine"]


@pytest.mark.parametrize(
    "trailers",
    [b"X: " + b"y" * LARGEST_HEAD + b"\r\n", b"X: y\r\n" * (LARGEST_HEAD // 2 + 1)],
    ids=["a long one", "many"],
)
async def test_trailers_larger_than_a_head_may_be_are_refused(trailers: bytes) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(CHUNKED + b"0\r\n" + trailers + b"\r\n" + GET)

        first, headers, body = await wire.hear()
        assert first.startswith(b"HTTP/1.1 431 ")
        assert headers[b"connection"] == b"close"
        assert json.loads(body)["code"] == "headers-too-large"
        await until(lambda: served.connections() == 0)
        assert served.statuses() == [431]


async def test_each_request_may_have_trailers_as_large_as_a_head() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        for _ in range(3):
            await wire.say(CHUNKED + b"5\r\nhello\r\n0\r\nX: " + b"y" * (LARGEST_HEAD - 1) + b"\r\n\r\n")

            assert (await wire.hear())[2] == b"hello"
