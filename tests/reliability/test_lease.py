"""Of many who could do a work one does it, and whoever lost it changes nothing any more.

One contract, asked of both databases, of Dawr's stores and of the kit alone.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from dawr.engine.engine import Engine
from dawr.ports import Session, Store
from dawr.reliability.lease import Fence, LeaseLost, Leases, hold
from dawr.reliability.postgres_records import PostgresRecords, PostgresTransaction
from dawr.reliability.records import NotInTransaction
from dawr.reliability.sqlite_records import SqliteRecords, SqliteTransaction
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_new, a_venue, issue
from tests.reliability.backends import KINDS, Backend
from tests.stores.databases import PostgresDatabase, wall_clock
from tests.stores.doing import create_venue, kinds_of, numbers, together

TEN_MINUTES_MS = 10 * 60 * 1000


@pytest.fixture(params=KINDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if "postgres" in request.param else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


# Taking, renewing, giving back


async def test_the_first_who_asks_gets_it_and_the_second_does_not(leases: Leases, others: Leases) -> None:
    first = await leases.take("work", "one")
    second = await others.take("work", "two")

    assert (first, second) == (Fence("work", 1), None)


async def test_two_works_have_a_lease_each(leases: Leases) -> None:
    assert await leases.take("work", "one") == Fence("work", 1)
    assert await leases.take("other work", "two") == Fence("other work", 1)


async def test_of_fifty_who_ask_at_once_one_gets_it(leases: Leases, others: Leases) -> None:
    assert await fifty_ask(leases, others) == [Fence("work", 1)]
    assert await fifty_ask(leases, others) == []


async def test_of_fifty_who_wait_for_its_end_one_gets_it(leases: Leases, others: Leases) -> None:
    await leases.take("work", "the one before", lease_ms=50)

    taken: list[Fence] = []
    async with asyncio.timeout(60):
        while not taken:
            taken = await fifty_ask(leases, others)

    assert taken == [Fence("work", 2)]


async def fifty_ask(leases: Leases, others: Leases) -> list[Fence]:
    asked = [(leases, others)[who % 2].take("work", a_new("holder")) for who in range(50)]
    return [fence for fence in await asyncio.gather(*asked) if fence is not None]


async def test_a_lease_that_is_renewed_does_not_end(leases: Leases, others: Leases) -> None:
    fence = must_have(await leases.take("work", "one", lease_ms=1))

    assert await leases.renew(fence)

    assert await others.take("work", "two") is None


async def test_a_lease_that_somebody_took_is_not_renewed(leases: Leases, others: Leases) -> None:
    old = must_have(await leases.take("work", "one", lease_ms=0))
    new = must_have(await others.take("work", "two"))

    assert not await leases.renew(old)

    assert await others.renew(new)


async def test_a_lease_that_was_taken_while_the_clock_was_a_year_ahead_is_not_held_for_a_year(
    leases: Leases, others: Leases
) -> None:
    was = must_have(await leases.take("work", "one", lease_ms=365 * 24 * 60 * 60 * 1000))

    taken = await others.take("work", "two")

    assert taken == Fence("work", was.number + 1)
    assert not await leases.renew(was)
    assert await leases.take("work", "three") is None


async def test_what_is_given_back_is_the_next_ones_at_once(leases: Leases, others: Leases) -> None:
    await leases.release(must_have(await leases.take("work", "one")))

    assert await others.take("work", "two") == Fence("work", 2)


async def test_nobody_gives_back_what_is_somebody_elses_by_now(leases: Leases, others: Leases) -> None:
    old = must_have(await leases.take("work", "one", lease_ms=0))
    await others.take("work", "two")

    await leases.release(old)

    assert await leases.take("work", "three") is None


async def test_whoever_comes_back_under_its_name_gets_it_at_once_and_its_old_self_is_out(leases: Leases) -> None:
    before = must_have(await leases.take("work", "the only server"))

    after = await leases.take("work", "the only server")

    assert after == Fence("work", before.number + 1)
    assert not await leases.renew(before)


@pytest.mark.parametrize("wrong_by", [-TEN_MINUTES_MS, TEN_MINUTES_MS])
async def test_a_clock_that_is_ten_minutes_wrong_changes_nothing(postgres_url: str, wrong_by: int) -> None:
    database = PostgresDatabase(postgres_url)
    right, wrong = await database.open(), await database.open(lambda: wall_clock() + wrong_by)
    await right.migrate()

    held = await right.leases.take("work", "right")
    refused = await wrong.leases.take("work", "wrong")
    await right.leases.release(must_have(held))
    taken = await wrong.leases.take("work", "wrong")
    also_refused = await right.leases.take("work", "right")

    assert (refused, taken, also_refused) == (None, Fence("work", 2), None)
    assert await right.leases.take("other", "right", lease_ms=0) == Fence("other", 1)
    assert await wrong.leases.take("other", "wrong") == Fence("other", 2)
    for store in (right, wrong):
        await store.close()


# Writing under a fence


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_what_is_done_under_an_old_fence_is_refused_and_its_batch_mates_are_not(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    store: Store = SqliteStore(tmp_path / "dawr.db", clock=wall_clock)
    if kind == "postgres":
        store = await PostgresDatabase(request.getfixturevalue("postgres_url")).open()
    await store.migrate()
    engine, venue = Engine(store, DrivenClock()), await create_venue(store, a_venue())
    old = must_have(await store.leases.take("work", "one", lease_ms=0))
    new = must_have(await store.leases.take("work", "two"))

    outcomes = await together(
        engine.do(venue.id, issue(), under=old),
        engine.do(venue.id, issue(), under=new),
        engine.do(venue.id, issue()),
        engine.do(venue.id, issue(), under=Fence("work that nobody has", 1)),
    )

    assert numbers(outcomes) == ["LeaseLost", 1, 2, "LeaseLost"]
    assert await kinds_of(engine, venue) == ["ticket.issued"] * 2
    await engine.stop()
    await store.close()


async def test_whoever_takes_over_waits_for_what_is_being_written(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    store, another = await database.open(), await database.open()
    await store.migrate()
    venue = await create_venue(store, a_venue())
    await store.leases.take("work", "one", lease_ms=0)
    taking: asyncio.Task[Fence | None]

    async def write(session: Session) -> tuple[dict[str, int], bool]:
        nonlocal taking
        current = await session.fences(["work"])
        taking = asyncio.create_task(another.leases.take("work", "two"))
        done, _ = await asyncio.wait([taking], timeout=0.3)
        return current, bool(done)

    assert await store.transact([venue.id], write) == ({"work": 1}, False)
    assert await taking == Fence("work", 2)
    for each in (store, another):
        await each.close()


async def test_a_program_writes_under_a_fence_in_its_own_transaction(postgres_url: str) -> None:
    async with asyncpg.create_pool(postgres_url, min_size=0, max_size=5) as pool:
        records = PostgresRecords(pool)
        await records.create_tables()
        leases = Leases(records, wall_clock)
        fence = must_have(await leases.take("work", "one", lease_ms=0))

        async with pool.acquire() as connection:
            with pytest.raises(NotInTransaction):
                await hold(fence, PostgresTransaction(connection))
            async with connection.transaction():
                await hold(fence, PostgresTransaction(connection))
                taking = asyncio.create_task(leases.take("work", "two"))
                waited_for, _ = await asyncio.wait([taking], timeout=0.3)
            assert not waited_for
            assert await taking == Fence("work", 2)
            with pytest.raises(LeaseLost):
                async with connection.transaction():
                    await hold(fence, PostgresTransaction(connection))


async def test_the_same_in_a_file(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "kit.db")
    await records.create_tables()
    leases = Leases(records, wall_clock)
    fence = must_have(await leases.take("work", "one", lease_ms=0))
    connection = sqlite3.connect(tmp_path / "kit.db", isolation_level=None)

    with pytest.raises(NotInTransaction):
        await hold(fence, SqliteTransaction(connection))
    connection.execute("BEGIN IMMEDIATE")
    await hold(fence, SqliteTransaction(connection))
    connection.execute("COMMIT")
    assert await leases.take("work", "two") == Fence("work", 2)
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(LeaseLost):
        await hold(fence, SqliteTransaction(connection))
    connection.execute("ROLLBACK")

    connection.close()
    await records.close()


def must_have(fence: Fence | None) -> Fence:
    assert fence is not None
    return fence
