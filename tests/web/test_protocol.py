"""What is not HTTP, too large, or never comes to its end: one answer, one line, and the connection is free again."""

import asyncio
import contextlib
import json
import time
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from dawr.web.server.protocol import HEAD_SECONDS, IDLE_SECONDS, LARGEST_HEAD, LARGEST_REQUEST, LAST_READ_SECONDS
from tests.web.serving import CHUNKED, GET, POST, Echo, Served, Slow, Wire, must_be_refusal, serving, until


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop that serves."""
    return "asyncio", {"use_uvloop": True}


@pytest.mark.parametrize(
    "words",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET  HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Name: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        b"JUMP / HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_not_http_is_refused_as_everything_else_is(words: bytes) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(words)
        correlation_id = must_be_refusal(await wire.hear(), 400, "malformed-request")
        rest = await wire.rest()

        assert rest == b""
        (line,) = served.lines()
        assert (line["event"], line["status"], line["correlation_id"]) == ("request", 400, correlation_id)
        assert (line["method"], line["route"]) == ("OTHER", "-")


async def test_a_head_without_end_is_refused_and_the_client_that_still_talks_hears_why() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(b"GET / HTTP/1.1\r\nHost: x\r\nX-Correlation-Id: abc\r\n" + b"X: y\r\n" * (LARGEST_HEAD // 2))

        assert must_be_refusal(await wire.hear(), 431, "headers-too-large") == "abc"
        assert await wire.rest() == b""
        await wire.say(b"X: y\r\n" * LARGEST_HEAD)
        assert served.statuses() == [431]


async def test_a_head_that_is_too_large_is_refused_also_when_it_comes_in_one_piece() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * LARGEST_HEAD + b"\r\n\r\n")

        must_be_refusal(await wire.hear(), 431, "headers-too-large")
        assert served.statuses() == [431]


async def test_a_large_body_makes_no_large_head() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        body = b"x" * LARGEST_HEAD
        await wire.say(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

        assert (await wire.hear())[2] == body


@pytest.mark.parametrize("sent", [b"G", b"\r\n", GET[:-2], b"POST / HTTP/1.1\r\nHost: x\r\nX-Request-Id: abc\r\nX"])
async def test_a_head_that_does_not_come_to_its_end_in_time_is_refused(sent: bytes) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(sent)
        await until(lambda: bytes_heard(served) == len(sent))
        served.pass_seconds(HEAD_SECONDS - 1)
        assert served.statuses() == []
        served.pass_seconds(1)

        must_be_refusal(await wire.hear(), 408, "request-timeout")
        assert await wire.rest() == b""
        assert served.statuses() == [408]


async def test_half_sent_heads_hold_no_connection_for_longer_than_a_head_may_take() -> None:
    """Also if the clients do not close: each has the time to read that it was late."""
    async with serving(Echo) as served:
        wires = [await Wire.to(served) for _ in range(50)]
        half = b"GET / HTTP/1.1\r\nHost: x\r\nX: y"
        for wire in wires:
            await wire.say(half)
        await until(lambda: bytes_heard(served) == 50 * len(half))

        served.pass_seconds(HEAD_SECONDS)
        assert served.statuses() == [408] * 50
        for wire in wires:
            must_be_refusal(await wire.hear(), 408, "request-timeout")
        served.pass_seconds(LAST_READ_SECONDS)

        assert all(connection.transport.is_closing() for connection in served.server.server_state.connections)
        await until(lambda: served.connections() == 0)
        assert (HEAD_SECONDS, LAST_READ_SECONDS) == (10, 2)
        for wire in wires:
            await wire.close()


async def test_a_request_that_comes_byte_by_byte_has_no_more_time_than_another() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        for heard, byte in enumerate(GET[:HEAD_SECONDS], start=1):
            await wire.say(bytes([byte]))
            await until(lambda heard=heard: bytes_heard(served) == heard)  # type: ignore[misc] # a default that mypy cannot type
            served.pass_seconds(1)

        must_be_refusal(await wire.hear(), 408, "request-timeout")


async def test_a_body_that_does_not_come_to_its_end_in_time_is_refused_by_the_app_that_waits_for_it() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(POST + b"hel")
        await until(lambda: bytes_heard(served) == len(POST) + 3)
        served.pass_seconds(15)

        first, headers, body = await wire.hear()
        assert first == b"HTTP/1.1 408 Request Timeout"
        assert headers[b"connection"] == b"close"
        assert json.loads(body)["code"] == "request-timeout"
        assert await wire.rest() == b""
        await until(lambda: served.statuses() == [408])


async def test_a_second_request_on_a_connection_has_its_own_time() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(POST + b"hello")
        assert (await wire.hear())[2] == b"hello"
        served.pass_seconds(IDLE_SECONDS - 1)
        await wire.say(POST)
        await until(lambda: bytes_heard(served) == len(POST))
        served.pass_seconds(14)
        await wire.say(b"again")

        assert (await wire.hear())[2] == b"again"
        assert served.statuses() == [200, 200]


async def test_a_connection_on_which_nothing_is_asked_is_closed_without_a_word() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await until(lambda: served.connections() == 1)
        served.pass_seconds(15)

        assert await wire.rest() == b""
        assert served.statuses() == []


async def test_a_connection_that_rests_after_an_answer_is_closed_without_a_word() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(GET)
        await wire.hear()
        served.pass_seconds(IDLE_SECONDS)

        assert await wire.rest() == b""
        assert served.statuses() == [200]


async def test_an_answer_may_take_its_time_whatever_the_client_says_meanwhile() -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire:
        app = served.app
        assert isinstance(app, Slow)
        await wire.say(GET)
        await app.asked.wait()
        await wire.say(b"\r\n")
        await until(lambda: bytes_heard(served) == 2)
        served.pass_seconds(40)
        app.go.set()

        assert (await wire.hear())[0] == b"HTTP/1.1 200 OK"
        served.pass_seconds(15)
        assert served.statuses()[0] == 200


async def test_nonsense_behind_a_request_does_not_spoil_its_answer() -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire:
        app = served.app
        assert isinstance(app, Slow)
        await wire.say(GET)
        await app.asked.wait()
        await wire.say(b"nonsense\r\n\r\n")
        await until(lambda: served.statuses() == [400])
        app.go.set()

        first, headers, body = await wire.hear()
        assert (first, body) == (b"HTTP/1.1 200 OK", b"nothing")
        assert headers[b"connection"] == b"close"
        assert await wire.rest() == b""
        assert served.statuses() == [400, 200]


async def test_a_body_that_is_not_http_is_refused_by_the_app_once() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(CHUNKED + b"2\r\nab\r\n")
        await wire.say(b"zz\r\n")

        first, _, body = await wire.hear()
        assert first == b"HTTP/1.1 400 Bad Request"
        assert json.loads(body)["code"] == "malformed-request"
        assert await wire.rest() == b""
        await until(lambda: served.statuses() == [400])


class AtOnce(Echo):
    """Answers without looking at the body."""

    async def answer(self, receive: Receive) -> bytes:  # noqa: ARG002
        return b"no, thanks"


@pytest.mark.parametrize("more", [b"zz\r\n", b"100000\r\n" + b"x" * LARGEST_REQUEST])
async def test_a_request_that_was_answered_already_is_not_answered_again(more: bytes) -> None:
    async with serving(AtOnce) as served, await Wire.to(served) as wire:
        await wire.say(CHUNKED)
        assert (await wire.hear())[2] == b"no, thanks"
        with contextlib.suppress(ConnectionError):
            await wire.say(more)

        with contextlib.suppress(ConnectionError):
            assert await wire.rest() == b""
        assert served.statuses() == [200]
        await until(lambda: served.connections() == 0)


async def test_trailers_without_end_are_refused() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(CHUNKED + b"0\r\nX: ")
        with contextlib.suppress(ConnectionError):
            await wire.say(b"y" * (LARGEST_REQUEST + 1))

        assert (await wire.hear())[0].startswith(b"HTTP/1.1 413 ")
        await until(lambda: served.statuses() == [413])


async def test_a_client_that_was_refused_and_stays_is_cut_off() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(b"nonsense\r\n\r\n")
        await wire.hear()
        served.pass_seconds(15)

        await until(lambda: served.connections() == 0)


class Endless:
    """A stream that ends when it is told to, and otherwise never."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.ended = 0
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        self.scopes.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 10, "more_body": True})
        await self.over.wait()
        await send({"type": "http.response.body", "body": b""})
        self.ended += 1


async def test_streams_are_told_first_that_it_stops_and_end_in_order() -> None:
    app = Endless()
    async with contextlib.AsyncExitStack() as stack:
        async with serving(lambda _: app, stopping=app.over.set) as served:
            wires = [await stack.enter_async_context(await Wire.to(served)) for _ in range(50)]
            for wire in wires:
                await wire.say(GET)
            await until(lambda: len(app.scopes) == 50)
            began = time.monotonic()
        took = time.monotonic() - began
        said = [await wire.rest() for wire in wires]

    assert app.ended == 50, "none was cut off"
    assert took < 10
    assert all(words.endswith(b"0\r\n\r\n") for words in said)


async def test_a_stream_that_does_not_end_is_cut_off_in_time() -> None:
    app = Endless()
    async with contextlib.AsyncExitStack() as stack:
        async with serving(lambda _: app) as served:
            wire = await stack.enter_async_context(await Wire.to(served))
            await wire.say(GET)
            await until(lambda: len(app.scopes) == 1)
            began = time.monotonic()
        took = time.monotonic() - began
        with contextlib.suppress(ConnectionError):
            await wire.rest()

    assert 1.9 < took < 20
    assert app.ended == 0


async def test_an_app_can_cut_off_a_client_that_does_not_read() -> None:
    app = Endless()
    async with serving(lambda _: app, stopping=app.over.set) as served, await Wire.to(served) as frozen:
        await frozen.say(GET)
        await until(lambda: len(app.scopes) == 1)
        (connection,) = served.server.server_state.connections
        connection.transport.write(b"x" * 50_000_000)
        assert connection.transport.get_write_buffer_size() > 0

        app.scopes[0]["extensions"]["dawr.abort"]()

        await until(lambda: served.connections() == 0)


async def test_a_client_that_does_not_read_its_last_answer_is_cut_off() -> None:
    async with serving(Echo) as served, await Wire.to(served) as frozen:
        await frozen.say(GET)
        await frozen.hear()
        (connection,) = served.server.server_state.connections
        connection.transport.write(b"x" * 50_000_000)
        connection.transport.close()
        assert served.connections() == 1
        served.pass_seconds(16)

        await until(lambda: served.connections() == 0)


def bytes_heard(served: Served) -> int:
    """Of requests that are not complete yet."""
    return sum(getattr(connection, "_bytes_of_request", 0) for connection in served.server.server_state.connections)
