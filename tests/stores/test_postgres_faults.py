"""PostgreSQL that goes away, comes back, waits, deadlocks, or is cut off in the middle of a commit."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator
from typing import ClassVar, TypeAlias

import asyncpg
import msgspec
import pytest

from dawr.domain.account import Account, AccountId
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.rows import ANSWERS
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.ticket import Joined
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Issue
from dawr.ports import Session, Wants
from dawr.ports.faults import OutcomeUnknown, StoreAway, Unstorable
from dawr.reliability.idempotency import AnswerKey
from dawr.stores.postgres import TRIES, PostgresStore
from tests.builders import DrivenClock, a_claim, a_head, a_venue, issue
from tests.servers import PostgresServer, server_directory
from tests.stores.databases import PostgresDatabase, wall_clock
from tests.stores.doing import create_venue, numbers, rendered, stored_head, take, together
from tests.stores.proxy import Lost, Proxy

pytestmark = pytest.mark.slow

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

AMNA = Account(AccountId("account-1"), "amna", "hash of a password", 1)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """Not the one of the other tests, because it is killed."""
    with server_directory() as directory, PostgresServer(directory) as server:
        yield server


@pytest.fixture
def postgres_url(own_server: PostgresServer) -> Iterator[str]:
    with own_server.lend_database() as url:
        yield url


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(postgres_url, clock=wall_clock)
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def other(postgres_url: str) -> AsyncIterator[Connection]:
    """Somebody else who is connected to the same database."""
    connection = await asyncpg.connect(postgres_url, ssl=False)
    yield connection
    await connection.close()


async def test_a_killed_server_is_said_to_be_away_at_once_and_found_again_when_it_is_back(
    own_server: PostgresServer, store: PostgresStore, engine: Engine, venue: Venue
) -> None:
    await take(engine, venue)

    await asyncio.to_thread(own_server.kill)
    started = time.monotonic()
    outcomes = await together(*(engine.do(venue.id, issue()) for _ in range(3)))
    with pytest.raises(StoreAway):
        await engine.read(venue.id, LookAtQueue("lab"))
    with pytest.raises(StoreAway):
        await store.ping()
    took = time.monotonic() - started
    await asyncio.to_thread(own_server.start)

    assert numbers(outcomes) == ["StoreAway"] * 3
    assert took < 3
    assert (await take(engine, venue)).number == 2
    await store.ping()


async def test_a_store_may_be_opened_while_the_server_is_away(
    own_server: PostgresServer, postgres_url: str, store: PostgresStore, clock: DrivenClock, venue: Venue
) -> None:
    await asyncio.to_thread(own_server.stop)
    opened = await PostgresStore.open(postgres_url, clock=wall_clock)
    with pytest.raises(StoreAway):
        await opened.ping()
    await asyncio.to_thread(own_server.start)

    assert (await take(Engine(opened, clock), venue)).number == 1
    await opened.close()


async def test_a_connection_that_is_ended_by_the_server_costs_nobody_an_answer(
    engine: Engine, other: Connection, venue: Venue
) -> None:
    await take(engine, venue)

    await other.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dawr'")
    outcomes = numbers(await together(engine.do(venue.id, issue())) + await together(engine.do(venue.id, issue())))

    assert outcomes == [2, 3]


class HeldUp(Issue, frozen=True):
    """As in a process that gets no turn for so long that the server gives its transaction up."""

    times: ClassVar[list[float]] = []

    def decide(self, tx: Transaction, now: int) -> Joined:
        if self.times:
            time.sleep(self.times.pop())
        return super().decide(tx, now)


async def test_whoever_was_held_up_while_deciding_decides_again_and_takes_one_number(
    engine: Engine, venue: Venue
) -> None:
    await take(engine, venue)
    held_up = HeldUp(**msgspec.structs.asdict(issue()))
    HeldUp.times.append(3.0)

    joined = await engine.do(venue.id, held_up)

    assert joined.ticket.number == 2
    assert (await take(engine, venue)).number == 3


async def test_a_head_that_somebody_holds_too_long_is_an_answer_and_stores_nothing(
    postgres_url: str, engine: Engine, store: PostgresStore, other: Connection, venue: Venue
) -> None:
    async with other.transaction():
        await other.execute("SELECT * FROM heads FOR UPDATE")
        started = time.monotonic()
        outcomes = await together(*(engine.do(venue.id, issue()) for _ in range(3)))
        took = time.monotonic() - started

    assert numbers(outcomes) == ["StoreAway"] * 3
    assert 1.5 < took < 5
    assert await PostgresDatabase(postgres_url).rows("SELECT count(*) FROM tickets") == [(0,)]
    assert (await take(engine, venue)).number == 1


async def test_a_look_does_not_wait_for_whoever_holds_the_head(engine: Engine, other: Connection, venue: Venue) -> None:
    await take(engine, venue)

    async with other.transaction():
        await other.execute("SELECT * FROM heads FOR UPDATE")
        started = time.monotonic()
        snapshot = await engine.read(venue.id, LookAtQueue("lab"))
        took = time.monotonic() - started

    assert snapshot.line.last_number == 1
    assert took < 1.9, "it would have waited for two seconds"


async def test_a_deadlock_is_repeated_and_nobody_notices(
    engine: Engine, store: PostgresStore, other: Connection
) -> None:
    first, second = sorted([await create_venue(store, a_venue()) for _ in range(2)], key=lambda venue: venue.id)
    await other.execute("SET deadlock_timeout = '60s'")  # so that the other one is not the victim
    transaction = other.transaction()
    await transaction.start()
    await lock_head(other, second.id)

    commands = asyncio.ensure_future(together(*(engine.do(venue.id, issue()) for venue in (first, second))))
    await somebody_waits_for_a_lock(other)
    await lock_head(other, first.id)  # which is had only when the other transaction was rolled back
    assert not commands.done()
    await transaction.rollback()

    assert numbers(await commands) == [1, 1]


async def test_a_serialization_failure_is_repeated_from_the_start(store: PostgresStore, venue: Venue) -> None:
    heads = []

    async def work(session: Session) -> str:
        heads.append(session.heads[venue.id])
        if len(heads) < 3:
            raise asyncpg.SerializationError("could not serialize access")
        return "done"

    assert await store.transact([venue.id], work) == "done"
    assert heads == [a_head(venue)] * 3


async def test_what_cannot_be_serialized_at_all_is_given_up(store: PostgresStore, venue: Venue) -> None:
    tries = []

    async def work(session: Session) -> None:
        tries.append(session)
        raise asyncpg.SerializationError("could not serialize access")

    with pytest.raises(StoreAway):
        await store.transact([venue.id], work)

    assert len(tries) == TRIES


@pytest.mark.parametrize("lost", ["the connection", "the answer"])
async def test_a_commit_that_is_not_answered_is_unknown_and_a_retry_finds_out(
    own_server: PostgresServer, postgres_url: str, venue: Venue, lost: Lost
) -> None:
    async with a_store_behind_a_proxy(own_server, postgres_url) as (proxied, proxy):
        engine = Engine(proxied, DrivenClock())
        assert (await take(engine, venue)).number == 1

        proxy.loses = lost
        with pytest.raises(OutcomeUnknown):
            await engine.answer(venue.id, issue(), rendered, claim=a_claim())
        proxy.loses = "nothing"
        retried = await engine.answer(venue.id, issue(), rendered, claim=a_claim())

    assert retried.replayed
    assert retried.body.endswith(b"has number 2")
    assert await PostgresDatabase(postgres_url).rows("SELECT count(*) FROM tickets") == [(2,)]


async def test_an_account_whose_commit_is_not_answered_is_unknown_and_is_there(
    own_server: PostgresServer, postgres_url: str, store: PostgresStore
) -> None:
    async with a_store_behind_a_proxy(own_server, postgres_url) as (proxied, proxy):
        await proxied.accounts.has_owner()
        proxy.loses = "the connection"

        with pytest.raises(OutcomeUnknown):
            await proxied.accounts.add(AMNA)

    assert await store.accounts.find("amna") == AMNA


async def test_whoever_is_told_to_stop_during_a_commit_stops(
    own_server: PostgresServer, postgres_url: str, store: PostgresStore
) -> None:
    async with a_store_behind_a_proxy(own_server, postgres_url) as (proxied, proxy):
        await proxied.accounts.has_owner()
        proxy.loses = "the answer"
        adding = asyncio.create_task(proxied.accounts.add(AMNA))
        while await store.accounts.find("amna") is None:
            assert not adding.done()

        adding.cancel()

        with pytest.raises(asyncio.CancelledError):
            await adding


async def test_a_commit_that_is_answered_by_a_rollback_is_no_success(store: PostgresStore, venue: Venue) -> None:
    async def work(session: Session) -> str:
        with contextlib.suppress(asyncpg.DataError):
            await session.load({venue.id: Wants(rows={ANSWERS: {AnswerKey("s", "p", "\0")}})}, depth=1)
        return "done"

    with pytest.raises(StoreAway, match="ROLLBACK"):
        await store.transact([venue.id], work)


async def test_a_character_that_postgres_cannot_hold_fails_alone(engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, msgspec.structs.replace(issue(), secret_hash="\0")),
        engine.do(venue.id, issue()),
    )

    assert numbers(outcomes) == [1, "Unstorable", 2]
    assert isinstance(outcomes[1], Unstorable)


@pytest.mark.parametrize("off_by", [3000, -3000])
async def test_by_a_clock_that_is_off_no_day_begins(postgres_url: str, store: PostgresStore, off_by: int) -> None:
    venue = await create_venue(store, a_venue(), wall_clock())
    off = await PostgresStore.open(postgres_url, clock=lambda: wall_clock() + off_by)
    tomorrow = DrivenClock(wall_clock())
    tomorrow.advance(days=1)

    by_the_clock_that_is_off = await take(Engine(off, tomorrow), venue)
    with pytest.raises(StoreAway):
        await off.ping()
    by_the_right_clock = await take(Engine(store, tomorrow), venue)
    await off.close()

    assert by_the_clock_that_is_off.day == a_head(venue, wall_clock()).day
    assert (by_the_right_clock.day > by_the_clock_that_is_off.day, by_the_right_clock.number) == (True, 1)
    assert (await stored_head(store, venue)).day == by_the_right_clock.day


async def test_a_refusal_costs_no_connection(engine: Engine, other: Connection, venue: Venue) -> None:
    async def backends() -> list[int]:
        rows = await other.fetch("SELECT pid FROM pg_stat_activity WHERE application_name = 'dawr' ORDER BY pid")
        return [row["pid"] for row in rows]

    await take(engine, venue)
    await engine.read(venue.id, LookAtQueue("lab"))
    before = await backends()

    await together(engine.do(venue.id, issue("nowhere")), engine.read(venue.id, LookAtQueue("nowhere")))

    assert set(before) <= set(await backends())


@contextlib.asynccontextmanager
async def a_store_behind_a_proxy(server: PostgresServer, url: str) -> AsyncIterator[tuple[PostgresStore, Proxy]]:
    async with Proxy(server.port).running() as proxy:
        store = await PostgresStore.open(url.replace(str(server.port), str(proxy.port)), clock=wall_clock)
        try:
            yield store, proxy
        finally:
            await store.close()


async def lock_head(connection: Connection, venue_id: VenueId) -> None:
    await connection.execute("SELECT * FROM heads WHERE venue_id = $1 FOR UPDATE", venue_id)


async def somebody_waits_for_a_lock(connection: Connection) -> None:
    waiting = 0
    while not waiting:
        waiting = await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")
