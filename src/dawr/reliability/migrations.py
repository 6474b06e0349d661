"""Numbered SQL files that make tables, each applied once, in their order.

An owner of tables is a name and a package. Its migrations are the files
`sql/<dialect>/migrations/000N_why_it_is_needed.sql` of the package, and have numbers of their own.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from dawr.reliability.sqlite import SqliteConnection

if TYPE_CHECKING:
    import asyncpg

Owners = Mapping[str, str]
"""The packages of owners of tables, by the owner's name."""


class Migration(msgspec.Struct, frozen=True):
    owner: str
    number: int
    name: str
    checksum: str
    sql: str = ""

    @property
    def title(self) -> str:
        return f"{self.owner} {self.number:04} {self.name.replace('_', ' ')}"


class Journal(msgspec.Struct, frozen=True):
    """Where a database remembers what was applied to it: three statements, and what they take and give."""

    create: str
    applied: str
    add: str
    row: Callable[[Migration], tuple[str | int, ...]]
    pending: Callable[[Iterable[Any]], list[Migration]]
    """Of the rows that are applied: what is still to be applied, in order."""


def journal_of_one(known: Iterable[Migration], *, create: str, applied: str, add: str) -> Journal:
    """For a database in which one owner alone makes tables. A newer version may have made more: that is no harm."""

    def pending(rows: Iterable[Any]) -> list[Migration]:
        numbers = {number for (number,) in rows}
        return [migration for migration in known if migration.number not in numbers]

    return Journal(create, applied, add, row=lambda migration: (migration.number, migration.name), pending=pending)


def read_migrations(dialect: str, owners: Owners) -> list[Migration]:
    """Those of all owners, each owner's in their order."""
    found = []
    for owner, package in owners.items():
        for file in (files(package) / "sql" / dialect / "migrations").iterdir():
            number, _, name = file.name.removesuffix(".sql").partition("_")
            sql = file.read_text(encoding="utf-8")
            found.append(Migration(owner, int(number), name, sha256(sql.encode()).hexdigest(), sql))
    return sorted(found, key=lambda migration: (migration.owner, migration.number))


def migrate_sqlite(connection: SqliteConnection, journal: Journal) -> list[Migration]:
    """Apply what is pending, in the transaction that the caller has begun to write in."""
    connection.execute(journal.create)
    todo = journal.pending(connection.execute(journal.applied).fetchall())
    for migration in todo:
        for statement in _statements(migration.sql):
            connection.execute(statement)
        connection.execute(journal.add, journal.row(migration))
    return todo


async def migrate_postgres(
    connection: "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]", journal: Journal, *, lock: str
) -> list[Migration]:
    """The same in the caller's transaction. Of all who take the lock of this name one migrates, and the others wait."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", lock)
    await connection.execute(journal.create)
    todo = journal.pending(await connection.fetch(journal.applied))
    for migration in todo:
        await connection.execute(migration.sql)
        await connection.execute(journal.add, *journal.row(migration))
    return todo


def _statements(script: str) -> Iterator[str]:
    """One by one, as Python's `sqlite3` wants them. Those within a trigger end none."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if apsw.complete(statement):
            yield statement
            statement = ""
    yield statement
