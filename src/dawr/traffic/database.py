"""Where the statistics are kept: the named statements of the `sql` folder in, rows and row counts out.

Two databases can do it: a file of SQLite that the traffic process alone writes to, and PostgreSQL.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from dawr.reliability.migrations import Journal, journal_of_one, read_migrations
from dawr.reliability.records import Argument, OpenTransaction, Records
from dawr.reliability.statements import read_statements

T = TypeVar("T")

Value = Argument | float
OWNERS: Mapping[str, str] = {"traffic": "dawr.traffic"}


class Transaction(OpenTransaction, Protocol):
    """One open transaction. What is asked for many keys or rows at once costs one round trip."""

    async def select_each(self, name: str, keys: Sequence[Sequence[Value]]) -> list[Any]:
        """The rows of all these keys, in any order."""

    async def change_each(self, name: str, rows: Sequence[Sequence[Value]]) -> None:
        """Write all these rows."""


class Database(Records, Protocol):
    """A database that has the tables of the statistics, and the kit's."""

    async def transact(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """What the work returns, once all it wrote is committed. Whatever it raises takes all of it back."""

    async def read(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """The same in one consistent picture, which nothing can be written in."""

    async def create_tables(self) -> list[str]:
        """Make what is not there yet. Says what was made."""

    async def sync(self) -> None:
        """When it returns, the disk has all that was committed."""

    async def close(self) -> None: ...


class DatabaseAway(Exception):
    """The database of the statistics cannot be reached; whatever waits goes on waiting."""


@cache
def statements(dialect: str) -> dict[str, str]:
    """Ours and the kit's, by name."""
    return read_statements(*(files(package) / "sql" / dialect for package in (*OWNERS.values(), "dawr.reliability")))


def journal(dialect: str) -> Journal:
    """For a database in which only we make tables."""
    sql = statements(dialect)
    return journal_of_one(
        read_migrations(dialect, OWNERS),
        create=sql["create_traffic_migrations"],
        applied=sql["applied_traffic_migrations"],
        add=sql["add_traffic_migration"],
    )
