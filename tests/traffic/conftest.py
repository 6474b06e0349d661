"""Both databases that the statistics can be kept in, empty and with their tables."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dawr.traffic.database import Database
from dawr.traffic.postgres import PostgresDatabase
from dawr.traffic.sqlite import SqliteDatabase


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    opened: Database
    if request.param == "sqlite":
        opened = SqliteDatabase(tmp_path / "traffic.sqlite")
    else:
        opened = await PostgresDatabase.open(request.getfixturevalue("postgres_url"))
    await opened.create_tables()
    yield opened
    await opened.close()
