"""PostgreSQL: any number of processes, one head row that decides who goes first.

A connection that anything went wrong on is thrown away. Only serialization failures and
deadlocks are repeated here; whatever else fails is said to the caller.
"""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Self, TypeAlias

import asyncpg

from dawr.domain import Head, Venue, VenueId
from dawr.ports import Changes, Clock, Session, T
from dawr.ports.faults import ClockUntrusted, OutcomeUnknown, StoreAway, Unstorable
from dawr.reliability.lease import Leases
from dawr.reliability.migrations import Owners, migrate_postgres
from dawr.reliability.records import Argument
from dawr.stores import reasons
from dawr.stores.accounts import StoredAccounts
from dawr.stores.beside import RowsBeside
from dawr.stores.checking import CHECKS, faults_in
from dawr.stores.migrations import OWNERS, SchemaUnfit, journal
from dawr.stores.session import Row, VenueCache, add_venue, all_statements, begin, clock_error_ms

Connection: TypeAlias = "asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"

TRANSACTION_SECONDS = 5
CONNECT_SECONDS = 2
CLOSE_SECONDS = 1
MAINTENANCE_SECONDS = 60
TRIES = 5
READERS = 4

SERVER_SETTINGS = {
    "application_name": "dawr",
    "lock_timeout": "2s",
    "statement_timeout": "5s",
    "idle_in_transaction_session_timeout": "2s",  # a host that vanished keeps its venues locked so long
    "tcp_keepalives_idle": "60",  # connections are kept, and what lies between forgets those that are silent
    "timezone": "UTC",
    "jit": "off",
    "enable_seqscan": "off",  # a plan made while a table was small must still suit it when it is large
}

WAITED_FOR = (
    *("lock_heads", "read_heads", "tickets_by_id", "tickets_by_open_key", "lines_by_key", "lines_current"),
    *("tickets_waiting", "waiting_places", "latest_issues", "answers_by_key", "visits_by_key", "events_after"),
    *("change_tickets", "save_visits", "add_tickets", "save_lines", "add_events", "save_answers", "save_heads"),
)
"""What visitors and desks do all day. Each takes arrays."""
PARAMETER = re.compile(r"\$\d+")

AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
    asyncpg.UndefinedTableError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,
)
UNSTORABLE = (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError, UnicodeEncodeError, OverflowError)
REPEATED = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.ConnectionDoesNotExistError,  # it was lost on the way, or the server gave up a process that was held up
    asyncpg.AdminShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
"""Nothing was stored: a connection that is lost while committing is told apart, as `OutcomeUnknown`."""


class PostgresStore(RowsBeside):
    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", *, clock: Clock, owners: Owners = OWNERS) -> None:
        self.accounts = StoredAccounts(self)
        self.leases = Leases(self, clock)
        self._pool = pool
        self._clock = clock
        self._statements = all_statements("postgres", owners)
        self._journal = journal("postgres", self._statements, clock, owners)
        self._cache = VenueCache()
        self._readers = asyncio.Semaphore(READERS)

    @classmethod
    async def open(cls, url: str, *, clock: Clock, lanes: int = 1, owners: Owners = OWNERS) -> Self:
        """Connects when it is first used, so it can be opened while the server is away."""
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=lanes + READERS,
            timeout=CONNECT_SECONDS,
            server_settings=SERVER_SETTINGS,
            reset=_nothing_to_reset,
            max_inactive_connection_lifetime=0,
            max_cached_statement_lifetime=0,
        )
        return cls(pool, clock=clock, owners=owners)

    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        wanted = tuple(venues)
        return await self._run(lambda c: self._transact(c, wanted, work))

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        wanted = tuple(venues)
        return await self._run_beside(lambda c: self._read(c, wanted, work))

    async def add_venue(self, venue: Venue, head: Head, first: Changes | None = None) -> None:
        await self._change_beside(lambda c: self._add_venue(c, venue, head, first))

    async def select_rows(self, name: str, *arguments: Argument) -> list[Row]:
        return await self._run_beside(lambda c: c.fetch(self._statements[name], *arguments))

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        return await self._change_beside(lambda c: self._change_rows(c, name, arguments))

    async def warm_up(self) -> None:
        """Open every connection, and have it plan what a request waits for: at first that takes ten times as long."""
        with suppress(StoreAway):
            await asyncio.gather(*(self._run(self._plan_ahead) for _ in range(self._pool.get_max_size())))

    async def ping(self) -> None:
        if await self._clock_error_ms():
            raise ClockUntrusted
        left_for, moving_from = await self._run_beside(self._served_elsewhere)
        if left_for is not None:
            raise StoreAway(f"PostgreSQL: {reasons.LEFT} {left_for}.")
        if moving_from is not None:
            raise StoreAway(
                f"PostgreSQL: {reasons.MOVING} {moving_from}. Run the same `dawr migrate --to` there again."
            )

    async def put_right(self, now: int) -> int:
        return now - await self._clock_error_ms()

    async def migrate(self, *, to_move: bool = False) -> list[str]:
        """Refuse a database that may not be served, unless a move that was cut short is to be finished."""
        return await self._run(lambda c: self._migrate(c, to_move=to_move), seconds=MAINTENANCE_SECONDS)

    async def renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        return await self._run(lambda c: self._renew_epochs(c, new_epoch))

    async def inspect(self, *, seconds: float) -> bool:  # noqa: ARG002 - PostgreSQL looks after its own pages
        return True

    async def faults(self) -> list[str]:
        return await self._run(self._faults, seconds=MAINTENANCE_SECONDS)

    async def pending_migrations(self) -> list[str]:
        applied = await self._run(self._applied_migrations)
        return [migration.title for migration in self._journal.pending(applied)]

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), CLOSE_SECONDS)
        except TimeoutError:
            self._pool.terminate()

    # On one connection

    async def _change_beside(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        try:
            return await self._run_beside(work)
        except OutcomeUnknown:
            _leave_if_told_to()
            raise

    async def _run_beside(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Without ever taking a lane's connection, and without waiting longer for a turn than for an answer."""
        try:
            async with asyncio.timeout(TRANSACTION_SECONDS):
                await self._readers.acquire()
        except TimeoutError as error:
            raise StoreAway("PostgreSQL: too many wait to read. Is it overloaded?") from error
        try:
            return await self._run(work)
        finally:
            self._readers.release()

    async def _run(self, work: Callable[[Connection], Awaitable[T]], *, seconds: float = TRANSACTION_SECONDS) -> T:
        """Once, or again from the start when it collided with another transaction, or lost its connection."""
        for attempt in range(1, TRIES):
            try:
                return await self._once(work, seconds)
            except REPEATED:
                await asyncio.sleep(random.uniform(0, 0.02 * attempt))  # noqa: S311 - only spreads the retries
        try:
            return await self._once(work, seconds)
        except REPEATED as error:
            raise StoreAway(f"PostgreSQL: {reasons.of_postgres(error)}") from error

    async def _once(self, work: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        try:
            return await self._with_connection(work, seconds)
        except REPEATED:
            raise
        except UNSTORABLE as error:
            # The server's words quote the row, and a row may name a visitor: they go nowhere.
            constraint = getattr(error, "constraint_name", None)
            raise Unstorable(f"PostgreSQL: {type(error).__name__} {constraint or ''}".strip()) from None
        except AWAY as error:
            raise StoreAway(f"PostgreSQL: {reasons.of_postgres(error)}") from error

    async def _with_connection(self, work: Callable[[Connection], Awaitable[T]], seconds: float) -> T:
        """Use a connection for a bounded time; one that anything went wrong on is thrown away.

        Giving it back is not part of that time: once committed, running late is no failure.
        """
        connection: Connection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._connect()
                return await work(connection)
        except BaseException:
            if connection is not None:
                with suppress(asyncpg.InterfaceError):  # a connection that was lost has gone back by itself
                    connection.terminate()
            raise
        finally:
            if connection is not None:
                await self._pool.release(connection)

    async def _connect(self) -> Connection:
        try:
            return await self._pool.acquire()
        except (ValueError, OverflowError):  # asyncpg reads the URL only now, and a port may be above all ports
            # Its words may repeat a part of the password.
            raise StoreAway("DAWR_DATABASE_URL cannot be used: percent-encode special characters in it.") from None

    async def _transact(
        self, connection: Connection, venues: tuple[VenueId, ...], work: Callable[[Session], Awaitable[T]]
    ) -> T:
        gateway = PostgresGateway(connection, self._statements)
        await connection.execute("BEGIN")
        session = await begin(gateway, self._cache, venues, lock=True, clock=self._clock)
        result = await work(session)
        await _commit(connection)
        return result

    async def _read(
        self, connection: Connection, venues: tuple[VenueId, ...], work: Callable[[Session], Awaitable[T]]
    ) -> T:
        gateway = PostgresGateway(connection, self._statements)
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        session = await begin(gateway, self._cache, venues, lock=False, clock=self._clock)
        result = await work(session)
        await connection.execute("COMMIT")
        return result

    async def _add_venue(self, connection: Connection, venue: Venue, head: Head, first: Changes | None) -> None:
        await connection.execute("BEGIN")
        await add_venue(PostgresGateway(connection, self._statements), venue, head, first)
        await _commit(connection)

    async def _change_rows(self, connection: Connection, name: str, arguments: tuple[Argument, ...]) -> int:
        await connection.execute("BEGIN")
        status = await connection.execute(self._statements[name], *arguments)
        await _commit(connection)
        return int(status.rpartition(" ")[2])

    async def _plan_ahead(self, connection: Connection) -> None:
        """Each statement over no keys and no rows, which changes nothing."""
        for name in WAITED_FOR:
            sql = self._statements[name]
            await connection.fetch(sql, *([] for _ in set(PARAMETER.findall(sql))))
        await connection.fetch(self._statements["token_by_id"], "", "")

    async def _clock_error_ms(self) -> int:
        asked_at = self._clock()
        store_now = await self._run_beside(self._now_where_it_can_be_written)
        return clock_error_ms(store_now, asked_at, self._clock())

    async def _now_where_it_can_be_written(self, connection: Connection) -> int:
        await connection.execute("BEGIN READ WRITE")  # which a standby refuses
        store_now: int = await connection.fetchval(self._statements["store_now"])
        await connection.execute("ROLLBACK")
        return store_now

    async def _migrate(self, connection: Connection, *, to_move: bool) -> list[str]:
        async with connection.transaction():
            await connection.execute("SET LOCAL lock_timeout = '50s'; SET LOCAL statement_timeout = '50s'")
            applied = await migrate_postgres(connection, self._journal, lock="dawr migrations")
            left_for, moving_from = await self._served_elsewhere(connection)
            _must_not_be_left(left_for)
            if not to_move:
                _must_have_arrived(moving_from)
        return [migration.title for migration in applied]

    async def _served_elsewhere(self, connection: Connection) -> tuple[str | None, str | None]:
        try:
            row = await connection.fetchrow(self._statements["served_elsewhere"])
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError):  # of a version before it could be left
            return None, None
        return (None, None) if row is None else (row[0], row[1])

    async def _applied_migrations(self, connection: Connection) -> list[Row]:
        try:
            return await connection.fetch(self._journal.applied)
        except asyncpg.UndefinedTableError:
            return []

    async def _faults(self, connection: Connection) -> list[str]:
        sql = self._statements
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await connection.execute("SET LOCAL statement_timeout = '50s'; SET LOCAL enable_seqscan = on")
            return faults_in(*[await connection.fetch(sql[name]) for name in CHECKS])

    async def _renew_epochs(self, connection: Connection, new_epoch: Callable[[], int]) -> int:
        sql = self._statements
        async with connection.transaction():
            if await connection.fetchval(sql["is_copy"]) != 1:
                return 0
            venues = await connection.fetch(sql["all_heads"])
            await connection.executemany(sql["begin_epoch"], [(venue_id, new_epoch()) for (venue_id,) in venues])
            await connection.execute(sql["settle"])
        return len(venues)


class PostgresGateway:
    def __init__(self, connection: Connection, statements: dict[str, str]) -> None:
        self._connection = connection
        self._statements = statements

    async def fetch(self, name: str, keys: Sequence[Row]) -> Iterable[Row]:
        return await self._connection.fetch(self._statements[name], *_columns(keys))

    async def write(self, name: str, rows: Sequence[Row]) -> None:
        await self._connection.execute(self._statements[name], *_columns(rows))


async def _commit(connection: Connection) -> None:
    """A server that answers with an error, or rolls back, has not committed; silence leaves it open."""
    try:
        tag = await connection.execute("COMMIT")
    except asyncpg.PostgresError as error:
        if isinstance(error, asyncpg.PostgresConnectionError | asyncpg.OperatorInterventionError):
            raise OutcomeUnknown(f"PostgreSQL: {reasons.of_postgres(error)}") from error
        raise
    except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise OutcomeUnknown(f"PostgreSQL: {reasons.of_postgres(error)}") from error
    except asyncio.CancelledError as error:
        raise OutcomeUnknown("PostgreSQL: the commit was not answered in time") from error
    if tag != "COMMIT":
        raise StoreAway(f"PostgreSQL answered {tag} to a commit")


def _must_not_be_left(left_for: str | None) -> None:
    if left_for is not None:
        raise SchemaUnfit(
            f"The installation of this database went back to {left_for}: nothing is given from here any more, or "
            "numbers would be given twice. Serve that directory, without DAWR_DATABASE_URL. To move again, make an "
            "empty database."
        )


def _must_have_arrived(moving_from: str | None) -> None:
    if moving_from is not None:
        raise SchemaUnfit(
            f"A move of the installation in {moving_from} to this database was cut short: neither side gives numbers "
            "until it is finished, or numbers would be given twice. Run the same `dawr migrate --to` there again. To "
            "stay there instead, run `dawr migrate --back` there."
        )


def _leave_if_told_to() -> None:
    """Whoever was told to stop while a commit was under way stops: it is not for them to go on and wonder."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _nothing_to_reset(_: object) -> None:
    """A connection goes back to the pool with its transaction ended and its settings untouched."""


def _columns(rows: Sequence[Row]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
