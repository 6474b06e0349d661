"""Schema changes: numbered SQL files whose names say why, applied once, forward only.

Each owner of tables has its own numbers. A file that was applied may not change, and a
database that is ahead of this program is refused.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dawr.reliability.migrations import Journal, Migration, Owners, read_migrations

OWNERS: Owners = MappingProxyType({"dawr": "dawr.stores", "reliability": "dawr.reliability"})
BESIDE: Mapping[str, Owners] = {"sqlite": {}, "postgres": {"traffic": "dawr.traffic"}}
"""Whose tables are in the same database besides. An embedded installation has a file of its own for them."""


class SchemaUnfit(Exception):
    """The database does not fit this program; the sentence says what to do."""


def known(dialect: str, owners: Owners = OWNERS) -> list[Migration]:
    return read_migrations(dialect, {**owners, **BESIDE[dialect]})


def pending(dialect: str, applied: Iterable[Any], owners: Owners = OWNERS) -> list[Migration]:
    """What is still to be applied, in order; refuses a database that does not fit."""
    ours = {(m.owner, m.number): m for m in known(dialect, owners)}
    for owner, number, name, checksum in applied:
        migration = ours.pop((owner, number), None)
        if migration is None:
            raise SchemaUnfit(
                f"The database has migration {owner} {number:04} {name!r}, which this Dawr does not know: "
                "it was made by a newer one. Install that version, or restore a backup."
            )
        if migration.checksum != checksum:
            raise SchemaUnfit(f"Migration {migration.title!r} is not the one that was applied to this database.")
    return list(ours.values())


def journal(dialect: str, statements: Mapping[str, str], clock: Callable[[], int], owners: Owners = OWNERS) -> Journal:
    """Where a store remembers what was applied to it, and when."""
    return Journal(
        statements["create_migrations"],
        statements["applied_migrations"],
        statements["add_migration"],
        row=lambda m: (m.owner, m.number, m.name, m.checksum, clock()),
        pending=lambda applied: pending(dialect, applied, owners),
    )
