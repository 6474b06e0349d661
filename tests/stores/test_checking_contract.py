"""What a look at every row says of visits with a plan: nothing while they are in order, and what is wrong otherwise."""

import pytest

from dawr.domain.queue import QueueId
from dawr.domain.venue import Venue
from dawr.domain.visit import PlannedStage, Visit
from dawr.engine.engine import Engine
from dawr.operations.reception import EndVisit, RemoveFromQueue
from dawr.ports import Store
from tests.stores.databases import Database
from tests.stores.doing import begin_visit, finish, look, stored_visit, take, ticket_of


@pytest.fixture
async def at_lab(engine: Engine, clinic: Venue) -> Visit:
    """Somebody who waits at the laboratory, in a clinic where everything else is in order."""
    await take(engine, clinic, visitor="a single ticket")
    for visitor, end in (("gone on", None), ("ready", RemoveFromQueue), ("gone home", EndVisit)):
        seen = await begin_visit(engine, clinic, visitor)
        if end is None:
            await finish(engine, clinic, ticket_of(seen).ticket_id)
        else:
            await engine.do(clinic.id, end(seen.visit.visit_id))
    return (await begin_visit(engine, clinic, "Aisha")).visit


async def change(database: Database, visit: Visit, changed: str) -> None:
    await database.rows(f"UPDATE visits SET {changed} WHERE visit_id = '{visit.visit_id}'")


async def end_ticket(database: Database, visit: Visit) -> None:
    """By hand, and without a word to its visit or its line."""
    await database.rows(
        f"UPDATE tickets SET state = 'left', open_key = NULL, left_at = 1 WHERE visit_id = '{visit.visit_id}'"
    )
    await database.rows("UPDATE lines SET waiting = '[1,0,0,0]' WHERE queue_id = 'lab'")


async def test_visits_that_go_on_wait_or_have_ended_are_in_order(store: Store, at_lab: Visit) -> None:
    assert at_lab.is_open
    assert await store.faults() == []


async def test_an_open_visit_that_stands_nowhere_and_waits_for_nothing_is_named(
    database: Database, engine: Engine, store: Store, clinic: Venue, at_lab: Visit
) -> None:
    await engine.do(clinic.id, RemoveFromQueue(at_lab.visit_id))
    stranded = (await stored_visit(store, clinic, at_lab.visit_id)).with_stage(0, state="locked")
    await change(database, at_lab, f"stages = '{stranded.stages}'")

    (fault,) = await store.faults()

    assert fault.startswith(f"Visit {at_lab.visit_id} of {clinic.slug} is open, but its visitor stands in no queue")


async def test_a_visit_with_two_open_tickets_is_named(
    database: Database, engine: Engine, store: Store, clinic: Venue, at_lab: Visit
) -> None:
    other = await take(engine, clinic, queue="ent")
    await database.rows(f"UPDATE tickets SET visit_id = '{at_lab.visit_id}' WHERE ticket_id = '{other.ticket_id}'")

    (fault,) = await store.faults()

    assert fault.startswith(f"Visit {at_lab.visit_id} of {clinic.slug} has 2 open tickets")


async def test_a_single_ticket_that_was_moved_is_nobodys_fault(
    database: Database, engine: Engine, store: Store, clinic: Venue
) -> None:
    first, second = await take(engine, clinic, queue="ent"), await take(engine, clinic, queue="xray")
    await database.rows(f"UPDATE tickets SET visit_id = '{first.visit_id}' WHERE ticket_id = '{second.ticket_id}'")

    assert await store.faults() == []


async def test_a_stage_that_is_said_to_be_in_its_queue_and_is_not_is_named(
    database: Database, store: Store, clinic: Venue, at_lab: Visit
) -> None:
    await end_ticket(database, at_lab)

    faults = await store.faults()

    assert any(
        fault.startswith(f"Visit {at_lab.visit_id} of {clinic.slug} is said to be in queue lab") for fault in faults
    )
    assert any("stands in no queue" in fault for fault in faults)
    assert len(faults) == 2


async def test_a_stage_whose_ticket_is_not_there_is_named(
    database: Database, store: Store, clinic: Venue, at_lab: Visit
) -> None:
    plan = [PlannedStage(QueueId("ent"), state="in_queue"), *at_lab.plan]
    await change(database, at_lab, f"stages = '{at_lab.with_plan(plan).stages}'")

    (fault,) = await store.faults()

    assert "is said to be in queue ent" in fault


async def test_an_ended_visit_whose_ticket_is_still_open_is_named(
    database: Database, engine: Engine, store: Store, clinic: Venue, at_lab: Visit
) -> None:
    ticket = ticket_of(await look(engine, clinic, at_lab))
    for state in ("finished", "left", "expired"):
        await change(database, at_lab, f"state = '{state}', open_key = NULL")

        (fault,) = await store.faults()

        assert fault.startswith(
            f"Visit {at_lab.visit_id} of {clinic.slug} is {state}, but its ticket {ticket.label} in queue lab is open"
        )


async def test_no_visitor_is_named(database: Database, store: Store, at_lab: Visit) -> None:
    await end_ticket(database, at_lab)

    assert at_lab.visitor not in " ".join(await store.faults())
