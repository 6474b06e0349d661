"""Where the kit keeps its rows: the named statements of its `sql` folder in, rows and row counts out."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from dawr.reliability.migrations import Journal, journal_of_one, read_migrations
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


@cache
def kit_statements(dialect: str) -> dict[str, str]:
    return read_statements(files("dawr.reliability") / "sql" / dialect)


def kit_journal(dialect: str) -> Journal:
    sql = kit_statements(dialect)
    return journal_of_one(
        read_migrations(dialect, {"reliability": "dawr.reliability"}),
        create=sql["create_kit_migrations"],
        applied=sql["applied_kit_migrations"],
        add=sql["add_kit_migration"],
    )
