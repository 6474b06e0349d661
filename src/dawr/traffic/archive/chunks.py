"""A table in the order of its key, some rows at a time: neither memory nor the database is held meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from dawr.reliability.records import Argument
from dawr.traffic.database import Database

ROWS_AT_ONCE = 1000


async def chunks(
    database: Database, name: str, after: Sequence[Argument], *bounds: Argument
) -> AsyncIterator[Sequence[Any]]:
    """From after this key on. The statement's first columns are the key."""
    key = tuple(after)
    while rows := await database.select_rows(name, *key, *bounds, ROWS_AT_ONCE):
        yield rows
        key = tuple(rows[-1][: len(key)])
        await asyncio.sleep(0)
