"""What staff should know about a visitor: written once, seen in every queue that the visit leads to."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import InvalidValue, UnknownVisit, VisitInWrongState
from dawr.domain.ticket import VisitId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.console import LookAtConsole
from dawr.operations.reception import EndVisit, NoteVisit
from dawr.operations.staff import Call, Finish, Hold, Start
from dawr.operations.undo import Undo
from dawr.ports import Store
from tests.builders import issue, start_visit
from tests.stores.doing import (
    begin_visit,
    data_of,
    do_each,
    events_of,
    finish,
    kinds_of,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)


async def notes(engine: Engine, venue: Venue, desk: str, find: str | None = None) -> list[tuple[str, str | None]]:
    """Of all who wait or are held, as a desk sees them."""
    seen = await engine.read(venue.id, LookAtConsole(desk, find))
    return [(row.ticket.label, row.note) for row in (*seen.waiting, *seen.held)]


async def test_a_note_is_given_with_a_number_or_with_a_journey(engine: Engine, clinic: Venue) -> None:
    await engine.do(clinic.id, replace(issue("lab"), note="  Wheelchair "))
    await engine.do(clinic.id, replace(start_visit("army"), note="Hard of hearing: wave as well"))
    await take(engine, clinic)

    assert await notes(engine, clinic, "desk-1") == [
        ("A001", "Wheelchair"),
        ("A002", "Hard of hearing: wave as well"),
        ("A003", None),
    ]


async def test_a_note_goes_along_the_journey(engine: Engine, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic)
    await engine.do(clinic.id, NoteVisit(begun.visit.visit_id, "Speaks Chinese"))

    await finish(engine, clinic, ticket_of(begun).ticket_id)

    assert await notes(engine, clinic, "desk-2") == [("001", "Speaks Chinese")]


async def test_a_note_is_changed_and_removed_and_its_text_is_in_no_event(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    visit_id = (await take(engine, clinic)).visit_id

    for note in ("Wheelchair", "Wheelchair", "Uses crutches", "  "):
        await engine.do(clinic.id, NoteVisit(visit_id, note))

    assert (await stored_visit(store, clinic, visit_id)).note is None
    assert await data_of(engine, clinic, "visit.noted") == [{"visit": visit_id}] * 3
    assert not [event for event in await events_of(engine, clinic) if "crutches" in event.data]


async def test_a_note_may_be_long_but_not_too_long(engine: Engine, store: Store, clinic: Venue) -> None:
    visit_id = (await take(engine, clinic)).visit_id
    longest = "ملاحظة " * 28 + "abcd"

    await engine.do(clinic.id, NoteVisit(visit_id, longest))

    assert (await stored_visit(store, clinic, visit_id)).note == longest
    for wrong, rule in ((longest + "x", "visitor-long"), ("a\nb", "visitor-unprintable")):
        with pytest.raises(InvalidValue) as refusal:
            await engine.do(clinic.id, NoteVisit(visit_id, wrong))
        assert (refusal.value.facts["field"], refusal.value.facts["rule"]) == ("note", rule)


async def test_nobody_is_given_a_number_with_a_note_that_does_not_fit(engine: Engine, clinic: Venue) -> None:
    with pytest.raises(InvalidValue):
        await engine.do(clinic.id, replace(issue("lab"), note="x" * 201))
    with pytest.raises(InvalidValue):
        await engine.do(clinic.id, replace(start_visit("army"), note="\x1b[31m"))

    assert await kinds_of(engine, clinic) == []


async def test_an_undo_leaves_the_note_alone(engine: Engine, store: Store, clinic: Venue) -> None:
    ticket = await take(engine, clinic)
    await do_each(engine, clinic, Call(ticket.ticket_id), Start(ticket.ticket_id))
    await engine.do(clinic.id, NoteVisit(ticket.visit_id, "Wheelchair"))
    await engine.do(clinic.id, Finish(ticket.ticket_id))

    version = (await stored_ticket(store, clinic, ticket.ticket_id)).version
    await engine.do(clinic.id, Undo(ticket.ticket_id, version))

    visit = await stored_visit(store, clinic, ticket.visit_id)
    assert (visit.state, visit.note) == ("open", "Wheelchair")


async def test_a_visit_that_has_ended_takes_no_note(engine: Engine, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic)
    await engine.do(clinic.id, EndVisit(begun.visit.visit_id))

    with pytest.raises(VisitInWrongState):
        await engine.do(clinic.id, NoteVisit(begun.visit.visit_id, "Too late"))
    with pytest.raises(UnknownVisit):
        await engine.do(clinic.id, NoteVisit(VisitId("nobody"), "Nobody"))


async def test_people_are_found_by_a_part_of_their_note(engine: Engine, clinic: Venue) -> None:
    await engine.do(clinic.id, replace(issue("lab"), note="Wheelchair"))
    held = await engine.do(clinic.id, replace(issue("lab"), note="Needs a chair"))
    elsewhere = await engine.do(clinic.id, replace(issue("ent"), note="Chair"))
    gone = await engine.do(clinic.id, replace(issue("lab"), note="chair"))
    await do_each(engine, clinic, Hold(held.ticket.ticket_id), EndVisit(gone.ticket.visit_id))

    assert await notes(engine, clinic, "desk-1", "CHAIR") == [("A001", "Wheelchair"), ("A002", "Needs a chair")]
    assert await notes(engine, clinic, "desk-3", "chair") == [(elsewhere.ticket.label, "Chair")]
    assert await notes(engine, clinic, "desk-1", "table") == []
