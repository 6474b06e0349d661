"""One SQLite file, one connection that writes, a commit that waits for the disk.

A batch is loaded, decided and saved where it comes from, on the event loop: all in memory, so
that it waits for nothing and shares the interpreter with nobody. Only its commit, which waits
for the disk, is the writer thread's. Work that is handed in may await only the session.
Whoever writes has the turn from beginning to commit. Readers see the last commit and never
hold the writer up.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import apsw

from dawr.domain import Head, Venue, VenueId
from dawr.ports import Changes, Clock, Session, T
from dawr.ports.faults import OutcomeUnknown, StoreAway, StoreDamaged, StoreMissing, Unstorable
from dawr.reliability.disk import FileIdentity, first_moved
from dawr.reliability.lease import Leases
from dawr.reliability.migrations import Owners, migrate_sqlite
from dawr.reliability.records import Argument
from dawr.stores import reasons
from dawr.stores.accounts import StoredAccounts
from dawr.stores.beside import RowsBeside
from dawr.stores.checking import CHECKS, faults_in
from dawr.stores.migrations import OWNERS, journal
from dawr.stores.session import Row, VenueCache, add_venue, all_statements, begin
from dawr.stores.sqlite_connections import BUSY_MS, open_reading, open_writing

READERS = 2
DOUBTED_MS = 10_000
STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 1000
DAMAGE = (apsw.CorruptError, apsw.NotADBError)


class SqliteStore(RowsBeside):
    def __init__(self, path: Path, *, clock: Clock, owners: Owners = OWNERS) -> None:
        self.path = path
        self.accounts = StoredAccounts(self)
        self.leases = Leases(self, clock)
        self._clock = clock
        self._statements = all_statements("sqlite", owners)
        self._journal = journal("sqlite", self._statements, clock, owners)
        self._cache = VenueCache()
        self._turn = threading.Lock()
        self._queueing = ThreadPoolExecutor(1, thread_name_prefix="dawr-queueing")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="dawr-writer")
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="dawr-reader")
        self._reading = threading.local()
        self._opened: list[apsw.Connection] = []
        self._writing: apsw.Connection | None = None
        self._busy_ms = BUSY_MS
        self._failed_at: int | None = None
        self._open_files: tuple[FileIdentity, ...] = ()
        self._damage: StoreDamaged | None = None
        """The fault of a damaged or missing file. It stays until the process ends."""

    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        self._must_be_whole()
        try:
            async with self._having_the_turn():
                result = await self._transact(tuple(venues), work)
        except StoreAway:
            self._failed_at = self._clock()
            raise
        self._failed_at = None
        return result

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        return await self._in_reader(self._read, tuple(venues), work)

    async def add_venue(self, venue: Venue, head: Head, first: Changes | None = None) -> None:
        await self._write(self._add_venue, venue, head, first)

    async def select_rows(self, name: str, *arguments: Argument) -> list[Row]:
        return await self._in_reader(self._select_rows, name, arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return await self._write(self._change_rows, name, arguments)

    async def warm_up(self) -> None:
        """Nothing is far away."""

    async def ping(self) -> None:
        """On a disk that is nearly full a small write may succeed where a batch failed a moment ago."""
        self._must_be_whole()
        if self._failed_at is not None and self._clock() - self._failed_at < DOUBTED_MS:
            raise StoreAway("SQLite: the last batch could not be stored. The log says why.")
        await self._write(self._ping)

    async def check_files(self) -> None:
        """Notice a removed file, also while nothing is stored. What only a removed log has ends with the process."""
        if self._damage is None and first_moved(self._open_files) is not None:
            await self._write(self._ping)

    async def put_right(self, now: int) -> int:
        return now

    async def migrate(self) -> list[str]:
        return await self._write(self._migrate)

    async def renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        return await self._write(self._renew_epochs, new_epoch)

    async def inspect(self, *, seconds: float) -> bool:
        return await self._in_reader(self._inspect, seconds)

    async def faults(self) -> list[str]:
        return await self._in_reader(self._faults)

    async def pending_migrations(self) -> list[str]:
        return await self._in_reader(self._pending_migrations)

    async def close(self) -> None:
        if self._writing is not None and type(self._damage) is not StoreDamaged:
            async with self._having_the_turn():
                await self._in_writer(self._checkpoint)
        for threads in (self._queueing, self._writer, self._readers):
            threads.shutdown()
        for connection in self._opened:
            connection.close()

    # Having the turn

    @asynccontextmanager
    async def _having_the_turn(self) -> AsyncIterator[None]:
        """One at a time, whichever event loop or thread they come from."""
        if not self._turn.acquire(blocking=False):
            waiting = self._queueing.submit(self._turn.acquire)
            try:
                await asyncio.shield(asyncio.wrap_future(waiting))
            except asyncio.CancelledError:
                # In the thread that gets the turn: the event loop may be waiting for that thread by then.
                waiting.add_done_callback(lambda _: self._turn.release())
                raise
        try:
            yield
        finally:
            self._turn.release()

    async def _write(self, function: Callable[..., T], *arguments: object) -> T:
        self._must_be_whole()
        async with self._having_the_turn():
            return await self._in_writer(function, *arguments)

    async def _in_writer(self, function: Callable[..., T], *arguments: object) -> T:
        """Whoever is cancelled meanwhile still keeps the turn until it is done: the connection is in use."""
        doing = self._writer.submit(function, *arguments)
        with self._faults_told():
            try:
                return await asyncio.shield(asyncio.wrap_future(doing))
            except asyncio.CancelledError:
                wait([doing])
                raise

    async def _transact(self, venues: tuple[VenueId, ...], work: Callable[[Session], Awaitable[T]]) -> T:
        gateway = await self._begin_at_once()
        with self._faults_told():
            try:
                session = finish(begin(gateway, self._cache, venues, lock=True, clock=self._clock))
                result = finish(work(session))
                self._must_be_in_place()
            except BaseException as fault:
                self._take_back(gateway, fault)
                raise
        await self._in_writer(gateway.commit)
        return result

    async def _begin_at_once(self) -> "SqliteGateway":
        """If another process writes to the file, it is waited for by the writer thread and not by the event loop."""
        with self._faults_told():
            gateway = SqliteGateway(self._connection(), self._statements)
            try:
                gateway.begin(wait_ms=0)
            except apsw.BusyError:
                pass
            else:
                return gateway
        try:
            return await self._in_writer(self._begin_writing)
        except asyncio.CancelledError:
            gateway.rollback()
            raise

    # What goes wrong

    @contextmanager
    def _faults_told(self) -> Iterator[None]:
        """SQLite's faults as the port has them."""
        try:
            yield
        except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, UnicodeEncodeError, OverflowError) as error:
            raise Unstorable(f"SQLite: {error}") from error
        except DAMAGE as error:
            raise self._damaged(str(error)) from error
        except OutcomeUnknown as error:
            if isinstance(error.__cause__, DAMAGE):
                self._damaged(str(error.__cause__))
            raise
        except apsw.Error as error:
            raise StoreAway(f"SQLite: {reasons.of_sqlite(error)}") from error

    def _damaged(self, what: str) -> StoreDamaged:
        """Known from now on: what is asked next is refused before it makes it worse."""
        self._damage = self._damage or StoreDamaged(reasons.damage(self.path, what))
        return type(self._damage)(*self._damage.args)

    def _must_be_whole(self) -> None:
        if self._damage is not None:
            raise type(self._damage)(*self._damage.args)

    def _must_be_in_place(self) -> None:
        """Refuse to store what the next start would not find."""
        if (moved := first_moved(self._open_files)) is not None:
            raise StoreMissing(reasons.missing(moved.path))

    def _take_back(self, gateway: "SqliteGateway", fault: BaseException) -> None:
        """Roll back. If a file is missing, copy a removed log into the database before any caller is refused."""
        gateway.rollback()
        if isinstance(fault, StoreMissing):
            self._connection().set_busy_timeout(BUSY_MS)
            self._checkpoint(apsw.SQLITE_CHECKPOINT_FULL)
            self._damage = fault

    # In the writer thread

    def _begin_writing(self) -> "SqliteGateway":
        gateway = SqliteGateway(self._connection(), self._statements)
        gateway.begin(wait_ms=self._busy_ms)
        return gateway

    @contextmanager
    def _transaction(self) -> Iterator["SqliteGateway"]:
        gateway = self._begin_writing()
        try:
            yield gateway
            self._must_be_in_place()
        except BaseException as fault:
            self._take_back(gateway, fault)
            raise
        gateway.commit()

    def _add_venue(self, venue: Venue, head: Head, first: Changes | None) -> None:
        with self._transaction() as gateway:
            finish(add_venue(gateway, venue, head, first))

    def _change_rows(self, name: str, arguments: Row) -> int:
        with self._transaction() as gateway:
            finish(gateway.write(name, [arguments]))
            return self._connection().changes()

    def _ping(self) -> None:
        """Really write: a full disk still lets a transaction begin."""
        with self._transaction():
            self._connection().execute("PRAGMA user_version = 1")

    def _checkpoint(self, mode: int = apsw.SQLITE_CHECKPOINT_TRUNCATE) -> None:
        with suppress(apsw.Error):
            self._connection().wal_checkpoint(mode=mode)

    def _migrate(self) -> list[str]:
        with self._transaction():
            applied = migrate_sqlite(self._connection(), self._journal)
        return [migration.title for migration in applied]

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

    async def _in_reader(self, function: Callable[..., T], *arguments: object) -> T:
        with self._faults_told():
            return await asyncio.wrap_future(self._readers.submit(function, *arguments))

    def _inspect(self, seconds: float) -> bool:
        connection, until = self._reader(), time.monotonic() + seconds
        connection.set_progress_handler(lambda: time.monotonic() > until, STEPS_BETWEEN_LOOKS_AT_THE_CLOCK)
        try:
            [(verdict,)] = connection.execute("PRAGMA quick_check(1)")
        except apsw.InterruptError:
            return False
        finally:
            connection.set_progress_handler(None)
        if verdict != "ok":
            raise self._damaged(verdict)
        return True

    def _read(self, venues: tuple[VenueId, ...], work: Callable[[Session], Awaitable[T]]) -> T:
        reader = self._reader()
        gateway = SqliteGateway(reader, self._statements)
        reader.execute("BEGIN")
        try:
            session = finish(begin(gateway, self._cache, venues, lock=False, clock=self._clock))
            return finish(work(session))
        finally:
            gateway.rollback()

    def _select_rows(self, name: str, arguments: Row) -> list[Row]:
        return self._reader().execute(self._statements[name], arguments).fetchall()

    def _pending_migrations(self) -> list[str]:
        connection = self._reader()
        applied: list[Row] = []
        if connection.table_exists("main", "migrations"):
            applied = connection.execute(self._journal.applied).fetchall()
        return [migration.title for migration in self._journal.pending(applied)]

    def _faults(self) -> list[str]:
        connection, sql = self._reader(), self._statements
        damage = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)") if row != ("ok",)]
        if damage:
            return [reasons.damage(self.path, sentence) for sentence in damage]
        connection.execute("BEGIN")
        try:
            return faults_in(*(connection.execute(sql[name]).fetchall() for name in CHECKS))
        finally:
            connection.execute("ROLLBACK")

    def _connection(self) -> apsw.Connection:
        """The one that writes, for whoever has the turn."""
        if self._writing is None:
            self._writing = open_writing(self.path)
            self._opened.append(self._writing)
            self._open_files = tuple(FileIdentity.identify(Path(f"{self.path}{end}")) for end in ("", "-wal"))
        return self._writing

    def _reader(self) -> apsw.Connection:
        """This thread's own."""
        connection = getattr(self._reading, "connection", None)
        if connection is None:
            connection = self._reading.connection = open_reading(self.path)
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

    def begin(self, *, wait_ms: int) -> None:
        """To write; another process that does is waited for so long."""
        self._connection.set_busy_timeout(wait_ms)
        self._connection.execute("BEGIN IMMEDIATE")

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


def finish(work: Awaitable[T]) -> T:
    """Run a coroutine that never really waits."""
    try:
        cast("Coroutine[Any, Any, T]", work).send(None)
    except StopIteration as stop:
        return cast("T", stop.value)
    raise RuntimeError("work in an SQLite transaction may await its session only")
