"""The store that the settings name: opened to write, or to be read only."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import structlog

from dawr.bootstrap.system import now
from dawr.ports import Store
from dawr.reliability.disk import make_private
from dawr.settings import Settings, SettingUnfit
from dawr.stores.data_directory import DataDirectory, DataDirectoryUnfit
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore

log = structlog.get_logger("dawr")

INSPECTION_SECONDS = 5.0
"""So long may a start take longer than before, whatever the size of the file."""


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
            directory.remember_database()
        store = await _store_of(settings)
        stack.push_async_callback(store.close)
        yield store


@asynccontextmanager
async def reading(settings: Settings) -> AsyncIterator[Store]:
    """The store for a tool that only reads, also while a server writes."""
    directory = DataDirectory(Path(settings.data))
    if not settings.database_url and not directory.database.exists():
        directory.must_be_whole()
        raise DataDirectoryUnfit(
            f"There is no database in {directory.path} yet: `dawr serve` makes one. "
            "If yours is elsewhere, say where with --data or DAWR_DATA."
        )
    store = await _store_of(settings)
    try:
        yield store
    finally:
        await store.close()


async def inspect(store: Store) -> None:
    """Refuse a damaged file before anybody is told that it is ready. A large one is looked at in part."""
    if not await store.inspect(seconds=INSPECTION_SECONDS):
        log.info("store.inspected-in-part", seconds=INSPECTION_SECONDS)


async def _store_of(settings: Settings) -> Store:
    if not settings.database_url:
        return SqliteStore(DataDirectory(Path(settings.data)).database, clock=now)
    try:
        return await PostgresStore.open(settings.database_url, clock=now, lanes=settings.lanes)
    except ValueError as error:
        raise SettingUnfit(f"DAWR_DATABASE_URL cannot be used: {error}.") from error
