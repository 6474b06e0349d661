"""A reader of server-sent events that takes the bytes as they come, and an installation in the test's own process."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Self
from urllib.parse import urlsplit

import msgspec

from dawr import bootstrap
from dawr.bootstrap import system
from dawr.bootstrap.installation import Dawr
from dawr.domain.venue import Venue, VenueId
from dawr.observe import logs
from dawr.operations.operation import Operation
from dawr.settings import Settings
from dawr.web.server.server import Server, listen, url_of
from tests.builders import a_desk, a_queue
from tests.live.watching import Sent, parsed
from tests.running import zone_where_it_is_noon

SECONDS = 60


class StreamEnded(Exception):
    """In good order: the last chunk said so."""


class Reader:
    """One connection with one stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._body = b""
        self.status = 0
        self.headers: dict[str, str] = {}

    @classmethod
    async def open(
        cls, url: str, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", small: bool = False
    ) -> Self:
        """`small` has next to no room for what is not read yet."""
        address = urlsplit(url)
        connection = socket.socket()
        if small:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)  # noqa: FBT003 - as the socket has it
        await asyncio.get_running_loop().sock_connect(connection, (address.hostname, address.port))
        reader, writer = await asyncio.open_connection(sock=connection, limit=4096 if small else 2**20)
        self = cls(reader, writer)
        lines = [f"{method} {path} HTTP/1.1", "Host: here", *(f"{k}: {v}" for k, v in (headers or {}).items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        async with asyncio.timeout(SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        self.status = int(head[0].split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}
        return self

    async def next(self) -> Sent:
        """The next block, as it comes."""
        while b"\n\n" not in self._body:
            async with asyncio.timeout(SECONDS):
                await self._chunk()
        block, _, self._body = self._body.partition(b"\n\n")
        return parsed(block + b"\n\n")[0]

    async def event(self) -> Sent:
        """The next event: whatever carries data."""
        while (sent := await self.next()).data is None:
            pass
        return sent

    async def until(self, event: str) -> list[Sent]:
        sent = [await self.event()]
        while sent[-1].event != event:
            sent.append(await self.event())
        return sent

    async def rest(self) -> list[Sent]:
        """All up to the end, which must be in good order."""
        sent = []
        while True:
            try:
                sent.append(await self.next())
            except StreamEnded:
                return sent

    async def everything(self) -> bytes:
        """An answer that is no stream."""
        async with asyncio.timeout(SECONDS):
            return await self._reader.readexactly(int(self.headers["content-length"]))

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _chunk(self) -> None:
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        data = await self._reader.readexactly(size + 2)
        if size == 0:
            raise StreamEnded
        self._body += data[:-2]


class Installation(msgspec.Struct, frozen=True):
    url: str
    dawr: Dawr
    venue_id: VenueId
    readers: list[Reader]

    async def do(self, *operations: Operation[Any]) -> None:
        for operation in operations:
            await self.dawr.engine.do(self.venue_id, operation)

    async def open(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET", small: bool = False
    ) -> Reader:
        reader = await Reader.open(self.url, path, headers, method=method, small=small)
        self.readers.append(reader)
        return reader


@asynccontextmanager
async def installed(settings: Settings) -> AsyncIterator[Installation]:
    """A clinic with two queues, served on a real socket."""
    queues = (a_queue("lab", prefix="A"), a_queue("xray"))
    venue = Venue(
        VenueId(""), "clinic", {"en": "A clinic"}, zone_where_it_is_noon(), queues=queues, desks=(a_desk("desk-1"),)
    )
    async with bootstrap.running(settings) as dawr:
        venue_id = await dawr.set_up(venue)
        log = logs.access_log(settings)
        listener = listen("127.0.0.1", 0)
        server = Server(
            bootstrap.web_app(dawr, log),
            listener,
            access_log=log,
            new_id=system.correlation_id,
            ready=lambda _: None,
            stopping=dawr.hub.close,
        )
        serving = asyncio.create_task(server.run_until_stopped())
        readers: list[Reader] = []
        yield Installation(url_of(listener), dawr, venue_id, readers)
        dawr.hub.close()
        for reader in readers:
            await reader.close()
        server.should_exit = True
        await serving
