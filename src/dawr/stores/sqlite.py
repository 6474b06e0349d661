"""One SQLite file, one writer thread, a commit that waits for the disk.

A transaction runs whole in the writer thread, so work that is handed in may await only
the session. Readers see the last commit and never hold the writer up.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw
import msgspec

from dawr.domain.venue import Head, Venue, VenueId
from dawr.ports import Clock, OutcomeUnknown, Session, StoreAway, Unstorable, Venues
from dawr.stores import migrations
from dawr.stores.accounts import StoredAccounts
from dawr.stores.checking import faults_in
from dawr.stores.session import Row, RowSession, VenueCache, all_statements, begin

T = TypeVar("T")

BUSY_MS = 5000
READERS = 2
DOUBTED_MS = 10_000
WAL_PAGES_BEFORE_CHECKPOINT = 4000
WAL_BYTES_KEPT = 64 * 1024 * 1024


class SqliteStore:
    batches_at_once = 2
    """The writer goes on with the next batch at once, and does not wait for the event loop to hand it over."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self.path = path
        self.accounts = StoredAccounts(self)
        self._clock = clock
        self._statements = all_statements("sqlite")
        self._cache = VenueCache()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="dawr-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="dawr-reader")
        self._connections = threading.local()
        self._opened: list[apsw.Connection] = []
        self._writing = False
        self._failed_at: int | None = None

    async def transact(self, venues: Venues, work: Callable[[Session], Awaitable[T]]) -> T:
        try:
            result: T = await _in_thread(self._writer, self._transact, venues, work)
        except StoreAway:
            self._failed_at = self._clock()
            raise
        self._failed_at = None
        return result

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        return await _in_thread(self._readers, self._read, tuple(venues), work)

    async def add_venue(self, venue: Venue, head: Head) -> None:
        await _in_thread(self._writer, self._add_venue, venue, head)

    async def venue_ids(self) -> dict[str, VenueId]:
        return await _in_thread(self._readers, self._venue_ids)

    async def purge_answers(self, now: int, *, most: int) -> int:
        return await _in_thread(self._writer, self._purge_answers, now, most)

    async def select_rows(self, name: str, *arguments: str | int | None) -> list[Row]:
        return await _in_thread(self._readers, self._select_rows, name, arguments)

    async def change_rows(self, name: str, *arguments: str | int | None) -> int:
        return await _in_thread(self._writer, self._change_rows, name, arguments)

    async def ping(self) -> None:
        """On a disk that is nearly full a small write may succeed where a batch failed a moment ago."""
        if self._failed_at is not None and self._clock() - self._failed_at < DOUBTED_MS:
            raise StoreAway("SQLite: the last batch could not be stored")
        await _in_thread(self._writer, self._ping)

    async def migrate(self) -> list[str]:
        return await _in_thread(self._writer, self._migrate)

    async def renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        return await _in_thread(self._writer, self._renew_epochs, new_epoch)

    async def faults(self) -> list[str]:
        return await _in_thread(self._readers, self._faults)

    async def pending_migrations(self) -> list[str]:
        return await _in_thread(self._readers, self._pending_migrations)

    async def close(self) -> None:
        if self._writing:
            await _in_thread(self._writer, self._checkpoint)
        self._writer.shutdown()
        self._readers.shutdown()
        for connection in self._opened:
            connection.close()

    # In the writer thread

    def _transact(self, venues: Venues, work: Callable[[Session], Awaitable[T]]) -> T:
        wanted = tuple(venues() if callable(venues) else venues)
        if not wanted:
            nothing = SqliteGateway(self._connection(), self._statements)
            return finish(work(RowSession(nothing, {}, {}, clock_trusted=True)))
        gateway = self._begin_writing()
        try:
            session = finish(begin(gateway, self._cache, wanted, lock=True, clock=self._clock))
            result = finish(work(session))
        except BaseException:
            gateway.rollback()
            raise
        gateway.commit()
        return result

    def _begin_writing(self) -> "SqliteGateway":
        gateway = SqliteGateway(self._connection(), self._statements)
        gateway.run("BEGIN IMMEDIATE")
        return gateway

    def _add_venue(self, venue: Venue, head: Head) -> None:
        gateway = self._begin_writing()
        try:
            finish(gateway.write("add_venues", [(venue.id, venue.slug, msgspec.json.encode(venue).decode())]))
            finish(gateway.write("add_heads", [msgspec.structs.astuple(head)]))
        except BaseException:
            gateway.rollback()
            raise
        gateway.commit()

    def _purge_answers(self, now: int, most: int) -> int:
        connection = self._connection()
        connection.execute(self._statements["purge_answers"], (now, most))
        return connection.changes()

    def _change_rows(self, name: str, arguments: Row) -> int:
        gateway = self._begin_writing()
        try:
            finish(gateway.write(name, [arguments]))
            changed = self._connection().changes()
        except BaseException:
            gateway.rollback()
            raise
        gateway.commit()
        return changed

    def _ping(self) -> None:
        """Really write: a full disk still lets a transaction begin."""
        gateway = self._begin_writing()
        gateway.run("PRAGMA user_version = 1")
        gateway.commit()

    def _checkpoint(self) -> None:
        with suppress(apsw.Error):
            self._connection().wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _migrate(self) -> list[str]:
        connection, sql = self._connection(), self._statements
        with connection:
            connection.execute(sql["create_migrations"])
            applied = connection.execute(sql["applied_migrations"]).fetchall()
            todo = migrations.pending("sqlite", applied)
            for migration in todo:
                connection.execute(migration.sql)
                connection.execute(sql["add_migration"], (*migration.identity, self._clock()))
        return [migration.title for migration in todo]

    def _renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        connection, sql = self._connection(), self._statements
        venues: list[Row] = []
        with connection:
            if connection.execute(sql["is_copy"]).fetchall() == [(1,)]:
                venues = connection.execute(sql["all_heads"]).fetchall()
                connection.executemany(sql["begin_epoch"], [(venue_id, new_epoch()) for (venue_id,) in venues])
                connection.execute(sql["settle"])
        return len(venues)

    # In a reader thread

    def _read(self, venues: tuple[VenueId, ...], work: Callable[[Session], Awaitable[T]]) -> T:
        gateway = SqliteGateway(self._connection(read_only=True), self._statements)
        gateway.run("BEGIN")
        try:
            session = finish(begin(gateway, self._cache, venues, lock=False, clock=self._clock))
            return finish(work(session))
        finally:
            gateway.rollback()

    def _select_rows(self, name: str, arguments: Row) -> list[Row]:
        return self._connection(read_only=True).execute(self._statements[name], arguments).fetchall()

    def _venue_ids(self) -> dict[str, VenueId]:
        connection = self._connection(read_only=True)
        rows: list[Row] = connection.execute(self._statements["venue_slugs"]).fetchall()
        return dict(rows)

    def _pending_migrations(self) -> list[str]:
        connection = self._connection(read_only=True)
        applied: list[Row] = []
        if connection.table_exists("main", "migrations"):
            applied = connection.execute(self._statements["applied_migrations"]).fetchall()
        return [migration.title for migration in migrations.pending("sqlite", applied)]

    def _faults(self) -> list[str]:
        connection, sql = self._connection(read_only=True), self._statements
        damage = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)") if row != ("ok",)]
        if damage:
            return [f"The database file is damaged: {sentence}." for sentence in damage]
        connection.execute("BEGIN")
        try:
            return faults_in(
                connection.execute(sql["check_events"]).fetchall(), connection.execute(sql["check_lines"]).fetchall()
            )
        finally:
            connection.execute("ROLLBACK")

    def _connection(self, *, read_only: bool = False) -> apsw.Connection:
        """This thread's own connection: one is never shared between threads."""
        connection = getattr(self._connections, "connection", None)
        if connection is None:
            connection = open_reading(self.path) if read_only else open_writing(self.path)
            self._writing = self._writing or not read_only
            self._connections.connection = connection
            self._opened.append(connection)
        return cast("apsw.Connection", connection)


class SqliteGateway:
    def __init__(self, connection: apsw.Connection, statements: dict[str, str]) -> None:
        self._connection = connection
        self._statements = statements

    async def fetch(self, name: str, keys: Sequence[Row]) -> Iterable[Row]:
        return self._connection.executemany(self._statements[name], keys).fetchall()

    async def write(self, name: str, rows: Sequence[Row]) -> None:
        self._connection.executemany(self._statements[name], rows)

    def run(self, sql: str) -> None:
        self._connection.execute(sql)

    def commit(self) -> None:
        try:
            self._connection.execute("COMMIT")
        except apsw.FullError:
            self.rollback()
            raise
        except apsw.Error as error:
            self.rollback()
            raise OutcomeUnknown(str(error)) from error

    def rollback(self) -> None:
        if self._connection.in_transaction:
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")


def open_writing(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(BUSY_MS)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES_BEFORE_CHECKPOINT}")
    return connection


def open_reading(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_MS)
    return connection


def finish(work: Awaitable[T]) -> T:
    """Run a coroutine that never really waits."""
    try:
        cast("Coroutine[Any, Any, T]", work).send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    raise RuntimeError("work in an SQLite transaction may await its session only")


async def _in_thread(executor: Executor, function: Callable[..., T], *arguments: object) -> T:
    try:
        return await asyncio.wrap_future(executor.submit(function, *arguments))
    except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, UnicodeEncodeError, OverflowError) as error:
        raise Unstorable(f"SQLite: {error}") from error
    except apsw.Error as error:
        raise StoreAway(f"SQLite: {error}") from error
