"""A store of either kind, for tests that walk through it at random."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.machine import World
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Of the store that is named when the test is parametrised."""
    database: Database = (
        SqliteDatabase(tmp_path / "dawr.db")
        if request.param == "sqlite"
        else PostgresDatabase(request.getfixturevalue("postgres_url"))
    )
    world = World(database)
    yield world
    world.close()
