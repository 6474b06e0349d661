"""`make bench`, the HTTP part: what the whole edge costs, durable, beside an endpoint that does nothing.

Everything is switched on but limits. The bar is a ratio within this run. The exit code is 1 when it is missed.
"""

import argparse
import asyncio
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import uvloop

from benchmarks.http_callers import HttpLoad
from benchmarks.load import Run
from benchmarks.machine import look_at_machine, must_be_disk
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import ratio, take_turns
from tests.running import DawrServer, dawr, venue_document
from tests.servers.place import free_port

CONNECTIONS = 64
LEAST_SHARE = 0.6
NOBODY_KNOWN = count(1, 10_000_000)
PATH = "/api/v1/queue/enter"
BODY = '{"clinic":"lab","user":"visitor {n}"}'


def main() -> int:
    given = _arguments()
    must_be_disk(given.directory)
    rounds, seconds = (1, 0.5) if given.quick else (given.rounds, 3.0)
    figures = uvloop.run(bench(given.directory, rounds=rounds, seconds=seconds))
    print(f"{look_at_machine(given.directory, postgres='').sentence()}\n\n{table(figures)}")
    return 0 if given.quick or all(figure.held is not False for figure in figures) else 1


async def bench(directory: Path, *, rounds: int, seconds: float) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=directory) as inside, _dawr(Path(inside)) as server:
        async with _bare(Path(inside)) as port:
            ours, bare = (
                f"enter, {CONNECTIONS} connections: Dawr, durable",
                "  bare Starlette + msgspec, stores nothing",
            )
            runs = await take_turns(
                {bare: partial(_call, port, seconds), ours: partial(_call, server.port, seconds)}, rounds=rounds
            )
            one = [await _call(server.port, seconds, connections=1) for _ in range(rounds)]
    share = ratio(runs[ours], runs[bare])
    mine = msgspec.structs.replace(
        figure(ours, runs[ours]), ratio=share, bar=f"≥ {LEAST_SHARE} ×", held=share.median >= LEAST_SHARE
    )
    return [mine, figure(bare, runs[bare]), figure("  Dawr, one connection", one)]


async def _call(port: int, seconds: float, *, connections: int = CONNECTIONS) -> Run:
    return await ask_by(HttpLoad(port, connections, seconds, PATH, BODY, next(NOBODY_KNOWN)))


async def ask_by(load: HttpLoad) -> Run:
    """In a process of its own."""
    callers = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.http_callers", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(callers.communicate(msgspec.json.encode(load) + b"\n"), timeout=60)
    return msgspec.json.decode(said, type=Run)


@contextmanager
def _dawr(directory: Path) -> Iterator[DawrServer]:
    settings: dict[str, str | Path] = {"DAWR_DATA": directory / "data", "DAWR_RATE_LIMITS": "off"}
    made = dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings)
    assert made.exit_code == 0, made.complained
    with DawrServer(directory, "serve", **settings) as server:
        yield server


@asynccontextmanager
async def _bare(directory: Path) -> AsyncIterator[int]:
    port = free_port()
    arguments = ("--port", str(port), "--loop", "uvloop", "--http", "httptools", "--no-access-log")
    with (directory / "bare.log").open("wb") as log:
        server = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "uvicorn", "benchmarks.bare:app", *arguments, stdout=log, stderr=log
        )
    try:
        await asyncio.to_thread(_until_open, port)
        yield port
    finally:
        server.terminate()
        await server.wait()


def _until_open(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the bare server did not start"
            time.sleep(0.05)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="to see that it runs; judges nothing")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where the database is made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
