"""How quickly lines become statistics: shipped into the queue, and counted in batches, as the traffic process does it."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from benchmarks.load import Run
from dawr.bootstrap.system import now
from dawr.reliability.lease import Fence, Leases
from dawr.reliability.records import Argument
from dawr.traffic.consumer import Consumer
from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import hour_of
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import ENDING, HEADER
from dawr.traffic.sqlite import SqliteDatabase

T = TypeVar("T")

NAMES = count(1)


class Counted(msgspec.Struct, frozen=True):
    """One round: so many lines, and how long they took."""

    lines: int
    ship_seconds: float
    consume_seconds: float
    batches: list[float]
    """In seconds."""

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
        (self._spools / f"{hour_of(now()):013}-{next(NAMES)}{ENDING}").write_bytes(HEADER + lines)
        self._timed.taken.clear()
        began = time.perf_counter()
        shipped = await self._shipper.ship()
        middle = time.perf_counter()
        await self._consumer.consume(self._fence)
        done = time.perf_counter()
        return Counted(shipped, middle - began, done - middle, [*self._timed.taken])


@asynccontextmanager
async def counting_on_sqlite(directory: Path) -> AsyncIterator[Counting]:
    async with _counting(SqliteDatabase(directory / "bench.sqlite"), directory / "lines") as counting:
        yield counting


@asynccontextmanager
async def counting_on_postgres(directory: Path, url: str) -> AsyncIterator[Counting]:
    from dawr.traffic.postgres import PostgresDatabase  # noqa: PLC0415 - as in the product

    async with _counting(await PostgresDatabase.open(url), directory / "lines for postgres") as counting:
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
