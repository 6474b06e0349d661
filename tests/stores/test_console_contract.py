"""What whoever works at a desk sees: who is here, who waits, who is aside, and what could be undone."""

from typing import Any

import pytest
from msgspec.structs import replace

from dawr.domain.errors import UnknownDesk
from dawr.domain.events import Origin
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.console import Console, LookAtConsole
from dawr.operations.desks import OpenDesk
from dawr.operations.operation import Operation
from dawr.operations.reception import NoteVisit, Transfer
from dawr.operations.staff import Call, Extend, Finish, Hold, Miss, PutBack, Recall, Start
from dawr.operations.undo import Undo
from dawr.operations.visitor import Issue, Leave
from dawr.ports import Search, Store, Wants
from tests.builders import DrivenClock, call_next, issue
from tests.stores.doing import begin_visit, do_each, load, stored_ticket, take, ticket_of

MINUTE = 60_000


async def console(engine: Engine, venue: Venue, desk: str = "desk-2", **asked: Any) -> Console:  # noqa: ANN401 - asked of the view
    return await engine.read(venue.id, LookAtConsole(desk, **asked))


def labels(rows: Any) -> list[str]:  # noqa: ANN401 - anybody who has a ticket
    return [row.ticket.label for row in rows]


async def named(engine: Engine, venue: Venue, name: str, queue: str = "lab") -> Ticket:
    taking: Issue = replace(issue(queue), name=name)
    return (await engine.do(venue.id, taking)).ticket


async def test_an_empty_desk_shows_its_queues_and_nobody(engine: Engine, venue: Venue) -> None:
    seen = await console(engine, venue)

    assert (seen.venue.id, seen.desk.id, seen.desk_now.state) == (venue.id, "desk-2", "closed")
    assert [queue.id for queue in seen.queues] == [line.queue_id for line in seen.lines] == ["lab", "xray", "eye"]
    assert (seen.here, seen.waiting, seen.held, seen.missed, seen.latest) == ([], [], [], [], [])
    assert seen.people_waiting == 0


async def test_a_desk_that_is_not_there_is_named(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownDesk):
        await console(engine, venue, "desk-9")


async def test_those_who_wait_are_listed_over_all_queues_in_the_order_of_calling(engine: Engine, venue: Venue) -> None:
    first = await take(engine, venue, queue="lab")
    second = await take(engine, venue, queue="eye")
    urgent = await take(engine, venue, queue="xray", priority=2)
    third = await take(engine, venue, queue="lab")

    seen = await console(engine, venue)
    of_lab = await console(engine, venue, "desk-1")

    assert [row.ticket for row in seen.waiting] == [urgent, first, second, third]
    assert [row.ticket for row in of_lab.waiting] == [first, third]
    assert (seen.people_waiting, of_lab.people_waiting) == (4, 2)
    assert [row.ticket.waits_since for row in of_lab.waiting] == [first.issued_at, third.issued_at]


async def test_the_first_are_listed_and_all_are_counted(engine: Engine, venue: Venue) -> None:
    taken = [await take(engine, venue, queue=queue) for queue in ("lab", "eye") * 4]

    seen = await console(engine, venue, most=3)

    assert [row.ticket for row in seen.waiting] == taken[:3]
    assert seen.people_waiting == 8


async def test_who_is_here_comes_with_recalls_and_the_time_they_have_left(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(
        venue.id, SetUp(replace(venue, queues=(replace(venue.queues[0], miss_after=120), *venue.queues[1:])))
    )
    first, second = await take(engine, venue, queue="lab"), await take(engine, venue, queue="xray")
    for ticket in (first, second):
        clock.advance(seconds=1)
        await engine.do(venue.id, Call(ticket.ticket_id, "desk-2"))
    await do_each(engine, venue, Recall(first.ticket_id), Extend(first.ticket_id, 5), Start(second.ticket_id))

    seen = await console(engine, venue)

    assert [(row.ticket.label, row.ticket.state, row.ticket.recalls) for row in seen.here] == [
        (first.label, "called", 1),
        (second.label, "serving", 0),
    ]
    assert [row.due_at for row in seen.here] == [clock.now + 7 * MINUTE, None]
    assert seen.waiting == []


async def test_who_is_held_comes_with_the_end_of_the_hold(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await engine.do(
        venue.id, SetUp(replace(venue, queues=(replace(venue.queues[0], hold_limit=600), *venue.queues[1:])))
    )
    limited, endless = await take(engine, venue, queue="lab"), await take(engine, venue, queue="eye")
    await do_each(engine, venue, Hold(limited.ticket_id), Hold(endless.ticket_id))

    seen = await console(engine, venue)

    assert [(row.ticket.label, row.due_at) for row in seen.held] == [
        (endless.label, None),
        (limited.label, clock.now + 10 * MINUTE),
    ]
    assert (seen.waiting, seen.people_waiting) == ([], 0)


async def test_the_latest_twenty_who_missed_their_call_are_listed(engine: Engine, venue: Venue) -> None:
    for _ in range(22):
        ticket = await take(engine, venue)
        await do_each(engine, venue, Call(ticket.ticket_id), Miss(ticket.ticket_id))

    seen = await console(engine, venue)

    assert labels(seen.missed) == [f"A{number:03}" for number in range(22, 2, -1)]
    assert seen.lines[0].missed == 22


async def test_a_visit_says_how_far_it_has_come(engine: Engine, clinic: Venue) -> None:
    begun = ticket_of(await begin_visit(engine, clinic))
    await do_each(engine, clinic, Call(begun.ticket_id, "desk-1"), Finish(begun.ticket_id))
    await take(engine, clinic, queue="xray")

    (planned, single) = (await console(engine, clinic)).waiting

    assert planned.stage is not None
    assert (planned.stage.number, planned.stage.of) == (2, 3)
    assert single.stage is None
    assert single.visit is not None


async def test_a_new_round_shows_nobody_of_the_one_before(engine: Engine, venue: Venue) -> None:
    for operation in (Hold, Leave, Hold):
        ticket = await take(engine, venue)
        await engine.do(venue.id, operation(ticket.ticket_id))
    await take(engine, venue)

    await engine.do(venue.id, Reset("lab"))

    seen = await console(engine, venue)
    assert (seen.waiting, seen.held, seen.people_waiting) == ([], [], 0)


async def test_yesterdays_people_are_not_todays(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    held, _, finished = [await take(engine, venue) for _ in range(3)]
    await do_each(engine, venue, Hold(held.ticket_id), Call(finished.ticket_id, "desk-2"), Finish(finished.ticket_id))

    clock.advance(days=1)

    seen = await console(engine, venue)
    assert (seen.waiting, seen.held, seen.latest, seen.people_waiting) == ([], [], [], 0)


async def test_a_paused_queue_is_shown_as_it_is(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, queue="eye")
    await do_each(engine, venue, ChangeQueue("eye", "pause"), ChangeQueue("xray", "close"))

    seen = await console(engine, venue)

    assert [queue.state for queue in seen.queues] == ["open", "closed", "paused"]
    assert labels(seen.waiting) == ["001"]


async def test_whoever_sits_there_is_told(engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, OpenDesk("desk-2", "chance"), origin=Origin(actor="noor"))

    seen = await console(engine, venue)

    assert (seen.desk_now.state, seen.desk_now.occupant) == ("open", "noor")


# What was done last


async def test_the_five_last_changes_at_a_desk_are_there_to_be_undone(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    tickets = [await take(engine, venue) for _ in range(7)]
    for ticket in tickets:
        clock.advance(minutes=1)
        await engine.do(venue.id, Call(ticket.ticket_id, "desk-2"))
    ends: list[Operation[Any]] = [
        Finish(tickets[0].ticket_id),
        Miss(tickets[1].ticket_id),
        Hold(tickets[2].ticket_id),
        PutBack(tickets[3].ticket_id, "last"),
        Transfer(tickets[4].ticket_id, "xray"),
        Leave(tickets[5].ticket_id),
    ]
    for end in ends:
        clock.advance(seconds=1)
        await engine.do(venue.id, end)

    seen = await console(engine, venue)

    assert [(one.ticket.label, one.what, one.can_undo) for one in seen.latest] == [
        ("A006", "leave", True),
        ("A005", "transfer", True),
        ("A004", "put-back", True),
        ("A003", "hold", True),
        ("A002", "miss", True),
    ]
    assert [clock.now - one.at for one in seen.latest] == [0, 1000, 2000, 3000, 4000]
    assert labels(seen.here) == ["A007"]
    assert (await console(engine, venue, "desk-1")).latest == []


async def test_who_is_here_can_be_uncalled(engine: Engine, venue: Venue) -> None:
    ticket = await take(engine, venue)
    called = await engine.do(venue.id, Call(ticket.ticket_id, "desk-2"))

    (latest,) = (await console(engine, venue)).latest
    await engine.do(venue.id, Undo(latest.ticket.ticket_id, latest.ticket.version))

    assert (latest.what, latest.ticket) == ("call", called)
    assert (await console(engine, venue)).latest == []


async def test_what_somebody_else_has_built_on_cannot_be_undone(engine: Engine, clinic: Venue) -> None:
    begun = await begin_visit(engine, clinic)
    ticket = ticket_of(begun)
    await do_each(engine, clinic, Call(ticket.ticket_id, "desk-1"), Finish(ticket.ticket_id))
    (before,) = (await console(engine, clinic, "desk-1")).latest

    await engine.do(clinic.id, call_next(None, desk="desk-2"))

    (after,) = (await console(engine, clinic, "desk-1")).latest
    assert (before.what, before.can_undo) == ("finish", True)
    assert (after.what, after.can_undo) == ("finish", False)


async def test_after_a_while_nothing_can_be_undone(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    ticket = await take(engine, venue)
    await do_each(engine, venue, Call(ticket.ticket_id, "desk-2"), Finish(ticket.ticket_id))

    clock.advance(minutes=3)

    assert [one.can_undo for one in (await console(engine, venue)).latest] == [True]
    assert [one.can_undo for one in (await console(engine, venue, undo_minutes=2)).latest] == [False]


async def test_looking_whether_something_can_be_undone_changes_nothing(
    engine: Engine, store: Store, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await do_each(engine, venue, Call(ticket.ticket_id, "desk-2"), Start(ticket.ticket_id), Finish(ticket.ticket_id))
    before = await stored_ticket(store, venue, ticket.ticket_id)

    first, second = await console(engine, venue), await console(engine, venue)

    assert first == second
    assert await stored_ticket(store, venue, ticket.ticket_id) == before


# Finding somebody


async def test_people_are_found_by_a_part_of_their_label_or_name(engine: Engine, venue: Venue) -> None:
    await named(engine, venue, "Noor Hassan")
    held = await named(engine, venue, "Amna")
    missed = await named(engine, venue, "Noora", queue="eye")
    served = await named(engine, venue, "Noor the third")
    await do_each(
        engine,
        venue,
        Hold(held.ticket_id),
        Call(missed.ticket_id, "desk-2"),
        Miss(missed.ticket_id),
        Call(served.ticket_id, "desk-2"),
    )

    by_name = await console(engine, venue, find=" noor ")
    by_label = await console(engine, venue, find="a002")
    by_number = await console(engine, venue, find="1")

    assert (labels(by_name.waiting), labels(by_name.held), labels(by_name.missed)) == (["A001"], [], ["001"])
    assert (labels(by_label.waiting), labels(by_label.held), labels(by_label.missed)) == ([], ["A002"], [])
    assert (labels(by_number.waiting), labels(by_number.missed)) == (["A001"], ["001"])
    assert labels(by_name.here) == labels(by_label.here) == ["A003"]
    assert by_name.people_waiting == 1


async def test_people_are_found_by_what_the_door_knows_them_by(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, visitor="5521")
    await take(engine, venue, visitor="55219")

    assert labels((await console(engine, venue, find="5521")).waiting) == ["A001"]


@pytest.mark.parametrize("find", ["٢", "A٠٠٢", "a2", "A 2", "\uff12", "٢ bags"])
async def test_a_number_is_found_however_its_digits_are_typed(engine: Engine, venue: Venue, find: str) -> None:
    await named(engine, venue, "Noor")
    other = await named(engine, venue, "Amna")
    await do_each(engine, venue, NoteVisit(other.visit_id, "٢ bags"))

    assert labels((await console(engine, venue, find=find)).waiting) == ["A002"]


@pytest.mark.parametrize("find", ["nobody", "a\x00b", "%", "_"])
async def test_nobody_is_found_by_what_nobody_is_called(engine: Engine, venue: Venue, find: str) -> None:
    await named(engine, venue, "Noor")

    seen = await console(engine, venue, find=find)

    assert (seen.waiting, seen.held, seen.missed) == ([], [], [])
    assert seen.people_waiting == 1


async def test_what_is_looked_for_together_is_found_by_whoever_looked_for_it(
    engine: Engine, store: Store, venue: Venue
) -> None:
    lab = [await take(engine, venue, queue="lab") for _ in range(3)]
    xray = [await take(engine, venue, queue="xray") for _ in range(2)]
    held = await engine.do(venue.id, Hold(lab[2].ticket_id))
    one, two, other = (Search("waiting", key) for key in (("lab", 1), ("lab", 2), ("xray", 2)))
    aside, nobody = (Search("aside", (*lab[0].line_key, state, 5)) for state in ("held", "missed"))

    found = (await load(store, venue, Wants(searches={one, two, other, aside, nobody}))).searches

    assert found == {one: lab[:1], two: lab[:2], other: xray, aside: [held], nobody: []}


async def test_whoever_is_noted_here_is_found_however_many_are_noted_elsewhere(engine: Engine, venue: Venue) -> None:
    for _ in range(3):
        elsewhere = await take(engine, venue, queue="eye")
        await do_each(engine, venue, NoteVisit(elsewhere.visit_id, "wheelchair"))
    here = await take(engine, venue, queue="lab")
    await do_each(engine, venue, NoteVisit(here.visit_id, "Wheelchair, left"))

    found = await console(engine, venue, "desk-1", find="wheelchair", most=2)

    assert here.ticket_id in [one.ticket.ticket_id for one in found.waiting]
