"""A mobile number joins so often within an hour, per restaurant: exactly, at any concurrency (MISSION B5)."""

import asyncio
import sys
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from dawr.domain.errors import JoinedTooOften
from dawr.domain.ticket import Ticket, TicketId, VisitId
from dawr.domain.venue import Unnamed, Venue
from dawr.engine.clockwork import reset
from dawr.engine.engine import Engine
from dawr.operations.staff import Call, Finish, Miss
from dawr.operations.visitor import Join, Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_claim, a_new, a_queue, a_venue, issue
from tests.stores.databases import Database, PostgresDatabase
from tests.stores.doing import create_venue, do_each, numbers, rendered, together

MOBILE = "+97433001122"
REPOSITORY = Path(__file__).parents[2]
EVERYTHING = ("tickets", "visits", "events", "lines", "heads", "idempotency")


@pytest.fixture
async def venue(store: Store) -> Venue:
    return await create_venue(store, a_venue(a_queue("waitlist"), a_queue("bar")))


def join(mobile: str = MOBILE, *, most: int | None = 3) -> Join:
    ticket_id = a_new("ticket")
    return Join(
        Unnamed.WAITLIST,
        mobile,
        TicketId(ticket_id),
        VisitId(f"visit-of-{ticket_id}"),
        f"secret-hash-of-{ticket_id}",
        most_per_hour=most,
    )


async def join_and_cancel(engine: Engine, venue: Venue) -> Ticket:
    ticket = (await engine.do(venue.id, join())).ticket
    await engine.do(venue.id, Leave(ticket.ticket_id))
    return ticket


async def test_numbers_that_were_given_while_a_clock_was_ahead_keep_nobody_out_for_a_year(
    engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    clock.advance(days=365)
    for _ in range(3):
        await join_and_cancel(engine, venue)

    clock.advance(days=-365)

    assert (await engine.do(venue.id, join())).ticket.number == 4


async def test_the_fourth_within_an_hour_is_refused_and_told_when_to_come_again(
    engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    for _ in range(3):
        await join_and_cancel(engine, venue)
        clock.advance(minutes=10)

    with pytest.raises(JoinedTooOften) as refused:
        await engine.do(venue.id, join())

    assert (refused.value.most, refused.value.window_seconds) == (3, 3600)
    assert refused.value.again_seconds == 30 * 60
    assert MOBILE not in str(refused.value)


async def test_the_hour_slides(engine: Engine, venue: Venue, clock: DrivenClock) -> None:
    """Joined at 0, 20 and 40 minutes: there is room at 60, at 80 and at 100, each time for one."""
    for _ in range(3):
        await join_and_cancel(engine, venue)
        clock.advance(minutes=20)

    clock.advance(ms=-1)
    with pytest.raises(JoinedTooOften) as just_too_early:
        await engine.do(venue.id, join())
    clock.advance(ms=1)

    assert just_too_early.value.again_seconds == 1
    for _ in range(3):
        await join_and_cancel(engine, venue)
        with pytest.raises(JoinedTooOften):
            await engine.do(venue.id, join())
        clock.advance(minutes=20)


async def test_whoever_is_on_the_list_already_is_not_charged(database: Database, engine: Engine, venue: Venue) -> None:
    asked = [await engine.do(venue.id, join()) for _ in range(5)]
    await engine.do(venue.id, Leave(asked[0].ticket.ticket_id))
    for _ in range(2):
        await join_and_cancel(engine, venue)

    assert [place.already for place in asked] == [False, True, True, True, True]
    with pytest.raises(JoinedTooOften):
        await engine.do(venue.id, join())
    assert await database.rows("SELECT count(*) FROM tickets") == [(3,)]


async def test_a_retry_is_not_charged_and_gets_its_answer_when_nothing_is_left(engine: Engine, venue: Venue) -> None:
    first = join()
    reply = await engine.answer(venue.id, first, rendered, claim=a_claim())
    await engine.do(venue.id, Leave(first.ticket_id))
    for _ in range(2):
        await join_and_cancel(engine, venue)

    again = await engine.answer(venue.id, join(), rendered, claim=a_claim())

    assert (again.body, again.replayed) == (reply.body, True)


async def test_what_became_of_a_ticket_makes_no_difference(engine: Engine, venue: Venue) -> None:
    seated = (await engine.do(venue.id, join(most=4))).ticket
    await do_each(engine, venue, Call(seated.ticket_id), Finish(seated.ticket_id))
    missed = (await engine.do(venue.id, join(most=4))).ticket
    await do_each(engine, venue, Call(missed.ticket_id), Miss(missed.ticket_id))
    await engine.do(venue.id, join(most=4))
    await reset(engine, venue.id, "waitlist")
    await engine.do(venue.id, join(most=4))
    await reset(engine, venue.id, "waitlist")

    with pytest.raises(JoinedTooOften):
        await engine.do(venue.id, join(most=4))


async def test_a_refusal_leaves_nothing(database: Database, engine: Engine, venue: Venue) -> None:
    """Not even the end of the ticket that was missed: whoever comes back late keeps it as it is."""
    for _ in range(2):
        await join_and_cancel(engine, venue)
    missed = (await engine.do(venue.id, join())).ticket
    await do_each(engine, venue, Call(missed.ticket_id), Miss(missed.ticket_id))
    before = [await database.rows(f"SELECT * FROM {table}") for table in EVERYTHING]

    with pytest.raises(JoinedTooOften):
        await engine.answer(venue.id, join(), rendered, claim=a_claim())

    assert [await database.rows(f"SELECT * FROM {table}") for table in EVERYTHING] == before


async def test_other_numbers_and_other_restaurants_are_not_held_back(
    store: Store, engine: Engine, venue: Venue
) -> None:
    elsewhere = await create_venue(store, a_venue(a_queue("waitlist")))
    for _ in range(3):
        await join_and_cancel(engine, venue)

    outcomes = [
        (await engine.do(elsewhere.id, join())).ticket.number,
        (await engine.do(venue.id, join("+97433001123"))).ticket.number,
        (await engine.do(venue.id, join("+9743300112"))).ticket.number,
        (await engine.do(venue.id, join(most=None))).ticket.number,
    ]

    assert outcomes == [1, 4, 5, 6]


@pytest.mark.parametrize(
    ("kind", "visitor", "given"),
    [
        ("restaurant", MOBILE, [1, 2, 3, "JoinedTooOften"]),
        ("restaurant", "Amna", [1, 2, 3, 4]),
        ("clinic", MOBILE, [1, 2, 3, 4]),
    ],
)
async def test_only_a_restaurant_counts_and_only_mobile_numbers(
    store: Store, engine: Engine, kind: Literal["restaurant", "clinic"], visitor: str, given: list[int | str]
) -> None:
    """Of those who take a number as anybody may, at any venue."""
    venue = await create_venue(store, msgspec.structs.replace(a_venue(), kind=kind))
    taking = [msgspec.structs.replace(issue(visitor=visitor), most_per_hour=3) for _ in range(4)]
    commands: list[Any] = []
    for one in taking:
        commands += [engine.do(venue.id, one), engine.do(venue.id, Leave(one.ticket_id))]

    assert numbers((await together(*commands))[::2]) == given


async def test_what_happens_in_one_batch_counts_too(engine: Engine, venue: Venue) -> None:
    joining = [join() for _ in range(5)]
    commands: list[Any] = []
    for one in joining:
        commands += [engine.do(venue.id, one), engine.do(venue.id, Leave(one.ticket_id))]

    outcomes = await together(*commands)

    assert numbers(outcomes[::2]) == [1, 2, 3, "JoinedTooOften", "JoinedTooOften"]


async def test_fifty_who_join_and_cancel_at_once_get_three(
    database: Database, store: Store, engine: Engine, venue: Venue, clock: DrivenClock
) -> None:
    another_store = await database.open()
    engines = [engine, Engine(another_store, clock)]

    async def come(number: int) -> str:
        mine = engines[number % 2]
        try:
            place = await mine.do(venue.id, join())
        except JoinedTooOften:
            return "refused"
        if place.already:
            return "already"
        await mine.do(venue.id, Leave(place.ticket.ticket_id))
        return "joined"

    outcomes = await asyncio.gather(*map(come, range(50)))
    while "refused" not in outcomes:
        outcomes += await asyncio.gather(*map(come, range(50)))

    assert outcomes.count("joined") == 3
    assert await database.rows("SELECT count(*) FROM tickets") == [(3,)]
    await engines[1].stop()
    await another_store.close()


@pytest.mark.slow
async def test_two_processes_let_one_number_in_three_times(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url)
    store = await database.open()
    await store.migrate()
    venue = await create_venue(store, a_venue(a_queue("waitlist")))

    joined = await asyncio.gather(*(joins_of_a_process(postgres_url, venue, name) for name in ("one", "two")))

    assert sum(joined) == 3
    assert await database.rows("SELECT count(*) FROM tickets") == [(3,)]
    await store.close()


async def joins_of_a_process(url: str, venue: Venue, name: str) -> int:
    given = ("-m", "tests.stores.joining", url, venue.id, name)
    running = await asyncio.create_subprocess_exec(
        sys.executable, *given, cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await running.communicate()
    assert running.returncode == 0
    return int(said)
