"""The statistics in a file of SQLite: one process writes to it, any number read.

A commit waits for no disk: after a power cut the file may be a moment older than it was, and is whole. That loses
nothing, because a spool is kept until `sync` has said that the disk has what was shipped from it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from dawr.reliability.disk import make_private, sync
from dawr.reliability.migrations import migrate_sqlite
from dawr.reliability.records import Argument, Records, kit_journal
from dawr.reliability.sqlite import begin_wal
from dawr.traffic.database import DatabaseAway, Transaction, Value, journal, statements

T = TypeVar("T")

BUSY_MS = 5000
CHECKPOINT_PAGES = 4000
A_ROWS_FAULT = (apsw.ConstraintError, apsw.MismatchError, apsw.RangeError, apsw.TooBigError)
"""The file will not take a row. Whatever else it says is about itself, and about no message."""


class SqliteDatabase:
    """Opened when it is first used. What has a loop to itself runs its statements there; others in a thread."""

    def __init__(self, path: Path, *, read_only: bool = False, in_thread: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        self._statements = statements("sqlite")
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="traffic") if in_thread else None
        self._one_at_a_time = asyncio.Lock()
        self._connection: apsw.Connection | None = None

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._within("BEGIN IMMEDIATE", work)

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._within("BEGIN", work)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self.read(lambda transaction: transaction.select_rows(name, *arguments))

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return await self.transact(lambda transaction: transaction.change_rows(name, *arguments))

    async def create_tables(self) -> list[str]:
        def create(connection: apsw.Connection) -> list[str]:
            made = [*migrate_sqlite(connection, kit_journal("sqlite")), *migrate_sqlite(connection, journal("sqlite"))]
            return [migration.title for migration in made]

        async def work(transaction: Transaction) -> list[str]:
            assert isinstance(transaction, SqliteTransaction)  # noqa: S101 - which other would it be
            made: list[str] = await transaction.do(create)
            return made

        return await self.transact(work)

    async def sync(self) -> None:
        await self._do(lambda _: _sync(Path(f"{self.path}-wal"), self.path))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._run(connection.close)
        if self._thread is not None:
            self._thread.shutdown()

    async def _within(self, begin: str, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """A connection is in one transaction at a time."""
        async with self._one_at_a_time:
            try:
                await self._do(lambda connection: connection.execute(begin))
                try:
                    answer = await work(SqliteTransaction(self._do, self._statements))
                    await self._do(lambda connection: connection.execute("COMMIT"))
                except BaseException:
                    with suppress(apsw.SQLError):  # a disk that is full has rolled it back already
                        await self._do(lambda connection: connection.execute("ROLLBACK"))
                    raise
            except A_ROWS_FAULT:
                raise
            except apsw.Error as error:
                raise DatabaseAway(f"{self.path.name}: {error}") from error
            return answer

    async def _do(self, work: Callable[[apsw.Connection], T]) -> T:
        return await self._run(lambda: work(self._opened()))

    async def _run(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            return work()
        return await asyncio.wrap_future(self._thread.submit(work))

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            if self._read_only:
                self._connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
                self._connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            else:
                make_private(self.path)
                connection = apsw.Connection(str(self.path))
                begin_wal(connection, busy_ms=BUSY_MS)
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                self._connection = connection
        return self._connection


class SqliteTransaction:
    """What runs between the beginning and the end of one."""

    def __init__(self, do: Callable[[Callable[[apsw.Connection], Any]], Awaitable[Any]], sql: dict[str, str]) -> None:
        self.do = do
        self._statements = sql

    def must_be_open(self) -> None:
        """It is, as long as anybody has it."""

    def waiting_at_most(self, ms: int) -> Records:  # noqa: ARG002 - whoever has begun to write waits for nobody
        return self

    async def select_rows(self, name: str, *arguments: Value) -> list[Any]:
        sql = self._statements[name]
        rows: list[Any] = await self.do(lambda connection: list(connection.execute(sql, arguments)))
        return rows

    async def change_rows(self, name: str, *arguments: Value) -> int:
        sql = self._statements[name]

        def change(connection: apsw.Connection) -> int:
            connection.execute(sql, arguments)
            return connection.changes()

        changed: int = await self.do(change)
        return changed

    async def select_each(self, name: str, keys: Sequence[Sequence[Value]]) -> list[Any]:
        sql = self._statements[name]
        rows: list[Any] = await self.do(lambda connection: list(connection.executemany(sql, keys)))
        return rows

    async def change_each(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        sql = self._statements[name]
        await self.do(lambda connection: connection.executemany(sql, rows))


def _sync(*paths: Path) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            sync(path)
