"""Visits with a plan that stand outside: taken out, parked because nothing takes them, or gone when the day ends."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import NothingToEnter, VisitInWrongState
from dawr.domain.hours import Hours
from dawr.domain.queue import QueueVerb
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Sweeper, reset
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.staff import Call, Finish, Hold, Miss
from dawr.operations.visitor import Leave
from dawr.operations.visits import EnterByLink, LeaveByLink, RejoinByLink, Whereabouts
from dawr.ports import Store
from tests.builders import DrivenClock
from tests.stores.doing import (
    begin_visit,
    data_of,
    finish,
    kinds_of,
    link_to,
    look,
    ring,
    stages_of,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)

FROM_ELEVEN = Hours(week=(((11 * 60, 16 * 60),),) * 7)


async def switch(engine: Engine, venue: Venue, verb: QueueVerb, *queues: str) -> None:
    for queue in queues:
        await engine.do(venue.id, ChangeQueue(queue, verb))


async def set_up(engine: Engine, venue: Venue, queue: str, **changed: object) -> None:
    """Another set-up of one queue."""
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue(queue), **changed))))


async def parked(engine: Engine, venue: Venue) -> Whereabouts:
    """Somebody who finished the laboratory, with nothing open behind it."""
    seen = await begin_visit(engine, venue)
    await switch(engine, venue, "close", "xray", "ent")
    await finish(engine, venue, ticket_of(seen).ticket_id)
    return await look(engine, venue, seen.visit)


async def test_whoever_leaves_by_their_link_goes_home(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, "Aisha")

    await engine.do(clinic.id, LeaveByLink(link_to(seen.visit)))

    visit = await stored_visit(store, clinic, seen.visit.visit_id)
    assert (visit.state, visit.open_key) == ("left", None)
    assert (await stored_ticket(store, clinic, ticket_of(seen).ticket_id)).state == "left"
    assert (await kinds_of(engine, clinic))[-2:] == ["ticket.left", "visit.left"]
    with pytest.raises(VisitInWrongState):
        await engine.do(clinic.id, LeaveByLink(link_to(seen.visit)))


async def test_whom_staff_take_out_of_a_queue_can_enter_it_again(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)

    await engine.do(clinic.id, Leave(ticket_of(seen).ticket_id))
    out = await look(engine, clinic, seen.visit)
    again = await engine.do(clinic.id, EnterByLink(link_to(seen.visit)))

    assert stages_of(out.visit) == {"lab": "ready", "xray": "locked", "ent": "locked"}
    assert [seen.queue_id for seen in out.awaited] == ["lab"]
    assert stages_of(again.visit)["lab"] == "in_queue"
    assert ticket_of(again).number == ticket_of(seen).number + 1
    assert await store.faults() == []


async def test_whoever_stands_outside_may_go_home_too(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Leave(ticket_of(seen).ticket_id))

    await engine.do(clinic.id, LeaveByLink(link_to(seen.visit)))

    assert (await stored_visit(store, clinic, seen.visit.visit_id)).state == "left"
    assert await store.faults() == []


async def test_a_missed_call_leaves_the_stage_in_its_queue_and_rejoining_goes_on(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    ticket_id = ticket_of(seen).ticket_id
    await engine.do(clinic.id, Call(ticket_id))
    await engine.do(clinic.id, Miss(ticket_id))

    missed = await look(engine, clinic, seen.visit)
    back = await engine.do(clinic.id, RejoinByLink(link_to(seen.visit)))

    assert stages_of(missed.visit)["lab"] == "in_queue"
    assert ticket_of(back).state == "waiting"


async def test_a_reset_makes_the_stage_ready_and_a_called_visitor_is_still_served(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    waits, called = await begin_visit(engine, clinic), await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(called).ticket_id))

    await reset(engine, clinic.id, "lab")

    out = await look(engine, clinic, waits.visit)
    assert stages_of(out.visit)["lab"] == "ready"
    assert (out.visit.is_open, ticket_of(out).state) == (True, "expired")
    again = await engine.do(clinic.id, EnterByLink(link_to(waits.visit)))
    assert (ticket_of(again).number, ticket_of(again).round) == (1, 2)
    await engine.do(clinic.id, Finish(ticket_of(called).ticket_id))
    assert ticket_of(await look(engine, clinic, called.visit)).queue_id == "xray"
    assert await store.faults() == []


# Parked: nothing takes the visitor


async def test_no_finish_is_refused_because_of_what_comes_next(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    seen = await parked(engine, clinic)

    assert ticket_of(seen).state == "finished"
    assert stages_of(seen.visit) == {"lab": "completed", "xray": "ready", "ent": "ready"}
    assert [(each.queue_id, each.left_out) for each in seen.awaited] == [("xray", "closed"), ("ent", "closed")]
    assert (await kinds_of(engine, clinic))[-2:] == ["ticket.finished", "visit.parked"]
    assert seen.visit.is_open
    assert await store.faults() == []
    assert await store.due_alarms(clock.now, most=10) == []


async def test_a_parked_visitor_is_let_in_by_the_clock_once_something_opens(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    seen = await parked(engine, clinic)
    clock.advance(seconds=20)
    await ring(engine, store, clock)
    still = await look(engine, clinic, seen.visit)

    await switch(engine, clinic, "open", "ent")
    clock.advance(seconds=20)
    await ring(engine, store, clock)

    after = await look(engine, clinic, seen.visit)
    assert still.place is None
    assert ticket_of(after).queue_id == "ent"
    assert stages_of(after.visit) == {"lab": "completed", "xray": "locked", "ent": "in_queue"}
    assert (await kinds_of(engine, clinic)).count("visit.parked") == 1
    assert await store.faults() == []


async def test_looking_again_while_nothing_opens_tells_nobody_anything_new(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await parked(engine, clinic)
    before = await kinds_of(engine, clinic)

    for _ in range(5):
        clock.advance(seconds=20)
        assert await ring(engine, store, clock) == 1

    assert await kinds_of(engine, clinic) == before


async def test_a_parked_visitor_may_enter_by_themselves_as_soon_as_something_opens(
    engine: Engine, clinic: Venue
) -> None:
    seen = await parked(engine, clinic)
    still = await engine.do(clinic.id, EnterByLink(link_to(seen.visit)))
    await switch(engine, clinic, "open", "xray")

    after = await engine.do(clinic.id, EnterByLink(link_to(seen.visit)))

    assert still.place is None
    assert ticket_of(after).queue_id == "xray"
    with pytest.raises(NothingToEnter):
        await engine.do(clinic.id, EnterByLink(link_to(seen.visit)))


async def test_a_full_queue_is_left_out_and_entered_once_there_is_room(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await take(engine, clinic, queue="xray")
    await set_up(engine, clinic, "xray", capacity=1)

    seen = await begin_visit(engine, clinic, journey="short")
    await set_up(engine, clinic, "xray", capacity=2)
    clock.advance(seconds=20)
    await ring(engine, store, clock)

    assert [(each.queue_id, each.left_out) for each in seen.awaited] == [("xray", "full")]
    assert seen.joined is None
    assert ticket_of(await look(engine, clinic, seen.visit)).number == 2


async def test_a_queue_outside_its_hours_says_when_it_opens_and_is_entered_then(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await set_up(engine, clinic, "xray", hours=FROM_ELEVEN)
    eleven = clock.now + 60 * 60 * 1000

    seen = await begin_visit(engine, clinic, journey="short")

    assert [(each.left_out, each.opens_at) for each in seen.awaited] == [("outside-hours", eleven)]
    assert [facts["opens_at"] for facts in await data_of(engine, clinic, "visit.parked")] == [eleven]
    clock.advance(minutes=59)
    await ring(engine, store, clock)
    assert (await look(engine, clinic, seen.visit)).place is None
    clock.advance(minutes=1)
    await ring(engine, store, clock)
    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "xray"


async def test_a_free_stage_that_is_closed_keeps_nobody_from_the_others(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await switch(engine, clinic, "close", "xray")

    await finish(engine, clinic, ticket_of(seen).ticket_id)

    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "ent"


async def test_a_paused_queue_takes_people_who_go_on(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await switch(engine, clinic, "pause", "xray")

    await finish(engine, clinic, ticket_of(seen).ticket_id)

    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "xray"


# The day's end


@pytest.mark.parametrize("how", ["waiting", "held", "missed", "called"])
async def test_the_days_end_ends_the_visit_of_whoever_is_left_in_a_queue(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue, how: str
) -> None:
    seen = await begin_visit(engine, clinic, "Aisha")
    ticket_id = ticket_of(seen).ticket_id
    if how == "held":
        await engine.do(clinic.id, Hold(ticket_id))
    if how in {"missed", "called"}:
        await engine.do(clinic.id, Call(ticket_id))
    if how == "missed":
        await engine.do(clinic.id, Miss(ticket_id))

    clock.advance(days=1)
    await Sweeper(engine, store).sweep_all()

    visit = await stored_visit(store, clinic, seen.visit.visit_id)
    assert (visit.state, visit.expired_at, visit.open_key) == ("expired", clock.now, None)
    assert (await stored_ticket(store, clinic, ticket_id)).state == "expired"
    assert (await kinds_of(engine, clinic))[-2:] == ["ticket.expired", "visit.expired"]
    assert await store.faults() == []


async def test_the_days_end_ends_the_visit_of_whoever_stands_outside(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    out, nowhere = await begin_visit(engine, clinic), await parked(engine, clinic)
    await engine.do(clinic.id, Leave(ticket_of(out).ticket_id))

    clock.advance(days=1)
    await ring(engine, store, clock)

    states = [(await stored_visit(store, clinic, each.visit.visit_id)).state for each in (out, nowhere)]
    assert states == ["expired", "expired"]
    assert await store.faults() == []


async def test_whoever_comes_back_the_next_day_before_anything_was_swept_begins_anew(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    waits, outside = await begin_visit(engine, clinic, "Aisha"), await begin_visit(engine, clinic, "Basma")
    await engine.do(clinic.id, Leave(ticket_of(outside).ticket_id))
    clock.advance(days=1)

    again = [await begin_visit(engine, clinic, visitor) for visitor in ("Aisha", "Basma")]

    assert [(each.already, ticket_of(each).number) for each in again] == [(False, 1), (False, 2)]
    for old in (waits, outside):
        assert (await stored_visit(store, clinic, old.visit.visit_id)).state == "expired"
    assert await store.faults() == []


async def test_a_finish_after_the_days_end_carries_nobody_into_the_new_day(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    clock.advance(days=1)

    await engine.do(clinic.id, Finish(ticket_of(seen).ticket_id))

    visit = await stored_visit(store, clinic, seen.visit.visit_id)
    assert (visit.state, stages_of(visit)["lab"]) == ("expired", "completed")
    assert await store.faults() == []
