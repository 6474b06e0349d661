"""Undo: the ticket, its line and its visit are as they were; and each reason not to is said in words."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from dawr.domain.errors import CannotUndo, ChangedSince, LineEnded, PlaceTaken, UndoTooLate, UnknownTicket
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Sweeper, reset
from dawr.engine.engine import Engine
from dawr.operations.admin import SetUp
from dawr.operations.operation import Operation
from dawr.operations.pins import VerifyPin
from dawr.operations.reception import AddStage, RemoveFromQueue, Transfer
from dawr.operations.staff import Call, Extend, Finish, Hold, Miss, Prioritize, PutBack, Recall, Resume, Start
from dawr.operations.undo import Undo
from dawr.operations.visitor import Leave, Rejoin
from dawr.operations.visits import EnterByLink, LeaveByLink
from dawr.ports import Store
from tests.builders import DrivenClock, call_next, issue
from tests.stores.doing import (
    begin_visit,
    data_of,
    do_each,
    finish,
    kinds_of,
    link_to,
    look,
    pins_of,
    ring,
    stages_of,
    stored_line,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)

Steps = tuple[Callable[[TicketId], Operation[Any]], ...]


def urgent(ticket_id: TicketId) -> Prioritize:
    return Prioritize(ticket_id, 2, "urgent")


def to_the_front(ticket_id: TicketId) -> Rejoin:
    return Rejoin(ticket_id, "first")


def put_back_first(ticket_id: TicketId) -> PutBack:
    return PutBack(ticket_id, "first")


async def undo(engine: Engine, store: Store, venue: Venue, ticket: Ticket) -> Ticket:
    """What happened last to it, as whoever just looked would ask."""
    version = (await stored_ticket(store, venue, ticket.ticket_id)).version
    return await engine.do(venue.id, Undo(ticket.ticket_id, version))


def alike(ticket: Ticket) -> Ticket:
    """The same, but for what tells that something happened."""
    return replace(ticket, version=0, previous=None)


EVERY_VERB: list[Steps] = [
    (Call,),
    (Call, Recall),
    (Call, Extend),
    (Call, Start),
    (Call, Finish),
    (Call, Start, Finish),
    (Call, Miss),
    (Call, Miss, Rejoin),
    (Call, Miss, to_the_front),
    (Hold,),
    (Call, Hold),
    (Call, PutBack),
    (Call, put_back_first),
    (Call, Miss, PutBack),
    (Call, Hold, Resume),
    (Hold, Resume),
    (urgent,),
    (Leave,),
    (Call, Leave),
    (Hold, Leave),
    (Call, Miss, Leave),
]


@pytest.mark.parametrize("steps", EVERY_VERB, ids=lambda steps: " ".join(step.__name__ for step in steps))
async def test_every_verb_that_can_be_undone_is_as_if_it_had_not_been(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, steps: Steps
) -> None:
    _, ticket, _ = [await take(engine, venue) for _ in range(3)]
    await engine.do(venue.id, call_next())
    clock.advance(seconds=7)
    await do_each(engine, venue, *(step(ticket.ticket_id) for step in steps[:-1]))
    before = await stored_ticket(store, venue, ticket.ticket_id)
    line = await stored_line(store, venue, ticket.line_key)
    visit = await stored_visit(store, venue, ticket.visit_id)
    clock.advance(seconds=5)
    await engine.do(venue.id, steps[-1](ticket.ticket_id))

    await undo(engine, store, venue, ticket)

    assert alike(await stored_ticket(store, venue, ticket.ticket_id)) == alike(before)
    assert await stored_line(store, venue, ticket.line_key) == line
    assert replace(await stored_visit(store, venue, ticket.visit_id), previous=visit.previous) == visit
    assert (await kinds_of(engine, venue))[-1] == "ticket.undone"
    assert await store.faults() == []


async def test_a_call_that_was_undone_shows_the_number_before_it_again(
    engine: Engine, store: Store, venue: Venue
) -> None:
    first, second, third = [await take(engine, venue) for _ in range(3)]
    for ticket in (first, second):
        await engine.do(venue.id, Call(ticket.ticket_id))

    await undo(engine, store, venue, second)
    shown = (await stored_line(store, venue, first.line_key)).current_number
    await do_each(engine, venue, Call(second.ticket_id), Call(third.ticket_id))
    await undo(engine, store, venue, second)
    later = (await stored_line(store, venue, first.line_key)).current_number

    assert (shown, later) == (1, 3)
    assert (await engine.do(venue.id, call_next())).ticket == await stored_ticket(store, venue, second.ticket_id)


# An advance


async def test_an_advance_that_is_undone_gives_the_next_ticket_up_and_its_number_stays_used(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    before = await look(engine, clinic, seen.visit)
    await engine.do(clinic.id, Finish(ticket_of(seen).ticket_id))
    following = ticket_of(await look(engine, clinic, seen.visit))

    await undo(engine, store, clinic, ticket_of(seen))

    after = await look(engine, clinic, seen.visit)
    assert alike(ticket_of(after)) == alike(ticket_of(before))
    assert stages_of(after.visit) == stages_of(before.visit) == {"lab": "in_queue", "xray": "locked", "ent": "locked"}
    assert (await stored_ticket(store, clinic, following.ticket_id)).state == "left"
    await engine.do(clinic.id, Finish(ticket_of(seen).ticket_id))
    assert ticket_of(await look(engine, clinic, seen.visit)).number == following.number + 1
    assert await store.faults() == []


async def test_an_advance_by_pin_is_undone_like_any_other(engine: Engine, store: Store, clinic: Venue) -> None:
    pins, seen = await pins_of(engine, clinic), await begin_visit(engine, clinic)
    await engine.do(clinic.id, VerifyPin("lab", pins["lab"], "", link=link_to(seen.visit)))

    undone = await undo(engine, store, clinic, ticket_of(seen))

    assert undone.state == "serving"
    assert stages_of((await look(engine, clinic, seen.visit)).visit)["lab"] == "in_queue"
    assert await store.faults() == []


@pytest.mark.parametrize(
    "steps",
    [(Call,), (Hold,), (Hold, Resume), (urgent,), (Leave,)],
    ids=lambda steps: " ".join(step.__name__ for step in steps),
)
async def test_an_advance_is_not_undone_once_something_happened_to_the_next_ticket(
    engine: Engine, store: Store, clinic: Venue, steps: Steps
) -> None:
    seen = await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(seen).ticket_id)
    following = ticket_of(await look(engine, clinic, seen.visit))
    await do_each(engine, clinic, *(step(following.ticket_id) for step in steps))
    before = await stored_visit(store, clinic, seen.visit.visit_id)

    with pytest.raises(PlaceTaken, match=r"moved-on|visit-changed"):
        await undo(engine, store, clinic, ticket_of(seen))

    assert await stored_visit(store, clinic, seen.visit.visit_id) == before
    assert await store.faults() == []


async def test_the_last_finish_is_undone_and_the_visit_is_open_again(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic, "Aisha", journey="short")
    await finish(engine, clinic, ticket_of(seen).ticket_id)

    await undo(engine, store, clinic, ticket_of(seen))

    visit = await stored_visit(store, clinic, seen.visit.visit_id)
    assert (visit.state, visit.open_key, visit.finished_at) == ("open", "Aisha", None)
    assert (await begin_visit(engine, clinic, "Aisha")).already
    assert await store.faults() == []


async def test_a_visit_that_ended_is_not_opened_again_beside_a_new_one(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic, "Aisha", journey="short")
    await finish(engine, clinic, ticket_of(seen).ticket_id)
    await begin_visit(engine, clinic, "Aisha", journey="army")

    with pytest.raises(PlaceTaken, match="another-visit"):
        await undo(engine, store, clinic, ticket_of(seen))


async def test_whoever_went_home_by_mistake_is_back(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, LeaveByLink(link_to(seen.visit)))

    await undo(engine, store, clinic, ticket_of(seen))

    after = await look(engine, clinic, seen.visit)
    assert (after.visit.state, ticket_of(after).state) == ("open", "waiting")
    assert await store.faults() == []


async def test_whoever_was_taken_out_by_mistake_has_their_place_again(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, RemoveFromQueue(seen.visit.visit_id))

    undone = await undo(engine, store, clinic, ticket_of(seen))

    assert (undone.state, undone.sequence) == ("waiting", ticket_of(seen).sequence)
    assert stages_of((await look(engine, clinic, seen.visit)).visit)["lab"] == "in_queue"
    assert await store.faults() == []


async def test_whoever_entered_again_does_not_get_their_old_place_too(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, RemoveFromQueue(seen.visit.visit_id))
    await engine.do(clinic.id, EnterByLink(link_to(seen.visit)))

    with pytest.raises(PlaceTaken, match="another-number other=A002"):
        await undo(engine, store, clinic, ticket_of(seen))


async def test_a_visit_whose_plan_was_changed_since_stays_as_it_is(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, RemoveFromQueue(seen.visit.visit_id))
    await engine.do(clinic.id, AddStage(seen.visit.visit_id, "eye"))

    with pytest.raises(PlaceTaken, match="visit-changed"):
        await undo(engine, store, clinic, ticket_of(seen))


@pytest.mark.parametrize("planned", [False, True])
async def test_a_transfer_is_undone_while_the_other_ticket_waits(
    engine: Engine, store: Store, clinic: Venue, *, planned: bool
) -> None:
    ticket = ticket_of(await begin_visit(engine, clinic)) if planned else await take(engine, clinic)
    before = await stored_visit(store, clinic, ticket.visit_id)
    moved = await engine.do(clinic.id, Transfer(ticket.ticket_id, "ent"))

    undone = await undo(engine, store, clinic, ticket)

    assert alike(undone) == alike(ticket)
    assert await stored_visit(store, clinic, ticket.visit_id) == before
    assert (await stored_ticket(store, clinic, moved.ticket_id)).state == "left"
    assert await store.faults() == []


# Each reason not to


async def test_whoever_did_not_see_what_happened_since_undoes_nothing(engine: Engine, venue: Venue) -> None:
    ticket = await take(engine, venue)
    called = await engine.do(venue.id, Call(ticket.ticket_id))
    await engine.do(venue.id, Recall(ticket.ticket_id))

    with pytest.raises(ChangedSince, match="changed-since label=A001") as refusal:
        await engine.do(venue.id, Undo(ticket.ticket_id, called.version))

    assert refusal.value.facts == {"label": "A001", "version": called.version + 1}


async def test_nothing_is_undone_twice(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await take(engine, venue)
    await do_each(engine, venue, Call(ticket.ticket_id), Start(ticket.ticket_id))
    await undo(engine, store, venue, ticket)

    with pytest.raises(CannotUndo, match="cannot-undo label=A001"):
        await undo(engine, store, venue, ticket)

    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "called"


async def test_a_number_that_was_given_is_not_taken_back(engine: Engine, store: Store, venue: Venue) -> None:
    with pytest.raises(CannotUndo):
        await undo(engine, store, venue, await take(engine, venue))


async def test_what_expired_stays_expired(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    ticket = await take(engine, venue)
    clock.advance(days=1)
    await Sweeper(engine, store).sweep_all()

    with pytest.raises(CannotUndo):
        await undo(engine, store, venue, ticket)


async def test_after_ten_minutes_it_is_too_late(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    ticket = await take(engine, venue)
    called = await engine.do(venue.id, Call(ticket.ticket_id))
    clock.advance(minutes=10, ms=1)

    with pytest.raises(UndoTooLate, match="undo-too-late label=A001 minutes=10"):
        await undo(engine, store, venue, ticket)
    longer = await engine.do(venue.id, Undo(ticket.ticket_id, called.version, within_minutes=11))

    assert longer.state == "waiting"


async def test_at_ten_minutes_it_is_not_yet_too_late(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    clock.advance(minutes=10)

    assert (await undo(engine, store, venue, ticket)).state == "waiting"


async def test_a_place_that_the_visitor_took_again_is_theirs_once(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await take(engine, venue, visitor="Aisha")
    await engine.do(venue.id, Leave(ticket.ticket_id))
    await engine.do(venue.id, issue(visitor="Aisha"))

    with pytest.raises(PlaceTaken, match="another-number other=A002"):
        await undo(engine, store, venue, ticket)


async def test_nobody_is_put_back_into_a_line_that_has_ended(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    await reset(engine, venue.id, "lab")

    with pytest.raises(LineEnded):
        await undo(engine, store, venue, ticket)


async def test_a_ticket_that_is_not_there_is_unknown(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownTicket):
        await engine.do(venue.id, Undo(TicketId("nobody's"), 1))


# What goes with it


async def test_whoever_is_called_again_by_an_undo_has_the_whole_time_to_come(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue("lab"), miss_after=60))))
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    clock.advance(minutes=1)
    await ring(engine, store, clock)
    await undo(engine, store, venue, ticket)

    states = []
    for seconds in (59, 1):
        clock.advance(seconds=seconds)
        await ring(engine, store, clock)
        states.append((await stored_ticket(store, venue, ticket.ticket_id)).state)

    assert states == ["called", "missed"]


async def test_the_event_says_what_the_ticket_was_and_is(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id, "desk-1"))

    await undo(engine, store, venue, ticket)

    (facts,) = await data_of(engine, venue, "ticket.undone")
    assert (facts["before"], facts["state"], facts.get("desk")) == ("called", "waiting", None)
    assert facts["line"] == {"waiting": 1}
