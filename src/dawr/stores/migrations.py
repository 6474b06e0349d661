"""Schema changes: numbered SQL files whose names say why, applied once, forward only.

Each owner of tables has its own numbers. A file that was applied may not change, and a
database that is ahead of this program is refused.
"""

from collections.abc import Iterable
from hashlib import sha256
from importlib.resources import files

import msgspec

from dawr.stores.session import Row

OWNERS = {"dawr": "dawr.stores", "reliability": "dawr.reliability"}


class Migration(msgspec.Struct, frozen=True):
    owner: str
    number: int
    name: str
    checksum: str
    sql: str = ""

    @property
    def identity(self) -> tuple[str, int, str, str]:
        return (self.owner, self.number, self.name, self.checksum)

    @property
    def title(self) -> str:
        return f"{self.owner} {self.number:04} {self.name.replace('_', ' ')}"


class SchemaUnfit(Exception):
    """The database does not fit this program; the sentence says what to do."""


def known(dialect: str) -> list[Migration]:
    found = []
    for owner, package in OWNERS.items():
        for file in (files(package) / "sql" / dialect / "migrations").iterdir():
            number, _, name = file.name.removesuffix(".sql").partition("_")
            sql = file.read_text(encoding="utf-8")
            found.append(Migration(owner, int(number), name, sha256(sql.encode()).hexdigest(), sql))
    return sorted(found, key=lambda migration: (migration.owner, migration.number))


def pending(dialect: str, applied: Iterable[Row]) -> list[Migration]:
    """What is still to be applied, in order; refuses a database that does not fit."""
    ours = {(m.owner, m.number): m for m in known(dialect)}
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
