"""All operations, at random, one by one and at once, against a model, on both real stores."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dawr.domain.ticket import VERBS as TICKET_VERBS
from tests.operations.machine import Venues, World, walk
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    database: Database = (
        SqliteDatabase(tmp_path / "dawr.db")
        if request.param == "sqlite"
        else PostgresDatabase(request.getfixturevalue("postgres_url"))
    )
    world = World(database)
    yield world
    world.close()


@pytest.mark.parametrize(
    ("world", "examples"),
    [
        ("sqlite", 16),
        ("postgres", 8),
        pytest.param("sqlite", 80, marks=pytest.mark.slow),
        pytest.param("postgres", 24, marks=pytest.mark.slow),
    ],
    indirect=["world"],
)
def test_whatever_people_do_at_once_the_venue_does_as_if_it_were_one_after_the_other(
    world: World, examples: int
) -> None:
    walk(world, Venues, examples=examples)

    assert world.steps >= examples * 45
    assert world.kinds >= {change.event for change in TICKET_VERBS.values()}


@pytest.mark.prove
@pytest.mark.parametrize(("world", "examples"), [("sqlite", 600), ("postgres", 200)], indirect=["world"])
def test_a_long_walk_finds_no_other_way(world: World, examples: int) -> None:
    walk(world, Venues, examples=examples, steps=100)

    assert world.steps >= examples * 90
