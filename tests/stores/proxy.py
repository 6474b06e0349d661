"""A wire between the service and PostgreSQL that can be cut at the worst moment."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Literal

COMMIT = b"COMMIT\0"

Lost = Literal["nothing", "the connection", "the answer"]


class Proxy:
    """Passes everything on, until a COMMIT comes whose answer it was told to lose."""

    def __init__(self, server_port: int) -> None:
        self.loses: Lost = "nothing"
        self.port = 0
        self._server_port = server_port
        self._pumps: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Proxy"]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for pump in self._pumps:
                pump.cancel()
            await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        committed = asyncio.Event()
        self._pumps.add(asyncio.create_task(self._ask(client, to_server, committed)))
        self._pumps.add(asyncio.create_task(self._answer(server, to_client, to_server, committed)))

    async def _ask(
        self, client: asyncio.StreamReader, to_server: asyncio.StreamWriter, committed: asyncio.Event
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await client.read(65536):
                if COMMIT in data:
                    committed.set()
                to_server.write(data)
                await to_server.drain()
        to_server.close()

    async def _answer(
        self,
        server: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        to_server: asyncio.StreamWriter,
        committed: asyncio.Event,
    ) -> None:
        """The server's answers, without the one to a COMMIT if it is to be lost."""
        with contextlib.suppress(ConnectionError):
            while data := await server.read(65536):
                if committed.is_set() and self.loses != "nothing":
                    if self.loses == "the answer":
                        continue
                    break
                committed.clear()
                to_client.write(data)
                await to_client.drain()
        to_client.close()
        to_server.close()
