"""Days of details as tests of archives want them."""

from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from dawr.traffic.archive.part import Step
from dawr.traffic.archive.records import all_records
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of
from tests.traffic.builders import NOON, an_event, counted

DAY = day_of(NOON)
LATER = DAY + 4 * MS_PER_DAY + 2 * MS_PER_HOUR
"""02:00 of the first day on which every row of the day is older than three days."""
FILE = "2024-11-07.0.parquet"
ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For what is the same on both: the statements that it runs are held on both by other tests."""

Row = tuple[Any, ...]


class Stopped(Exception):
    """As good as killed: nothing is tidied up on the way out but what the system does itself."""


async def a_day_of(database: Database, rows: int) -> list[Row]:
    await counted(database, [an_event(n, at=NOON + n % 5000) for n in range(rows)])
    return await live(database)


async def live(database: Database) -> list[Row]:
    return [tuple(row) for row in await database.select_rows("next_events", "", "", "9", 10_000)]


def in_files(directory: TrafficDirectory) -> list[Row]:
    files = sorted(str(path) for path in directory.archive.glob("*.parquet"))
    with duckdb.connect() as connection:
        return connection.read_parquet(files).fetchall() if files else []


async def archived(database: Database, directory: TrafficDirectory) -> list[Row]:
    """What the recorded files have, when no other file is there and all their rows were deleted."""
    records = await all_records(database)
    assert sum(record.deleted for record in records) == sum(record.rows for record in records)
    assert {record.file for record in records} == {path.name for path in directory.archive.glob("*.parquet")}
    return in_files(directory)


def stopping_after(last: str) -> Callable[[Step], None]:
    """In the middle of what is done in several steps."""
    seen: list[str] = []

    def progress(step: Step) -> None:
        seen.append(step.name)
        if step.name == last and seen.count(last) == (2 if last in {"reading", "deleted"} else 1):
            raise Stopped

    return progress
