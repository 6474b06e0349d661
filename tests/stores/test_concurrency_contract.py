"""Many at once, from several event loops: every number once, every visitor called once, in order."""

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from dawr.domain.errors import Refused
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Desk, Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Leave
from dawr.ports import Store, Wants
from dawr.ports.faults import Busy, Stopping, StoreAway
from dawr.reliability.idempotency import Reply
from tests.builders import DrivenClock, a_claim, a_desk, a_queue, a_venue, call_next, issue, rejoin
from tests.stores.databases import Database
from tests.stores.doing import LOOPS, create_venue, events_of, in_loops, load, numbers, rendered, stored_head, together

QUEUES = ("lab", "xray", "eye")


async def test_a_thousand_at_once_get_the_numbers_one_to_a_thousand(
    database: Database, store: Store, clock: DrivenClock, engine: Engine, venue: Venue
) -> None:
    async def a_quarter(engine: Engine) -> list[int]:
        places = await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(1000 // LOOPS)))
        return [place.ticket.number for place in places]

    given = await in_loops(database, store, clock, a_quarter)

    assert sorted(number for part in given for number in part) == list(range(1, 1001))
    assert [event.version for event in await events_of(engine, venue)] == list(range(1, 1001))


async def test_thirty_two_desks_call_everybody_once_and_in_order(
    database: Database, store: Store, clock: DrivenClock, engine: Engine
) -> None:
    desks = tuple(a_desk(f"desk-{n}", *(QUEUES if n % 3 == 0 else QUEUES[n % 3 : n % 3 + 1])) for n in range(32))
    venue = await create_venue(store, a_venue(*(a_queue(code) for code in QUEUES), desks=desks))
    rng = random.Random(32)
    await together(
        *(engine.do(venue.id, issue(rng.choice(QUEUES), priority=rng.choice([0, 0, 0, 1, 3]))) for _ in range(400))
    )

    async def eight_desks(engine: Engine, part: int) -> list[Ticket]:
        called = await asyncio.gather(*(call_until_empty(engine, venue, desk) for desk in desks[part::LOOPS]))
        return [ticket for tickets in called for ticket in tickets]

    parts = iter(range(LOOPS))
    called = [t for part in await in_loops(database, store, clock, lambda e: eight_desks(e, next(parts))) for t in part]

    assert len({ticket.ticket_id for ticket in called}) == len(called) == 400
    in_order = sorted(called, key=lambda ticket: ticket.version)
    for queue in QUEUES:
        places = [ticket.place for ticket in in_order if ticket.queue_id == queue]
        assert places == sorted(places)


async def test_a_desk_with_all_the_queues_always_calls_whoever_is_first_of_all(
    database: Database, store: Store, clock: DrivenClock, engine: Engine, venue: Venue
) -> None:
    rng = random.Random(3)
    await together(*(engine.do(venue.id, issue(rng.choice(QUEUES), priority=rng.choice([0, 1]))) for _ in range(200)))

    async def three_callers(engine: Engine) -> list[Ticket]:
        called = await asyncio.gather(*(call_until_empty(engine, venue, venue.desk("desk-2")) for _ in range(3)))
        return [ticket for tickets in called for ticket in tickets]

    called = [ticket for part in await in_loops(database, store, clock, three_callers) for ticket in part]

    places = [ticket.place for ticket in sorted(called, key=lambda ticket: ticket.version)]
    assert len(places) == 200
    assert places == sorted(places)


async def test_fifty_commands_with_one_key_are_one_ticket_and_fifty_equal_answers(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    async def a_part(engine: Engine) -> list[Reply]:
        return list(
            await asyncio.gather(
                *(engine.answer(venue.id, issue(), rendered, claim=a_claim("one-key")) for _ in range(10))
            )
        )

    replies = [reply for part in await in_loops(database, store, clock, a_part, loops=5) for reply in part]

    assert len({(reply.status, reply.body) for reply in replies}) == 1
    assert sorted(reply.replayed for reply in replies) == [False] + [True] * 49
    assert await database.rows("SELECT count(*) FROM tickets") == [(1,)]


async def test_one_visitor_who_asks_everywhere_at_once_has_one_ticket(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    async def a_part(engine: Engine) -> list[TicketId]:
        places = await asyncio.gather(*(engine.do(venue.id, issue(visitor="Aisha")) for _ in range(10)))
        return [place.ticket.ticket_id for place in places]

    ids = await in_loops(database, store, clock, a_part)

    assert len({ticket_id for part in ids for ticket_id in part}) == 1
    assert await database.rows("SELECT count(*) FROM tickets") == [(1,)]


async def test_a_capacity_is_not_exceeded_by_a_rush(database: Database, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=25, reserve=5)))

    async def a_rush(engine: Engine) -> list[int | str]:
        return numbers(await together(*(engine.do(venue.id, issue()) for _ in range(20))))

    outcomes = [outcome for part in await in_loops(database, store, clock, a_rush) for outcome in part]

    assert sorted(o for o in outcomes if isinstance(o, int)) == list(range(1, 31))
    assert outcomes.count("QueueFull") == 50


@pytest.mark.parametrize("seed", range(2))
async def test_after_any_busy_hour_the_counts_and_positions_are_right(
    database: Database, store: Store, clock: DrivenClock, venue: Venue, seed: int
) -> None:
    parts = iter(range(LOOPS))

    async def many_people(engine: Engine) -> None:
        rng = random.Random(100 * seed + next(parts))
        await asyncio.gather(*(one_after_the_other(engine, venue, random.Random(rng.random())) for _ in range(10)))

    await in_loops(database, store, clock, many_people)

    await assert_counts_are_right(database, store, venue)
    engine = Engine(store, clock)
    await assert_positions_are_right(engine, store, venue)
    versions = [event.version for event in await events_of(engine, venue)]
    assert versions == list(range(1, (await stored_head(store, venue)).version + 1))


async def test_a_caller_who_goes_away_never_leaves_half_a_command(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    rng = random.Random(5)
    engine = Engine(store, clock, batch_limit=5)

    for _ in range(20):
        callers = [
            asyncio.ensure_future(engine.answer(venue.id, issue(), rendered, claim=a_claim(f"{rng.random()}")))
            for _ in range(10)
        ]
        for _ in range(rng.randint(0, 8)):
            await asyncio.sleep(0)
        for caller in rng.sample(callers, 7):
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    await engine.stop()

    ((tickets,),) = await database.rows("SELECT count(*) FROM tickets")
    assert 60 <= tickets <= 200
    assert await database.rows("SELECT number FROM tickets ORDER BY number") == [(n,) for n in range(1, tickets + 1)]
    for table, key in (("events", "ticket_id"), ("visits", "visit_id")):
        unmatched = f"SELECT count(*) FROM tickets WHERE {key} NOT IN (SELECT {key} FROM {table})"
        assert await database.rows(unmatched) == [(0,)]
        assert await database.rows(f"SELECT count(*) FROM {table}") == [(tickets,)]
    assert await database.rows("SELECT count(*) FROM idempotency") == [(tickets,)]


async def test_a_caller_who_goes_away_does_not_take_the_batch_along(engine: Engine, venue: Venue) -> None:
    callers = [asyncio.ensure_future(engine.do(venue.id, issue())) for _ in range(10)]
    await asyncio.sleep(0)

    callers[3].cancel()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)

    assert numbers(outcomes) == [1, 2, 3, "CancelledError", 5, 6, 7, 8, 9, 10]


async def test_beyond_its_bound_the_engine_is_busy_and_stores_nothing(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock, most_waiting=5)

    outcomes = await together(*(engine.do(venue.id, issue()) for _ in range(50)))

    assert numbers(outcomes) == [1, 2, 3, 4, 5, *["Busy"] * 45]
    assert await database.rows("SELECT count(*) FROM tickets") == [(5,)]
    assert numbers(await together(engine.do(venue.id, issue()))) == [6]


async def test_an_engine_that_stops_finishes_what_it_accepted_and_takes_nothing_new(
    database: Database, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock, batch_limit=3)
    accepted = [asyncio.ensure_future(engine.do(venue.id, issue())) for _ in range(20)]
    await asyncio.sleep(0)

    await engine.stop()
    refused = await together(engine.do(venue.id, issue()))

    assert numbers([caller.result() for caller in accepted]) == list(range(1, 21))
    assert isinstance(refused[0], Stopping)
    assert isinstance(refused[0], Busy)
    assert await database.rows("SELECT count(*) FROM tickets") == [(20,)]


async def test_a_look_during_a_rush_sees_whole_batches(store: Store, clock: DrivenClock, venue: Venue) -> None:
    engine = Engine(store, clock, batch_limit=10)
    rush = [asyncio.ensure_future(engine.do(venue.id, issue())) for _ in range(500)]

    seen = []
    while not rush[-1].done():
        wants = Wants(current_lines={venue.queue("lab").id}, waiting={venue.queue("lab").id})
        rows = await load(store, venue, wants)
        seen += [(line.last_number, line.people_waiting, len(rows.waiting)) for line in rows.current_lines]
    await asyncio.gather(*rush)

    assert len(seen) > 2
    assert all(number == waiting == tickets for number, waiting, tickets in seen)


async def test_a_venue_set_up_elsewhere_is_seen_by_the_next_command(
    database: Database, store: Store, clock: DrivenClock, engine: Engine, venue: Venue
) -> None:
    await together(engine.do(venue.id, issue()))
    async with database.share(store) as other_store:
        await Engine(other_store, clock).do(venue.id, ChangeQueue("lab", "close"))

    outcomes = await together(engine.do(venue.id, issue()))

    assert numbers(outcomes) == ["QueueClosed"]


async def call_until_empty(engine: Engine, venue: Venue, desk: Desk) -> list[Ticket]:
    called = []
    while (ticket := (await engine.do(venue.id, CallNext(desk.id))).ticket) is not None:
        called.append(ticket)
    return called


async def one_after_the_other(engine: Engine, venue: Venue, rng: random.Random) -> None:
    """Somebody at a kiosk and at a desk: what is refused is only refused, and what a busy machine was too slow for."""
    known: list[TicketId] = []
    for _ in range(15):
        try:
            outcome = await engine.do(venue.id, any_operation(rng, known))
        except (Refused, StoreAway):
            continue
        ticket = getattr(outcome, "ticket", outcome)
        if isinstance(ticket, Ticket):
            known.append(ticket.ticket_id)


def any_operation(rng: random.Random, known: list[TicketId]) -> Operation[Any]:
    queue = rng.choice(QUEUES)
    if len(known) < 3 or rng.random() < 0.3:
        return issue(queue, priority=rng.choice([0, 0, 1, 2]))
    one = rng.choice(known)
    return rng.choice(
        [
            CallNext("desk-2"),
            call_next(queue),
            Call(one),
            Recall(one),
            Start(one),
            Finish(one),
            Miss(one),
            rejoin(one, "first"),
            rejoin(one, "last"),
            Hold(one),
            Resume(one),
            Leave(one),
        ]
    )


async def assert_counts_are_right(database: Database, store: Store, venue: Venue) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    for queue, state, count in await database.rows("SELECT queue_id, state, count(*) FROM tickets GROUP BY 1, 2"):
        counted[queue, state] = count
    rows = await load(store, venue, Wants(current_lines={queue.id for queue in venue.queues}))
    assert len(rows.current_lines) == 3
    for line in rows.current_lines:
        kept = {
            "waiting": line.people_waiting,
            "called": line.called,
            "serving": line.serving,
            "held": line.held,
            "missed": line.missed,
            "finished": line.finished,
        }
        assert kept == {state: counted[line.queue_id, state] for state in kept}
        assert line.last_number == sum(count for (queue, _), count in counted.items() if queue == line.queue_id)


async def assert_positions_are_right(engine: Engine, store: Store, venue: Venue) -> None:
    """What each visitor is told, against counting everybody before them."""
    rows = await load(store, venue, Wants(waiting={queue.id for queue in venue.queues}))
    assert len(rows.waiting) > 20
    for ticket in rows.waiting:
        place = await engine.do(venue.id, issue(ticket.queue_id, ticket.visitor))
        before = [other for other in rows.waiting if other.line_key == ticket.line_key and other.place < ticket.place]
        assert (place.ticket.ticket_id, place.ahead) == (ticket.ticket_id, len(before))
