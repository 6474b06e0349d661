"""Callers over HTTP, in a process of their own: each has a connection, asks, waits for the answer, asks again.

Reads one JSON line of `HttpLoad` from standard input and writes one of `Run`. The client is as lean as
Python allows, because it runs on the machine that it measures.
"""

import asyncio
import gc
import sys
import time
from functools import partial
from itertools import count
from typing import cast

import msgspec
import uvloop

from benchmarks.load import Run

STATUS_AT = slice(9, 12)
ALL_WELL = {b"200", b"201"}


class HttpLoad(msgspec.Struct, frozen=True):
    port: int
    connections: int
    seconds: float
    path: str
    """`{connection}` in it is the number of the connection, from 1."""
    body: str
    """`{n}` in it is a number that no other request has."""
    first: int
    """The first of those numbers."""
    bearers: list[str] = []
    """One for each connection, if there are any."""


class Caller(asyncio.Protocol):
    def __init__(self, load: HttpLoad, number: int, numbers: "count[int]", latencies: list[float]) -> None:
        self._load = load
        self._numbers = numbers
        self._latencies = latencies
        path = load.path.replace("{connection}", str(number))
        bearer = f"Authorization: Bearer {load.bearers[number - 1]}\r\n" if load.bearers else ""
        kind = "Content-Type: application/json"
        self._head = f"POST {path} HTTP/1.1\r\nHost: here\r\n{bearer}{kind}\r\nContent-Length: "
        self._deadline = time.perf_counter() + load.seconds
        self._asked = 0.0
        self._answer = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if not _is_whole(self._answer):
            return
        if self._answer[STATUS_AT] not in ALL_WELL:
            self.done.set_exception(RuntimeError(self._answer.decode()))
            return
        now = time.perf_counter()
        self._latencies.append(now - self._asked)
        if now < self._deadline:
            self._ask()
        elif not self.done.done():
            self._transport.close()
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the server hung up"))

    def _ask(self) -> None:
        body = self._load.body.replace("{n}", str(next(self._numbers)))
        self._answer = b""
        self._asked = time.perf_counter()
        self._transport.write(f"{self._head}{len(body)}\r\n\r\n{body}".encode())


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    at = head.lower().index(b"content-length: ") + len(b"content-length: ")
    return len(body) >= int(head[at:].partition(b"\r\n")[0])


async def call(load: HttpLoad) -> Run:
    loop, numbers, latencies = asyncio.get_running_loop(), count(load.first), list[float]()
    gc.freeze()
    started = time.perf_counter()
    made = await asyncio.gather(
        *(
            loop.create_connection(partial(Caller, load, number, numbers, latencies), "127.0.0.1", load.port)
            for number in range(1, load.connections + 1)
        )
    )
    await asyncio.gather(*(caller.done for _, caller in made))
    return Run(time.perf_counter() - started, sorted(latencies))


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.readline(), type=HttpLoad)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(call(given))) + b"\n")
