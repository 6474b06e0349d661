"""Things that happen in an odd order: nobody is stuck, lost, or held to what did not happen."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from dawr.domain.errors import PlaceTaken
from dawr.domain.events import Origin
from dawr.domain.session_code import SessionCodes
from dawr.domain.venue import Venue
from dawr.engine.clockwork import reset
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.desks import LookAtDesk, OpenDesk
from dawr.operations.pins import LookAtPin, RenewPins, RotatePin
from dawr.operations.reception import AddStage, EnterStage, LookForVisitors
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Start
from dawr.operations.undo import Undo
from dawr.ports import Store
from tests.builders import DrivenClock, a_new, start_visit
from tests.stores.doing import (
    begin_visit,
    finish,
    look,
    pins_of,
    ring,
    stages_of,
    stored_ticket,
    take,
    ticket_of,
)

AMNA = Origin(actor="staff:amna")


async def test_who_waits_to_enter_a_queue_that_closes_goes_to_another_that_is_open(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(seen).ticket_id)
    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "xray"
    await reset(engine, clinic.id, "xray")
    await engine.do(clinic.id, ChangeQueue("xray", "close"))

    entered = await engine.do(clinic.id, EnterStage(seen.visit.visit_id))

    assert ticket_of(entered).queue_id == "ent"
    assert stages_of(entered.visit) == {"lab": "completed", "xray": "locked", "ent": "in_queue"}


async def test_a_stage_that_is_added_for_who_waits_to_enter_one_is_looked_at_too(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await engine.do(clinic.id, ChangeQueue("xray", "close"))
    seen = await engine.do(clinic.id, start_visit("short"))
    await engine.do(clinic.id, AddStage(seen.visit.visit_id, "ent"))
    clock.advance(seconds=20)

    await ring(engine, store, clock)

    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "ent"


async def test_who_missed_a_call_and_begins_a_journey_there_waits_again_last_with_the_same_number(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    own = await take(engine, clinic, visitor="Aisha", queue="lab")
    await engine.do(clinic.id, Call(own.ticket_id))
    await engine.do(clinic.id, Miss(own.ticket_id))
    await take(engine, clinic, queue="lab")

    seen = await begin_visit(engine, clinic, "Aisha")

    assert seen.joined is not None
    assert (ticket_of(seen).ticket_id, ticket_of(seen).state, seen.joined.ahead) == (own.ticket_id, "waiting", 1)
    assert await store.faults() == []


async def test_who_is_held_and_begins_a_journey_there_keeps_their_number_and_is_held(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    own = await take(engine, clinic, visitor="Aisha", queue="lab")
    await engine.do(clinic.id, Hold(own.ticket_id))

    seen = await begin_visit(engine, clinic, "Aisha")

    assert (ticket_of(seen).ticket_id, ticket_of(seen).state) == (own.ticket_id, "held")
    assert await store.faults() == []


async def test_a_ticket_that_a_journey_takes_over_has_the_journeys_priority(engine: Engine, clinic: Venue) -> None:
    await take(engine, clinic, queue="lab")
    await take(engine, clinic, visitor="Aisha", queue="lab")

    seen = await engine.do(clinic.id, start_visit("army", "Aisha", priority=2))

    assert seen.joined is not None
    assert (ticket_of(seen).number, ticket_of(seen).priority, seen.joined.ahead) == (2, 2, 0)


async def test_an_advance_into_a_ticket_that_the_visitor_had_before_is_not_undone(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    own = [await take(engine, clinic, visitor="Aisha", queue=queue) for queue in ("xray", "ent")]
    seen = await begin_visit(engine, clinic, "Aisha")
    finished = await finish(engine, clinic, ticket_of(seen).ticket_id)
    assert ticket_of(await look(engine, clinic, seen.visit)).ticket_id in {ticket.ticket_id for ticket in own}

    with pytest.raises(PlaceTaken):
        await engine.do(clinic.id, Undo(finished.ticket_id, finished.version))

    assert {(await stored_ticket(store, clinic, ticket.ticket_id)).state for ticket in own} == {"waiting"}


async def test_a_pin_is_rotated_as_often_as_anybody_likes(engine: Engine, clinic: Venue) -> None:
    others = {queue: pin for queue, pin in (await pins_of(engine, clinic)).items() if queue != "lab"}

    rotated = [
        (await engine.do(clinic.id, RotatePin(a_new("chance"), is_manager=True, queue="lab")))[0].pin
        for _ in range(120)
    ]
    renewed = await engine.do(clinic.id, RenewPins(a_new("chance"), is_manager=True))

    assert all(before != after for before, after in pairwise(rotated))
    assert not set(rotated) & set(others.values())
    assert len({pin.pin for pin in renewed}) == 4


async def test_the_length_that_is_told_is_that_of_todays_pin(engine: Engine, clinic: Venue) -> None:
    await pins_of(engine, clinic)

    await engine.do(clinic.id, SetUp(replace(clinic, pin_digits=4)))

    _, length, _ = await engine.read(clinic.id, LookAtPin("lab", None, is_manager=False))
    assert length == 2


async def calling_by_itself(engine: Engine, clinic: Venue) -> Venue:
    lab = replace(clinic.queue("lab"), auto_call=30)
    return await engine.do(clinic.id, SetUp(clinic.with_queue(lab)))


async def misses_at(engine: Engine, venue: Venue, desk: str) -> int:
    seen = (await engine.read(venue.id, LookAtDesk(desk))).desk
    return seen.misses


async def test_a_desk_that_was_open_before_its_queue_called_by_itself_calls_by_itself(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    await engine.do(clinic.id, OpenDesk("desk-1", a_new("chance")), origin=AMNA)
    waiting = await take(engine, clinic, queue="lab")
    await calling_by_itself(engine, clinic)
    clock.advance(seconds=30)

    await ring(engine, store, clock)

    assert (await stored_ticket(store, clinic, waiting.ticket_id)).desk_id == "desk-1"


async def test_a_miss_that_is_undone_is_not_held_against_the_desk(engine: Engine, clinic: Venue) -> None:
    venue = await calling_by_itself(engine, clinic)
    await engine.do(venue.id, OpenDesk("desk-1", a_new("chance")), origin=AMNA)
    ticket = await take(engine, venue, queue="lab")
    await engine.do(venue.id, CallNext("desk-1"))

    missed = await engine.do(venue.id, Miss(ticket.ticket_id))
    counted = await misses_at(engine, venue, "desk-1")
    await engine.do(venue.id, Undo(ticket.ticket_id, missed.version))

    assert (counted, await misses_at(engine, venue, "desk-1")) == (1, 0)


@pytest.mark.parametrize("verb", [Start, Finish])
async def test_somebody_who_comes_sets_the_misses_of_a_desk_back(
    engine: Engine, clinic: Venue, verb: type[Start | Finish]
) -> None:
    venue = await calling_by_itself(engine, clinic)
    await engine.do(venue.id, OpenDesk("desk-1", a_new("chance")), origin=AMNA)
    gone, here = await take(engine, venue, queue="lab"), await take(engine, venue, queue="lab")
    await engine.do(venue.id, CallNext("desk-1"))
    await engine.do(venue.id, Miss(gone.ticket_id))
    await engine.do(venue.id, CallNext("desk-1"))
    counted = await misses_at(engine, venue, "desk-1")

    await engine.do(venue.id, verb(here.ticket_id))

    assert (counted, await misses_at(engine, venue, "desk-1")) == (1, 0)


@pytest.mark.parametrize("text", ["a\x00b", "\u202e", "\n"])
async def test_what_cannot_be_shown_finds_nobody(engine: Engine, clinic: Venue, text: str) -> None:
    assert await engine.read(clinic.id, LookForVisitors(text, SessionCodes("a secret"))) == []
