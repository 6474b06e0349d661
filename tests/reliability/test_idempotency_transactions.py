"""An effect in the caller's own database commits together with its answer, or not at all."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg
import pytest

from dawr.reliability.idempotency import Claim, ClaimLost, Idempotency, InProgress, KeyReused, Reply
from dawr.reliability.postgres_records import PostgresTransaction
from dawr.reliability.records import NotInTransaction, OpenTransaction
from dawr.reliability.sqlite_records import SqliteTransaction
from tests.builders import DrivenClock
from tests.reliability.backends import LOG_SECRET, Backend, connect_sqlite3

CLAIM = Claim.of({"room": 7}, scope="bookings", key="k-1")
DONE = Reply(201, b"booked")
REPLAYED = Reply(201, b"booked", replayed=True)
BOOKINGS = "SELECT count(*) FROM bookings"
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Begun(Protocol):
    """The transaction of an application that knows its own database."""

    transaction: OpenTransaction

    async def book(self) -> Reply: ...


class App(Protocol):
    def begin(self) -> contextlib.AbstractAsyncContextManager[Begun]:
        """Committed at the end, rolled back by an exception."""

    def outside(self) -> contextlib.AbstractAsyncContextManager[OpenTransaction]:
        """A connection that no transaction was begun on."""


class SqliteApp:
    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[Begun]:
        connection = self._connect()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield SqliteBegun(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        finally:
            connection.close()

    @contextlib.asynccontextmanager
    async def outside(self) -> AsyncIterator[OpenTransaction]:
        connection = self._connect()
        yield SqliteTransaction(connection)
        connection.close()


class SqliteBegun:
    def __init__(self, connection: Any) -> None:  # noqa: ANN401 - of either driver
        self.transaction: OpenTransaction = SqliteTransaction(connection)
        self._connection = connection

    async def book(self) -> Reply:
        self._connection.execute("INSERT INTO bookings (room) VALUES (?)", (7,))
        return DONE


class PostgresApp:
    def __init__(self, url: str) -> None:
        self._url = url

    @contextlib.asynccontextmanager
    async def begin(self) -> AsyncIterator[Begun]:
        connection = await asyncpg.connect(self._url, ssl=False)
        try:
            async with connection.transaction():
                yield PostgresBegun(connection)
        finally:
            await connection.close()

    @contextlib.asynccontextmanager
    async def outside(self) -> AsyncIterator[OpenTransaction]:
        connection = await asyncpg.connect(self._url, ssl=False)
        yield PostgresTransaction(connection)
        await connection.close()


class PostgresBegun:
    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.transaction: OpenTransaction = PostgresTransaction(connection)
        self._connection = connection

    async def book(self) -> Reply:
        await self._connection.execute("INSERT INTO bookings (room) VALUES ($1)", 7)
        return DONE


@pytest.fixture(params=["apsw", "sqlite3", "asyncpg"])
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def backend(request: pytest.FixtureRequest, driver: str, tmp_path: Path) -> AsyncIterator[Backend]:
    kind = {"asyncpg": "postgres", "apsw": "sqlite", "sqlite3": "sqlite3"}[driver]
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else ""
    backend = Backend(kind, path=tmp_path / "app.db", url=url)
    await backend.open()
    await backend.rows("CREATE TABLE bookings (room integer NOT NULL)")
    yield backend
    await backend.close()


@pytest.fixture
def app(driver: str, backend: Backend) -> App:
    if driver == "asyncpg":
        return PostgresApp(backend.address)
    if driver == "apsw":
        return SqliteApp(lambda: apsw.Connection(backend.address))
    return SqliteApp(lambda: connect_sqlite3(backend.address))


@pytest.fixture
async def idempotency(backend: Backend, clock: DrivenClock) -> Idempotency:
    return Idempotency(await backend.open(), clock, secret=LOG_SECRET, patience_ms=0)


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def patient(backend: Backend, clock: DrivenClock) -> Idempotency:
    return Idempotency(await backend.open(), clock, secret=LOG_SECRET, patience_ms=20_000)


async def book(app: App, idempotency: Idempotency, claim: Claim = CLAIM) -> Reply:
    async with app.begin() as begun:
        return await idempotency.run_in(begun.transaction, claim, begun.book)


async def test_effect_and_answer_are_one_commit_and_a_retry_is_replayed(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    assert [await book(app, idempotency) for _ in range(3)] == [DONE, REPLAYED, REPLAYED]

    assert await backend.rows(BOOKINGS) == [(1,)]
    assert await backend.rows("SELECT state, status, body FROM idempotency") == [("completed", 201, b"booked")]


async def test_what_is_rolled_back_was_never_claimed(backend: Backend, app: App, idempotency: Idempotency) -> None:
    async def roll_back() -> None:
        async with app.begin() as begun:
            await idempotency.run_in(begun.transaction, CLAIM, begun.book)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await roll_back()

    assert await backend.rows(BOOKINGS) == [(0,)]
    assert await idempotency.check(CLAIM) is None
    assert await book(app, idempotency) == DONE


async def test_another_request_under_the_key_has_no_effect(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    await book(app, idempotency)

    with pytest.raises(KeyReused):
        await book(app, idempotency, Claim.of({"room": 8}, scope="bookings", key="k-1"))

    assert await backend.rows(BOOKINGS) == [(1,)]


async def test_work_that_somebody_does_outside_is_not_done_within_a_transaction_as_well(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    async with idempotency.claimed(CLAIM) as attempt:
        with pytest.raises(InProgress):
            await book(app, idempotency)
        await attempt.complete(DONE)

    assert await book(app, idempotency) == REPLAYED
    assert await backend.rows(BOOKINGS) == [(0,)]


async def test_work_outside_can_be_completed_in_the_transaction_of_its_effect_here(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    async with idempotency.claimed(CLAIM) as attempt, app.begin() as begun:
        assert await attempt.complete_in(begun.transaction, await begun.book()) == DONE

    assert await idempotency.check(CLAIM) == REPLAYED
    assert await backend.rows(BOOKINGS) == [(1,)]


async def test_whoever_lost_the_claim_has_no_effect_here(
    backend: Backend, app: App, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async def thaw_and_complete() -> None:
        async with idempotency.claimed(CLAIM) as frozen:
            clock.advance(ms=CLAIM.lease_ms)
            assert await book(app, idempotency) == DONE
            async with app.begin() as begun:
                await frozen.complete_in(begun.transaction, await begun.book())

    with pytest.raises(ClaimLost):
        await thaw_and_complete()

    assert await backend.rows(BOOKINGS) == [(1,)]
    assert await idempotency.check(CLAIM) == REPLAYED


async def test_work_whose_completion_was_rolled_back_has_failed_and_may_be_done_again(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    async def roll_back() -> None:
        async with idempotency.claimed(CLAIM) as attempt, app.begin() as begun:
            await attempt.complete_in(begun.transaction, await begun.book())
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await roll_back()

    assert await backend.rows("SELECT state FROM idempotency") == [("failed",)]
    assert await book(app, idempotency) == DONE
    assert await backend.rows(BOOKINGS) == [(1,)]


async def test_a_connection_without_a_transaction_is_refused(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    async def never() -> Reply:
        raise AssertionError

    async with app.outside() as connection, idempotency.claimed(CLAIM) as attempt:
        with pytest.raises(NotInTransaction, match="no open transaction"):
            await idempotency.run_in(connection, Claim.of(1, scope="bookings", key="k-2"), never)
        with pytest.raises(NotInTransaction):
            await attempt.complete_in(connection, DONE)
        await attempt.complete(DONE)

    assert await backend.rows("SELECT key FROM idempotency") == [("k-1",)]


@pytest.mark.parametrize("driver", ["asyncpg"])
async def test_many_transactions_at_once_have_one_effect(backend: Backend, app: App, patient: Idempotency) -> None:
    replies = await asyncio.gather(*(book(app, patient) for _ in range(30)))

    assert Counter(replies) == {DONE: 1, REPLAYED: 29}
    assert await backend.rows(BOOKINGS) == [(1,)]


@pytest.mark.parametrize("driver", ["asyncpg"])
async def test_of_many_transactions_that_retry_what_failed_one_has_an_effect(
    backend: Backend, app: App, idempotency: Idempotency, patient: Idempotency
) -> None:
    with pytest.raises(RuntimeError):
        async with idempotency.claimed(CLAIM):
            pass

    replies = await asyncio.gather(*(book(app, patient) for _ in range(30)))

    assert Counter(replies) == {DONE: 1, REPLAYED: 29}
    assert await backend.rows(BOOKINGS) == [(1,)]


@pytest.mark.parametrize("driver", ["asyncpg"])
async def test_what_is_taken_over_while_the_purge_runs_is_not_purged(
    backend: Backend, app: App, idempotency: Idempotency, clock: DrivenClock
) -> None:
    await book(app, idempotency)
    clock.advance(ms=CLAIM.keep_ms + 1)

    async with app.begin() as begun:
        await idempotency.run_in(begun.transaction, CLAIM, begun.book)
        purging = asyncio.create_task(idempotency.purge())
        async with asyncio.timeout(60):
            while await backend.rows(WAITING) == [(0,)]:  # noqa: ASYNC110 - the database knows it
                await asyncio.sleep(0.01)

    assert await purging == 0
    assert await idempotency.check(CLAIM) == REPLAYED


@pytest.mark.parametrize("driver", ["asyncpg"])
async def test_nobody_waits_for_another_transaction_longer_than_their_patience(
    backend: Backend, app: App, idempotency: Idempotency
) -> None:
    for claim in (CLAIM, await failed(idempotency)):
        async with app.begin() as begun:
            assert await idempotency.run_in(begun.transaction, claim, begun.book) == DONE

            async with asyncio.timeout(60):
                with pytest.raises(InProgress):
                    await book(app, idempotency, claim)

    assert await backend.rows(BOOKINGS) == [(2,)]


@pytest.mark.parametrize("driver", ["asyncpg"])
async def test_how_long_the_rest_of_a_transaction_waits_is_its_own_affair(
    backend: Backend, idempotency: Idempotency
) -> None:
    connection = await asyncpg.connect(backend.address, ssl=False)
    seen = []

    async def work() -> Reply:
        seen.append(await connection.fetchval("SHOW lock_timeout"))
        return DONE

    await connection.execute("SET lock_timeout = '7s'")
    async with connection.transaction():
        await idempotency.run_in(PostgresTransaction(connection), CLAIM, work)
        seen.append(await connection.fetchval("SHOW lock_timeout"))
    seen.append(await connection.fetchval("SHOW lock_timeout"))
    await connection.close()

    assert seen == ["7s"] * 3


async def failed(idempotency: Idempotency) -> Claim:
    claim = Claim.of({"room": 8}, scope="bookings", key="failed")
    with pytest.raises(RuntimeError):
        async with idempotency.claimed(claim):
            pass
    return claim
