"""Expiry: what is left open when a day or a round ends is ended in steps, and it is safe to do it twice."""

from dawr.domain.queue import QueueId
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import Reset
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.staff import Call, Finish, Hold, Miss, Start
from dawr.operations.visitor import Leave
from dawr.ports import BULK_STEP, Store
from tests.builders import DrivenClock, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, do_each, events_of, kinds_of, stored_line, stored_ticket, take, together

SWEEP = ExpireEnded(QueueId("lab"))
STATES = "SELECT state, count(*) FROM tickets GROUP BY state ORDER BY state"


async def test_a_long_line_is_ended_in_steps(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(2 * BULK_STEP + 30)))
    (last,) = await engine.events_after(venue.id, 2 * BULK_STEP + 29, most=10)
    clock.advance(days=1)

    steps = [await engine.do(venue.id, SWEEP) for _ in range(4)]

    assert steps == [BULK_STEP, BULK_STEP, 30, 0]
    assert await database.rows(STATES) == [("expired", 2 * BULK_STEP + 30)]
    assert last.ticket_id is not None
    key = (await stored_ticket(store, venue, last.ticket_id)).line_key
    assert (await stored_line(store, venue, key)).people_waiting == 0


async def test_every_expired_ticket_has_its_event(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await do_each(engine, venue, issue(), issue(), issue())
    clock.advance(days=1)

    await do_each(engine, venue, SWEEP, SWEEP)

    events = await events_of(engine, venue)
    assert [event.kind for event in events] == ["ticket.issued"] * 3 + ["ticket.expired"] * 3
    assert [event.version for event in events] == list(range(1, 7))
    assert len({event.ticket_id for event in events}) == 3


async def test_at_the_end_of_the_day_every_open_ticket_expires(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    waiting = await one_ticket_in_each_state(engine, venue)
    clock.advance(days=1)

    expired = await engine.do(venue.id, SWEEP)

    assert expired == 5
    assert await database.rows(STATES) == [("expired", 5), ("finished", 1), ("left", 1)]
    line = await stored_line(store, venue, waiting.line_key)
    assert (line.people, line.held, line.missed, line.finished) == (0, 0, 0, 1)


async def test_after_a_reset_whoever_was_called_is_still_served(
    database: Database, engine: Engine, venue: Venue
) -> None:
    await one_ticket_in_each_state(engine, venue)
    await engine.do(venue.id, Reset("lab"))

    steps = [await engine.do(venue.id, SWEEP) for _ in range(2)]

    assert steps == [3, 0]
    assert await database.rows(STATES) == [
        ("called", 1),
        ("expired", 3),
        ("finished", 1),
        ("left", 1),
        ("serving", 1),
    ]


async def test_whoever_misses_a_call_after_a_reset_is_swept_the_next_time(engine: Engine, venue: Venue) -> None:
    called = await take(engine, venue)
    await do_each(engine, venue, Call(called.ticket_id), Reset("lab"))
    assert await engine.do(venue.id, SWEEP) == 0

    await engine.do(venue.id, Miss(called.ticket_id))

    assert await engine.do(venue.id, SWEEP) == 1


async def test_whoever_was_called_before_a_reset_expires_with_the_day(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    called = await take(engine, venue)
    await do_each(engine, venue, Call(called.ticket_id), Reset("lab"))
    clock.advance(days=1)

    assert await engine.do(venue.id, SWEEP) == 1


async def test_todays_line_is_left_alone(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await take(engine, venue)
    clock.advance(days=1)
    today = await take(engine, venue)

    assert await engine.do(venue.id, SWEEP) == 1

    called = await engine.do(venue.id, call_next())
    assert called.ticket is not None
    assert called.ticket.ticket_id == today.ticket_id


async def test_other_queues_and_venues_are_left_alone(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    other = await create_venue(store, a_venue())
    in_xray, elsewhere = await take(engine, venue, queue="xray"), await take(engine, other)
    clock.advance(days=1)

    assert await engine.do(venue.id, SWEEP) == 0

    assert (await stored_ticket(store, venue, in_xray.ticket_id)).is_open
    assert (await stored_ticket(store, other, elsewhere.ticket_id)).is_open


async def test_several_days_are_ended_in_one_step(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    for _ in range(4):
        await do_each(engine, venue, issue(), Reset("lab"), issue())
        clock.advance(days=1)

    assert [await engine.do(venue.id, SWEEP) for _ in range(2)] == [8, 0]


async def test_a_sweep_with_nothing_to_do_is_no_event(engine: Engine, venue: Venue) -> None:
    assert await engine.do(venue.id, SWEEP) == 0
    assert await kinds_of(engine, venue) == []


async def test_sweeps_at_once_expire_everybody_once(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await do_each(engine, venue, issue(), issue(), issue())
    clock.advance(days=1)

    steps = await together(*(engine.do(venue.id, SWEEP) for _ in range(4)))

    assert steps == [3, 0, 0, 0]


async def test_whoever_expired_may_come_again(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await take(engine, venue, visitor="Aisha")
    clock.advance(days=1)
    await engine.do(venue.id, SWEEP)

    again = await engine.do(venue.id, issue(visitor="Aisha"))

    assert (again.already, again.ticket.number) == (False, 1)
    assert await kinds_of(engine, venue) == ["ticket.issued", "ticket.expired", "ticket.issued"]


async def one_ticket_in_each_state(engine: Engine, venue: Venue) -> Ticket:
    waiting, called, serving, held, missed, finished, left = [await take(engine, venue) for _ in range(7)]
    await do_each(engine, venue, *(Call(ticket.ticket_id) for ticket in (called, serving, missed, finished)))
    await do_each(engine, venue, Start(serving.ticket_id), Miss(missed.ticket_id), Finish(finished.ticket_id))
    await do_each(engine, venue, Hold(held.ticket_id), Leave(left.ticket_id))
    return waiting


async def test_who_is_being_served_keeps_their_ticket_when_they_enter_again_after_a_reset(
    engine: Engine, venue: Venue
) -> None:
    served = await take(engine, venue, visitor="Amna")
    await do_each(engine, venue, Call(served.ticket_id), Start(served.ticket_id), Reset("lab"), SWEEP)

    again = await engine.do(venue.id, issue("lab", "Amna"))

    assert (again.ticket.ticket_id, again.ticket.state, again.already) == (served.ticket_id, "serving", True)


async def test_who_waited_before_a_reset_gets_a_number_of_the_new_round(engine: Engine, venue: Venue) -> None:
    waited = await take(engine, venue, visitor="Amna")
    await do_each(engine, venue, Reset("lab"))

    again = await engine.do(venue.id, issue("lab", "Amna"))

    assert (again.ticket.round, again.ticket.number, again.already) == (2, 1, False)
    assert again.ticket.ticket_id != waited.ticket_id


def test_a_sweep_has_a_transaction_of_its_own() -> None:
    assert SWEEP.alone
