"""How what is due is rung: once, whoever rings, and at no cost while nothing is due."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace

from dawr.domain.hours import Hours
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Ringer, Sweeper, purge
from dawr.engine.engine import Engine
from dawr.operations.admin import SetUp
from dawr.operations.alarms import Ring
from dawr.operations.staff import Call
from dawr.ports import Store
from tests.builders import DrivenClock, a_queue, a_timekeeper, a_venue, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, events_of, kinds_of, ring, take

MINUTE = 60_000
FROM_TEN_TO_ELEVEN = Hours(week=(((10 * 60, 11 * 60), (12 * 60, 13 * 60)),) * 7)


@pytest.fixture
async def venue(store: Store) -> Venue:
    return await create_venue(store, a_venue(replace(a_queue("lab"), miss_after=60)))


async def call_everybody(engine: Engine, venue: Venue, people: int) -> None:
    tickets = [(await engine.do(venue.id, issue())).ticket for _ in range(people)]
    for ticket in tickets:
        await engine.do(venue.id, Call(ticket.ticket_id))


async def test_ringing_twice_does_nothing_the_second_time(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    before = await engine.do(venue.id, Ring("miss", ticket.ticket_id))
    clock.advance(minutes=1)

    rung = [await engine.do(venue.id, Ring("miss", ticket.ticket_id)) for _ in range(2)]

    assert (before, rung) == (False, [True, False])
    assert (await kinds_of(engine, venue)).count("ticket.missed") == 1


async def test_what_was_never_set_does_not_ring(engine: Engine, venue: Venue) -> None:
    assert not await engine.do(venue.id, Ring("miss", "nobody"))


async def test_what_is_due_of_something_that_is_gone_is_put_out(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    kinds = ("miss", "hold", "break", "call", "close", "enter", "hours")
    rows = ", ".join(f"('{venue.id}', '{kind}', 'gone', 1)" for kind in kinds)
    await database.rows(f"INSERT INTO alarms (venue_id, kind, subject, due_at) VALUES {rows}")

    assert await ring(engine, store, clock) == len(kinds)
    assert await store.due_alarms(clock.now, most=100) == []
    assert await events_of(engine, venue) == []


async def test_two_who_ring_at_once_ring_each_alarm_once(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await call_everybody(engine, venue, 40)
    clock.advance(minutes=1)

    rung = await asyncio.gather(*(Ringer(engine, store, clock).ring_due() for _ in range(2)))

    assert sum(rung) == 40
    assert (await kinds_of(engine, venue)).count("ticket.missed") == 40


async def test_two_processes_that_ring_at_once_ring_each_alarm_once(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await call_everybody(engine, venue, 40)
    clock.advance(minutes=1)

    async with database.share(store) as other:
        second = Engine(other, clock)
        rung = await asyncio.gather(ring(engine, store, clock), ring(second, other, clock))
        await second.stop()

    assert sum(rung) == 40
    assert (await kinds_of(engine, venue)).count("ticket.missed") == 40


async def test_more_than_one_step_takes_are_rung_in_one_go(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await database.rows(
        "INSERT INTO alarms (venue_id, kind, subject, due_at) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) "
        f"SELECT '{venue.id}', 'miss', 'gone-' || i, i FROM n"
    )

    assert await ring(engine, store, clock) == 1100
    assert await store.due_alarms(clock.now, most=10) == []


async def test_the_longest_overdue_of_all_venues_come_first(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    other = await create_venue(store, a_venue(replace(a_queue("lab"), miss_after=120)))
    late = await take(engine, other)
    await engine.do(other.id, Call(late.ticket_id))
    clock.advance(seconds=90)
    soon = await take(engine, venue)
    await engine.do(venue.id, Call(soon.ticket_id))

    due = await store.due_alarms(clock.now + 10 * MINUTE, most=10)

    assert [(alarm.venue_id, alarm.subject) for alarm in due] == [
        (other.id, late.ticket_id),
        (venue.id, soon.ticket_id),
    ]
    assert await store.due_alarms(clock.now + 40_000, most=10) == due[:1]


async def test_what_has_rung_is_dropped_and_what_is_to_come_stays(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await call_everybody(engine, venue, 3)
    clock.advance(minutes=1)
    await ring(engine, store, clock)
    await call_everybody(engine, venue, 2)

    await purge(store, clock, a_timekeeper(store, clock))

    assert await database.rows("SELECT count(*), count(due_at) FROM alarms") == [(2, 2)]


async def test_a_step_with_nothing_due_costs_the_same_for_one_venue_and_for_a_thousand(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def noting(name: str) -> None:
        real = getattr(type(store), name)

        def noted(self: Store, *arguments: Any, **more: Any) -> Awaitable[Any]:  # noqa: ANN401 - whatever it takes
            asked.append(name)
            answer: Awaitable[Any] = real(self, *arguments, **more)
            return answer

        monkeypatch.setattr(type(store), name, noted)

    for name in ("select_rows", "change_rows", "transact", "read"):
        noting(name)
    costs = []
    for venues in (1, 999):
        beginning = f"v-{venues}-"
        await database.rows(
            "INSERT INTO venues (venue_id, slug, document) "
            f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {venues}) "
            f"SELECT '{beginning}' || i, '{beginning}' || i, '{{}}' FROM n"
        )
        await database.rows(
            "INSERT INTO alarms (venue_id, kind, subject, due_at) "
            f"SELECT venue_id, 'hours', 'lab', {clock.now + MINUTE} FROM venues WHERE venue_id LIKE '{beginning}%'"
        )
        asked.clear()
        assert await Ringer(engine, store, clock).ring_due() == 0
        costs.append(list(asked))

    assert costs == [["select_rows"]] * 2


# Hours


async def test_what_hours_begin_and_end_is_recorded_and_keeps_being_recorded(
    engine: Engine, store: Store, clock: DrivenClock
) -> None:
    venue = await create_venue(store, a_venue(replace(a_queue("lab"), hours=FROM_TEN_TO_ELEVEN), a_queue("eye")))
    await Sweeper(engine, store).sweep_all()

    for _ in range(25):
        clock.advance(hours=1)
        await ring(engine, store, clock)

    recorded = [(event.kind, event.queue_id, event.at) for event in await events_of(engine, venue)]
    ten = clock.now - 25 * 60 * MINUTE
    expected = [(1, "ended"), (2, "began"), (3, "ended"), (24, "began"), (25, "ended")]
    assert recorded == [(f"queue.hours_{how}", "lab", ten + hours * 60 * MINUTE) for hours, how in expected]


async def test_other_hours_ring_when_they_say(engine: Engine, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(replace(a_queue("lab"), hours=FROM_TEN_TO_ELEVEN)))
    await Sweeper(engine, store).sweep_all()
    until_noon = Hours(week=(((10 * 60, 12 * 60),),) * 7)
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue("lab"), hours=until_noon))))

    clock.advance(hours=1)
    at_eleven = await ring(engine, store, clock)
    clock.advance(hours=1)
    at_noon = await ring(engine, store, clock)

    assert (at_eleven, at_noon) == (0, 1)
    assert (await kinds_of(engine, venue))[-1] == "queue.hours_ended"


async def test_hours_that_were_taken_away_ring_no_more(engine: Engine, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(replace(a_queue("lab"), hours=FROM_TEN_TO_ELEVEN)))
    await Sweeper(engine, store).sweep_all()
    await engine.do(venue.id, SetUp(venue.with_queue(a_queue("lab"))))

    for _ in range(3):
        clock.advance(hours=1)
        await ring(engine, store, clock)

    assert await kinds_of(engine, venue) == ["venue.set_up"]


async def test_winding_up_twice_changes_nothing(engine: Engine, store: Store, database: Database) -> None:
    await create_venue(store, a_venue(replace(a_queue("lab"), hours=FROM_TEN_TO_ELEVEN)))

    seen = []
    for _ in range(2):
        await Sweeper(engine, store).sweep_all()
        seen.append(await database.rows("SELECT * FROM alarms"))

    assert seen[0] == seen[1]
    assert len(seen[0]) == 1
