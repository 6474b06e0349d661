"""Callers who ask, wait for the answer, and ask again: bounded in number and in time.

What is asked for is made before the clock starts, so a figure holds the work and not its preparation.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Load(msgspec.Struct, frozen=True):
    callers: int
    seconds: float
    most: int
    """Requests that are made ready; when they are used up the run ends early."""


class Run(msgspec.Struct, frozen=True):
    seconds: float
    latencies: list[float]
    """In seconds, sorted: one for each answer."""

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile_ms(self, percent: int) -> float:
        return 1000 * self.latencies[len(self.latencies) * percent // 100]


async def measure(requests: Sequence[T], ask: Callable[[T], Awaitable[object]], load: Load) -> Run:
    """Every caller asks for the next request that nobody took; the first few are asked to warm up."""
    waiting = iter(requests)
    await warm_up(waiting, ask, load)
    return await ask_all(waiting, ask, load)


async def warm_up(waiting: Iterator[T], ask: Callable[[T], Awaitable[object]], load: Load) -> None:
    await ask_all(islice(waiting, 2 * load.callers), ask, load)


async def ask_all(waiting: Iterator[T], ask: Callable[[T], Awaitable[object]], load: Load) -> Run:
    latencies: list[float] = []

    async def call() -> None:
        for request in waiting:
            asked = time.perf_counter()
            await ask(request)
            answered = time.perf_counter()
            latencies.append(answered - asked)
            if answered >= deadline:
                return

    with _preparation_left_alone():
        started = time.perf_counter()
        deadline = started + load.seconds
        await asyncio.gather(*(call() for _ in range(load.callers)))
        return Run(time.perf_counter() - started, sorted(latencies))


@contextmanager
def _preparation_left_alone() -> Iterator[None]:
    """Requests made in advance are not garbage, and are not searched for it."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
