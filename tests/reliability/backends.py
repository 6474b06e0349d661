"""The databases that the kit's rows can be in: alone, and in the two stores that Dawr brings along."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from dawr.reliability.postgres_records import PostgresRecords
from dawr.reliability.records import Records
from dawr.reliability.sqlite_records import SqliteRecords
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from tests.stores.databases import PostgresDatabase, SqliteDatabase, wall_clock

LOG_SECRET = b"the secret of a test's log lines"
KINDS = ("sqlite", "sqlite3", "postgres", "dawr-sqlite", "dawr-postgres")


class Backend:
    """One database. Whoever opens it has connections of their own, as another process would."""

    def __init__(self, kind: str, *, path: Path, url: str) -> None:
        self.kind = kind
        self.address = str(path) if "sqlite" in kind else url
        self._database: Any = SqliteDatabase(path) if "sqlite" in kind else PostgresDatabase(url)
        if kind == "sqlite3":
            self._database = Sqlite3Database(self.address)
        self._inside = AsyncExitStack()

    async def open(self) -> Records:
        return await self._inside.enter_async_context(opened(self.kind, self.address))

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = await self._database.rows(sql)
        return rows

    async def close(self) -> None:
        await self._inside.aclose()


class Sqlite3Database:
    """Looked into through the library that it is used with: two in one process undo each other's locks."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(connect_sqlite3(self._path)) as connection:
            return connection.execute(sql).fetchall()


def connect_sqlite3(path: str) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


@asynccontextmanager
async def opened(kind: str, address: str) -> AsyncIterator[Records]:
    """With its tables."""
    if kind in {"sqlite", "sqlite3"}:
        records = SqliteRecords(address, connect=apsw.Connection if kind == "sqlite" else connect_sqlite3)
        await records.create_tables()
        yield records
        await records.close()
    elif kind == "postgres":
        async with asyncpg.create_pool(address, min_size=0, max_size=8, ssl=False) as pool:
            pooled = PostgresRecords(pool)
            await pooled.create_tables()
            yield pooled
    else:
        store = (
            SqliteStore(Path(address), clock=wall_clock)
            if kind == "dawr-sqlite"
            else await PostgresStore.open(address, clock=wall_clock)
        )
        await store.migrate()
        yield store
        await store.close()
