"""The server with an app of the test's own, and connections that say anything."""

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Self

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from dawr.observe.access_log import AccessLog
from dawr.reliability import correlation
from dawr.web.problems import BadRequest, problem_of
from dawr.web.response import SECURITY_HEADERS
from dawr.web.server.addresses import AddressConnections
from dawr.web.server.server import Server, listen

READ_SECONDS = 60
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


class Served(msgspec.Struct, frozen=True):
    port: int
    app: ASGIApp
    server: Server
    access_log: AccessLog
    written: bytearray

    def lines(self) -> list[dict[str, Any]]:
        """The access lines so far."""
        self.access_log.flush()
        return [json.loads(line) for line in bytes(self.written).split(b"\n")[:-1]]

    def statuses(self) -> list[int]:
        return [line["status"] for line in self.lines()]

    def pass_seconds(self, seconds: int) -> None:
        """As if so much time went by for whoever is waited for."""
        for _ in range(seconds):
            self.server._shared.one_second_passed()

    def connections(self) -> int:
        return len(self.server.server_state.connections)


def clock_of_the_log() -> Callable[[], int]:
    ticking = count(1_790_000_000_000_000_000, 1_250_000)
    return lambda: next(ticking)


@asynccontextmanager
async def serving(
    make_app: Callable[[AccessLog], ASGIApp],
    *,
    stopping: Callable[[], None] = lambda: None,
    tls: ssl.SSLContext | None = None,
    addresses: AddressConnections | None = None,
) -> AsyncIterator[Served]:
    """Serve until the end of the test; then stop as a signal would, and see that nothing is raised."""
    written = bytearray()
    access_log = AccessLog(written.extend, clock_of_the_log())
    made, ready = count(), asyncio.Event()
    server = Server(
        app := make_app(access_log),
        listener := listen("127.0.0.1", 0),
        access_log=access_log,
        new_id=lambda: f"made-{next(made)}",
        ready=lambda _: ready.set(),
        stopping=stopping,
        tls=tls,
        addresses=addresses,
    )
    port = listener.getsockname()[1]
    running = asyncio.create_task(server.run_until_stopped())
    try:
        await asyncio.wait([running, asyncio.create_task(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
        yield Served(port, app, server, access_log, written)
    finally:
        if not server.should_exit:
            signal.raise_signal(signal.SIGTERM)
        await running


class Echo:
    """Reads the body and says it back, with an answer for whoever is refused: an app as small as can be."""

    def __init__(self, access_log: AccessLog) -> None:
        self._access_log = access_log
        self._ids = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._access_log.begin()
        correlation_id = correlation.begin(scope["headers"], lambda: f"of-the-app-{next(self._ids)}")
        try:
            status, body = 200, await self.answer(receive)
        except BadRequest as error:
            problem = problem_of(error)
            status, body = problem.status, problem.body(correlation_id)
        headers = [(b"content-length", b"%d" % len(body)), (b"x-correlation-id", correlation_id.encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        self._access_log.record(scope["method"], "/echo", status, began, correlation_id)

    async def answer(self, receive: Receive) -> bytes:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise BadRequest(400, "disconnected")
            body += message["body"]
            if not message["more_body"]:
                return body or b"nothing"


class Slow(Echo):
    """Answers when it is told to."""

    def __init__(self, access_log: AccessLog) -> None:
        super().__init__(access_log)
        self.asked = asyncio.Event()
        self.go = asyncio.Event()

    async def answer(self, receive: Receive) -> bytes:
        self.asked.set()
        await self.go.wait()
        return await super().answer(receive)


class Wire:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, served: Served) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", served.port))

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def hear(self) -> tuple[bytes, dict[bytes, bytes], bytes]:
        """One answer: its first line, its headers, its body."""
        async with asyncio.timeout(READ_SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            first, *rest = head[:-4].split(b"\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(b": ") for line in rest)}
            return first, headers, await self._reader.readexactly(int(headers[b"content-length"]))

    async def rest(self) -> bytes:
        """All that is still said, until the other side has no more to say."""
        async with asyncio.timeout(READ_SECONDS):
            return await self._reader.read()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server, which tells nobody
            await asyncio.sleep(0.005)


def must_be_refusal(answer: tuple[bytes, dict[bytes, bytes], bytes], status: int, code: str) -> str:
    """A problem like every other; its correlation id."""
    first, headers, body = answer
    assert first.startswith(b"HTTP/1.1 %d " % status)
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"connection"] == b"close"
    assert headers[b"cache-control"] == b"no-store"
    assert b"date" in headers
    assert set(SECURITY_HEADERS) <= set(headers.items())
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["correlation_id"].encode() == headers[b"x-correlation-id"]
    return str(problem["correlation_id"])
