"""Where the kit keeps its rows: the named statements of its `sql` folder in, rows and row counts out."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Protocol

import msgspec

from dawr.reliability.statements import read_statements

Argument = str | int | bytes | None


class Records(Protocol):
    """A database that has the kit's tables."""

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        """Run one statement that reads what is committed."""

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        """Run one statement that writes, in a transaction of its own. Says how many rows it changed."""


class OpenTransaction(Records, Protocol):
    """The same within a transaction that the caller opened, and will commit or roll back."""

    def must_be_open(self) -> None:
        """Raise `NotInTransaction` unless it is."""

    def waiting_at_most(self, ms: int) -> Records:
        """The same, but what somebody else is changing is waited for so long: then `RowHeld`, and roll back."""


class NotInTransaction(Exception):
    """This connection has no open transaction: begin one, or the answer would not commit with its effect."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class RowHeld(Exception):
    """Another transaction is changing this row, and has not ended yet."""


class Migration(msgspec.Struct, frozen=True):
    """A step in the making of the kit's tables, for a database that only the kit looks after."""

    number: int
    name: str
    sql: str


def kit_statements(dialect: str) -> dict[str, str]:
    return read_statements(files("dawr.reliability") / "sql" / dialect)


def kit_migrations(dialect: str) -> list[Migration]:
    """All steps, in their order."""
    found = []
    for file in (files("dawr.reliability") / "sql" / dialect / "migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        found.append(Migration(int(number), name, file.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.number)
