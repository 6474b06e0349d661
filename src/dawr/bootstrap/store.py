"""The store that the settings name: opened to write, or to be read only."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from dawr.bootstrap.system import now
from dawr.ports import Store
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit, make_private
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store alone; an embedded one is locked, because it has one writer."""
    if settings.database_url:
        async with _opened_postgres(settings) as postgres:
            yield postgres
        return
    directory = DataDirectory(Path(settings.data))
    directory.prepare()
    directory.lock()
    make_private(directory.database)
    sqlite = SqliteStore(directory.database, clock=now)
    try:
        yield sqlite
    finally:
        await sqlite.close()
        directory.unlock()


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Store]:
    """The store for a tool that only reads, also while a server writes."""
    if settings.database_url:
        async with _opened_postgres(settings) as postgres:
            yield postgres
        return
    database = DataDirectory(Path(settings.data)).database
    if not database.exists():
        raise DataDirectoryUnfit(f"There is no database in {settings.data} yet: `dawr serve` makes one.")
    sqlite = SqliteStore(database, clock=now)
    try:
        yield sqlite
    finally:
        await sqlite.close()


@asynccontextmanager
async def _opened_postgres(settings: Settings) -> AsyncIterator[Store]:
    try:
        store = await PostgresStore.open(settings.database_url, clock=now, lanes=settings.lanes)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_DATABASE_URL cannot be used: {error}.") from error
    try:
        yield store
    finally:
        await store.close()
