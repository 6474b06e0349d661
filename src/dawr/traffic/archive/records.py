"""What is remembered of every file of an archive."""

from typing import Literal, NamedTuple

from dawr.traffic.database import Database

State = Literal["written", "emptied", "expired"]


class Record(NamedTuple):
    """A part of a day. `deleted` of its rows have left the table of details so far."""

    day: int
    part: int
    file: str
    """Empty: its rows are nowhere any longer."""
    rows: int
    deleted: int
    checksum: str
    sha256: str
    state: State


async def all_records(database: Database) -> list[Record]:
    return [Record(*row) for row in await database.select_rows("archives")]


async def records_of(database: Database, day: int) -> list[Record]:
    return [Record(*row) for row in await database.select_rows("archives_of_day", day)]
