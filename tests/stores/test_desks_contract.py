"""Desks: opened by somebody, on a break until, closed; as they were left after a restart."""

import pytest
from msgspec.structs import replace

from dawr.domain.desk import DeskNow
from dawr.domain.errors import InvalidValue, UnknownDesk
from dawr.domain.events import Origin
from dawr.domain.venue import DeskId, Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import SetUp
from dawr.operations.desks import BreakDesk, CloseDesk, LookAtDesk, LookAtVenueNow, OpenDesk
from dawr.operations.staff import Call, Start
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, call_next
from tests.stores.databases import Database
from tests.stores.doing import data_of, events_of, kinds_of, pins_of, ring, take, together

NOOR, AMNA = Origin(actor="noor"), Origin(actor="amna")
MINUTE = 60_000


async def desks_of(engine: Engine, venue: Venue) -> list[DeskNow]:
    return (await engine.read(venue.id, LookAtVenueNow())).desks


async def test_a_desk_that_nobody_opened_is_closed_and_can_call_all_the_same(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)

    called = await engine.do(venue.id, call_next(None, desk="desk-1"))

    assert [(desk.desk_id, desk.state, desk.occupant) for desk in await desks_of(engine, venue)] == [
        ("desk-1", "closed", None),
        ("desk-2", "closed", None),
    ]
    assert called.ticket is not None


async def test_a_desk_is_opened_by_somebody_breaks_and_is_closed(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    opened = await engine.do(venue.id, OpenDesk("DESK-1", "chance"), origin=NOOR)
    clock.advance(minutes=30)
    until = clock.now + 10 * MINUTE
    on_break = await engine.do(venue.id, BreakDesk("desk-1", until), origin=NOOR)
    back = await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    closed = await engine.do(venue.id, CloseDesk("desk-1"), origin=NOOR)

    assert (opened.state, opened.occupant, opened.until) == ("open", "noor", None)
    assert (on_break.state, on_break.occupant, on_break.until) == ("break", "noor", until)
    assert (back.state, back.occupant, back.until) == ("open", "noor", None)
    assert (closed.state, closed.occupant) == ("closed", None)
    kinds = [event.kind for event in await events_of(engine, venue) if event.kind.startswith("desk.")]
    assert kinds == ["desk.opened", "desk.on_break", "desk.opened", "desk.closed"]
    assert [facts["by"] for facts in await data_of(engine, venue, "desk.opened")] == ["noor", "noor"]


async def test_opening_or_closing_twice_happens_once(engine: Engine, venue: Venue) -> None:
    for operation in (OpenDesk("desk-1", "a"), OpenDesk("desk-1", "b"), CloseDesk("desk-1"), CloseDesk("desk-1")):
        await engine.do(venue.id, operation, origin=NOOR)

    kinds = await kinds_of(engine, venue)
    assert (kinds.count("desk.opened"), kinds.count("desk.closed")) == (1, 1)


async def test_whoever_sat_there_before_gives_way(engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)

    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=AMNA)

    (desk, _) = await desks_of(engine, venue)
    assert desk.has("amna")
    assert not desk.has("noor")


async def test_a_desk_that_is_opened_has_the_pins_of_its_queues(
    database: Database, engine: Engine, venue: Venue
) -> None:
    await engine.do(venue.id, OpenDesk("desk-2", "chance"), origin=NOOR)
    made = dict(await database.rows("SELECT queue_id, pin FROM pins"))

    assert made.keys() == {"lab", "xray", "eye"}
    assert await pins_of(engine, venue) == made


@pytest.mark.parametrize("minutes", [0, -1, -60, 12 * 60 + 1])
async def test_a_break_into_the_past_or_into_another_day_changes_nothing(
    engine: Engine, clock: DrivenClock, venue: Venue, minutes: int
) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    before = await desks_of(engine, venue)

    with pytest.raises(InvalidValue) as refusal:
        await engine.do(venue.id, BreakDesk("desk-1", clock.now + minutes * MINUTE))

    assert refusal.value.facts["field"] == "until"
    assert await desks_of(engine, venue) == before


async def test_a_desk_that_is_not_there_is_named(engine: Engine, venue: Venue) -> None:
    outcomes = await together(
        *(engine.do(venue.id, each) for each in (OpenDesk("desk-9"), BreakDesk("desk-9", 1), CloseDesk("desk-9")))
    )

    assert [type(outcome) for outcome in outcomes] == [UnknownDesk] * 3


async def test_a_break_ends_by_the_clock_and_whoever_sat_there_sits_there_again(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    await engine.do(venue.id, BreakDesk("desk-1", clock.now + 10 * MINUTE), origin=NOOR)

    clock.advance(minutes=9)
    early = await ring(engine, store, clock)
    clock.advance(minutes=1)
    await ring(engine, store, clock)

    (desk, _) = await desks_of(engine, venue)
    assert early == 0
    assert (desk.state, desk.occupant, desk.since) == ("open", "noor", clock.now)


async def test_a_break_that_was_made_longer_ends_when_it_was_last_said_to(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for minutes in (10, 20):
        await engine.do(venue.id, BreakDesk("desk-1", clock.now + minutes * MINUTE), origin=NOOR)

    clock.advance(minutes=10)
    await ring(engine, store, clock)
    (still, _) = await desks_of(engine, venue)
    clock.advance(minutes=10)
    await ring(engine, store, clock)

    assert still.state == "break"
    assert (await desks_of(engine, venue))[0].state == "open"


async def test_a_desk_that_was_closed_during_its_break_stays_closed(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, BreakDesk("desk-1", clock.now + 10 * MINUTE), origin=NOOR)
    await engine.do(venue.id, CloseDesk("desk-1"), origin=NOOR)

    clock.advance(minutes=10)
    await ring(engine, store, clock)

    assert (await desks_of(engine, venue))[0].state == "closed"


async def test_nobody_sits_at_a_desk_over_night(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    clock.advance(hours=8)
    await engine.do(venue.id, BreakDesk("desk-2", clock.now + 11 * 60 * MINUTE), origin=AMNA)

    clock.advance(hours=11)
    await ring(engine, store, clock)

    assert {desk.state for desk in await desks_of(engine, venue)} == {"closed"}


async def test_desks_are_as_they_were_left_after_a_restart(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    await engine.do(venue.id, BreakDesk("desk-2", clock.now + MINUTE), origin=AMNA)
    before = await desks_of(engine, venue)
    await engine.stop()

    store = await database.open()
    again = Engine(store, clock)

    assert await desks_of(again, venue) == before
    await again.stop()
    await store.close()


async def test_a_new_set_up_leaves_desks_alone(engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)

    await engine.do(venue.id, SetUp(replace(venue, desks=(*venue.desks, a_desk("desk-3", "eye")))))

    assert [desk.state for desk in await desks_of(engine, venue)] == ["open", "closed", "closed"]


async def test_who_was_called_to_a_desk_is_seen_there_until_they_are_done(engine: Engine, venue: Venue) -> None:
    tickets = [await take(engine, venue, queue=queue) for queue in ("lab", "xray", "eye")]
    for ticket in tickets[:2]:
        await engine.do(venue.id, Call(ticket.ticket_id, "desk-2"))
    await engine.do(venue.id, Start(tickets[0].ticket_id))

    there = (await engine.read(venue.id, LookAtDesk("desk-2"))).here
    elsewhere = (await engine.read(venue.id, LookAtDesk("desk-1"))).here

    assert {(ticket.queue_id, ticket.state) for ticket in there} == {("lab", "serving"), ("xray", "called")}
    assert {ticket.desk_id for ticket in there} == {DeskId("desk-2")}
    assert elsewhere == []
