"""What staff do for a visitor in front of them: move them, change their path, and give them a new link."""

import msgspec
import pytest

from dawr.domain.errors import (
    NotForThisAudience,
    NotInPlan,
    PlaceTaken,
    QueueClosed,
    QueueFull,
    StageInWrongState,
    TicketInWrongState,
    UnknownJourney,
    UnknownVisit,
    VisitInWrongState,
)
from dawr.domain.secret import hash_of
from dawr.domain.ticket import VisitId
from dawr.domain.venue import Venue
from dawr.domain.visit import Link
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.reception import (
    AddStage,
    ChangePath,
    CompleteStage,
    EndVisit,
    EnterStage,
    MoveTo,
    NewLink,
    OfVisit,
    OfVisitor,
    RemoveFromQueue,
    ResetPath,
    SkipStage,
    Transfer,
)
from dawr.operations.staff import Call, Finish, Hold, Start
from dawr.operations.visits import LookAtVisit
from dawr.ports import Store
from tests.stores.doing import (
    begin_visit,
    finish,
    kinds_of,
    link_to,
    look,
    stages_of,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)

# To another queue


async def test_a_transferred_visitor_stands_at_the_end_of_the_other_line_under_the_same_link(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    await take(engine, clinic, queue="xray")
    before = await take(engine, clinic, visitor="Aisha", priority=1)

    after = await engine.do(clinic.id, Transfer(before.ticket_id, "xray"))

    left = await stored_ticket(store, clinic, before.ticket_id)
    assert (left.state, after.queue_id, after.number) == ("left", "xray", 2)
    assert (after.visit_id, after.visitor, after.priority) == (before.visit_id, "Aisha", 1)
    assert after.from_ticket_id == before.ticket_id
    assert (await stored_visit(store, clinic, before.visit_id)).ticket_id == after.ticket_id
    assert await kinds_of(engine, clinic) == ["ticket.issued", "ticket.issued", "ticket.left", "ticket.issued"]


async def test_whoever_is_being_served_is_done_where_they_were(engine: Engine, store: Store, clinic: Venue) -> None:
    before = await take(engine, clinic)
    await engine.do(clinic.id, Call(before.ticket_id))
    await engine.do(clinic.id, Start(before.ticket_id))

    await engine.do(clinic.id, Transfer(before.ticket_id, "ent"))

    assert (await stored_ticket(store, clinic, before.ticket_id)).state == "finished"


async def test_a_transfer_within_a_plan_comes_back_to_the_stage_that_was_left(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)

    await engine.do(clinic.id, Transfer(ticket_of(seen).ticket_id, "ent"))
    moved = await look(engine, clinic, seen.visit)
    await finish(engine, clinic, ticket_of(moved).ticket_id)
    after = await look(engine, clinic, seen.visit)

    assert stages_of(moved.visit) == {"lab": "locked", "xray": "locked", "ent": "in_queue"}
    assert stages_of(after.visit) == {"lab": "in_queue", "xray": "locked", "ent": "completed"}
    assert await store.faults() == []


async def test_a_transfer_to_a_queue_outside_the_plan_is_one_more_stage(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    await engine.do(clinic.id, Start(ticket_of(seen).ticket_id))

    await engine.do(clinic.id, MoveTo(seen.visit.visit_id, "eye"))

    after = await look(engine, clinic, seen.visit)
    assert stages_of(after.visit) == {"lab": "completed", "xray": "locked", "ent": "locked", "eye": "in_queue"}
    assert await store.faults() == []


async def test_a_transfer_that_cannot_be_is_refused_and_nobody_moves(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    ticket = await take(engine, clinic, visitor="Aisha")
    await take(engine, clinic, queue="eye", visitor="Aisha")
    await take(engine, clinic, queue="ent")
    await engine.do(clinic.id, SetUp(clinic.with_queue(msgspec.structs.replace(clinic.queue("ent"), capacity=1))))
    await engine.do(clinic.id, ChangeQueue("xray", "close"))
    before = await kinds_of(engine, clinic)

    for queue, refusal in (("xray", QueueClosed), ("ent", QueueFull), ("eye", PlaceTaken), ("lab", PlaceTaken)):
        with pytest.raises(refusal):
            await engine.do(clinic.id, Transfer(ticket.ticket_id, queue))

    assert await kinds_of(engine, clinic) == before
    assert await stored_ticket(store, clinic, ticket.ticket_id) == ticket


async def test_a_ticket_that_has_ended_or_was_left_behind_is_not_transferred(engine: Engine, clinic: Venue) -> None:
    ticket = await take(engine, clinic)
    await finish(engine, clinic, ticket.ticket_id)

    with pytest.raises(TicketInWrongState):
        await engine.do(clinic.id, Transfer(ticket.ticket_id, "xray"))


# Out of a queue, and home


async def test_whoever_is_taken_out_is_outside_until_they_are_let_in_again(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)

    out = await engine.do(clinic.id, RemoveFromQueue(seen.visit.visit_id))
    back = await engine.do(clinic.id, EnterStage(seen.visit.visit_id))

    assert (out.place, stages_of(out.visit)["lab"]) == (None, "ready")
    assert (ticket_of(back).number, stages_of(back.visit)["lab"]) == (2, "in_queue")
    assert await store.faults() == []


async def test_whoever_went_home_is_gone_from_wherever_they_stood(engine: Engine, store: Store, clinic: Venue) -> None:
    inside, outside = await begin_visit(engine, clinic), await begin_visit(engine, clinic)
    await engine.do(clinic.id, RemoveFromQueue(outside.visit.visit_id))

    for seen in (inside, outside):
        await engine.do(clinic.id, EndVisit(seen.visit.visit_id))

    for seen in (inside, outside):
        assert (await stored_visit(store, clinic, seen.visit.visit_id)).state == "left"
        with pytest.raises(VisitInWrongState):
            await engine.do(clinic.id, EndVisit(seen.visit.visit_id))
    assert await store.faults() == []


# The path


async def test_an_added_stage_comes_behind_the_others(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, journey="short")

    added = await engine.do(clinic.id, AddStage(seen.visit.visit_id, "ent", pin=False))
    await finish(engine, clinic, ticket_of(seen).ticket_id)

    assert stages_of(added.visit) == {"xray": "in_queue", "ent": "locked"}
    assert not added.visit.plan[1].pin
    assert ticket_of(await look(engine, clinic, seen.visit)).queue_id == "ent"
    assert await store.faults() == []


async def test_a_stage_that_is_still_to_come_is_not_added_again_but_one_that_is_done_is(
    engine: Engine, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    with pytest.raises(StageInWrongState):
        await engine.do(clinic.id, AddStage(seen.visit.visit_id, "lab"))
    with pytest.raises(StageInWrongState):
        await engine.do(clinic.id, AddStage(seen.visit.visit_id, "xray"))
    await finish(engine, clinic, ticket_of(seen).ticket_id)

    again = await engine.do(clinic.id, AddStage(seen.visit.visit_id, "lab"))

    assert [(stage.queue, stage.state) for stage in again.visit.plan] == [
        ("lab", "completed"),
        ("xray", "in_queue"),
        ("ent", "locked"),
        ("lab", "locked"),
    ]


async def test_skipping_the_stage_that_somebody_is_at_takes_them_to_the_next(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)

    after = await engine.do(clinic.id, SkipStage(seen.visit.visit_id, "lab"))

    assert stages_of(after.visit) == {"lab": "skipped", "xray": "in_queue", "ent": "locked"}
    assert (await stored_ticket(store, clinic, ticket_of(seen).ticket_id)).state == "left"
    assert "visit.stage_skipped" in await kinds_of(engine, clinic)
    assert await store.faults() == []


async def test_skipping_a_stage_to_come_leaves_the_visitor_where_they_are_and_the_last_one_ends_the_visit(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)
    for queue in ("xray", "ent"):
        after = await engine.do(clinic.id, SkipStage(seen.visit.visit_id, queue))
        assert ticket_of(after) == ticket_of(seen)

    ended = await engine.do(clinic.id, SkipStage(seen.visit.visit_id, "lab"))

    assert ended.visit.state == "finished"
    assert await store.faults() == []


@pytest.mark.parametrize("how", ["waiting", "held", "called"])
async def test_a_stage_that_staff_complete_is_finished_whatever_its_queue_says(
    engine: Engine, store: Store, clinic: Venue, how: str
) -> None:
    await begin_visit(engine, clinic)
    seen = await begin_visit(engine, clinic)
    if how == "held":
        await engine.do(clinic.id, Hold(ticket_of(seen).ticket_id))
    if how == "called":
        await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))

    after = await engine.do(clinic.id, CompleteStage(seen.visit.visit_id, "lab", "mistake"))

    assert stages_of(after.visit)["lab"] == "completed"
    assert (await stored_ticket(store, clinic, ticket_of(seen).ticket_id)).state == "finished"
    assert ticket_of(after).queue_id == "xray"
    assert await store.faults() == []


async def test_a_stage_to_come_can_be_completed_too_and_none_twice(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)

    after = await engine.do(clinic.id, CompleteStage(seen.visit.visit_id, "xray"))

    assert stages_of(after.visit) == {"lab": "in_queue", "xray": "completed", "ent": "locked"}
    for again in (CompleteStage(seen.visit.visit_id, "xray"), SkipStage(seen.visit.visit_id, "xray")):
        with pytest.raises(StageInWrongState):
            await engine.do(clinic.id, again)
    with pytest.raises(NotInPlan):
        await engine.do(clinic.id, SkipStage(seen.visit.visit_id, "eye"))


async def test_a_path_that_is_reset_begins_again(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(seen).ticket_id)

    after = await engine.do(clinic.id, ResetPath(seen.visit.visit_id))

    assert stages_of(after.visit) == {"lab": "in_queue", "xray": "locked", "ent": "locked"}
    assert (ticket_of(after).queue_id, ticket_of(after).number) == ("lab", 2)
    assert await store.faults() == []


async def test_on_another_path_what_was_done_stays_done(engine: Engine, store: Store, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)
    await finish(engine, clinic, ticket_of(seen).ticket_id)
    at_xray = await look(engine, clinic, seen.visit)

    stays = await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "short"))
    moves = await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "women", "women"))
    back = await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "تجنيد"))

    assert ticket_of(stays) == ticket_of(at_xray)
    assert stages_of(stays.visit) == {"xray": "in_queue", "lab": "completed"}
    assert stages_of(moves.visit) == {"eye": "locked", "xray": "in_queue", "lab": "completed"}
    assert (moves.visit.journey, moves.visit.audience) == ("women", "women")
    assert stages_of(back.visit) == {"lab": "completed", "xray": "in_queue", "ent": "locked"}
    assert await store.faults() == []


async def test_whoever_stands_in_no_queue_of_the_other_path_is_taken_to_its_first(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic)

    after = await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "short"))

    assert (await stored_ticket(store, clinic, ticket_of(seen).ticket_id)).state == "left"
    assert ticket_of(after).queue_id == "xray"
    assert await store.faults() == []


async def test_a_path_that_is_not_there_or_is_for_others_changes_nothing(
    engine: Engine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(engine, clinic, audience="men")

    with pytest.raises(NotForThisAudience):
        await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "women"))
    with pytest.raises(UnknownJourney):
        await engine.do(clinic.id, ChangePath(seen.visit.visit_id, "pilgrim"))

    assert await stored_visit(store, clinic, seen.visit.visit_id) == seen.visit


@pytest.mark.parametrize(
    "operation",
    [
        ResetPath(VisitId("")),
        ChangePath(VisitId(""), "short"),
        AddStage(VisitId(""), "ent"),
        SkipStage(VisitId(""), "lab"),
        CompleteStage(VisitId(""), "lab"),
        MoveTo(VisitId(""), "ent"),
    ],
    ids=lambda operation: type(operation).__name__,
)
async def test_a_single_ticket_has_no_path_to_change(
    engine: Engine, store: Store, clinic: Venue, operation: OfVisit
) -> None:
    ticket = await take(engine, clinic, visitor="Aisha")
    before = await stored_visit(store, clinic, ticket.visit_id)

    with pytest.raises((VisitInWrongState, StageInWrongState, NotInPlan)):
        await engine.do(clinic.id, msgspec.structs.replace(operation, visit_id=ticket.visit_id))

    assert await stored_visit(store, clinic, ticket.visit_id) == before
    assert await store.faults() == []


# Links and names


async def test_a_new_link_ends_the_old_one(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic)

    await engine.do(clinic.id, NewLink(seen.visit.visit_id, hash_of("another secret")))

    with pytest.raises(UnknownVisit):
        await engine.read(clinic.id, LookAtVisit(link_to(seen.visit)))
    again = await engine.read(clinic.id, LookAtVisit(Link(seen.visit.visit_id, hash_of("another secret"))))
    assert ticket_of(again) == ticket_of(seen)


async def test_staff_may_name_the_visitor_instead_of_the_visit(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, "Aisha")
    await take(engine, clinic, visitor="a single ticket")

    removed = await engine.do(clinic.id, OfVisitor(" Aisha ", RemoveFromQueue(VisitId(""))))

    assert removed.visit.visit_id == seen.visit.visit_id
    for nobody in ("a single ticket", "Nobody"):
        with pytest.raises(UnknownVisit):
            await engine.do(clinic.id, OfVisitor(nobody, RemoveFromQueue(VisitId(""))))


async def test_an_ended_visit_is_changed_by_nobody(engine: Engine, clinic: Venue) -> None:
    seen = await begin_visit(engine, clinic, journey="short")
    await engine.do(clinic.id, Call(ticket_of(seen).ticket_id))
    await engine.do(clinic.id, Finish(ticket_of(seen).ticket_id))

    for operation in (NewLink, RemoveFromQueue, EnterStage, ResetPath, EndVisit):
        with pytest.raises(VisitInWrongState):
            await engine.do(clinic.id, operation(seen.visit.visit_id))
