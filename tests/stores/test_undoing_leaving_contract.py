"""Whoever left by their link thinks better of it: for ten seconds it is as if they had stayed."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import CannotUndo, LineEnded, PlaceTaken, UndoTooLate, UnknownVisit, VisitInWrongState
from dawr.domain.secret import hash_of
from dawr.domain.venue import Venue
from dawr.domain.visit import Link
from dawr.engine.clockwork import reset
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.desks import LookAtDesk
from dawr.operations.reception import EndVisit
from dawr.operations.staff import Call, Extend, Hold, Miss
from dawr.operations.ticket import Joined
from dawr.operations.undo import Undo, UndoLeave
from dawr.operations.visitor import Leave
from dawr.operations.visits import LeaveByLink, LookAtVisit
from dawr.ports import Store
from tests.builders import DrivenClock, issue
from tests.stores.doing import (
    begin_visit,
    finish,
    kinds_of,
    link_to,
    look,
    ring,
    stages_of,
    stored_line,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)

SECRET = hash_of("a secret")


async def single(engine: Engine, venue: Venue, visitor: str | None = None) -> Joined:
    """A single number, whose link has a secret that is known here."""
    return await engine.do(venue.id, replace(issue("lab", visitor), secret_hash=SECRET))


def link_of(joined: Joined) -> Link:
    return Link(joined.ticket.visit_id, SECRET)


async def test_whoever_left_is_back_at_their_place(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    first = await single(engine, venue)
    await take(engine, venue)
    line = await stored_line(store, venue, first.ticket.line_key)
    left = await engine.do(venue.id, LeaveByLink(link_of(first)))

    clock.advance(seconds=10)
    back = await engine.do(venue.id, UndoLeave(link_of(first)))

    assert left.undo_until == clock.now
    assert (left.visit.state, back.visit.state, back.undo_until) == ("left", "open", None)
    assert back.joined is not None
    assert (back.joined.ticket.label, back.joined.ticket.state, back.joined.ahead) == ("A001", "waiting", 0)
    assert await stored_line(store, venue, first.ticket.line_key) == line


async def test_whoever_was_called_and_left_is_called_again(engine: Engine, venue: Venue) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, Call(first.ticket.ticket_id, "desk-1"))
    await engine.do(venue.id, LeaveByLink(link_of(first)))

    back = await engine.do(venue.id, UndoLeave(link_of(first)))

    assert back.ticket is not None
    assert (back.ticket.state, back.ticket.desk_id) == ("called", "desk-1")


async def test_whoever_comes_back_to_a_desk_that_has_somebody_else_waits_at_the_place_they_had(
    engine: Engine, store: Store, venue: Venue
) -> None:
    first, second, _ = [await single(engine, venue) for _ in range(3)]
    await engine.do(venue.id, Call(first.ticket.ticket_id, "desk-1"))
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    await engine.do(venue.id, Call(second.ticket.ticket_id, "desk-1"))
    version = len(await kinds_of(engine, venue))

    back = await engine.do(venue.id, UndoLeave(link_of(first)))

    assert back.place is not None
    assert (back.place.ticket.state, back.place.ticket.desk_id, back.place.ahead) == ("waiting", None, 0)
    assert [ticket.label for ticket in (await engine.read(venue.id, LookAtDesk("desk-1"))).here] == ["A002"]
    assert (await kinds_of(engine, venue))[version:] == ["ticket.undone", "ticket.held", "ticket.resumed"]
    line = await stored_line(store, venue, first.ticket.line_key)
    assert (line.people_waiting, line.called, line.held, line.current_number) == (2, 1, 0, 2)


async def test_whoever_comes_back_to_a_desk_that_had_others_before_is_called_still(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first, second = [await single(engine, venue) for _ in range(2)]
    for called in (first, second):
        await engine.do(venue.id, Call(called.ticket.ticket_id, "desk-1"))
    clock.advance(seconds=1)
    await engine.do(venue.id, LeaveByLink(link_of(second)))

    back = await engine.do(venue.id, UndoLeave(link_of(second)))

    assert back.ticket is not None
    assert (back.ticket.state, back.ticket.desk_id) == ("called", "desk-1")


async def test_whoever_was_called_before_a_reset_does_not_come_back_to_a_desk_that_has_somebody_else(
    engine: Engine, store: Store, venue: Venue
) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, Call(first.ticket.ticket_id, "desk-1"))
    await reset(engine, venue.id, "lab")
    second = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    await engine.do(venue.id, Call(second.ticket.ticket_id, "desk-1"))

    with pytest.raises(LineEnded):
        await engine.do(venue.id, UndoLeave(link_of(first)))

    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == "left"


async def leave_and_come_back(engine: Engine, venue: Venue, clock: DrivenClock, joined: Joined) -> None:
    await engine.do(venue.id, LeaveByLink(link_of(joined)))
    clock.advance(seconds=9)
    await engine.do(venue.id, UndoLeave(link_of(joined)))


@pytest.mark.parametrize(("verb", "ended"), [(Call, "missed"), (Hold, "waiting")])
async def test_nobody_has_more_time_by_leaving_and_coming_back(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, *, verb: type[Call | Hold], ended: str
) -> None:
    lab = replace(venue.queue("lab"), miss_after=60, hold_limit=60)
    await engine.do(venue.id, SetUp(venue.with_queue(lab)))
    first = await single(engine, venue)
    before = await engine.do(venue.id, verb(first.ticket.ticket_id))
    for _ in range(3):
        clock.advance(seconds=10)
        await leave_and_come_back(engine, venue, clock, first)

    clock.advance(seconds=2)
    assert await ring(engine, store, clock) == 0
    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == before.state
    clock.advance(seconds=1)
    await ring(engine, store, clock)

    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == ended


async def test_more_time_that_staff_gave_is_kept(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue("lab"), miss_after=60))))
    first = await single(engine, venue)
    for verb in (Call, Extend):
        await engine.do(venue.id, verb(first.ticket.ticket_id))
    await leave_and_come_back(engine, venue, clock, first)

    clock.advance(minutes=5)
    assert await ring(engine, store, clock) == 0
    clock.advance(seconds=51)
    await ring(engine, store, clock)

    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == "missed"


@pytest.mark.parametrize(("verb", "ended"), [(Call, "missed"), (Hold, "waiting")])
async def test_whoever_comes_back_after_their_time_has_run_out_has_none_left(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, *, verb: type[Call | Hold], ended: str
) -> None:
    lab = replace(venue.queue("lab"), miss_after=60, hold_limit=60)
    await engine.do(venue.id, SetUp(venue.with_queue(lab)))
    first = await single(engine, venue)
    await engine.do(venue.id, verb(first.ticket.ticket_id))
    clock.advance(seconds=55)
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    clock.advance(seconds=9)
    await ring(engine, store, clock)

    await engine.do(venue.id, UndoLeave(link_of(first)))
    await ring(engine, store, clock)

    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == ended


async def test_after_ten_seconds_it_is_too_late(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))

    clock.advance(seconds=10, ms=1)
    with pytest.raises(UndoTooLate) as refusal:
        await engine.do(venue.id, UndoLeave(link_of(first)))

    assert refusal.value.facts == {"label": "A001", "seconds": 10}
    assert (await stored_ticket(store, venue, first.ticket.ticket_id)).state == "left"
    assert (await engine.read(venue.id, LookAtVisit(link_of(first)))).undo_until is None


async def test_leaving_is_undone_once(engine: Engine, venue: Venue) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    await engine.do(venue.id, UndoLeave(link_of(first)))

    with pytest.raises(CannotUndo):
        await engine.do(venue.id, UndoLeave(link_of(first)))


async def test_what_staff_ended_is_not_undone_by_the_link(engine: Engine, clinic: Venue) -> None:
    first, begun = await single(engine, clinic), await begin_visit(engine, clinic)
    await engine.do(clinic.id, Leave(first.ticket.ticket_id))
    await engine.do(clinic.id, EndVisit(begun.visit.visit_id))

    for link in (link_of(first), link_to(begun.visit)):
        assert (await engine.read(clinic.id, LookAtVisit(link))).undo_until is None
        with pytest.raises(CannotUndo):
            await engine.do(clinic.id, UndoLeave(link))


async def test_nobody_undoes_anything_without_the_secret(engine: Engine, store: Store, venue: Venue) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))

    with pytest.raises(UnknownVisit):
        await engine.do(venue.id, UndoLeave(Link(first.ticket.visit_id, hash_of("another"))))

    assert (await stored_visit(store, venue, first.ticket.visit_id)).state == "left"


async def test_whoever_took_another_number_meanwhile_keeps_that(engine: Engine, venue: Venue) -> None:
    first = await single(engine, venue, "Noor")
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    await single(engine, venue, "Noor")

    with pytest.raises(PlaceTaken):
        await engine.do(venue.id, UndoLeave(link_of(first)))


async def test_nobody_comes_back_to_a_line_that_has_ended(engine: Engine, venue: Venue) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    await reset(engine, venue.id, "lab")

    with pytest.raises(LineEnded):
        await engine.do(venue.id, UndoLeave(link_of(first)))


async def test_staff_can_still_undo_it_after_that(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    first = await single(engine, venue)
    await engine.do(venue.id, LeaveByLink(link_of(first)))
    clock.advance(minutes=5)

    version = (await stored_ticket(store, venue, first.ticket.ticket_id)).version
    await engine.do(venue.id, Undo(first.ticket.ticket_id, version))

    visit = await stored_visit(store, venue, first.ticket.visit_id)
    assert (visit.state, visit.left_by_link, visit.previous) == ("open", None, None)


async def test_a_whole_journey_that_was_left_goes_on(engine: Engine, store: Store, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic, "Aisha")
    before = await stored_visit(store, clinic, begun.visit.visit_id)
    await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))

    back = await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))

    assert await stored_visit(store, clinic, begun.visit.visit_id) == before
    assert back.place is not None
    await finish(engine, clinic, ticket_of(begun).ticket_id)
    assert stages_of((await look(engine, clinic, begun.visit)).visit)["lab"] == "completed"


async def test_whoever_missed_a_call_and_left_has_missed_it_still(engine: Engine, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic)
    for verb in (Call, Miss):
        await engine.do(clinic.id, verb(ticket_of(begun).ticket_id))
    await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))

    back = await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))

    assert ticket_of(back).state == "missed"


async def test_whoever_stood_in_no_queue_waits_again_for_one_that_takes_them(
    engine: Engine, store: Store, clock: DrivenClock, clinic: Venue
) -> None:
    begun = await begin_visit(engine, clinic)
    for queue in ("xray", "ent"):
        await engine.do(clinic.id, ChangeQueue(queue, "close"))
    await finish(engine, clinic, ticket_of(begun).ticket_id)
    parked = await stored_visit(store, clinic, begun.visit.visit_id)
    left = await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))
    clock.advance(seconds=9)
    await ring(engine, store, clock)

    back = await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))

    assert (left.visit.state, left.undo_until) == ("left", clock.now + 1000)
    assert await stored_visit(store, clinic, begun.visit.visit_id) == replace(parked, previous=None)
    assert [candidate.queue_id for candidate in back.awaited] == ["xray", "ent"]
    assert (await kinds_of(engine, clinic))[-1] == "visit.returned"
    await engine.do(clinic.id, ChangeQueue("xray", "open"))
    await ring(engine, store, clock)
    assert ticket_of(await look(engine, clinic, begun.visit)).queue_id == "xray"


async def test_whoever_never_had_a_number_comes_back_too(engine: Engine, store: Store, clinic: Venue) -> None:
    await engine.do(clinic.id, ChangeQueue("lab", "close"))
    begun = await begin_visit(engine, clinic, "Aisha")
    await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))
    await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))
    back = await stored_visit(store, clinic, begun.visit.visit_id)
    await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))

    await begin_visit(engine, clinic, "Aisha")
    with pytest.raises(PlaceTaken) as refusal:
        await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))

    assert (back.state, back.open_key, back.ticket_id) == ("open", "Aisha", None)
    assert refusal.value.facts == {"label": None, "why": "another-visit"}


async def test_a_visit_whose_day_has_ended_meanwhile_stays_left(
    engine: Engine, clock: DrivenClock, clinic: Venue
) -> None:
    clock.advance(hours=18, minutes=59, seconds=55)
    await engine.do(clinic.id, ChangeQueue("lab", "close"))
    begun = await begin_visit(engine, clinic)
    await engine.do(clinic.id, LeaveByLink(link_to(begun.visit)))

    clock.advance(seconds=8)

    with pytest.raises(VisitInWrongState):
        await engine.do(clinic.id, UndoLeave(link_to(begun.visit)))
