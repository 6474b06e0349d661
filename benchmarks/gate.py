"""`make bench-gate`: the rate of `enter` of this tree beside that of a fixed commit.

Both servers run at the same time, durable and with statistics, without limits. One-second slices alternate between
them, so that a busy machine slows both. Every few rotations both are started anew, in the other order: one process may
be some percent faster than another of the same program, for as long as it runs. The exit code is 1 below the bar, and
2 when nothing was measured.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import msgspec
import uvloop

from benchmarks.gate_install import CannotCompare, install, install_commit, python_variables
from benchmarks.http import BODY, PATH, ask_by
from benchmarks.http_callers import HttpLoad
from benchmarks.load import Run
from benchmarks.machine import NotADisk, look_at_machine, must_be_disk
from benchmarks.processor_time import processor_seconds, processor_seconds_with_children
from tests.running import DawrServer, venue_document

ROOT = Path(__file__).parents[1]
CONNECTIONS = (1, 64)
MIN_ROTATIONS = 20
ROTATIONS_PER_START = 5
WARM_UP_SECONDS = 1.0
USERS = count(1, 10_000_000)


class Slice(msgspec.Struct, frozen=True):
    run: Run
    processor_seconds: float
    """Of the server's own process."""


class Comparison(msgspec.Struct, frozen=True):
    """Slices of both sides at one number of connections, rotation by rotation."""

    connections: int
    ours: list[Slice]
    theirs: list[Slice]

    @property
    def ratios(self) -> list[float]:
        return [ours.run.rate / theirs.run.rate for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


class Measured(msgspec.Struct, frozen=True):
    comparisons: list[Comparison]
    ours_us: float
    theirs_us: float
    """Processor time per request over all slices, with that of the traffic process."""


class Side:
    """One program, whose server is started several times."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self._requests = 0
        self._seconds = 0.0

    async def warm_up(self, server: DawrServer, seconds: float) -> None:
        for connections in CONNECTIONS:
            await ask_by(HttpLoad(server.port, connections, seconds, PATH, BODY, next(USERS)))
        self._seconds -= processor_seconds_with_children(server.pid)

    async def measure(self, server: DawrServer, connections: int, seconds: float) -> Slice:
        began = processor_seconds(server.pid)
        run = await ask_by(HttpLoad(server.port, connections, seconds, PATH, BODY, next(USERS)))
        self._requests += len(run.latencies)
        return Slice(run, processor_seconds(server.pid) - began)

    def end(self, server: DawrServer) -> None:
        self._seconds += processor_seconds_with_children(server.pid)

    @property
    def processor_us(self) -> float:
        return 1e6 * self._seconds / self._requests


def main(arguments: Sequence[str] | None = None) -> int:
    given = _arguments(arguments)
    try:
        must_be_disk(given.directory)
        theirs = install_commit(ROOT, given.rev, given.build)
        ours = install(ROOT, given.build / "this-tree")
    except (CannotCompare, NotADisk) as reason:
        print(reason, file=sys.stderr)
        return 2
    rotations = 2 if given.quick else given.rotations
    machine = look_at_machine(given.directory, postgres="embedded store").sentence()
    with tempfile.TemporaryDirectory(dir=given.directory) as inside:
        measured = compare(ours, theirs, Path(inside), rotations=rotations)
    print(f"{machine}, {rotations} rotations\n\n{report(measured, given.rev)}")
    if given.quick:
        return 0
    missed = below_bar(measured, given.rev, given.fail_under)
    print(f"\n{missed or f'Held: at least {given.fail_under:g} of {given.rev} at every number of connections.'}")
    return 1 if missed else 0


def compare(ours: Path, theirs: Path, directory: Path, *, rotations: int, seconds: float = 1.0) -> Measured:
    """Start a server of each program, measure them in turns, and start them anew."""
    sides = (Side(ours), Side(theirs))
    comparisons = [Comparison(connections, [], []) for connections in CONNECTIONS]
    for start in range(0, rotations, ROTATIONS_PER_START):
        in_order = sides if start // ROTATIONS_PER_START % 2 == 0 else sides[::-1]
        with ExitStack() as stack:
            servers = {side: stack.enter_context(_serving(side.program, directory)) for side in in_order}
            turns = range(start, min(start + ROTATIONS_PER_START, rotations))
            uvloop.run(_rotate(sides, servers, comparisons, turns, seconds))
    return Measured(comparisons, *(side.processor_us for side in sides))


async def _rotate(
    sides: tuple[Side, Side],
    servers: Mapping[Side, DawrServer],
    comparisons: list[Comparison],
    rotations: range,
    seconds: float,
) -> None:
    for side, server in servers.items():
        await side.warm_up(server, WARM_UP_SECONDS * seconds)
    for rotation in rotations:
        for comparison in comparisons:
            turns = list(zip(sides, (comparison.ours, comparison.theirs), strict=True))
            # Each side goes first in every other rotation: the second one runs beside the first one's statistics.
            for side, slices in turns if rotation % 2 == 0 else turns[::-1]:
                slices.append(await side.measure(servers[side], comparison.connections, seconds))
    for side, server in servers.items():
        side.end(server)


def report(measured: Measured, revision: str) -> str:
    lines = [f"{'':16}{'':12}{'per second':>11}{'p50 ms':>8}{'p99 ms':>8}{'processor µs':>14}  ratio [quartiles]"]
    for comparison in measured.comparisons:
        lower, median, upper = statistics.quantiles(comparison.ratios, n=4, method="inclusive")
        ratio = f"{median:.3f} [{lower:.3f}–{upper:.3f}]"
        ours_us, theirs_us = _processor_us(comparison.ours), _processor_us(comparison.theirs)
        heading = f"{comparison.connections} connection{'s' if comparison.connections > 1 else ''}"
        lines.append(f"{heading:16}{_figures('this tree', comparison.ours)}{ours_us:14.1f}  {ratio}")
        figures = f"{_figures(revision, comparison.theirs)}{theirs_us:14.1f}"
        lines.append(f"{'':16}{figures}  processor time ratio {ours_us / theirs_us:.3f}")
    ours_us, theirs_us = measured.ours_us, measured.theirs_us
    with_traffic = f"{ours_us:.1f} and {theirs_us:.1f} µs, ratio {ours_us / theirs_us:.3f}"
    return "\n".join([*lines, f"processor time per request with the traffic process: {with_traffic}"])


def below_bar(measured: Measured, revision: str, bar: float) -> str:
    """Return a sentence for each number of connections at which this tree is too slow."""
    return "\n".join(
        f"Missed: at {comparison.connections} connections this tree serves {comparison.ratio:.3f} "
        f"of what {revision} serves, and the bar is {bar:g}."
        for comparison in measured.comparisons
        if comparison.ratio < bar
    )


def _figures(side: str, slices: list[Slice]) -> str:
    rate, p50, p99 = (
        statistics.median(values)
        for values in zip(
            *((one.run.rate, one.run.percentile_ms(50), one.run.percentile_ms(99)) for one in slices), strict=True
        )
    )
    return f"{side:12}{rate:11,.0f}{p50:8.2f}{p99:8.2f}"


def _processor_us(slices: list[Slice]) -> float:
    """Add up all slices, because /proc counts in hundredths of a second."""
    return 1e6 * sum(one.processor_seconds for one in slices) / sum(len(one.run.latencies) for one in slices)


@contextmanager
def _serving(program: Path, directory: Path) -> Iterator[DawrServer]:
    place = Path(tempfile.mkdtemp(dir=directory))
    settings: Mapping[str, str | Path] = {
        "DAWR_DATA": place / "data",
        "DAWR_RATE_LIMITS": "off",
        "DAWR_TRAFFIC": "on",
    }
    server = DawrServer(place, "serve", **settings)
    unset = [part for name in sorted(python_variables()) for part in ("-u", name)]
    server.program = ("/usr/bin/env", *unset, str(program))
    environment = {name: str(value) for name, value in settings.items()}
    apply = [str(program), "venue", "apply", "-"]
    document = venue_document({"id": "lab"}).encode()
    subprocess.run(apply, input=document, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=60)
    with server:
        yield server


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__)
    parser.add_argument("--rev", required=True, help="the commit to compare with")
    parser.add_argument("--fail-under", type=float, default=0.97, help="the least median ratio")
    parser.add_argument("--rotations", type=_rotations, default=MIN_ROTATIONS, help=f"{MIN_ROTATIONS} or more")
    parser.add_argument("--quick", action="store_true", help="two rotations, which judge nothing")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "gate", help="where both are installed")
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="where the databases are: on a disk")
    return parser.parse_args(arguments)


def _rotations(text: str) -> int:
    rotations = int(text)
    if rotations < MIN_ROTATIONS:
        raise argparse.ArgumentTypeError(f"at least {MIN_ROTATIONS}: fewer rotations say too little")
    return rotations


if __name__ == "__main__":
    sys.exit(main())
