"""The kit's rows in a file of SQLite, or within a transaction that the caller has open on one.

Nothing of `SqliteRecords` runs on the event loop: a commit waits for the disk. What came meanwhile is written by the
next commit together, each statement with its own row count. Reads do not wait for writes.

One process must open one file through one SQLite library only. Two of them, such as `apsw` and Python's
`sqlite3`, undo each other's locks, and what was committed is lost.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw

from dawr.reliability.records import Argument, NotInTransaction, Records, kit_migrations, kit_statements

T = TypeVar("T")

BUSY_MS = 5000
MOST_AT_ONCE = 256
TRIES = 50


class NotWritten(Exception):
    """Nobody has written this, or tried to."""


class SqliteConnection(Protocol):
    """What `apsw` and Python's own `sqlite3` have in common."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statement: str, bindings: tuple[Argument, ...] = (), /) -> Any: ...  # noqa: ANN401 - a cursor

    def close(self) -> None: ...


class SqliteRecords:
    """Opened when it is first used, so that a process may be forked before.

    `connect` chooses the library. It opens a connection that begins no transaction by itself.
    """

    def __init__(self, path: Path | str, *, connect: Callable[[str], SqliteConnection] = apsw.Connection) -> None:
        self._statements = kit_statements("sqlite")
        self._writing = _Connected(path, connect)
        self._reading = _Connected(path, connect)
        self._waiting: deque[_Change] = deque()

    async def create_tables(self) -> list[str]:
        """Make what is not there yet, however many do so at once. Says what was made."""
        return await self._writing.do(self._create_tables)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._reading.do(lambda connection: _select(connection, self._statements[name], arguments))

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        change = _Change(self._statements[name], arguments)
        self._waiting.append(change)
        try:
            await self._writing.do(lambda connection: self._write(change, connection))
        except BaseException:
            change.is_wanted = False
            with suppress(ValueError):  # somebody else is at it, or has written it
                self._waiting.remove(change)
            raise
        if isinstance(change.outcome, Exception):
            raise change.outcome
        return change.outcome

    async def close(self) -> None:
        await self._reading.close()
        await self._writing.close()

    def _write(self, change: "_Change", connection: SqliteConnection) -> None:
        """Until it is written, or refused, together with what came before it: others may have left."""
        while isinstance(change.outcome, NotWritten) and self._waiting:
            self._write_what_waits(connection)

    def _write_what_waits(self, connection: SqliteConnection) -> None:
        batch: list[_Change] = []
        with suppress(IndexError):  # whoever goes away meanwhile takes theirs along
            while len(batch) < MOST_AT_ONCE:
                batch.append(self._waiting.popleft())
        try:
            connection.execute("BEGIN IMMEDIATE")
            for change in batch:
                if change.is_wanted:
                    change.run(connection)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to everybody whose change it undid
            for change in batch:
                change.outcome = error
            _roll_back(connection)

    def _create_tables(self, connection: SqliteConnection) -> list[str]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(self._statements["create_kit_migrations"])
            made = {number for (number,) in connection.execute(self._statements["applied_kit_migrations"])}
            todo = [migration for migration in kit_migrations("sqlite") if migration.number not in made]
            for migration in todo:
                for statement in migration.sql.split(";\n"):
                    connection.execute(statement)
                connection.execute(self._statements["add_kit_migration"], (migration.number, migration.name))
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        return [migration.name for migration in todo]


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


class _Change:
    """A statement that waits to be written, and what came of it."""

    def __init__(self, sql: str, arguments: tuple[Argument, ...]) -> None:
        self.outcome: int | Exception = NotWritten()
        self.is_wanted = True
        self._sql = sql
        self._arguments = arguments

    def run(self, connection: SqliteConnection) -> None:
        """A statement that the database refuses is undone alone; a transaction that is gone is everybody's loss."""
        try:
            self.outcome = _change(connection, self._sql, self._arguments)
        except Exception as error:
            if not connection.in_transaction:
                raise
            self.outcome = error


class _Connected:
    """A connection, and the one thread that uses it."""

    def __init__(self, path: Path | str, connect: Callable[[str], SqliteConnection]) -> None:
        self._path = path
        self._connect = connect
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="kit-records")
        self._connection: SqliteConnection | None = None

    async def do(self, work: Callable[[SqliteConnection], T]) -> T:
        return await asyncio.wrap_future(self._thread.submit(lambda: work(self._open())))

    async def close(self) -> None:
        await asyncio.wrap_future(self._thread.submit(self._close))
        self._thread.shutdown()

    def _open(self) -> SqliteConnection:
        if self._connection is None:
            connection = self._connect(str(self._path))
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            _begin_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            self._connection = connection
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _begin_wal(connection: SqliteConnection) -> None:
    """Of two that turn a new file to WAL at once, one is told that it is busy without being let wait."""
    for _ in range(TRIES - 1):
        with suppress(Exception):  # each library has its own word for busy; what is no such thing fails in the end
            connection.execute("PRAGMA journal_mode = WAL")
            return
        time.sleep(BUSY_MS / 1000 / TRIES)
    connection.execute("PRAGMA journal_mode = WAL")


def _select(connection: SqliteConnection, sql: str, arguments: tuple[Argument, ...]) -> Sequence[Any]:
    rows: list[Any] = connection.execute(sql, arguments).fetchall()
    return rows


def _change(connection: SqliteConnection, sql: str, arguments: tuple[Argument, ...]) -> int:
    connection.execute(sql, arguments)
    changed: int = connection.execute("SELECT changes()").fetchall()[0][0]
    return changed


def _roll_back(connection: SqliteConnection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
