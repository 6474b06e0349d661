"""The traffic statistics of an installation, made and looked into from outside."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dawr.traffic.database import Database
from dawr.traffic.directory import traffic_in
from dawr.traffic.postgres import PostgresDatabase
from dawr.traffic.sqlite import SqliteDatabase
from tests.cli.databases import rows_of
from tests.cli.installations import Installation
from tests.traffic.builders import an_event
from tests.traffic.tables import a_heartbeat, consumed, shipped

REQUESTS = 50


def open_statistics(installation: Installation) -> SqliteDatabase:
    """Of an embedded installation."""
    assert isinstance(installation.database, Path)
    return SqliteDatabase(traffic_in(installation.database.parent).database)


def with_statistics(installation: Installation, work: Callable[[Database], Awaitable[None]]) -> None:
    """The tables are made if they are not there."""

    async def run() -> None:
        database: Database
        if isinstance(installation.database, Path):
            traffic_in(installation.database.parent).prepare()
            database = open_statistics(installation)
        else:
            database = await PostgresDatabase.open(installation.database)
        await database.create_tables()
        await work(database)
        await database.close()

    with ThreadPoolExecutor(1) as pool:  # a test may have a loop of its own
        pool.submit(asyncio.run, run()).result()


async def counted(database: Database, now: int, *, poison: int = 1) -> None:
    """Requests of this minute, shipped and counted, and a heartbeat."""
    await shipped(database, [an_event(number, at=now, ms=number) for number in range(REQUESTS)], poison=poison, now=now)
    await consumed(database, now=now)
    await a_heartbeat(database, beat_at=now, began_at=now)


def rows_in(installation: Installation, sql: str) -> list[tuple[Any, ...]]:
    if isinstance(installation.database, Path):
        return rows_of(open_statistics(installation).path, sql)
    return rows_of(installation.database, sql)
