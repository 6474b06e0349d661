"""What an open event stream costs: memory of the server for each, and how long a change takes to reach the last one.

python -m benchmarks.streams [streams …]
"""

import asyncio
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.running import Client, DawrServer, dawr, venue_document

STREAMS = (1000, 3000)
CHANGES = 20
REQUEST = b"GET /api/v1/events/stream?clinic=lab HTTP/1.1\r\nHost: here\r\n\r\n"


class Watcher(asyncio.Protocol):
    """Counts the updates that come."""

    def __init__(self, hub: "Watchers") -> None:
        self._hub = hub

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        self._hub.came += data.count(b"event: QUEUE_UPDATE")
        if self._hub.came >= self._hub.wanted and not self._hub.complete.done():
            self._hub.complete.set_result(time.perf_counter())


class Watchers:
    def __init__(self) -> None:
        self.came = 0
        self.wanted = 0
        self.complete: asyncio.Future[float]

    def want(self, more: int) -> None:
        self.wanted += more
        self.complete = asyncio.get_running_loop().create_future()


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


async def measure(server: DawrServer, sizes: list[int]) -> None:
    loop, watchers = asyncio.get_running_loop(), Watchers()
    transports: list[asyncio.BaseTransport] = []
    at_rest = resident_kb(server.pid)
    print(
        f"{'streams':>8} {'RSS MB':>8} {'kB each':>8} {'last of all, ms (median, worst of ' + str(CHANGES) + ')':>44}"
    )
    print(f"{0:>8} {at_rest / 1024:>8.1f}")
    for size in sizes:
        watchers.want(size - len(transports))
        while len(transports) < size:
            opened = await asyncio.gather(
                *(
                    loop.create_connection(lambda: Watcher(watchers), "127.0.0.1", server.port)
                    for _ in range(min(500, size - len(transports)))
                )
            )
            transports += [transport for transport, _ in opened]
        await watchers.complete
        memory = resident_kb(server.pid)
        delays = [await one_change(server, watchers, size, turn) for turn in range(CHANGES)]
        delays.sort()
        told = f"{1000 * delays[len(delays) // 2]:.0f}, {1000 * delays[-1]:.0f}"
        print(f"{size:>8} {memory / 1024:>8.1f} {(memory - at_rest) / size:>8.1f} {told:>44}")
    for transport in transports:
        transport.close()


async def one_change(server: DawrServer, watchers: Watchers, size: int, turn: int) -> float:
    def enter() -> float:
        with Client(server.url) as client:
            assert client.enter("lab", f"{size}-{turn}").status == 200
            return time.perf_counter()

    watchers.want(size)
    answered = await asyncio.to_thread(enter)
    return max(0.0, await watchers.complete - answered)


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or list(STREAMS)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as directory:
        settings: dict[str, str | Path] = {
            "DAWR_DATA": Path(directory) / "data",
            "DAWR_RATE_LIMITS": "off",
            "DAWR_MOST_STREAMS_PER_ADDRESS": "100000",
            "DAWR_LOG_LEVEL": "warning",
        }
        assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
        with DawrServer(Path(directory), "serve", **settings) as server:
            with Client(server.url) as client:
                assert client.enter("lab", "somebody").status == 200
            asyncio.run(measure(server, sizes))


if __name__ == "__main__":
    main()
