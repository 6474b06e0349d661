"""The kit's rows in a file of SQLite, or within a transaction that the caller has open on one.

Nothing of `SqliteRecords` runs on the event loop: a commit waits for the disk. What came meanwhile is written by the
next commit together, each statement with its own row count. Reads do not wait for writes.

One process must open one file through one SQLite library only. Two of them, such as `apsw` and Python's
`sqlite3`, undo each other's locks, and what was committed is lost.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from dawr.reliability.drain import Drain, settle
from dawr.reliability.migrations import migrate_sqlite
from dawr.reliability.records import Argument, NotInTransaction, Records, kit_journal, kit_statements
from dawr.reliability.sqlite import SqliteConnection, begin_wal

T = TypeVar("T")

BUSY_MS = 5000
MOST_AT_ONCE = 256


class SqliteRecords:
    """Opened when it is first used, so that a process may be forked before.

    `connect` chooses the library. It opens a connection that begins no transaction by itself.
    """

    def __init__(self, path: Path | str, *, connect: Callable[[str], SqliteConnection] = apsw.Connection) -> None:
        self._statements = kit_statements("sqlite")
        self._writing = _Connected(path, connect)
        self._reading = _Connected(path, connect)
        self._drain: Drain[_Change, list[_Change]] = Drain(_take, self._write, _fail)

    async def create_tables(self) -> list[str]:
        """Make what is not there yet, however many do so at once. Says what was made."""
        return await self._writing.do(_create_tables)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._reading.do(lambda connection: _select(connection, self._statements[name], arguments))

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        change = _Change(self._statements[name], arguments, asyncio.get_running_loop().create_future())
        self._drain.add(change)
        return await change.answer

    async def close(self) -> None:
        await self._drain.join()
        await self._reading.close()
        await self._writing.close()

    async def _write(self, batch: list["_Change"]) -> None:
        for change, outcome in zip(batch, await self._writing.do(lambda c: _write_all(c, batch)), strict=True):
            settle(change.answer, outcome)


class SqliteTransaction:
    """The caller's, on its own connection and in its own thread. Begin it with `BEGIN IMMEDIATE`."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._statements = kit_statements("sqlite")

    def must_be_open(self) -> None:
        if not self._connection.in_transaction:
            raise NotInTransaction

    def waiting_at_most(self, ms: int) -> Records:  # noqa: ARG002 - whoever has begun to write waits for nobody
        return self

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return _select(self._connection, self._statements[name], arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return _change(self._connection, self._statements[name], arguments)


class _Change(NamedTuple):
    """A statement that waits to be written, and who waits for how many rows it changed."""

    sql: str
    arguments: tuple[Argument, ...]
    answer: asyncio.Future[int]


class _Connected:
    """A connection, and the one thread that uses it."""

    def __init__(self, path: Path | str, connect: Callable[[str], SqliteConnection]) -> None:
        self._path = path
        self._connect = connect
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kit-records")
        self._opened = ExitStack()

    async def do(self, work: Callable[[SqliteConnection], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(lambda: work(self._connection)))

    async def close(self) -> None:
        await asyncio.wrap_future(self._thread.submit(self._opened.close))
        self._thread.shutdown()

    @cached_property
    def _connection(self) -> SqliteConnection:
        connection = self._connect(str(self._path))
        begin_wal(connection, busy_ms=BUSY_MS)
        return self._opened.enter_context(closing(connection))


def _take(waiting: deque[_Change]) -> list[_Change]:
    return [waiting.popleft() for _ in range(min(len(waiting), MOST_AT_ONCE))]


def _fail(batch: list[_Change], error: BaseException) -> None:
    for change in batch:
        settle(change.answer, error)


def _write_all(connection: SqliteConnection, batch: list[_Change]) -> list[int | Exception]:
    """In one commit, but for those of whoever went away meanwhile."""
    with _transaction(connection):
        return [0 if change.answer.cancelled() else _outcome(connection, change) for change in batch]


def _outcome(connection: SqliteConnection, change: _Change) -> int | Exception:
    """A statement that the database refuses is undone alone; a transaction that is gone is everybody's loss."""
    try:
        return _change(connection, change.sql, change.arguments)
    except Exception as error:
        if not connection.in_transaction:
            raise
        return error


def _create_tables(connection: SqliteConnection) -> list[str]:
    with _transaction(connection):
        return [migration.name for migration in migrate_sqlite(connection, kit_journal("sqlite"))]


@contextmanager
def _transaction(connection: SqliteConnection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _select(connection: SqliteConnection, sql: str, arguments: tuple[Argument, ...]) -> Sequence[Any]:
    return list(connection.execute(sql, arguments))


def _change(connection: SqliteConnection, sql: str, arguments: tuple[Argument, ...]) -> int:
    connection.execute(sql, arguments)
    return int(connection.execute("SELECT changes()").fetchall()[0][0])
