"""A host whose clock is wrong goes by the database's, which all hosts share."""

import itertools

import msgspec
import pytest

from dawr.bootstrap.system import now
from dawr.domain.errors import JoinedTooOften
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import Unnamed, Venue
from dawr.engine.clockwork import Sweeper, purge
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.operations.staff import Call
from dawr.operations.ticket import Joined
from dawr.operations.visitor import Join, Leave
from dawr.ports.faults import ClockUntrusted
from dawr.reliability.idempotency import AnswerKey, Claim, Reply
from dawr.stores.postgres import PostgresStore
from tests.builders import a_head, a_queue, a_timekeeper, a_venue
from tests.stores.databases import PostgresDatabase
from tests.stores.doing import take

HOUR_MS = 60 * 60 * 1000
WRONG = [61 * 60_000, 25 * HOUR_MS, -2 * HOUR_MS]
RESTAURANT = msgspec.structs.replace(a_venue(a_queue("waitlist")), kind="restaurant")

_numbers = itertools.count()


def join(mobile: str, *, most: int | None = None) -> Join:
    new = next(_numbers)
    return Join(Unnamed.WAITLIST, mobile, TicketId(f"t{new}"), VisitId(f"v{new}"), f"h{new}", most_per_hour=most)


async def two_hosts(url: str, error_ms: int) -> tuple[PostgresStore, PostgresStore, Engine, Engine]:
    right = await PostgresStore.open(url, clock=now)
    await right.migrate()
    await right.add_venue(RESTAURANT, a_head(RESTAURANT))
    wrong = await PostgresStore.open(url, clock=lambda: now() + error_ms)
    return right, wrong, Engine(right, now), Engine(wrong, lambda: now() + error_ms)


async def closed(*parts: PostgresStore | Engine) -> None:
    for part in parts:
        await (part.stop() if isinstance(part, Engine) else part.close())


@pytest.mark.parametrize("error_ms", WRONG)
async def test_a_mobile_number_joins_no_more_often_through_a_host_with_a_wrong_clock(
    postgres_url: str, error_ms: int
) -> None:
    right, wrong, at_right, at_wrong = await two_hosts(postgres_url, error_ms)
    for _ in range(3):
        place = await at_right.do(RESTAURANT.id, join("+97433000001", most=3))
        await at_right.do(RESTAURANT.id, Leave(place.ticket.ticket_id))

    with pytest.raises(JoinedTooOften) as refused:
        await at_wrong.do(RESTAURANT.id, join("+97433000001", most=3))

    assert 3500 < refused.value.again_seconds <= 3600
    await closed(at_right, at_wrong, right, wrong)


@pytest.mark.parametrize("error_ms", WRONG)
async def test_a_retry_at_a_host_with_a_wrong_clock_has_the_first_answer_and_no_second_effect(
    postgres_url: str, error_ms: int
) -> None:
    right, wrong, at_right, at_wrong = await two_hosts(postgres_url, error_ms)
    claim = Claim(AnswerKey("joins", "anonymous", "a"), "the same", 24 * HOUR_MS)
    first = await answered(at_right, RESTAURANT, join("+97433000002"), claim)
    await at_right.do(RESTAURANT.id, Leave(TicketId(first.body.decode())))

    again = await answered(at_wrong, RESTAURANT, join("+97433000002"), claim)

    assert (again.body, again.replayed) == (first.body, True)
    await closed(at_right, at_wrong, right, wrong)


@pytest.mark.parametrize("error_ms", WRONG)
async def test_a_clockwork_with_a_wrong_clock_deletes_no_answer_that_is_still_kept(
    postgres_url: str, error_ms: int
) -> None:
    right, wrong, at_right, at_wrong = await two_hosts(postgres_url, error_ms)
    claim = Claim(AnswerKey("joins", "anonymous", "a"), "the same", 24 * HOUR_MS)
    first = await answered(at_right, RESTAURANT, join("+97433000003"), claim)

    await purge(wrong, lambda: now() + error_ms, a_timekeeper(wrong, lambda: now() + error_ms))

    assert (await answered(at_right, RESTAURANT, join("+97433000003"), claim)).body == first.body
    assert await right.purge_answers(now() + 25 * HOUR_MS, most=10) == 1
    await closed(at_right, at_wrong, right, wrong)


@pytest.mark.parametrize("error_ms", [365 * 24 * HOUR_MS, -365 * 24 * HOUR_MS])
async def test_while_the_databases_own_clock_is_a_year_wrong_nothing_ends_and_nothing_is_doubled(
    migrated_url: str, error_ms: int
) -> None:
    database = PostgresDatabase(migrated_url)

    def right() -> int:
        return now() - error_ms

    store = await PostgresStore.open(migrated_url, clock=right)
    time = a_timekeeper(store, right)
    engine = Engine(store, right, time=time)
    venue = msgspec.structs.replace(a_venue(a_queue("waitlist")), kind="restaurant")
    await store.add_venue(venue, a_head(venue, right()))
    await database.rows("INSERT INTO sessions VALUES ('a', 'b', 0, 0, 0)")
    claim = Claim(AnswerKey("joins", "anonymous", "a"), "the same", 24 * HOUR_MS)
    first = await answered(engine, venue, join("+97433000004"), claim)

    with pytest.raises(ClockUntrusted):
        await store.ping()
    await time.keep()
    await Sweeper(engine, store).sweep_all()
    await purge(store, right, time)

    assert (await answered(engine, venue, join("+97433000004"), claim)).body == first.body
    assert await database.rows("SELECT state, day FROM tickets") == [("waiting", a_head(venue, right()).day)]
    assert await database.rows("SELECT count(*) FROM sessions") == [(1,)]
    assert (await store.time_kept())[1] == pytest.approx(right(), abs=HOUR_MS)
    await closed(engine, store)


@pytest.mark.parametrize("error_ms", [365 * 24 * HOUR_MS, -365 * 24 * HOUR_MS])
async def test_while_the_databases_own_clock_is_a_year_wrong_timers_go_by_what_was_believed(
    migrated_url: str, error_ms: int
) -> None:
    def right() -> int:
        return now() - error_ms

    store = await PostgresStore.open(migrated_url, clock=right)
    engine = Engine(store, right, time=a_timekeeper(store, right))
    venue = a_venue(msgspec.structs.replace(a_queue("lab"), miss_after=60))
    await store.add_venue(venue, a_head(venue, right()))

    called = await engine.do(venue.id, Call((await take(engine, venue)).ticket_id))

    [(due_at,)] = await PostgresDatabase(migrated_url).rows("SELECT due_at FROM alarms")
    assert called.issued_at == pytest.approx(right(), abs=HOUR_MS)
    assert due_at == pytest.approx(right(), abs=HOUR_MS)
    await closed(engine, store)


@pytest.mark.parametrize("error_ms", WRONG)
async def test_a_host_that_starts_with_a_wrong_clock_goes_by_the_databases(postgres_url: str, error_ms: int) -> None:
    right, wrong, at_right, _ = await two_hosts(postgres_url, error_ms)
    await a_timekeeper(right, now).keep()

    def clock() -> int:
        return now() + error_ms

    engine = Engine(wrong, clock, time=a_timekeeper(wrong, clock, is_synchronised=lambda: False))

    joined = await engine.do(RESTAURANT.id, join("+97433000005"))

    assert joined.ticket.issued_at == pytest.approx(now(), abs=HOUR_MS)
    await closed(engine, at_right, right, wrong)


async def answered(engine: Engine, venue: Venue, joining: Operation[Joined], claim: Claim) -> Reply:
    return await engine.answer(
        venue.id, joining, lambda place: Reply(201, place.ticket.ticket_id.encode()), claim=claim
    )
