"""Good and hostile traffic side by side, for long: memory stays as it is, and every file and task is given back.

Few numbers are taken: the database keeps them, and its caches grow with it.
"""

import asyncio
import contextlib
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.running import Client, DawrServer, eventually, set_up, venue_document
from tests.stories import watched
from tests.stories.hostile import (
    BROKEN_OFF,
    REFUSED,
    Hasty,
    break_off,
    files_of,
    got,
    megabytes_of,
    posted,
    send_and_hear,
)

pytestmark = pytest.mark.slow

TOKEN = "dwt_"
ADDRESSES = 250
MOST_MEGABYTES_PER_MINUTE = 0.5
MOST_LEFT = 5
"""Files and tasks more than before: what the server does by itself comes and goes."""
BEGUN_SECONDS = 5
"""By then all that the server does by itself has begun."""
HALL = 30
"""Phones that watch, one after the other."""


class Sample(NamedTuple):
    minute: float
    megabytes: float
    files: int
    tasks: int

    def is_like(self, before: "Sample") -> bool:
        return self.files <= before.files + MOST_LEFT and self.tasks <= before.tasks + MOST_LEFT


class Watched(DawrServer):
    """Which tells how many tasks it has."""

    def __init__(self, directory: Path, *arguments: str | Path, **settings: str | Path) -> None:
        super().__init__(directory, *arguments, **settings)
        self._tasks = directory / "tasks"
        self.program = (sys.executable, str(watched.__file__), str(self._tasks))

    def sample(self, since: float) -> Sample:
        eventually(self._tasks.exists)
        eventually(lambda: self._tasks.read_text(encoding="ascii") != "")
        tasks = int(self._tasks.read_text(encoding="ascii"))
        return Sample((time.monotonic() - since) / 60, megabytes_of(self.pid), files_of(self.pid), tasks)


@pytest.mark.parametrize("seconds", [20, pytest.param(600, marks=pytest.mark.prove)])
async def test_hours_of_good_and_hostile_traffic_leave_nothing_behind(tmp_path: Path, seconds: int) -> None:
    data = tmp_path / "data"
    set_up("venue", "apply", "-", "--data", data, stdin=venue_document({"id": "lab", "capacity": 5000}))
    said = set_up("token", "new", "--kind", "api", "--role", "staff", "--name", "Desk", "--data", data)
    bearer = next(word for word in said.split() if word.startswith(TOKEN))
    server = Watched(tmp_path, "serve", "--data", data, DAWR_RATE_LIMITS="on", DAWR_LIMIT_CALLER="100000")
    with server:
        with Client(server.url) as client:
            assert client.get("/v1/venues/clinic").status == 200
        await asyncio.sleep(BEGUN_SECONDS)
        begun, end = time.monotonic(), time.monotonic() + seconds
        before = server.sample(begun)
        going = [asyncio.create_task(work) for work in everybody(server.port, bearer, end)]
        samples: list[Sample] = []
        while time.monotonic() < end:
            await asyncio.sleep(1)
            samples.append(server.sample(begun))
        done = await asyncio.gather(*going)

        async with asyncio.timeout(60):
            while not server.sample(begun).is_like(before):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.2)
        assert server.stop() == 0
    slope = megabytes_per_minute(samples[len(samples) // 4 :])
    print(f"\n{sum(done)} requests; {before} … {samples[-1]}; {slope:+.2f} MB a minute")  # noqa: T201
    assert set_up("check", "--data", data)
    if seconds >= 600:
        assert slope <= MOST_MEGABYTES_PER_MINUTE


def megabytes_per_minute(samples: list[Sample]) -> float:
    return statistics.linear_regression([s.minute for s in samples], [s.megabytes for s in samples]).slope


def everybody(port: int, bearer: str, end: float) -> Iterator[Coroutine[None, None, int]]:
    visitors, addresses = count(), cycle(range(ADDRESSES))

    async def visitor() -> None:
        body = json.dumps({"clinic": "lab", "user": f"visitor-{next(visitors)}"}).encode()
        await send_and_hear(port, posted("/api/v1/queue/enter", body, f"X-Forwarded-For: 198.51.100.{next(addresses)}"))

    async def desk() -> None:
        as_staff = f"Authorization: Bearer {bearer}"
        await send_and_hear(port, posted("/api/v1/queue/call", b'{"clinic": "lab"}', as_staff))

    async def page() -> None:
        for path in ("/", "/v/clinic", "/d/clinic", "/v1/venues/clinic"):
            await send_and_hear(port, got(path, f"X-Forwarded-For: 198.51.100.{next(addresses)}", "Connection: close"))

    yield again(visitor, end, every=0.5)
    yield again(desk, end, every=0.4)
    yield again(page, end, every=0.1)
    yield again(lambda: watch(port), end, every=0.2)
    yield again(lambda: hurry(port), end, every=0.2)
    for said in REFUSED.values():
        yield again(lambda said=said: send_and_hear(port, said()), end, every=0.02)  # type: ignore[misc]
    for said in BROKEN_OFF.values():
        yield again(lambda said=said: break_off(port, said()), end, every=0.05)  # type: ignore[misc]


async def again(work: Callable[[], Awaitable[None]], end: float, *, every: float) -> int:
    """How often it was done."""
    done = 0
    while time.monotonic() < end:
        await work()
        done += 1
        await asyncio.sleep(every)
    return done


async def watch(port: int) -> None:
    """Phones that follow for a moment, and go."""
    phones = [await asyncio.open_connection("127.0.0.1", port) for _ in range(HALL)]
    for number, (_, writer) in enumerate(phones):
        writer.write(got("/v1/events?venue=clinic", f"X-Forwarded-For: 198.51.100.{number}"))
    await asyncio.sleep(1)
    for _, writer in phones:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def hurry(port: int) -> None:
    hasty = [await Hasty.to(port) for _ in range(10)]
    await asyncio.sleep(1)
    for connection in hasty:
        connection.hang_up()
