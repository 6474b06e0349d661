"""A crowd that asks without end and reads nothing: it takes little room, nobody else waits, and the server stops."""

import asyncio
import resource
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.running import DawrServer, set_up, venue_document
from tests.stories.hostile import Hasty, got, megabytes_of

pytestmark = pytest.mark.slow

OPEN_FILES = 3000
MOST_MEGABYTES = 64
"""Of a thousand connections."""
MOST_TIMES_LONGER = 5
STOP_SECONDS = 3
LOOK = got("/v1/venues/clinic")


class Crowd(NamedTuple):
    connections: int
    seconds: int


@pytest.fixture
def server(tmp_path: Path) -> DawrServer:
    set_up("venue", "apply", "-", "--data", tmp_path / "data", stdin=venue_document({"id": "lab"}))
    return DawrServer(tmp_path, "serve", "--data", tmp_path / "data")


@pytest.mark.parametrize("crowd", [Crowd(300, 5), pytest.param(Crowd(1000, 60), marks=pytest.mark.prove)])
async def test_a_crowd_that_reads_nothing_takes_little_memory_and_nobody_elses_time(
    server: DawrServer, crowd: Crowd, request: pytest.FixtureRequest
) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, most), most))
    with server:
        quiet = await answer_times(server.port, crowd.seconds / 4)
        before = megabytes_of(server.pid)

        hasty = [await Hasty.to(server.port) for _ in range(crowd.connections)]
        crowded = await answer_times(server.port, crowd.seconds)
        grown = megabytes_of(server.pid) - before
        began = time.monotonic()
        exit_code = server.stop()
        took = time.monotonic() - began
        for connection in hasty:
            connection.hang_up()

    print(f"{crowd}: +{grown:.0f} MB, p99 {p99(quiet):.1f} → {p99(crowded):.1f} ms, stopped in {took:.2f} s")  # noqa: T201
    assert grown <= MOST_MEGABYTES
    assert exit_code == 0
    if request.node.get_closest_marker("prove") is not None:
        assert p99(crowded) <= MOST_TIMES_LONGER * p99(quiet)
        assert took <= STOP_SECONDS


async def answer_times(port: int, seconds: float) -> list[float]:
    """Of somebody who asks fifty times a second, in milliseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    took: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        writer.write(LOOK)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        took.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.02)
    writer.close()
    return took


def p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
