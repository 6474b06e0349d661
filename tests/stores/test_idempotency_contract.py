"""Idempotency: one effect and one answer for each key, whoever retries, wherever."""

import asyncio
from typing import Any

import pytest

from dawr.domain.errors import Refused
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.staff import Called
from dawr.ports import Store
from dawr.reliability.idempotency import Claim, KeyReused, Reply
from tests.builders import TWO_DAYS_MS, DrivenClock, a_claim, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, rendered, take, together

TICKETS = "SELECT count(*) FROM tickets"
ANSWERS = "SELECT count(*) FROM idempotency"


async def test_an_answer_is_stored_with_its_effect(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    reply = await enter(engine, venue, a_claim("k", scope="s", principal="p", fingerprint="f", keep_ms=1000))

    assert not reply.replayed
    assert await database.rows("SELECT * FROM idempotency") == [
        ("s", "p", "k", "f", "completed", None, 0, 201, reply.body, clock.now + 1000)
    ]


async def test_a_retry_in_the_same_batch_gets_the_first_answer(
    database: Database, engine: Engine, venue: Venue
) -> None:
    replies = await together(*(enter(engine, venue, a_claim()) for _ in range(3)))

    assert [reply.replayed for reply in replies if isinstance(reply, Reply)] == [False, True, True]
    assert len({reply.body for reply in replies if isinstance(reply, Reply)}) == 1
    assert await database.rows(TICKETS) == [(1,)]


async def test_a_retry_in_a_later_batch_gets_the_first_answer(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first = await enter(engine, venue, a_claim())
    clock.advance(hours=1)

    retried = await enter(engine, venue, a_claim())

    assert (retried.status, retried.body, retried.replayed) == (first.status, first.body, True)
    assert await database.rows(TICKETS) == [(1,)]


async def test_a_retry_after_a_restart_gets_the_first_answer(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first = await enter(engine, venue, a_claim())

    restarted = await database.open()
    retried = await enter(Engine(restarted, clock), venue, a_claim())
    await restarted.close()

    assert (retried.body, retried.replayed) == (first.body, True)
    assert await database.rows(TICKETS) == [(1,)]


async def test_two_engines_that_get_one_key_at_once_do_it_once(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    async with database.share(store) as other_store:
        engines = [Engine(store, clock), Engine(other_store, clock)]
        replies = await asyncio.gather(*(enter(engine, venue, a_claim()) for engine in engines * 5))

    assert len({reply.body for reply in replies}) == 1
    assert sorted(reply.replayed for reply in replies) == [False] + [True] * 9
    assert await database.rows(TICKETS) == [(1,)]


async def test_a_replayed_body_is_the_same_to_the_byte(engine: Engine, venue: Venue) -> None:
    body = bytes(range(256)) + "عائشة".encode()

    async def answer() -> Reply:
        return await engine.answer(venue.id, issue(), lambda _: Reply(207, body), claim=a_claim())

    first, again = await answer(), await answer()

    assert (first.body, again.body, again.status) == (body, body, 207)


async def test_an_empty_body_is_replayed_too(engine: Engine, venue: Venue) -> None:
    replies = [await engine.answer(venue.id, issue(), lambda _: Reply(204, b""), claim=a_claim()) for _ in range(2)]

    assert [(reply.status, reply.body, reply.replayed) for reply in replies] == [(204, b"", False), (204, b"", True)]


async def test_another_request_under_the_same_key_is_refused(database: Database, engine: Engine, venue: Venue) -> None:
    first = await enter(engine, venue, a_claim(fingerprint="enter the lab"))

    with pytest.raises(KeyReused):
        await enter(engine, venue, a_claim(fingerprint="enter the eye clinic"))

    assert await database.rows(TICKETS) == [(1,)]
    again = await enter(engine, venue, a_claim(fingerprint="enter the lab"))
    assert (again.body, again.replayed) == (first.body, True)


async def test_another_request_under_the_same_key_in_the_same_batch_is_refused(
    database: Database, engine: Engine, venue: Venue
) -> None:
    first, other = await together(
        enter(engine, venue, a_claim(fingerprint="enter the lab")),
        enter(engine, venue, a_claim(fingerprint="enter the eye clinic")),
    )

    assert isinstance(first, Reply)
    assert isinstance(other, KeyReused)
    assert await database.rows(TICKETS) == [(1,)]


@pytest.mark.parametrize(
    "other",
    [
        a_claim(principal="somebody-else"),
        a_claim(scope="venue/leave"),
        a_claim("another-key"),
        a_claim("A-KEY"),
        a_claim("a-key "),
    ],
    ids=["principal", "scope", "key", "case", "space"],
)
async def test_another_principal_scope_or_key_is_another_request(
    database: Database, engine: Engine, venue: Venue, other: Claim
) -> None:
    await enter(engine, venue, a_claim())

    reply = await enter(engine, venue, other)

    assert not reply.replayed
    assert await database.rows(TICKETS) == [(2,)]


async def test_the_same_key_in_two_venues_is_two_requests(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    other = await create_venue(store, a_venue())

    replies = await together(*(enter(engine, v, a_claim(scope=f"{v.id}/enter")) for v in (venue, other, venue)))

    assert [reply.replayed for reply in replies if isinstance(reply, Reply)] == [False, False, True]
    assert await database.rows(TICKETS) == [(2,)]


async def test_an_expired_answer_is_as_if_it_had_never_been(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first = await enter(engine, venue, a_claim(fingerprint="enter the lab"))
    clock.advance(ms=TWO_DAYS_MS)

    second = await enter(engine, venue, a_claim(fingerprint="enter the eye clinic"))

    assert not second.replayed
    assert second.body != first.body
    assert await database.rows("SELECT fingerprint, expires_at FROM idempotency") == [
        ("enter the eye clinic", clock.now + TWO_DAYS_MS)
    ]


async def test_an_answer_is_replayed_until_the_moment_it_expires(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await enter(engine, venue, a_claim())
    clock.advance(ms=TWO_DAYS_MS - 1)

    assert (await enter(engine, venue, a_claim())).replayed


async def test_a_refusal_is_not_stored(database: Database, engine: Engine, venue: Venue) -> None:
    with pytest.raises(Refused):
        await enter(engine, venue, a_claim(), operation=issue("nowhere"))

    assert await database.rows(ANSWERS) == [(0,)]
    assert not (await enter(engine, venue, a_claim())).replayed


async def test_an_answer_without_an_effect_is_not_stored(database: Database, engine: Engine, venue: Venue) -> None:
    def nobody(called: Called) -> Reply:
        return Reply(200, b"nobody" if called.ticket is None else b"somebody")

    before = await engine.answer(venue.id, call_next(), nobody, claim=a_claim())
    await take(engine, venue)
    after = await engine.answer(venue.id, call_next(), nobody, claim=a_claim())

    assert (before.body, after.body, after.replayed) == (b"nobody", b"somebody", False)
    assert await database.rows(ANSWERS) == [(1,)]


async def test_without_a_key_nothing_is_kept_and_every_request_counts(
    database: Database, engine: Engine, venue: Venue
) -> None:
    replies = [await engine.answer(venue.id, issue(), rendered) for _ in range(2)]

    assert replies[0].body != replies[1].body
    assert await database.rows(ANSWERS) == [(0,)]


async def test_an_answer_that_cannot_be_rendered_leaves_nothing(
    database: Database, engine: Engine, venue: Venue
) -> None:
    def breaks(_: object) -> Reply:
        raise ValueError("a template is broken")

    broken, mate = await together(
        engine.answer(venue.id, issue(), breaks, claim=a_claim()), enter(engine, venue, a_claim("another"))
    )

    assert isinstance(broken, ValueError)
    assert isinstance(mate, Reply)
    assert mate.body.endswith(b"has number 1")
    assert await database.rows(TICKETS) == [(1,)]


async def test_expired_answers_are_purged_in_steps(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for number in range(5):
        await enter(engine, venue, a_claim(f"old-{number}", keep_ms=1000))
    await enter(engine, venue, a_claim("young"))
    clock.advance(seconds=2)

    purged = [await store.purge_answers(clock.now, most=2) for _ in range(4)]

    assert purged == [2, 2, 1, 0]
    assert await database.rows("SELECT key FROM idempotency") == [("young",)]


async def test_the_oldest_answers_are_purged_first(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for number in (3, 1, 2):
        await enter(engine, venue, a_claim(f"k{number}", keep_ms=1000 * number))
    clock.advance(seconds=60)

    await store.purge_answers(clock.now, most=2)

    assert await database.rows("SELECT key FROM idempotency") == [("k3",)]


async def test_an_answer_is_not_purged_before_it_expires(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await enter(engine, venue, a_claim(keep_ms=1000))

    assert await store.purge_answers(clock.now + 1000, most=10) == 0
    assert await store.purge_answers(clock.now + 1001, most=10) == 1
    assert await database.rows(TICKETS) == [(1,)]


async def test_an_answer_without_an_effect_is_not_kept_beside_one_with_an_effect(
    database: Database, engine: Engine, venue: Venue
) -> None:
    await take(engine, venue, visitor="Amna")

    await together(
        enter(engine, venue, a_claim("already"), operation=issue("lab", "Amna")), enter(engine, venue, a_claim("new"))
    )

    assert await database.rows("SELECT key FROM idempotency") == [("new",)]


async def enter(engine: Engine, venue: Venue, claim: Claim, *, operation: Operation[Any] | None = None) -> Reply:
    """Take a number under a key; every attempt brings new ids along, as an parts does."""
    return await engine.answer(venue.id, operation or issue(), rendered, claim=claim)
