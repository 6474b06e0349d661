"""A database looked into, and spoiled, from outside."""

import asyncio
from pathlib import Path
from typing import Any

import apsw
import asyncpg


def rows_of(database: Path | str, sql: str) -> list[tuple[Any, ...]]:
    """Run a statement on an embedded database (a path) or on PostgreSQL (a URL), and commit."""
    return _in_sqlite(database, sql) if isinstance(database, Path) else asyncio.run(_in_postgres(database, sql))


def _in_sqlite(path: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(60_000)
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def _in_postgres(url: str, sql: str) -> list[tuple[Any, ...]]:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url, ssl=False, timeout=60)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()
