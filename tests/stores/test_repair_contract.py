"""A venue whose day is ahead of today is brought back: nobody who waits is lost, and no number is given twice."""

from collections.abc import AsyncIterator

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dawr.bootstrap import COMMAND_LINE
from dawr.domain.errors import CannotRepairDay, QueueFull
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Sweeper, repair_day
from dawr.engine.engine import Engine
from dawr.engine.timekeeping import Timekeeper
from dawr.operations.admin import Reset, SetUp
from dawr.operations.desks import OpenDesk
from dawr.operations.repair import MOST_DAYS, Repaired
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.staff import Call, Finish, Hold, Miss, Start
from dawr.ports import Store
from tests.builders import DrivenClock, a_queue, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import (
    begin_visit,
    create_venue,
    data_of,
    events_of,
    finish,
    kinds_of,
    look,
    ring,
    stored_head,
    stored_ticket,
    take,
    ticket_of,
)

A_YEAR = 365
NEW_EPOCH = 77


async def repair(engine: Engine, store: Store, venue: Venue) -> Repaired:
    return await repair_day(engine, store, venue.id, epoch=NEW_EPOCH)


async def waits(engine: Engine, venue: Venue, *, queue: str = "lab") -> list[str]:
    """The labels of those who are called one after the other."""
    labels = []
    while (called := await engine.do(venue.id, call_next(queue))).ticket is not None:
        await engine.do(venue.id, Finish(called.ticket.ticket_id))
        labels.append(called.ticket.label)
    return labels


async def doubles(database: Database) -> list[tuple[object, ...]]:
    return await database.rows(
        "SELECT queue_id, day, round, number FROM tickets GROUP BY 1, 2, 3, 4, venue_id HAVING count(*) > 1"
    )


async def test_the_day_is_todays_again_with_a_new_epoch_and_an_event(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    before = await take(engine, venue)
    clock.advance(days=A_YEAR)
    ahead = await take(engine, venue)
    clock.advance(days=-A_YEAR)
    pinned = await take(engine, venue)

    repaired = await repair(engine, store, venue)

    head = await stored_head(store, venue)
    assert pinned.day == ahead.day == repaired.before
    assert (head.day, repaired.day, head.epoch) == (before.day, before.day, NEW_EPOCH)
    assert await data_of(engine, venue, "venue.day_repaired") == [
        {"day": before.day, "before": ahead.day, "carried": 2}
    ]
    assert await store.faults() == []


async def test_who_waited_before_keeps_number_and_place_and_who_came_on_the_day_ahead_follows(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for _ in range(3):
        await take(engine, venue)
    clock.advance(days=A_YEAR)
    for _ in range(2):
        await take(engine, venue)
    clock.advance(days=-A_YEAR)

    repaired = await repair(engine, store, venue)
    newcomer = await take(engine, venue)

    assert [tuple(carried) for carried in repaired.carried] == [("lab", "A001", "A004"), ("lab", "A002", "A005")]
    assert newcomer.label == "A006"
    assert await waits(engine, venue) == ["A001", "A002", "A003", "A004", "A005", "A006"]
    assert await store.faults() == []


async def test_where_nobody_waited_before_everybody_keeps_their_number(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    earlier = await take(engine, venue)
    await finish(engine, venue, earlier.ticket_id)
    clock.advance(days=A_YEAR)
    people = [await take(engine, venue) for _ in range(3)]
    await engine.do(venue.id, Call(people[0].ticket_id))
    clock.advance(days=-A_YEAR)

    repaired = await repair(engine, store, venue)

    assert repaired.carried == []
    called = await engine.do(venue.id, Finish(people[0].ticket_id))
    assert (called.day, called.round) == (repaired.day, 2)
    assert await waits(engine, venue) == ["A002", "A003"]
    assert (await take(engine, venue)).label == "A004"
    assert await store.faults() == []


async def test_who_is_held_or_missed_their_call_stays_so_behind_the_others(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)
    clock.advance(days=A_YEAR)
    held, missed = [await take(engine, venue) for _ in range(2)]
    await engine.do(venue.id, Call(missed.ticket_id))
    await engine.do(venue.id, Miss(missed.ticket_id))
    await engine.do(venue.id, Hold(held.ticket_id))
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)

    now = (await engine.read(venue.id, LookAtQueue("lab"))).line
    assert (now.people_waiting, now.held, now.missed) == (1, 1, 1)
    assert await store.faults() == []


async def test_who_is_being_served_on_the_day_ahead_is_served(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)
    clock.advance(days=A_YEAR)
    served = await take(engine, venue)
    await engine.do(venue.id, Call(served.ticket_id, "desk-1"))
    await engine.do(venue.id, Start(served.ticket_id))
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)
    await Sweeper(engine, store).sweep_all()

    assert (await stored_ticket(store, venue, served.ticket_id)).state == "serving"
    assert (await engine.do(venue.id, Finish(served.ticket_id))).state == "finished"


async def test_a_visitors_link_leads_to_their_new_number(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await begin_visit(engine, clinic, "Aisha")
    clock.advance(days=A_YEAR)
    seen = await begin_visit(engine, clinic, "Basma")
    clock.advance(days=-A_YEAR)

    await repair(engine, store, clinic)

    now = await look(engine, clinic, seen.visit)
    assert (ticket_of(now).label, ticket_of(now).from_ticket_id) == ("A002", ticket_of(seen).ticket_id)
    assert [stage.number for stage in now.visit.plan if stage.state == "in_queue"] == [2]
    await finish(engine, clinic, ticket_of(now).ticket_id)
    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id != "lab"
    assert await store.faults() == []


async def test_a_queue_that_was_full_on_the_day_ahead_takes_people_again(
    engine: Engine, store: Store, clock: DrivenClock
) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab", capacity=2)))
    clock.advance(days=A_YEAR)
    for _ in range(2):
        await take(engine, venue)
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)

    assert [(await take(engine, venue)).number for _ in range(2)] == [3, 4]
    assert await waits(engine, venue) == ["001", "002", "003", "004"]


async def test_what_today_used_of_the_capacity_stays_used(engine: Engine, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab", capacity=3)))
    for _ in range(3):
        await finish(engine, venue, (await take(engine, venue)).ticket_id)
    clock.advance(days=A_YEAR)
    await take(engine, venue)
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)

    with pytest.raises(QueueFull):
        await take(engine, venue)
    assert await waits(engine, venue) == ["001"]


async def test_where_more_people_would_be_carried_than_at_once_the_day_is_not_repaired_and_nobody_is_lost(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.operations.repair.MOST_CARRIED", 2)
    await take(engine, venue)
    clock.advance(days=A_YEAR)
    people = [await take(engine, venue) for _ in range(3)]
    clock.advance(days=-A_YEAR)

    with pytest.raises(CannotRepairDay) as refused:
        await repair(engine, store, venue)
    await engine.do(venue.id, Call(people[0].ticket_id))
    repaired = await repair(engine, store, venue)

    assert (refused.value.facts["why"], refused.value.facts["count"]) == ("too-many", 2)
    assert len(repaired.carried) == 2


async def test_a_queue_that_gave_no_number_on_the_day_ahead_goes_on_as_it_was(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    waiting = await take(engine, venue, queue="eye")
    clock.advance(days=A_YEAR)
    await take(engine, venue, queue="lab")
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)

    assert (await stored_ticket(store, venue, waiting.ticket_id)) == waiting
    assert (await take(engine, venue, queue="eye")).number == waiting.number + 1


async def test_the_day_that_was_ahead_begins_at_number_one_when_it_comes(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    clock.advance(days=A_YEAR)
    await take(engine, venue)
    clock.advance(days=-A_YEAR)
    await repair(engine, store, venue)

    clock.advance(days=A_YEAR)

    assert (await take(engine, venue)).number == 1
    assert await store.faults() == []


async def test_what_was_to_ring_in_a_year_rings_now(
    engine: Engine, store: Store, clock: DrivenClock, database: Database, venue: Venue
) -> None:
    lab = msgspec.structs.replace(venue.queue("lab"), miss_after=60)
    await engine.do(venue.id, SetUp(venue.with_queue(lab)))
    clock.advance(days=A_YEAR)
    called = await take(engine, venue)
    await engine.do(venue.id, OpenDesk("desk-1", "a chance"))
    await engine.do(venue.id, Call(called.ticket_id))
    clock.advance(days=-A_YEAR)

    await repair(engine, store, venue)
    rung = await ring(engine, store, clock)

    assert rung == 1
    assert (await stored_ticket(store, venue, called.ticket_id)).state == "missed"
    assert await database.rows("SELECT kind FROM alarms WHERE due_at IS NOT NULL") == [("close",)]


async def test_a_day_that_is_not_ahead_is_not_repaired(engine: Engine, store: Store, venue: Venue) -> None:
    await take(engine, venue)

    with pytest.raises(CannotRepairDay) as refused:
        await repair(engine, store, venue)

    assert refused.value.facts["why"] == "not-ahead"
    assert await kinds_of(engine, venue) == ["ticket.issued"]


async def test_a_clock_that_is_behind_is_not_taken_for_a_day_that_is_ahead(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for _ in range(8):
        clock.advance(days=1)
        await take(engine, venue)
    clock.advance(days=-A_YEAR)

    with pytest.raises(CannotRepairDay) as refused:
        await repair(engine, store, venue)

    assert (refused.value.facts["why"], refused.value.facts["count"]) == ("clock-behind", 8)


async def test_nothing_is_repaired_by_a_clock_that_is_doubted(
    doubting: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await doubting.doubt()
    clock.advance(days=2 * A_YEAR)
    await take(doubting, venue)
    clock.advance(days=-A_YEAR)

    with pytest.raises(CannotRepairDay) as refused:
        await repair(doubting, store, venue)

    assert refused.value.facts["why"] == "clock-doubted"


async def test_nobody_confirms_the_date_of_a_clock_that_went_back(
    doubting: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    taken = await take(doubting, venue)
    clock.advance(days=-A_YEAR)
    today = venue.today(clock.now)

    with pytest.raises(CannotRepairDay) as refused:
        await repair_day(doubting, store, venue.id, epoch=NEW_EPOCH, today=today)

    assert refused.value.facts["why"] == "clock-went-back"
    assert (await stored_head(store, venue)).day == taken.day


@pytest.fixture
async def doubting(store: Store, clock: DrivenClock) -> AsyncIterator[Engine]:
    """It stands on a machine that nobody synchronises."""
    engine = Engine(store, clock, time=Timekeeper(store, clock, DrivenClock(), lambda: False))
    yield engine
    await engine.stop()


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["enter", "call", "finish", "hold", "reset", "ahead", "back", "next day"]), max_size=25)
)
async def test_whatever_happened_no_number_is_given_twice_and_nobody_who_waits_is_lost(
    database: Database, store: Store, steps: list[str]
) -> None:
    assume(len([step for step in steps if step in {"ahead", "next day"}]) < MOST_DAYS)
    clock = DrivenClock()
    engine = Engine(store, clock)
    venue = await create_venue(store, a_venue(a_queue("lab")))
    people: list[Ticket] = []
    for step in ["enter", *steps, "ahead", "enter"]:
        await _do(engine, clock, venue, step, people)
    clock.now = DrivenClock().now
    before = await _open(database, venue)

    await repair(engine, store, venue)
    waited = await _open(database, venue)
    await Sweeper(engine, store).sweep_all()
    for _ in range(3):
        await take(engine, venue)

    assert waited == before
    assert await doubles(database) == []
    assert await store.faults() == []
    await engine.stop()


async def _open(database: Database, venue: Venue) -> list[tuple[object, ...]]:
    """Who has a place, whatever their number."""
    return await database.rows(
        f"SELECT visitor, state FROM tickets WHERE venue_id = '{venue.id}' AND open_key IS NOT NULL ORDER BY visitor"
    )


async def _do(engine: Engine, clock: DrivenClock, venue: Venue, step: str, people: list[Ticket]) -> None:
    if step == "enter":
        people.append((await engine.do(venue.id, issue())).ticket)
    elif step == "reset":
        await engine.do(venue.id, Reset("lab"))
    elif step == "call":
        await engine.do(venue.id, call_next())
    elif step in {"finish", "hold"} and (called := await engine.do(venue.id, call_next())).ticket is not None:
        verb = Finish if step == "finish" else Hold
        await engine.do(venue.id, verb(TicketId(called.ticket.ticket_id)))
    elif step == "ahead":
        clock.advance(days=A_YEAR)
    elif step == "next day":
        clock.advance(days=1)
    elif step == "back":
        clock.now = DrivenClock().now


async def test_the_event_names_who_did_it(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    clock.advance(days=A_YEAR)
    await take(engine, venue)
    clock.advance(days=-A_YEAR)

    await repair_day(engine, store, venue.id, epoch=NEW_EPOCH, origin=COMMAND_LINE)

    assert (await events_of(engine, venue))[-1].actor == "command line"
