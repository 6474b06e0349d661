"""Contestants take turns, round after round, so that whatever disturbs the machine disturbs them all."""

import statistics
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec

from benchmarks.load import Run

Contestants = Mapping[str, Callable[[], Awaitable[Run]]]
Runs = dict[str, list[Run]]


class Spread(msgspec.Struct, frozen=True):
    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


async def take_turns(contestants: Contestants, *, rounds: int) -> Runs:
    runs: Runs = {name: [] for name in contestants}
    for number in range(1, rounds + 1):
        for name, run in contestants.items():
            _say(f"round {number} of {rounds}: {name}")
            runs[name].append(await run())
    _say("")
    return runs


def best_of(runs: Runs, names: Sequence[str]) -> str:
    return max(names, key=lambda name: spread([run.rate for run in runs[name]]).median)


def ratio(ours: Sequence[Run], baseline: Sequence[Run]) -> Spread:
    """Round by round: both sides of each ratio ran within seconds of each other."""
    return spread([mine.rate / theirs.rate for mine, theirs in zip(ours, baseline, strict=True)])


def _say(what: str) -> None:
    """What is running now, for somebody who watches."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
