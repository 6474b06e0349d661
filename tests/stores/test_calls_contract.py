"""Calls: who is next, over one queue and several. Priority, then sequence."""

from typing import Any

import pytest

from dawr.domain.errors import InvalidValue, LineEnded, QueuePaused, UnknownDesk
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.desks import LookAtVenueNow
from dawr.operations.operation import Operation
from dawr.operations.pins import Done
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Recall, Resume
from dawr.operations.undo import Undo
from dawr.operations.visitor import Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_venue, call_next, issue, rejoin
from tests.stores.doing import create_venue, do_each, kinds_of, stored_head, stored_ticket, take

ALL_THREE = CallNext("desk-2")


async def test_who_came_first_is_called_first(engine: Engine, venue: Venue) -> None:
    waiting = [await take(engine, venue) for _ in range(4)]

    assert await called_in_turn(engine, venue, call_next()) == labels(waiting)


async def test_a_higher_priority_is_called_first_and_then_by_sequence(engine: Engine, venue: Venue) -> None:
    a, b, c, d, e = [await take(engine, venue, priority=priority) for priority in (0, 1, 3, 1, 0)]

    assert await called_in_turn(engine, venue, call_next()) == labels([c, b, d, a, e])


async def test_a_desk_with_several_queues_calls_in_the_order_of_coming(engine: Engine, venue: Venue) -> None:
    waiting = [await take(engine, venue, queue=queue) for queue in ("xray", "lab", "eye", "lab", "xray")]

    assert await called_in_turn(engine, venue, ALL_THREE) == labels(waiting)


async def test_a_desk_with_several_queues_calls_a_higher_priority_first(engine: Engine, venue: Venue) -> None:
    plain = await take(engine, venue, queue="lab")
    urgent = await take(engine, venue, queue="eye", priority=2)
    middling = await take(engine, venue, queue="xray", priority=1)

    assert await called_in_turn(engine, venue, ALL_THREE) == labels([urgent, middling, plain])


async def test_a_desk_calls_from_its_own_queues_only(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, queue="xray")
    ours = await take(engine, venue, queue="lab")

    assert await called_in_turn(engine, venue, CallNext("desk-1")) == labels([ours])


async def test_a_desk_may_call_from_one_of_its_queues(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, queue="lab")
    in_eye = await take(engine, venue, queue="eye")

    assert await called_in_turn(engine, venue, CallNext("desk-2", "eye")) == labels([in_eye])


async def test_a_desk_may_not_call_from_a_queue_that_it_does_not_serve(engine: Engine, venue: Venue) -> None:
    waiting = await take(engine, venue, queue="xray")

    with pytest.raises(InvalidValue):
        await engine.do(venue.id, CallNext("desk-1", "xray"))

    assert await called_in_turn(engine, venue, call_next("xray")) == labels([waiting])


async def test_a_call_needs_a_desk_or_a_queue(engine: Engine, venue: Venue) -> None:
    with pytest.raises(InvalidValue):
        await engine.do(venue.id, CallNext())


async def test_a_desk_that_there_is_not_is_refused(engine: Engine, store: Store, venue: Venue) -> None:
    waiting = await take(engine, venue)

    with pytest.raises(UnknownDesk):
        await engine.do(venue.id, Call(waiting.ticket_id, "desk-9"))

    assert await stored_ticket(store, venue, waiting.ticket_id) == waiting


async def test_nobody_waiting_is_an_answer_and_no_event(engine: Engine, store: Store, venue: Venue) -> None:
    before = await stored_head(store, venue)

    called = await engine.do(venue.id, call_next())

    assert (called.ticket, called.next, called.waiting) == (None, None, 0)
    assert await kinds_of(engine, venue) == []
    assert await stored_head(store, venue) == before


async def test_a_line_that_was_called_empty_is_empty(engine: Engine, venue: Venue) -> None:
    await do_each(engine, venue, issue(), issue(), call_next(), call_next())

    assert (await engine.do(venue.id, call_next())).ticket is None


async def test_a_call_says_who_is_next_and_how_many_wait(engine: Engine, venue: Venue) -> None:
    first, second, _ = [await take(engine, venue, queue=queue) for queue in ("lab", "eye", "xray")]

    called = await engine.do(venue.id, ALL_THREE)

    assert called.ticket is not None
    assert called.next is not None
    assert (called.ticket.ticket_id, called.next.ticket_id, called.waiting) == (first.ticket_id, second.ticket_id, 2)


async def test_a_call_remembers_its_desk(engine: Engine, store: Store, venue: Venue) -> None:
    waiting = await take(engine, venue)

    await engine.do(venue.id, CallNext("desk-2"))

    assert (await stored_ticket(store, venue, waiting.ticket_id)).desk_id == "desk-2"


async def test_a_paused_queue_is_not_called_from(engine: Engine, venue: Venue) -> None:
    waiting = await take(engine, venue)
    await engine.do(venue.id, ChangeQueue("lab", "pause"))

    commands: list[Operation[Any]] = [call_next(), CallNext("desk-1"), Call(waiting.ticket_id)]
    for operation in commands:
        with pytest.raises(QueuePaused):
            await engine.do(venue.id, operation)

    await engine.do(venue.id, ChangeQueue("lab", "resume"))
    assert await called_in_turn(engine, venue, call_next()) == labels([waiting])


async def test_a_paused_queue_is_passed_over_by_a_desk_with_others(engine: Engine, venue: Venue) -> None:
    paused = await take(engine, venue, queue="lab", priority=3)
    called = await take(engine, venue, queue="eye")
    await engine.do(venue.id, ChangeQueue("lab", "pause"))

    assert await called_in_turn(engine, venue, ALL_THREE) == labels([called])
    await engine.do(venue.id, ChangeQueue("lab", "resume"))
    assert await called_in_turn(engine, venue, ALL_THREE) == labels([paused])


async def test_a_visitor_may_be_called_out_of_turn(engine: Engine, venue: Venue) -> None:
    first, second, third = [await take(engine, venue) for _ in range(3)]

    await engine.do(venue.id, Call(second.ticket_id))

    assert await called_in_turn(engine, venue, call_next()) == labels([first, third])


async def test_a_visitor_called_again_is_counted(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    called = await take(engine, venue)
    await engine.do(venue.id, Call(called.ticket_id, "desk-1"))
    clock.advance(minutes=1)

    await do_each(engine, venue, Recall(called.ticket_id), Recall(called.ticket_id))

    stored = await stored_ticket(store, venue, called.ticket_id)
    assert (stored.recalls, stored.recalled_at, stored.desk_id) == (2, clock.now, "desk-1")


async def test_whoever_rejoins_last_is_called_after_those_who_wait(engine: Engine, venue: Venue) -> None:
    missed, second, third = [await take(engine, venue) for _ in range(3)]
    await miss(engine, venue, missed)

    place = await engine.do(venue.id, rejoin(missed.ticket_id, "last"))

    assert (place.ahead, place.ticket.number) == (2, 1)
    assert await called_in_turn(engine, venue, call_next()) == labels([second, third, missed])


async def test_whoever_rejoins_first_is_called_before_those_who_wait(engine: Engine, venue: Venue) -> None:
    missed, second, third = [await take(engine, venue) for _ in range(3)]
    await miss(engine, venue, missed)

    place = await engine.do(venue.id, rejoin(missed.ticket_id, "first"))

    assert place.ahead == 0
    assert await called_in_turn(engine, venue, call_next()) == labels([missed, second, third])


async def test_whoever_rejoins_first_still_waits_for_a_higher_priority(engine: Engine, venue: Venue) -> None:
    missed = await take(engine, venue)
    await miss(engine, venue, missed)
    urgent = await take(engine, venue, priority=1)

    place = await engine.do(venue.id, rejoin(missed.ticket_id, "first"))

    assert place.ahead == 1
    assert await called_in_turn(engine, venue, call_next()) == labels([urgent, missed])


async def test_of_two_who_rejoin_first_the_later_goes_first(engine: Engine, venue: Venue) -> None:
    first, second, third = [await take(engine, venue) for _ in range(3)]
    await miss(engine, venue, first)
    await miss(engine, venue, second)

    await do_each(engine, venue, rejoin(first.ticket_id, "first"), rejoin(second.ticket_id, "first"))

    assert await called_in_turn(engine, venue, call_next()) == labels([second, first, third])


async def test_whoever_rejoins_has_no_desk_until_called(engine: Engine, store: Store, venue: Venue) -> None:
    missed = await take(engine, venue)
    await do_each(engine, venue, Call(missed.ticket_id, "desk-1"), Miss(missed.ticket_id), rejoin(missed.ticket_id))

    assert (await stored_ticket(store, venue, missed.ticket_id)).desk_id is None


async def test_whoever_is_held_is_passed_over_and_keeps_the_place(engine: Engine, venue: Venue) -> None:
    held, second, third = [await take(engine, venue) for _ in range(3)]
    await engine.do(venue.id, Hold(held.ticket_id))

    called = await engine.do(venue.id, call_next())
    await engine.do(venue.id, Resume(held.ticket_id))

    assert called.ticket is not None
    assert called.ticket.ticket_id == second.ticket_id
    assert await called_in_turn(engine, venue, call_next()) == labels([held, third])


async def test_whoever_left_is_not_called(engine: Engine, venue: Venue) -> None:
    left, stays = await take(engine, venue), await take(engine, venue)
    await engine.do(venue.id, Leave(left.ticket_id))

    assert await called_in_turn(engine, venue, call_next()) == labels([stays])


async def test_nobody_of_yesterday_is_called(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    yesterdays = await take(engine, venue)
    clock.advance(days=1)

    assert (await engine.do(venue.id, call_next())).ticket is None
    with pytest.raises(LineEnded):
        await engine.do(venue.id, Call(yesterdays.ticket_id))


async def test_whoever_missed_a_call_cannot_rejoin_a_line_that_was_reset(engine: Engine, venue: Venue) -> None:
    missed = await take(engine, venue)
    await miss(engine, venue, missed)
    await engine.do(venue.id, Reset("lab"))

    with pytest.raises(LineEnded):
        await engine.do(venue.id, rejoin(missed.ticket_id))


async def test_whoever_was_called_before_a_reset_is_still_served(engine: Engine, store: Store, venue: Venue) -> None:
    called = await take(engine, venue)
    await do_each(engine, venue, Call(called.ticket_id), Reset("lab"), Finish(called.ticket_id))

    assert (await stored_ticket(store, venue, called.ticket_id)).state == "finished"


async def test_the_venue_shows_its_latest_six_calls_the_last_one_first(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    for queue in ("lab", "eye", "xray", "lab", "eye", "lab", "lab", "eye"):
        await take(engine, venue, queue=queue)
    for _ in range(8):
        clock.advance(seconds=30)
        await engine.do(venue.id, ALL_THREE)

    seen = (await engine.read(venue.id, LookAtVenueNow())).calls

    assert labels(seen) == [("eye", 3), ("lab", 4), ("lab", 3), ("eye", 2), ("lab", 2), ("xray", 1)]
    assert {ticket.desk_id for ticket in seen} == {"desk-2"}


async def test_calling_again_is_a_call_what_was_undone_is_none_and_who_is_finished_at_once_was_not_called(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first, second, undone, unseen = [await take(engine, venue) for _ in range(4)]
    for operation in (Call(first.ticket_id), Call(second.ticket_id), Recall(first.ticket_id)):
        clock.advance(seconds=30)
        await engine.do(venue.id, operation)
    clock.advance(seconds=30)
    called = await engine.do(venue.id, Call(undone.ticket_id))
    await engine.do(venue.id, Undo(undone.ticket_id, called.version))
    await engine.do(venue.id, Done("lab", None, "", visitor=unseen.visitor, by_staff=True))

    assert labels((await engine.read(venue.id, LookAtVenueNow())).calls) == labels([first, second])


async def test_who_was_finished_at_once_was_not_called_if_that_is_undone_either(
    engine: Engine, store: Store, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Done("lab", None, "", visitor=ticket.visitor, by_staff=True))
    done = await stored_ticket(store, venue, ticket.ticket_id)

    await engine.do(venue.id, Undo(ticket.ticket_id, done.version))

    assert (await engine.read(venue.id, LookAtVenueNow())).calls == []


async def test_after_a_reset_there_are_no_calls_of_the_round_before(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    await engine.do(venue.id, call_next())

    await engine.do(venue.id, Reset("lab"))

    assert (await engine.read(venue.id, LookAtVenueNow())).calls == []


async def test_calls_of_yesterday_and_of_other_venues_are_not_shown(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    elsewhere = await create_venue(store, a_venue())
    for one in (venue, elsewhere):
        await take(engine, one)
        await engine.do(one.id, call_next())
    assert len((await engine.read(venue.id, LookAtVenueNow())).calls) == 1

    clock.advance(days=1)

    assert (await engine.read(venue.id, LookAtVenueNow())).calls == []


async def miss(engine: Engine, venue: Venue, ticket: Ticket) -> None:
    await do_each(engine, venue, Call(ticket.ticket_id), Miss(ticket.ticket_id))


async def called_in_turn(engine: Engine, venue: Venue, operation: CallNext) -> list[tuple[str, int]]:
    """Queue and number of everybody, until nobody waits."""
    called = []
    while (ticket := (await engine.do(venue.id, operation)).ticket) is not None:
        called.append(ticket)
    return labels(called)


def labels(tickets: list[Ticket]) -> list[tuple[str, int]]:
    return [(ticket.queue_id, ticket.number) for ticket in tickets]
