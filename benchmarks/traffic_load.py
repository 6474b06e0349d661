"""`enter` over HTTP with statistics and without, and the very lines that this load wrote down.

Spools are linked to a second place as soon as they are there, so that their lines can be read after the traffic process
has shipped and removed them.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import msgspec

from benchmarks.http import BODY, CONNECTIONS, PATH, ask_by
from benchmarks.http_callers import HttpLoad
from benchmarks.load import Run
from benchmarks.processor_time import children_of, processor_seconds
from dawr.bootstrap.system import now, ticks
from dawr.bootstrap.traffic import traffic_read
from dawr.settings import Settings
from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.spool_file import HEADER
from dawr.traffic.spool_reader import spools_in
from dawr.traffic.status import status
from tests.running import DawrServer, dawr_process, venue_document

NUMBERS = count(1, 10_000_000)
LINK_SECONDS = 0.02
LOOK_SECONDS = 0.02
MOST_UNCOUNTED = 100
"""So many may wait for their batch to be full."""
DRAIN_SECONDS = 300
PROGRAM = b"dawr.bootstrap.consuming"


class Entered(msgspec.Struct, frozen=True):
    run: Run
    lines: bytes
    """What it wrote down; nothing without statistics."""
    server_us: float
    """Of a processor, for each request: the server's own, without its traffic process."""


class Served:
    """A server, and what it writes down."""

    def __init__(self, server: DawrServer, directory: TrafficDirectory, tables: Database) -> None:
        self._server = server
        self._directory = directory
        self._tables = tables
        self._kept = directory.path.parent.parent / "kept"
        self._kept.mkdir(exist_ok=True)
        self._read: dict[str, int] = {}
        self._lines = 0

    async def enter(self, seconds: float) -> Entered:
        linking = asyncio.create_task(self._link_for_ever())
        began = processor_seconds(self._server.pid)
        run = await ask_by(HttpLoad(self._server.port, CONNECTIONS, seconds, PATH, BODY, next(NUMBERS)))
        worked = processor_seconds(self._server.pid) - began
        linking.cancel()
        self._link()
        lines = self._new_lines()
        self._lines += lines.count(b"\n")
        return Entered(run, lines, 1e6 * worked / len(run.latencies))

    async def drained(self) -> float:
        """Seconds until the traffic process has counted all of it."""
        began = ticks()
        while True:
            try:
                counted = (await status(self._tables, now())).consumed
            except DatabaseAway:
                counted = 0
            if counted > self._lines - MOST_UNCOUNTED:
                return (ticks() - began) / 1000
            assert ticks() - began < 1000 * DRAIN_SECONDS, f"{counted} of {self._lines} lines were counted"
            await asyncio.sleep(LOOK_SECONDS)

    def memory_of_traffic_process(self) -> float:
        """Its resident set, in MB."""
        about = Path(f"/proc/{self._traffic_pid()}/status").read_text(encoding="ascii")
        return int(about.partition("VmRSS:")[2].split()[0]) / 1024

    def worked_by_traffic_process(self) -> float:
        """Microseconds of a processor for each line since it began, and for its own start."""
        return 1e6 * processor_seconds(self._traffic_pid()) / self._lines

    def _traffic_pid(self) -> int:
        [pid] = [pid for pid in children_of(self._server.pid) if PROGRAM in Path(f"/proc/{pid}/cmdline").read_bytes()]
        return pid

    async def _link_for_ever(self) -> None:
        while True:
            self._link()
            await asyncio.sleep(LINK_SECONDS)

    def _link(self) -> None:
        for spool in spools_in(self._directory.spools):
            link = self._kept / spool.name
            if not link.exists():
                link.hardlink_to(spool)

    def _new_lines(self) -> bytes:
        new = b""
        for link in sorted(self._kept.iterdir()):
            start = self._read.get(link.name, len(HEADER))
            with link.open("rb") as file:
                file.seek(start)
                found = file.read()
            self._read[link.name] = start + len(found)
            new += found
        return new


@asynccontextmanager
async def served(directory: Path, *, traffic: str = "on", database_url: str = "") -> AsyncIterator[Served]:
    with tempfile.TemporaryDirectory(dir=directory) as inside:
        data = Path(inside) / "data"
        settings: dict[str, str | Path] = {"DAWR_DATA": data, "DAWR_RATE_LIMITS": "off", "DAWR_TRAFFIC": traffic}
        if database_url:
            settings["DAWR_DATABASE_URL"] = database_url
        made = await asyncio.to_thread(dawr_process, "venue", "apply", "-", stdin=_clinic(), **settings)
        assert made.exit_code == 0, made.complained
        read = Settings(data=str(data), database_url=database_url)
        with DawrServer(Path(inside), "serve", **settings) as server:
            async with traffic_read(read) as tables:
                yield Served(server, traffic_in(data), tables)


def _clinic() -> str:
    return venue_document({"id": "lab"})
