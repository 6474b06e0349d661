"""The store that the settings name: opened to write, or to be read only."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
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
    async with AsyncExitStack() as stack:
        if not settings.database_url:
            directory = DataDirectory(Path(settings.data))
            directory.prepare()
            directory.lock()
            stack.callback(directory.unlock)
            make_private(directory.database)
        store = await _store_of(settings)
        stack.push_async_callback(store.close)
        yield store


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Store]:
    """The store for a tool that only reads, also while a server writes."""
    if not settings.database_url and not DataDirectory(Path(settings.data)).database.exists():
        raise DataDirectoryUnfit(f"There is no database in {settings.data} yet: `dawr serve` makes one.")
    store = await _store_of(settings)
    try:
        yield store
    finally:
        await store.close()


async def _store_of(settings: Settings) -> Store:
    if not settings.database_url:
        return SqliteStore(DataDirectory(Path(settings.data)).database, clock=now)
    try:
        return await PostgresStore.open(settings.database_url, clock=now, lanes=settings.lanes)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_DATABASE_URL cannot be used: {error}.") from error
