"""What a process and the one that it started for DuckDB say to each other: one line of JSON each."""

from typing import TypeAlias

import msgspec

Cell: TypeAlias = str | int | float | bool | None
Key: TypeAlias = tuple[str, str]
"""The id of an event and its whole hash."""


class Problem(msgspec.Struct, frozen=True, tag=True):
    sentence: str


class WriteFile(msgspec.Struct, frozen=True, tag=True):
    """Details from lines of JSON into a new Parquet file."""

    source: str
    target: str


class FileWritten(msgspec.Struct, frozen=True, tag=True):
    """The disk has it."""

    rows: int
    sha256: str


class ReadFile(msgspec.Struct, frozen=True, tag=True):
    """Read a whole file back. One that has not this hash (if any is given) is not even opened."""

    file: str
    sha256: str = ""


class FileRead(msgspec.Struct, frozen=True, tag=True):
    sha256: str
    rows: int = -1
    checksum: str = ""


class NextKeys(msgspec.Struct, frozen=True, tag=True):
    """Of the file that was read last."""


class Keys(msgspec.Struct, frozen=True, tag=True):
    """None: these were all."""

    keys: list[Key]


class Question(msgspec.Struct, frozen=True, tag=True):
    sql: str


class Wanted(msgspec.Struct, frozen=True, tag=True):
    """The statement may be run; it reads these tables."""

    tables: list[str]


class Sources(msgspec.Struct, frozen=True, tag=True):
    """What it may read, and nothing else."""

    folder: str
    """For whatever does not fit into memory."""
    tables: dict[str, list[str]]
    """Files with lines of JSON; of details, those of days that are nowhere else."""
    overlapping: list[str]
    """Details of days that are partly in archives."""
    archives: list[str]
    overlapping_archives: list[str]
    """Of days that have several files, or details in the database too."""
    most_rows: int


class Columns(msgspec.Struct, frozen=True, tag=True):
    names: list[str]


class NextRows(msgspec.Struct, frozen=True, tag=True):
    """Of what was asked."""


class Rows(msgspec.Struct, frozen=True, tag=True):
    """None: this was all, or all that is shown."""

    rows: list[list[Cell]]
    is_cut: bool = False
