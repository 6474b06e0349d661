"""The statistics in PostgreSQL, where any number of hosts put theirs."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, TypeVar

import asyncpg

from dawr.reliability.migrations import migrate_postgres
from dawr.reliability.postgres_records import PostgresTransaction as KitTransaction
from dawr.reliability.records import Argument, kit_journal
from dawr.traffic.database import DatabaseAway, Transaction, Value, journal, statements

if TYPE_CHECKING:
    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

T = TypeVar("T")

CONNECT_SECONDS = 2
WRITE_SECONDS = 10.0
READ_SECONDS = 30.0
CLOSE_SECONDS = 1.0
CONNECTIONS = 2
SERVER_SETTINGS = {
    "application_name": "dawr",
    "lock_timeout": "5s",
    "statement_timeout": "30s",
    "idle_in_transaction_session_timeout": "10s",
    "tcp_keepalives_idle": "60",
    "timezone": "UTC",
    "jit": "off",
    "enable_seqscan": "off",  # a plan made while a table was small must still suit it when it is large
}
A_ROWS_FAULT = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError)
"""The server will not take a row. Whatever else it says is about itself, and about no message."""
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresError,
)


class PostgresDatabase:
    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._statements = statements("postgres")

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connects when it is first used, so it can be opened while the server is away."""
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=CONNECTIONS,
            timeout=CONNECT_SECONDS,
            server_settings=SERVER_SETTINGS,
            max_inactive_connection_lifetime=0,
            reset=_nothing_to_reset,
        )
        return cls(pool)

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """What was not confirmed may have been committed: whoever asks again must see whether it was.

        The commit waits for no disk: what a crash takes back is still in the queue or in a spool; see `sync`.
        """
        return await self._within("BEGIN; SET LOCAL synchronous_commit = off", work, WRITE_SECONDS)

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        return await self._within("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work, READ_SECONDS)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        """One statement is one picture by itself."""
        sql = self._statements[name]
        return await self._connected(lambda connection: connection.fetch(sql, *arguments), READ_SECONDS)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        """One statement, and the disk has it. A lease that a crash took back would be taken twice."""
        sql = self._statements[name]
        tag = await self._connected(lambda connection: connection.execute(sql, *arguments), WRITE_SECONDS)
        return int(tag.rpartition(" ")[2])

    async def create_tables(self) -> list[str]:
        async def create(transaction: Transaction) -> list[str]:
            assert isinstance(transaction, PostgresTransaction)  # noqa: S101 - which other would it be
            connection = transaction.connection
            made = await migrate_postgres(connection, kit_journal("postgres"), lock="reliability kit")
            made += await migrate_postgres(connection, journal("postgres"), lock="traffic")
            return [migration.title for migration in made]

        return await self.transact(create)

    async def sync(self) -> None:
        """A commit that waits for the disk waits for all before it."""
        await self.change_rows("commit_to_disk")

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), CLOSE_SECONDS)
        except TimeoutError:
            self._pool.terminate()

    async def _within(self, begin: str, work: Callable[[Transaction], Awaitable[T]], seconds: float) -> T:
        async def within(connection: "Connection") -> T:
            await connection.execute(begin)
            try:
                answer = await work(PostgresTransaction(connection, self._statements))
            except Exception as error:
                if not _is_away(error):
                    await connection.execute("ROLLBACK")
                raise
            await connection.execute("COMMIT")
            return answer

        return await self._connected(within, seconds)

    async def _connected(self, work: Callable[["Connection"], Awaitable[T]], seconds: float) -> T:
        """A connection that is lost, late or left in the middle of something is thrown away."""
        connection: Connection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._pool.acquire()
                return await work(connection)
        except BaseException as error:
            is_broken = _is_away(error) or not isinstance(error, Exception)
            if connection is not None and is_broken:
                with suppress(asyncpg.InterfaceError):
                    connection.terminate()
            if _is_away(error):
                raise DatabaseAway(f"PostgreSQL: {str(error) or type(error).__name__}") from error
            raise
        finally:
            if connection is not None:
                with suppress(Exception):
                    await self._pool.release(connection)


class PostgresTransaction(KitTransaction):
    def __init__(self, connection: "Connection", sql: dict[str, str]) -> None:
        super().__init__(connection)
        self.connection = connection
        self._statements = sql

    async def select_each(self, name: str, keys: Sequence[Sequence[Value]]) -> list[Any]:
        return list(await self.connection.fetch(self._statements[name], *_columns(keys))) if keys else []

    async def change_each(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        if rows:
            await self.connection.execute(self._statements[name], *_columns(rows))


def _is_away(error: BaseException) -> bool:
    return isinstance(error, AWAY) and not isinstance(error, A_ROWS_FAULT)


def _columns(rows: Sequence[Sequence[Value]]) -> list[list[Value]]:
    return [list(column) for column in zip(*rows, strict=True)]


async def _nothing_to_reset(_: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Nothing is set but within transactions."""
