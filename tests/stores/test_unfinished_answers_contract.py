"""An answer that nobody finished is no answer: the engine and the kit mean the same by one table."""

import pytest

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.reliability.idempotency import Claim, ClaimLost, Idempotency, InProgress, KeyReused, Reply
from dawr.reliability.records import Records
from tests.builders import DrivenClock, a_claim
from tests.reliability.backends import LOG_SECRET
from tests.stores.databases import Database
from tests.stores.doing import together
from tests.stores.test_idempotency_contract import TICKETS, enter


@pytest.fixture
def outside(store: Records, clock: DrivenClock) -> Idempotency:
    """The same table, for work that has its effect elsewhere."""
    return Idempotency(store, clock, secret=LOG_SECRET, patience_ms=0)


async def test_what_somebody_else_is_doing_is_neither_replayed_nor_done_again(
    database: Database, engine: Engine, outside: Idempotency, venue: Venue
) -> None:
    async with outside.claimed(a_claim()) as attempt:
        first, second, other = await together(
            enter(engine, venue, a_claim()), enter(engine, venue, a_claim()), enter(engine, venue, a_claim("other"))
        )
        await attempt.complete(Reply(202, b"from outside"))

    assert isinstance(first, InProgress)
    assert isinstance(second, InProgress)
    assert isinstance(other, Reply)
    assert await database.rows(TICKETS) == [(1,)]
    assert await enter(engine, venue, a_claim()) == Reply(202, b"from outside", replayed=True)


async def test_what_nobody_is_doing_any_more_is_taken_over(
    database: Database, engine: Engine, outside: Idempotency, clock: DrivenClock, venue: Venue
) -> None:
    async def thaw(claim: Claim) -> None:
        async with outside.claimed(claim) as frozen:
            clock.advance(ms=claim.lease_ms)
            replies = [await enter(engine, venue, claim) for _ in range(2)]
            assert [reply.replayed for reply in replies] == [False, True]
            await frozen.complete(Reply(500, b"late"))

    with pytest.raises(ClaimLost):
        await thaw(a_claim())

    assert await database.rows(TICKETS) == [(1,)]
    assert await database.rows("SELECT state, status FROM idempotency") == [("completed", 201)]


async def test_what_failed_is_done(database: Database, engine: Engine, outside: Idempotency, venue: Venue) -> None:
    async def fail() -> Reply:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await outside.run(a_claim(), fail)

    with pytest.raises(KeyReused):
        await enter(engine, venue, a_claim(fingerprint="another request"))
    replies = await together(*(enter(engine, venue, a_claim()) for _ in range(3)))

    assert [reply.replayed for reply in replies if isinstance(reply, Reply)] == [False, True, True]
    assert await database.rows(TICKETS) == [(1,)]


async def test_what_the_engine_answered_is_replayed_outside(
    engine: Engine, outside: Idempotency, clock: DrivenClock, venue: Venue
) -> None:
    async def never() -> Reply:
        raise AssertionError

    first = await enter(engine, venue, a_claim(keep_ms=1000))

    assert await outside.run(a_claim(), never) == Reply(201, first.body, replayed=True)
    clock.advance(seconds=1)
    assert await outside.check(a_claim()) is None
