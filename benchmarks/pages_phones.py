"""A hall full of phones: sockets that read the streams which the visitors' pages read."""

import asyncio
import random
import time
from collections.abc import Sequence

from tests.browser.places import Place

TOGETHER = 200
MOST_SECONDS = 60.0


class Hall:
    """Counts the changes that have come to all of them, and knows when somebody was told to come."""

    def __init__(self) -> None:
        self.came = 0
        self.called_at = 0.0
        self._wanted = 0
        self._complete = asyncio.Event()

    def want(self, more: int) -> None:
        self._wanted = self.came + more
        self._complete.clear()

    def note(self, changes: int) -> None:
        self.came += changes
        if self.came >= self._wanted:
            self._complete.set()

    async def all_know(self) -> float:
        async with asyncio.timeout(MOST_SECONDS):
            await self._complete.wait()
        return time.perf_counter()


class Phone(asyncio.Protocol):
    def __init__(self, hall: Hall, link: str) -> None:
        self._hall = hall
        self._link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        secret = self._link.removeprefix("/t/")
        transport.write(f"GET /v1/events?ticket={secret} HTTP/1.1\r\nHost: here\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        self._hall.note(data.count(b"event: "))
        if b'"state":"called"' in data:
            self._hall.called_at = time.perf_counter()


def in_a_full_hall(port: int, links: Sequence[str], place: Place, changes: int) -> list[tuple[float, float]]:
    """For each of some calls, how many milliseconds after its request the one called knew, and the last of all."""
    return asyncio.run(_watch(port, links, place, changes))


async def _watch(port: int, links: Sequence[str], place: Place, changes: int) -> list[tuple[float, float]]:
    hall = Hall()
    transports: list[asyncio.BaseTransport] = []
    for first in range(0, len(links), TOGETHER):
        some = links[first : first + TOGETHER]
        hall.want(len(some))
        transports += await asyncio.gather(*(_open(port, hall, link) for link in some))
        await hall.all_know()
    delays = [await _one_call(hall, place, len(links) - called) for called in range(changes)]
    for transport in transports:
        transport.close()
    return delays


async def _open(port: int, hall: Hall, link: str) -> asyncio.BaseTransport:
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: Phone(hall, link), "127.0.0.1", port)
    return transport


async def _one_call(hall: Hall, place: Place, phones: int) -> tuple[float, float]:
    """At any moment of the server's second: what happened just before ends with its beat."""
    await asyncio.sleep(random.random())
    hall.want(phones)
    begun = time.perf_counter()
    called = asyncio.create_task(asyncio.to_thread(place.call_next))
    known = await hall.all_know()
    await called
    return 1000 * (hall.called_at - begun), 1000 * (known - begun)
