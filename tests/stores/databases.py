"""A database of either kind: opened as the service opens it, and looked into from outside."""

import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg

from dawr.ports import Clock, Store
from dawr.reliability.migrations import Owners
from dawr.stores.migrations import OWNERS
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore


def wall_clock() -> int:
    """The machine's: PostgreSQL compares it with its own. What a test drives is the engine's clock."""
    return time.time_ns() // 1_000_000


class Database(Protocol):
    dialect: str

    async def open(self, clock: Clock = wall_clock, owners: Owners = OWNERS) -> Store:
        """A store of its own on this database, as after a restart."""

    def share(self, store: Store) -> contextlib.AbstractAsyncContextManager[Store]:
        """A store for another event loop: SQLite has one for all, PostgreSQL one for each."""

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What is committed, seen from outside. A statement that changes something is committed."""


class SqliteDatabase:
    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path

    async def open(self, clock: Clock = wall_clock, owners: Owners = OWNERS) -> Store:
        return SqliteStore(self.path, clock=clock, owners=owners)

    @contextlib.asynccontextmanager
    async def share(self, store: Store) -> AsyncIterator[Store]:
        yield store

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = apsw.Connection(str(self.path))
        try:
            connection.set_busy_timeout(5000)
            return list(connection.execute(sql))
        finally:
            connection.close()


class PostgresDatabase:
    dialect = "postgres"

    def __init__(self, url: str) -> None:
        self.url = url

    async def open(self, clock: Clock = wall_clock, owners: Owners = OWNERS) -> Store:
        return await PostgresStore.open(self.url, clock=clock, owners=owners)

    @contextlib.asynccontextmanager
    async def share(self, store: Store) -> AsyncIterator[Store]:  # noqa: ARG002 - SQLite's way needs it
        own = await self.open()
        try:
            yield own
        finally:
            await own.close()

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(self.url, ssl=False, timeout=60)
        try:
            return [tuple(row) for row in await connection.fetch(sql)]
        finally:
            await connection.close()
