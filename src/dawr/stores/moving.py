"""An embedded installation moved to PostgreSQL: all of it or nothing, and proved before it counts.

Each database says which tables it has, so that none can be forgotten. Rows are copied in one
transaction, then read again on both sides: every table has as many rows and the same checksum
here and there, or the whole copy is taken back. Nothing is held in memory but a few rows.

From before the commit until both sides know of it, a mark on each side keeps it from serving: the directory's is on
its disk before the commit is sent, PostgreSQL's is part of it and goes when the directory is marked as moved.

The traffic statistics are a file of their own here, and tables of the same database there.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

import apsw
import asyncpg
import msgspec

from dawr.ports import Clock
from dawr.reliability.migrations import Journal, migrate_sqlite
from dawr.stores import reasons
from dawr.stores.migrations import journal
from dawr.stores.postgres import PostgresStore
from dawr.stores.session import Row, all_statements
from dawr.stores.sqlite_connections import open_reading

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CONNECT_SECONDS = 10
ROWS_AT_ONCE = 2000
CHECKSUM_BYTES = 16
SERVER_SETTINGS = {
    "application_name": "dawr migrate",
    "lock_timeout": "10s",
    "statement_timeout": "0",  # a large table takes its time
    "idle_in_transaction_session_timeout": "0",
    "tcp_keepalives_idle": "30",  # if this end is gone, the server takes the copy back soon
    "timezone": "UTC",
}
ALWAYS_THERE = "installation"
"""Its one row is made with the schema."""


class MoveFailed(Exception):
    """It was not moved; the sentence says why and what to do."""


class SourceFile(msgspec.Struct, frozen=True):
    path: Path
    journal: Journal
    """Where it remembers which migrations were applied to it."""


class Departure(NamedTuple):
    """The directory that an installation moves from."""

    place: str
    mark: Callable[[str], None]
    """Keep the directory from serving; called with the target's identity before the copy is committed."""


class Table(msgspec.Struct, frozen=True):
    name: str
    columns: tuple[str, ...]
    """By name: the two databases may have them in another order."""
    reading: str
    """The statement that reads all of it."""


class Source(NamedTuple):
    """A file that is open, and what is moved from it."""

    connection: apsw.Connection
    tables: list[Table]


class Digest(msgspec.Struct, frozen=True):
    """How many rows there are, and the sum of their hashes: the order in which they come does not matter."""

    rows: int = 0
    total: int = 0

    def plus(self, rows: Iterable[Row]) -> Self:
        count, total = self.rows, self.total
        for row in rows:
            total += int.from_bytes(blake2b(canonical(row), digest_size=CHECKSUM_BYTES).digest())
            count += 1
        return type(self)(count, total % 256**CHECKSUM_BYTES)

    @property
    def checksum(self) -> str:
        return self.total.to_bytes(CHECKSUM_BYTES).hex()


class Compared(msgspec.Struct, frozen=True):
    """One table on both sides."""

    table: str
    here: Digest
    there: Digest

    @property
    def is_equal(self) -> bool:
        return self.here == self.there


class Copy(msgspec.Struct, frozen=True):
    """What came of it."""

    tables: tuple[Compared, ...]
    was_there: bool
    """An earlier run had stored it, and did not come to say so."""
    begins_epochs: bool
    """The source is a restored backup that nobody has opened yet: its streams must not resume."""
    identity: str
    """Of the database that has it now."""

    @property
    def is_proved(self) -> bool:
        return all(table.is_equal for table in self.tables)


async def copy_to_postgres(
    database: Path, url: str, *, clock: Clock, statistics: SourceFile, departure: Departure | None = None
) -> Copy:
    """Copy both files, which nobody may write to meanwhile, into an empty database. What is not proved is not stored.

    Statistics that are not there are empty ones. With a `departure` the copy serves after `finish_move` only.
    """
    with _sources(SourceFile(database, journal("sqlite", all_statements("sqlite"), clock)), statistics) as sources:
        here = [table for source in sources for table in source.tables]
        async with _connected(url) as target:
            await _refuse_what_is_used(target, here)
            await _migrate(url, clock)
            digests = {t.name: Digest().plus(s.connection.execute(t.reading)) for s in sources for t in s.tables}
            try:
                return await _copied(sources, target, here, digests, departure)
            except _Different as different:
                return different.copy


async def finish_move(url: str, identity: str) -> bool:
    """Let the copy serve, once its directory is marked as moved. Return False if nothing kept it from that."""
    sql = all_statements("postgres")
    async with _connected(url) as target:
        if await target.fetchval(sql["this_database"]) != identity:
            return False
        try:
            return await target.execute(sql["end_move"]) != "UPDATE 0"
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):  # an earlier version moved it
            return False


def unreadable_tables(database: Path) -> list[str]:
    """Those of the file with a text that is not UTF-8, which no statement need come across for years."""
    with closing(open_reading(database)) as source:
        try:
            listed = tables_of(source.execute(all_statements("sqlite")["tables_to_move"]))
            return [table.name for table in listed if not _is_readable(source, table)]
        except apsw.Error:  # a damaged file: whoever looks at its pages has a better sentence
            return []


def _is_readable(source: apsw.Connection, table: Table) -> bool:
    try:
        for _ in source.execute(table.reading):
            pass
    except UnicodeDecodeError:
        return False
    return True


def canonical(row: Row) -> bytes:
    """The same bytes for the same values, whichever driver they come from; other bytes for all others."""
    return msgspec.msgpack.encode(tuple(row))


def without_secrets(url: str) -> str:
    """An address to print: whose, where and which, and nothing else of it."""
    parts = urlsplit(url)
    user, at, place = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{place}{parts.path}"


class _Different(Exception):
    """The two sides are not the same; raised so that the transaction is taken back."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy


# Here


@contextmanager
def _sources(database: SourceFile, statistics: SourceFile) -> Iterator[list[Source]]:
    """A table that both have is the reliability kit's, and each file needs its own: that of the database is moved."""
    with opened(database) as first, opened(statistics) if statistics.path.exists() else _empty(statistics) as second:
        moved = {table.name for table in first.tables}
        yield [first, Source(second.connection, [table for table in second.tables if table.name not in moved])]


@contextmanager
def opened(file: SourceFile) -> Iterator[Source]:
    """The file as it is now, to be read only. Its schema must be the one that is known."""
    try:
        with closing(open_reading(file.path)) as connection:
            connection.execute("BEGIN")
            listed = tables_of(connection.execute(all_statements("sqlite")["tables_to_move"]))
            applied = connection.execute(file.journal.applied).fetchall() if listed else []
            if behind := file.journal.pending(applied):
                titles = ", ".join(migration.title for migration in behind)
                raise MoveFailed(f"The schema of {file.path} is behind: run `dawr migrate` first to apply {titles}.")
            yield Source(connection, listed)
    except (apsw.Error, UnicodeDecodeError) as error:
        why = reasons.of_sqlite(error) if isinstance(error, apsw.Error) else "it holds text that is none."
        raise MoveFailed(f"{file.path} cannot be read: {why} Nothing was moved; `dawr check` says more.") from error


@contextmanager
def _empty(file: SourceFile) -> Iterator[Source]:
    """What the file would be if it were there, and nothing in it."""
    with closing(apsw.Connection(":memory:")) as connection:
        migrate_sqlite(connection, file.journal)
        yield Source(connection, tables_of(connection.execute(all_statements("sqlite")["tables_to_move"])))


def tables_of(rows: Iterable[Row]) -> list[Table]:
    return [Table(name, tuple(msgspec.json.decode(columns)), reading) for name, columns, reading in rows]


# There


async def connect(url: str) -> Connection:
    try:
        return await asyncpg.connect(url, timeout=CONNECT_SECONDS, server_settings=SERVER_SETTINGS)
    except (ValueError, OverflowError):  # its words may repeat a part of the password
        raise MoveFailed(
            "The address of PostgreSQL cannot be used: write it as postgresql://user@host/name, "
            "with special characters percent-encoded."
        ) from None


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    try:
        target = await connect(url)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise MoveFailed(f"PostgreSQL cannot be reached: {reasons.of_postgres(error)}") from error
    try:
        yield target
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise MoveFailed(
            f"PostgreSQL did not take the copy: {reasons.of_postgres(error)} "
            "Run the same command again: it finds out whether anything was stored."
        ) from error
    finally:
        await target.close(timeout=CONNECT_SECONDS)


async def _refuse_what_is_used(target: Connection, here: Iterable[Table]) -> None:
    """Before anything is made there: neither a server's database nor another program's."""
    sql = all_statements("postgres")
    if servers := await target.fetchval(sql["servers_here"]):
        raise MoveFailed(
            f"A Dawr is connected to that database ({servers} connections): stop it first, and start it after the move."
        )
    there = {table.name for table in tables_of(await target.fetch(sql["tables_to_move"]))}
    if foreign := sorted(there - {table.name for table in here}):
        raise MoveFailed(
            f"That database has tables that are not Dawr's ({', '.join(foreign)}): make a database for Dawr alone."
        )


async def _migrate(url: str, clock: Clock) -> None:
    store = await PostgresStore.open(url, clock=clock)
    try:
        await store.migrate(to_move=True)
    finally:
        await store.close()


async def _copied(
    sources: Sequence[Source],
    target: Connection,
    here: list[Table],
    digests: Mapping[str, Digest],
    departure: Departure | None,
) -> Copy:
    """In one transaction: empty before, complete and proved after, or as it was."""
    sql = all_statements("postgres")
    begins_epochs = sources[0].connection.execute(all_statements("sqlite")["is_copy"]).fetchall() == [(1,)]
    async with target.transaction():
        await target.execute(sql["lock_tables"])
        there = tables_of(await target.fetch(sql["tables_to_move"]))
        _must_be_alike(here, there)
        named = [table for table in there if table.name != ALWAYS_THERE]
        used = [table.name for table in named if await target.fetchrow(table.reading) is not None]
        if not used:
            await target.execute(sql["forget_installation"])
            for source in sources:
                for table in source.tables:
                    await _send(source.connection, target, table)
        identity = await target.fetchval(sql["this_database"])
        compared = await _compared(target, there, digests)
        copy = Copy(compared, was_there=bool(used), begins_epochs=begins_epochs, identity=identity)
        # An earlier run may have been cut off when all was stored: then it is the same, to the last row.
        if used and not copy.is_proved:
            raise MoveFailed(
                f"That database is not empty ({', '.join(used)}), and is not a copy of this one as it is now. "
                "Nothing was moved. Make an empty database and name that one."
            )
        if not copy.is_proved:
            raise _Different(copy)
        if not used:
            await _settle(sources, target, begins_epochs=begins_epochs)
        if departure is not None:
            await target.execute(sql["begin_move"], departure.place)
            departure.mark(copy.identity)
    return copy


def _must_be_alike(here: Iterable[Table], there: Iterable[Table]) -> None:
    ours, theirs = ({table.name: table.columns for table in side} for side in (here, there))
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise MoveFailed(f"Table {name} is not the same on both sides: were the tables changed by hand?")


async def _send(source: apsw.Connection, target: Connection, table: Table) -> None:
    try:
        await target.copy_records_to_table(
            table.name, records=(row for row in source.execute(table.reading)), columns=list(table.columns)
        )
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, OverflowError, UnicodeEncodeError) as error:
        raise MoveFailed(
            f"Table {table.name} holds what PostgreSQL does not take{_with_nul(source, table)}: {error}. "
            "Nothing was moved. Dawr does not write such rows: were they written by hand?"
        ) from error


async def _settle(sources: Iterable[Source], target: Connection, *, begins_epochs: bool) -> None:
    """It goes on where it was. Tables that number their rows give no number again, also not that of a row now gone."""
    sql = all_statements("postgres")
    if not begins_epochs:
        await target.execute(sql["settle"])
    for source in sources:
        if source.connection.table_exists("main", "sqlite_sequence"):
            for table, last in source.connection.execute(all_statements("sqlite")["last_numbers"]):
                await target.execute(sql["go_on_behind"], table, last)


def _with_nul(source: apsw.Connection, table: Table) -> str:
    """Which columns have the one character that PostgreSQL has no place for."""
    found = {
        column
        for row in source.execute(table.reading)
        for column, value in zip(table.columns, row, strict=True)
        if isinstance(value, str) and "\0" in value
    }
    return f" (a NUL character in {', '.join(sorted(found))})" if found else ""


async def _compared(target: Connection, there: Iterable[Table], digests: Mapping[str, Digest]) -> tuple[Compared, ...]:
    return tuple([Compared(table.name, digests[table.name], await digest_of(target, table)) for table in there])


async def digest_of(target: Connection, table: Table) -> Digest:
    digest = Digest()
    cursor = await target.cursor(table.reading)
    while rows := await cursor.fetch(ROWS_AT_ONCE):
        digest = digest.plus(rows)
    return digest
