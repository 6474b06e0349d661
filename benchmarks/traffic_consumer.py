"""How quickly lines become statistics: shipped into the queue and counted in batches, as the product does it."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec

from benchmarks.load import Run
from dawr.bootstrap.system import now
from dawr.reliability.lease import Fence, Leases
from dawr.reliability.records import Argument
from dawr.traffic.consumer import Consumer
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import Event, encoded, hour_of
from dawr.traffic.postgres import PostgresDatabase
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import framed
from dawr.traffic.spool_file import HEADER, SPOOL_ENDING
from dawr.traffic.sqlite import SqliteDatabase
from tests.traffic.builders import an_event

T = TypeVar("T")

NAMES = count(1)
PATHS, VISITORS = 60, 10_000


class Counted(msgspec.Struct, frozen=True):
    """One round: so many lines, and how long they took."""

    lines: int
    ship_seconds: float
    consume_seconds: float
    batches: list[float]
    """In seconds."""
    worked_us: float
    """Of a processor, for each line: ours and SQLite's, not PostgreSQL's."""

    @property
    def run(self) -> Run:
        """Both parts together: one process does them in turn."""
        seconds = self.ship_seconds + self.consume_seconds
        return Run(seconds, [seconds / self.lines] * self.lines)


class TimedDatabase:
    """A database that remembers how long each writing transaction took."""

    def __init__(self, inner: Database) -> None:
        self._inner = inner
        self.taken: list[float] = []

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        began = time.perf_counter()
        answer = await self._inner.transact(work)
        self.taken.append(time.perf_counter() - began)
        return answer

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._inner.read(work)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._inner.select_rows(name, *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return await self._inner.change_rows(name, *arguments)

    async def create_tables(self) -> list[str]:
        return await self._inner.create_tables()

    async def sync(self) -> None:
        await self._inner.sync()

    async def close(self) -> None:
        await self._inner.close()


class Counting:
    """One database over all rounds, so that its tables grow as they would."""

    def __init__(self, database: Database, spools: Path, fence: Fence) -> None:
        self.database = database
        self._timed = TimedDatabase(database)
        self._spools = spools
        self._fence = fence
        self._shipper = Shipper(database, spools, now)
        self._consumer = Consumer(self._timed, now, wait_ms=0)

    async def count(self, lines: bytes) -> Counted:
        """What a process wrote down before it ended."""
        self._spools.mkdir(exist_ok=True)
        (self._spools / f"{hour_of(now()):013}-{next(NAMES)}{SPOOL_ENDING}").write_bytes(HEADER + lines)
        self._timed.taken.clear()
        worked, began = time.process_time(), time.perf_counter()
        shipped = await self._shipper.ship()
        middle = time.perf_counter()
        await self._consumer.consume(self._fence)
        done = time.perf_counter()
        worked_us = 1e6 * (time.process_time() - worked) / shipped
        return Counted(shipped, middle - began, done - middle, [*self._timed.taken], worked_us)


def varied_lines(first: int, number: int) -> bytes:
    """Of many paths and visitors: every event has rows of its own to be added to."""
    random = Random(first)
    return b"".join(framed(encoded(_varied(n, random))) for n in range(first, first + number))


def _varied(number: int, random: Random) -> Event:
    return an_event(
        number,
        at=now(),
        path=f"/v1/things/{random.randrange(PATHS)}/{{id}}",
        ms=round(random.lognormvariate(2, 1), 3),
        visitor=f"{random.randrange(VISITORS) * 0x9E3779B97F4A7C15 % 2**64:016x}",
    )


@asynccontextmanager
async def counting_on_sqlite(directory: Path, name: str) -> AsyncIterator[Counting]:
    async with _counting(SqliteDatabase(directory / f"{name}.sqlite"), directory / f"{name} spools") as counting:
        yield counting


@asynccontextmanager
async def counting_on_postgres(directory: Path, url: str) -> AsyncIterator[Counting]:
    async with _counting(await PostgresDatabase.open(url), directory / "postgres spools") as counting:
        yield counting


@asynccontextmanager
async def _counting(database: Database, spools: Path) -> AsyncIterator[Counting]:
    try:
        await database.create_tables()
        fence = await Leases(database, now).take("bench", "the bench", lease_ms=3_600_000)
        assert fence is not None
        yield Counting(database, spools, fence)
    finally:
        await database.close()
