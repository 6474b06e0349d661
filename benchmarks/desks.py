"""Call-next over HTTP, by 32 desks with a token each, beside `enter` by 64 visitors: what it costs to know who asks.

Short slices take turns, and whoever enters fills the line that the desks call from. The bar is a ratio within this run;
the exit code is 1 when it is missed. `--before DIRECTORY` measures another version in the same rounds, by its `src`:
then `enter` may not be slower than it was, but for 3 %.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
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
from benchmarks.report import Figure, figure, table
from benchmarks.rounds import Contestants, ratio, take_turns
from tests.running import Client, DawrServer, dawr_process, venue_document

DESKS = 32
LEAST_SHARE = 0.6
LEAST_OF_BEFORE = 0.97
FILLING_SLICES = 3
MANAGER = ("staff", "add", "bench", "--role", "manager", "--password-stdin")
PASSWORD = "three benches by the sea"
NUMBERS = count(1, 10_000_000)


class Served(msgspec.Struct, frozen=True):
    name: str
    port: int
    bearers: list[str]

    def turns(self, seconds: float) -> Contestants:
        enter = HttpLoad(self.port, CONNECTIONS, seconds, PATH, BODY, 0)
        path = "/v1/desks/clinic:desk-{connection}/call-next"
        call = HttpLoad(self.port, DESKS, seconds, path, "{}", 0, self.bearers)
        return {self.entering: partial(_ask, enter), self.calling: partial(_ask, call)}

    def must_have_people_waiting(self) -> None:
        """A desk that calls from an empty line has nothing to do."""
        with Client(f"http://127.0.0.1:{self.port}") as client:
            assert client.get("/v1/queues/clinic:lab").json["waiting"], "the desks were quicker than the visitors"

    @property
    def entering(self) -> str:
        return f"{self.name}: enter, {CONNECTIONS} connections"

    @property
    def calling(self) -> str:
        return f"{self.name}: call-next, {DESKS} desks"


def main() -> int:
    given = _arguments()
    must_be_disk(given.directory)
    rounds, seconds = (1, 0.3) if given.quick else (given.rounds, given.seconds)
    with ExitStack() as stack:
        servers = [stack.enter_context(_served("now", given.directory, None))]
        if given.before is not None:
            servers.append(stack.enter_context(_served("before", given.directory, given.before)))
        figures = uvloop.run(bench(servers, rounds=rounds, seconds=seconds))
    print(f"{look_at_machine(given.directory, postgres='').sentence()}\n\n{table(figures)}")
    return 0 if given.quick or all(figure.held for figure in figures if figure.bar) else 1


async def bench(servers: list[Served], *, rounds: int, seconds: float) -> list[Figure]:
    """Ours first. Of the other version there is no bar, only what ours is measured by."""
    turns = [one.turns(seconds) for one in servers]
    for _ in range(FILLING_SLICES):
        await asyncio.gather(*(of_one[one.entering]() for one, of_one in zip(servers, turns, strict=True)))
    runs = await take_turns({name: ask for of_one in turns for name, ask in of_one.items()}, rounds=rounds)
    figures: list[Figure] = []
    for one in servers:
        one.must_have_people_waiting()
        share = ratio(runs[one.calling], runs[one.entering])
        calling = msgspec.structs.replace(figure(one.calling, runs[one.calling]), ratio=share)
        figures += [calling, figure(one.entering, runs[one.entering])]
    figures[0] = _with_bar(figures[0], LEAST_SHARE, "enter")
    if len(servers) > 1:
        ours, before = (runs[one.entering] for one in servers)
        figures[1] = msgspec.structs.replace(figures[1], ratio=ratio(ours, before))
        figures[1] = _with_bar(figures[1], LEAST_OF_BEFORE, "before")
    return figures


def _with_bar(figure: Figure, least: float, of: str) -> Figure:
    assert figure.ratio is not None
    return msgspec.structs.replace(figure, bar=f"≥ {least} × {of}", held=figure.ratio.median >= least)


async def _ask(load: HttpLoad) -> Run:
    return await ask_by(msgspec.structs.replace(load, first=next(NUMBERS)))


@contextmanager
def _served(name: str, directory: Path, source: Path | None) -> Iterator[Served]:
    """Of this version, or of the one whose `src` is given."""
    before = os.environ.get("PYTHONPATH")
    if source is not None:
        os.environ["PYTHONPATH"] = str(source)
    try:
        with tempfile.TemporaryDirectory(dir=directory) as inside, ExitStack() as stack:
            settings: dict[str, str | Path] = {"DAWR_DATA": Path(inside) / "data", "DAWR_RATE_LIMITS": "off"}
            made = dawr_process("venue", "apply", "-", stdin=_clinic(), **settings)
            assert made.exit_code == 0, made.complained
            added = dawr_process(*MANAGER, stdin=PASSWORD, **settings)
            assert added.exit_code == 0, added.complained
            server = stack.enter_context(DawrServer(Path(inside), "serve", **settings))
            yield Served(name, server.port, _tokens(server))
    finally:
        if source is not None:
            os.environ.pop("PYTHONPATH")
            os.environ.update({} if before is None else {"PYTHONPATH": before})


def _clinic() -> str:
    clinic = json.loads(venue_document({"id": "lab"}))
    names = [f"desk-{number}" for number in range(1, DESKS + 1)]
    return json.dumps(clinic | {"desks": [{"id": name, "name": {"en": name}, "queues": ["lab"]} for name in names]})


def _tokens(server: DawrServer) -> list[str]:
    """One for each desk."""
    with Client(server.url) as client:
        manager = client.post("/v1/login", {"username": "bench", "password": PASSWORD}).json["session"]
        given = {"kind": "api", "role": "staff", "name": "A desk"}
        return [client.post("/v1/venues/clinic/tokens", given, bearer=manager).json["bearer"] for _ in range(DESKS)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.desks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="to see that it runs; judges nothing")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each slice")
    parser.add_argument("--before", type=Path, help="the `src` of another version")
    parser.add_argument(
        "--directory", type=Path, default=Path("/var/tmp"), help="where the database is made: on a disk"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
