"""The kit's rows in PostgreSQL, or within a transaction that the caller has open there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from dawr.reliability.migrations import migrate_postgres
from dawr.reliability.records import Argument, NotInTransaction, Records, RowHeld, kit_journal, kit_statements

T = TypeVar("T")
if TYPE_CHECKING:
    Pooled = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | Pooled

PATIENCE_SECONDS = 5.0
RESET_SECONDS = 1.0
CREATE_SECONDS = 60.0


class PostgresRecords:
    """A statement takes a connection of the pool, and at most five seconds, also when the server is frozen."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self._statements = kit_statements("postgres")

    async def create_tables(self) -> list[str]:
        """Make what is not there yet, however many do so at once. Says what was made."""
        return await self._run(self._create_tables, CREATE_SECONDS)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._run(lambda c: c.fetch(self._statements[name], *arguments), PATIENCE_SECONDS)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return _rows_in(await self._run(lambda c: c.execute(self._statements[name], *arguments), PATIENCE_SECONDS))

    async def _run(self, work: Callable[["Pooled"], Awaitable[T]], seconds: float) -> T:
        """Whoever runs out of time, or is cancelled, leaves at once: no connection that failed is asked once more."""
        connection: Pooled | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._pool.acquire()
                return await work(connection)
        except BaseException:
            if connection is not None:
                with suppress(asyncpg.InterfaceError):  # a connection that was lost has gone back by itself
                    connection.terminate()
            raise
        finally:
            if connection is not None:
                with suppress(Exception):  # the pool throws it away then; what it answered holds
                    await self._pool.release(connection, timeout=RESET_SECONDS)

    async def _create_tables(self, connection: "Pooled") -> list[str]:
        async with connection.transaction():
            made = await migrate_postgres(connection, kit_journal("postgres"), lock="reliability kit")
        return [migration.name for migration in made]


class PostgresTransaction:
    """The caller's, on its own connection, at READ COMMITTED: there a second look sees what was waited for."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._statements = kit_statements("postgres")

    def must_be_open(self) -> None:
        if not self._connection.is_in_transaction():
            raise NotInTransaction

    def waiting_at_most(self, ms: int) -> Records:
        return _Impatient(self._connection, ms)

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._connection.fetch(self._statements[name], *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return _rows_in(await self._connection.execute(self._statements[name], *arguments))


class _Impatient(PostgresTransaction):
    """Only for its own statements: how long the caller's wait is put back as it was."""

    def __init__(self, connection: "Connection", ms: int) -> None:
        super().__init__(connection)
        self._ms = max(ms, 1)  # 0 is PostgreSQL's word for ever

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        before = await self._wait_for_locks(str(self._ms))
        try:
            changed = await super().change_rows(name, *arguments)
        except asyncpg.LockNotAvailableError:
            raise RowHeld from None
        await self._wait_for_locks(before)
        return changed

    async def _wait_for_locks(self, how_long: str) -> str:
        """How long it was before. It ends with the transaction in any case."""
        before: str = await self._connection.fetchval(
            "SELECT current_setting('lock_timeout'), set_config('lock_timeout', $1, true)", how_long
        )
        return before


def _rows_in(tag: str) -> int:
    """`UPDATE 1`, `INSERT 0 1`: the last number says how many rows it was."""
    return int(tag.rpartition(" ")[2])
