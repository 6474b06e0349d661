"""Two thousand people watch one queue, fifty of them from phones that have stopped reading. Then the power goes out.

Everybody sees every change once and in order, before and after.
"""

import asyncio
import contextlib
import http.client
import re
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Client, DawrServer, dawr, venue_document

pytestmark = pytest.mark.slow

WATCHERS = 2000
FROZEN = 50
CHANGES = 20
OPEN_FILES = 5000
SECONDS = 30.0
SEEN = re.compile(rb"id: [0-9]+\.([0-9]+)\nevent: QUEUE_UPDATE\n")
ANY_ID = re.compile(rb"id: ([0-9]+\.[0-9]+)\n")
CHUNK_EDGE = re.compile(rb"\r\n[0-9a-f]+\r\n")


class Watcher(asyncio.Protocol):
    """One phone: it keeps every byte, and comes back where it stopped."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        """Versions, of all connections together."""
        self.last_id = ""
        self._bytes = bytearray()
        self._transport: asyncio.BaseTransport | None = None
        self._waiting: asyncio.Future[None] | None = None

    async def connect(self, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, "127.0.0.1", port)
        resume = f"Last-Event-ID: {self.last_id}\r\n" if self.last_id else ""
        request = f"GET /api/v1/events/stream?clinic=lab HTTP/1.1\r\nHost: here\r\n{resume}\r\n"
        self._transport.write(request.encode())

    def data_received(self, data: bytes) -> None:
        self._bytes += data
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def told(self) -> None:
        """Until something more has come."""
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    @property
    def newest(self) -> int:
        """The last version that came over this connection."""
        ids = ANY_ID.findall(self._bytes[-400:])
        return int(ids[-1].partition(b".")[2]) if ids else -1

    def hang_up(self) -> None:
        """Take down what came: whole blocks only, as a browser does.

        How things stand when a stream begins has the id of the change that made it so: that one may come twice.
        """
        if self._transport is not None:
            self._transport.close()
        stream = CHUNK_EDGE.sub(b"", bytes(self._bytes))
        stream = stream[: stream.rfind(b"\n\n") + 2]
        versions = [int(version) for version in SEEN.findall(stream)]
        assert len(versions) - len(set(versions)) <= 1
        self.seen += [version for version in dict.fromkeys(versions) if not self.seen or version > self.seen[-1]]
        ids = ANY_ID.findall(stream)
        if ids:
            self.last_id = ids[-1].decode()
        self._bytes.clear()


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, OPEN_FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_files")
async def test_two_thousand_watchers_miss_nothing_though_some_freeze_and_the_power_goes_out(tmp_path: Path) -> None:
    settings: dict[str, str | Path] = {
        "DAWR_DATA": tmp_path / "data",
        "DAWR_RATE_LIMITS": "off",
        "DAWR_MOST_STREAMS_PER_ADDRESS": str(WATCHERS + FROZEN),
        "DAWR_LOG_LEVEL": "warning",
    }
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
    watchers = [Watcher() for _ in range(WATCHERS)]
    with DawrServer(tmp_path, "serve", **settings) as server:
        await asyncio.gather(*(watcher.connect(server.port) for watcher in watchers))
        frozen = [freeze(server.port) for _ in range(FROZEN)]
        await all_have_reached(watchers, 0)

        for turn in range(CHANGES):
            await enter(server, f"visitor {turn}")
        await all_have_reached(watchers, CHANGES)

        coming = asyncio.create_task(enter_until_the_end(server))
        await all_have_reached(watchers[:1], CHANGES + 3)
        server.kill()
        stored = CHANGES + await coming
        for watcher in watchers:
            watcher.hang_up()

        server.start()
        await enter(server, "the first after the outage")
        await asyncio.gather(*(watcher.connect(server.port) for watcher in watchers))
        await all_have_reached(watchers, stored + 1)
        await enter(server, "the last")
        last = await people_in_line(server)
        assert last >= stored + 2
        await all_have_reached(watchers, last)

        for watcher in watchers:
            watcher.hang_up()
            assert watcher.seen == list(range(last + 1))
        for connection in frozen:
            connection.close()
        assert await asyncio.to_thread(server.stop) == 0


def freeze(port: int) -> socket.socket:
    """A phone that asks for the stream and never reads a byte of it."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.connect(("127.0.0.1", port))
    connection.sendall(b"GET /api/v1/events/stream?clinic=lab HTTP/1.1\r\nHost: here\r\n\r\n")
    return connection


async def all_have_reached(watchers: list[Watcher], version: int) -> None:
    async with asyncio.timeout(SECONDS):
        for watcher in watchers:
            while watcher.newest < version:
                await watcher.told()


async def enter(server: DawrServer, user: str) -> None:
    def ask_for_a_number() -> None:
        with Client(server.url) as client:
            assert client.enter("lab", user).status == 200

    await asyncio.to_thread(ask_for_a_number)


async def enter_until_the_end(server: DawrServer) -> int:
    """How many were told a number before the power went out."""

    def come() -> int:
        told = 0
        with Client(server.url) as client, contextlib.suppress(OSError, http.client.HTTPException):
            while client.enter("lab", f"one more, the {told}th").status == 200:
                told += 1
        return told

    return await asyncio.to_thread(come)


async def people_in_line(server: DawrServer) -> int:
    """Nobody is called, so this is how many changes there were."""

    def look() -> int:
        with Client(server.url) as client:
            return int(client.status("lab").json["length"])

    return await asyncio.to_thread(look)
