"""The kit's rows in PostgreSQL, or within a transaction that the caller has open there."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from dawr.reliability.records import Argument, NotInTransaction, kit_migrations, kit_statements

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]
    Connection = asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]

PATIENCE_SECONDS = 5


class PostgresRecords:
    """A statement takes a connection of the pool, and at most five seconds."""

    def __init__(self, pool: "Pool") -> None:
        self._pool = pool
        self._statements = kit_statements("postgres")

    async def create_tables(self) -> list[str]:
        """Make what is not there yet, however many do so at once. Says what was made."""
        sql = self._statements
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext('reliability kit'))")
            await connection.execute(sql["create_kit_migrations"])
            made = {number for (number,) in await connection.fetch(sql["applied_kit_migrations"])}
            todo = [migration for migration in kit_migrations("postgres") if migration.number not in made]
            for migration in todo:
                await connection.execute(migration.sql)
                await connection.execute(sql["add_kit_migration"], migration.number, migration.name)
        return [migration.name for migration in todo]

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self._pool.fetch(self._statements[name], *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return _rows_in(await self._pool.execute(self._statements[name], *arguments))


class PostgresTransaction:
    """The caller's, on its own connection, at READ COMMITTED: there a second look sees what was waited for."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._statements = kit_statements("postgres")

    def must_be_open(self) -> None:
        if not self._connection.is_in_transaction():
            raise NotInTransaction

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        return await self._connection.fetch(self._statements[name], *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return _rows_in(await self._connection.execute(self._statements[name], *arguments))


def _rows_in(tag: str) -> int:
    """`UPDATE 1`, `INSERT 0 1`: the last number says how many rows it was."""
    return int(tag.rpartition(" ")[2])
