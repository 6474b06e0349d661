"""How late the clock does what is due while `enter` runs at 64 connections over HTTP: `python -m benchmarks.timers`.

Desks are sent on breaks whose ends are spread over a slice of load, and the clock opens them again. Late is from the
end of the break until the change that ends it was decided, as its event says; the commit follows within milliseconds.
Slices without load take turns with those under load. The bar is on the 95th percentile; the exit code is 1 when it is
missed.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import uvloop

from benchmarks.http import BODY, CONNECTIONS, PATH, ask_by
from benchmarks.http_callers import HttpLoad
from benchmarks.load import Run
from benchmarks.machine import look_at_machine, must_be_disk
from benchmarks.rounds import Contestants, Spread, spread, take_turns
from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, dawr_process, venue_document
from tests.servers import PostgresServer, server_directory

DESKS = 60
MOST_P95_MS = 1000
NUMBERS = count(1, 10_000_000)
TOKEN = ("token", "new", "--kind", "api", "--role", "staff", "--name", "The bench")
AHEAD_SECONDS = 1.0
"""So much earlier the first break is asked for: nobody may ask for one that is over."""
RUNG_SECONDS = 20.0
ENDED = "SELECT at, data FROM events WHERE kind = 'desk.opened' AND actor = 'clock'"


class Lateness(msgspec.Struct, frozen=True):
    """Of one contestant's slices."""

    what: str
    entered: Spread | None
    """Numbers a second meanwhile."""
    p50_ms: float
    p95_ms: float
    most_ms: float
    rung: int

    @property
    def held(self) -> bool:
        return self.p95_ms <= MOST_P95_MS


class Served:
    """A server, and what its desks are due."""

    def __init__(self, name: str, server: DawrServer, database: Path | str, bearer: str) -> None:
        self.name = name
        self._server = server
        self._database = database
        self._bearer = bearer
        self._due: dict[tuple[str, str], list[int]] = {}

    def turns(self, seconds: float) -> Contestants:
        return {
            self.loaded: partial(self._slice, self.loaded, seconds, loaded=True),
            self.idle: partial(self._slice, self.idle, seconds, loaded=False),
        }

    @property
    def loaded(self) -> str:
        return f"{self.name}, enter by {CONNECTIONS} connections"

    @property
    def idle(self) -> str:
        return f"{self.name}, nothing else"

    async def _slice(self, what: str, seconds: float, *, loaded: bool) -> Run:
        """The load begins with the first end of a break, and ends with the last."""
        begins = time.time() + AHEAD_SECONDS
        await asyncio.to_thread(self._send_on_breaks, what, begins, seconds)
        await asyncio.sleep(max(0.0, begins - time.time()))
        if loaded:
            load = HttpLoad(self._server.port, CONNECTIONS, seconds, PATH, BODY, next(NUMBERS))
            run = await ask_by(load)
        else:
            await asyncio.sleep(seconds)
            run = Run(seconds, [0.0])
        await asyncio.to_thread(self._must_all_be_back)
        return run

    def _send_on_breaks(self, what: str, begins: float, seconds: float) -> None:
        with Client(self._server.url) as client:
            for number in range(DESKS):
                until = int(1000 * (begins + seconds * number / DESKS))
                path = f"/v1/desks/clinic:desk-{number}/break"
                sent = client.post(path, {"until": until}, bearer=self._bearer)
                assert sent.status == 200, sent
                self._due.setdefault((what, f"desk-{number}"), []).append(until)

    def _must_all_be_back(self) -> None:
        deadline = time.monotonic() + RUNG_SECONDS
        with Client(self._server.url) as client:
            while any(desk["state"] == "break" for desk in client.get("/v1/venues/clinic").json["desks"]):
                assert time.monotonic() < deadline, "a break did not end"
                time.sleep(0.05)

    def lateness(self, what: str, runs: list[Run]) -> Lateness:
        """From what is stored: each break's end, and the first time after it that the clock opened its desk."""
        opened: dict[str, list[int]] = {}
        for at, data in rows_of(self._database, ENDED):
            opened.setdefault(json.loads(data)["desk"], []).append(at)
        late = sorted(
            min(at for at in opened[desk] if at >= until) - until
            for (of, desk), ends in self._due.items()
            for until in ends
            if of == what
        )
        entered = None if what == self.idle else spread([run.rate for run in runs])
        return Lateness(what, entered, _percentile(late, 50), _percentile(late, 95), late[-1], len(late))


def _percentile(values: list[int], percent: int) -> float:
    return values[len(values) * percent // 100]


def main() -> int:
    given = _arguments()
    must_be_disk(given.directory)
    tempfile.tempdir = str(given.directory)
    rounds, seconds = (1, 1.0) if given.quick else (given.rounds, given.seconds)
    with ExitStack() as stack:
        inside = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.directory)))
        postgres = stack.enter_context(PostgresServer(stack.enter_context(server_directory())))
        servers = [
            stack.enter_context(_served("embedded", inside / "embedded", "")),
            stack.enter_context(_served("PostgreSQL", inside / "scaled", postgres.create_database("dawr"))),
        ]
        measured = uvloop.run(bench(servers, rounds=rounds, seconds=seconds))
    print(look_at_machine(given.directory, postgres="PostgreSQL").sentence(), end="\n\n")
    print(
        f"{'late, in ms':42}  {'p50':>6}  {'p95':>6}  {'most':>6}  {'rung':>5}  {'bar: p95':>8}  held  entered a second"
    )
    for one in measured:
        print(_row(one))
    return 0 if given.quick or all(one.held for one in measured) else 1


async def bench(servers: list[Served], *, rounds: int, seconds: float) -> list[Lateness]:
    """One server after the other: only one is under load at a time anyway."""
    turns = {name: ask for one in servers for name, ask in one.turns(seconds).items()}
    runs = await take_turns(turns, rounds=rounds)
    found = [(one, what) for one in servers for what in (one.loaded, one.idle)]
    return [await asyncio.to_thread(one.lateness, what, runs[what]) for one, what in found]


def _row(one: Lateness) -> str:
    late = f"{one.p50_ms:6.0f}  {one.p95_ms:6.0f}  {one.most_ms:6.0f}  {one.rung:5}"
    entered = (
        "" if one.entered is None else f"{one.entered.median:,.0f} [{one.entered.least:,.0f}–{one.entered.most:,.0f}]"
    )
    return f"{one.what:42}  {late}  {f'≤ {MOST_P95_MS}':>8}  {'yes' if one.held else 'NO':>4}  {entered}".rstrip()


@contextmanager
def _served(name: str, directory: Path, database_url: str) -> Iterator[Served]:
    directory.mkdir()
    settings: dict[str, str | Path] = {"DAWR_RATE_LIMITS": "off", "DAWR_DATA": directory / "data"}
    if database_url:
        settings["DAWR_DATABASE_URL"] = database_url
    made = dawr_process("venue", "apply", "-", stdin=_clinic(), **settings)
    assert made.exit_code == 0, made.complained
    token = dawr_process(*TOKEN, stdin="", **settings)
    with DawrServer(directory, "serve", **settings) as server:
        yield Served(name, server, database_url or directory / "data" / "dawr.sqlite", token.said.split()[-1])


def _clinic() -> str:
    clinic = json.loads(venue_document({"id": "lab"}, {"id": "eye"}))
    names = [f"desk-{number}" for number in range(DESKS)]
    return json.dumps(clinic | {"desks": [{"id": name, "name": {"en": name}, "queues": ["eye"]} for name in names]})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="to see that it runs; judges nothing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each slice")
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where the database is made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
