"""Whatever overtakes somebody has a coded reason and the count of the overtaken, summed per person and reason."""

from msgspec.structs import replace

from dawr.domain.events import Origin
from dawr.domain.overtaking import Sums
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.pins import VerifyPin
from dawr.operations.reception import CompleteStage, LookAtOvertakings
from dawr.operations.staff import Call, Miss, Prioritize
from dawr.operations.visitor import Rejoin
from dawr.ports import Store
from tests.builders import DrivenClock, call_next, issue, start_visit
from tests.stores.doing import begin_visit, data_of, events_of, pins_of, take, ticket_of, together

NOOR, AMNA = Origin(actor="noor"), Origin(actor="amna")


async def summed(engine: Engine, venue: Venue, day: str | None = None) -> Sums:
    return await engine.read(venue.id, LookAtOvertakings(day))


async def test_a_call_out_of_order_says_why_and_how_many(engine: Engine, venue: Venue) -> None:
    tickets = [await take(engine, venue) for _ in range(4)]

    await engine.do(venue.id, Call(tickets[3].ticket_id, why="urgent"), origin=NOOR)
    await engine.do(venue.id, Call(tickets[2].ticket_id, why="urgent"), origin=NOOR)
    await engine.do(venue.id, Call(tickets[1].ticket_id, why="elderly"), origin=AMNA)

    facts = await data_of(engine, venue, "ticket.called")
    assert [(each["why"], each["overtaken"]) for each in facts] == [("urgent", 3), ("urgent", 2), ("elderly", 1)]
    assert await summed(engine, venue) == {"noor": {"urgent": (2, 5)}, "amna": {"elderly": (1, 1)}}


async def test_a_call_in_order_overtakes_nobody_whatever_is_said(engine: Engine, venue: Venue) -> None:
    first, _ = await take(engine, venue), await take(engine, venue)

    await engine.do(venue.id, Call(first.ticket_id, why="urgent"), origin=NOOR)
    await engine.do(venue.id, call_next(), origin=NOOR)

    assert await summed(engine, venue) == {}
    assert not [facts for facts in await data_of(engine, venue, "ticket.called") if "why" in facts]


async def test_a_priority_overtakes_those_that_it_passes(engine: Engine, venue: Venue) -> None:
    tickets = [await take(engine, venue, priority=priority) for priority in (2, 1, 1, 0, 0)]

    await engine.do(venue.id, Prioritize(tickets[4].ticket_id, 2, "pregnant"), origin=NOOR)
    await engine.do(venue.id, Prioritize(tickets[0].ticket_id, 0, "mistake"), origin=NOOR)

    assert await summed(engine, venue) == {"noor": {"pregnant": (1, 3)}}
    (facts, _) = await data_of(engine, venue, "ticket.prioritized")
    assert (facts["why"], facts["overtaken"], facts["priority"]) == ("pregnant", 3, 2)


async def test_a_number_with_priority_overtakes_who_waits(engine: Engine, venue: Venue) -> None:
    for _ in range(2):
        await take(engine, venue)

    await engine.do(venue.id, replace(issue("lab", priority=3), why="disabled"), origin=NOOR)
    await engine.do(venue.id, issue("lab"), origin=NOOR)

    assert await summed(engine, venue) == {"noor": {"disabled": (1, 2)}}


async def test_a_visit_with_priority_overtakes_in_every_queue_for_the_reason_it_was_given(
    engine: Engine, clinic: Venue
) -> None:
    for queue in ("lab", "lab", "xray", "ent"):
        await take(engine, clinic, queue=queue)

    seen = await engine.do(clinic.id, replace(start_visit("army", priority=2), why="appointment"), origin=NOOR)
    await engine.do(clinic.id, call_next("lab"), origin=AMNA)
    await engine.do(clinic.id, CompleteStage(seen.visit.visit_id, "lab"), origin=AMNA)

    assert await summed(engine, clinic) == {"noor": {"appointment": (1, 2)}, "amna": {"appointment": (1, 1)}}


async def test_whoever_comes_back_to_the_front_overtakes_their_equals(engine: Engine, venue: Venue) -> None:
    first, *_ = [await take(engine, venue) for _ in range(3)]
    await take(engine, venue, priority=1)
    await engine.do(venue.id, Call(first.ticket_id))
    await engine.do(venue.id, Miss(first.ticket_id))

    await engine.do(venue.id, Rejoin(first.ticket_id, "first"), origin=NOOR)

    sums = await summed(engine, venue)
    assert sums["noor"] == {"returned": (1, 2)}


async def test_whoever_comes_back_to_the_end_overtakes_nobody(engine: Engine, venue: Venue) -> None:
    first, *_ = [await take(engine, venue) for _ in range(3)]
    await engine.do(venue.id, Call(first.ticket_id))
    await engine.do(venue.id, Miss(first.ticket_id))

    await engine.do(venue.id, Rejoin(first.ticket_id, "last"), origin=NOOR)

    assert await summed(engine, venue) == {}


async def test_a_pin_typed_before_the_call_overtakes_with_the_reason_pin(engine: Engine, clinic: Venue) -> None:
    pins = await pins_of(engine, clinic)
    for _ in range(3):
        await begin_visit(engine, clinic)
    seen = await begin_visit(engine, clinic, "Aisha")

    typed = VerifyPin("lab", pins["lab"], "", visitor="Aisha", number=ticket_of(seen).number)
    await engine.do(clinic.id, typed)

    assert await summed(engine, clinic) == {"nobody": {"pin": (1, 3)}}


async def test_completing_a_stage_of_somebody_who_waits_overtakes_who_is_ahead(engine: Engine, clinic: Venue) -> None:
    for _ in range(2):
        await begin_visit(engine, clinic)
    seen = await begin_visit(engine, clinic)

    await engine.do(clinic.id, CompleteStage(seen.visit.visit_id, "lab", "mistake"), origin=NOOR)

    assert await summed(engine, clinic) == {"noor": {"mistake": (1, 2)}}


async def test_many_at_once_are_all_summed(engine: Engine, venue: Venue) -> None:
    tickets = [await take(engine, venue) for _ in range(30)]

    await together(
        *(engine.do(venue.id, Call(ticket.ticket_id, why="urgent"), origin=NOOR) for ticket in reversed(tickets))
    )

    facts = await data_of(engine, venue, "ticket.called")
    assert await summed(engine, venue) == {"noor": {"urgent": (29, sum(range(30)))}}
    assert sum(each.get("overtaken", 0) for each in facts) == sum(range(30))


async def test_what_was_refused_is_not_summed(engine: Engine, venue: Venue) -> None:
    tickets = [await take(engine, venue) for _ in range(3)]
    await engine.do(venue.id, Call(tickets[2].ticket_id, why="urgent"), origin=NOOR)

    await together(engine.do(venue.id, Prioritize(tickets[2].ticket_id, 3, "urgent"), origin=NOOR))

    assert await summed(engine, venue) == {"noor": {"urgent": (1, 2)}}


async def test_each_day_has_its_own_sums_and_each_venue_too(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, clinic: Venue
) -> None:
    for day in range(2):
        clock.advance(days=day)
        tickets = [await take(engine, venue) for _ in range(2)]
        await engine.do(venue.id, Call(tickets[1].ticket_id, why="other"), origin=NOOR)

    assert await summed(engine, venue) == {"noor": {"other": (1, 1)}}
    assert await summed(engine, venue, "2026-03-02") == {"noor": {"other": (1, 1)}}
    assert await summed(engine, venue, "2026-03-01") == {}
    assert await summed(engine, clinic) == {}
    assert await store.faults() == []
    assert {event.actor for event in await events_of(engine, venue) if event.kind == "ticket.called"} == {"noor"}
