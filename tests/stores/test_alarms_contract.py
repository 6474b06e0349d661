"""What is due: saved with the change that makes it so, decided anew when it rings, and rung once."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from dawr.domain.events import Origin
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import SetUp
from dawr.operations.desks import BreakDesk, CloseDesk, LookAtDesk, OpenDesk
from dawr.operations.staff import Call, Extend, Finish, Hold, Miss, Recall, Resume, Start
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_queue, a_venue, rejoin
from tests.stores.databases import Database
from tests.stores.doing import create_venue, events_of, kinds_of, ring, stored_ticket, take

NOOR = Origin(actor="noor")
MINUTE = 60_000
DUE = "SELECT kind, subject, due_at FROM alarms WHERE due_at IS NOT NULL ORDER BY kind, subject"


@pytest.fixture
async def venue(store: Store) -> Venue:
    """The laboratory calls after half a minute, misses after a minute and holds for ten; the eye clinic does none."""
    lab = replace(a_queue("lab"), auto_call=30, miss_after=60, hold_limit=600)
    return await create_venue(
        store, a_venue(lab, a_queue("eye"), desks=(a_desk("desk-1", "lab"), a_desk("desk-2", "lab", "eye")))
    )


async def state_of(store: Store, venue: Venue, ticket: Ticket) -> str:
    return (await stored_ticket(store, venue, ticket.ticket_id)).state


async def called_at(store: Store, venue: Venue, desk: str) -> list[int]:
    """Numbers that were called to a desk and are still there."""
    there = (await Engine(store, DrivenClock()).read(venue.id, LookAtDesk(desk))).here
    return [ticket.number for ticket in there]


# Missed calls


async def test_whoever_does_not_come_is_missed_after_the_queues_time(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))

    clock.advance(seconds=59)
    early = await ring(engine, store, clock)
    clock.advance(seconds=1)
    rung = await ring(engine, store, clock)

    assert (early, rung) == (0, 1)
    assert await state_of(store, venue, ticket) == "missed"
    (missed,) = [event for event in await events_of(engine, venue) if event.kind == "ticket.missed"]
    assert missed.actor == "clock"


async def test_a_miss_counts_from_the_last_recall(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    clock.advance(seconds=50)
    await engine.do(venue.id, Recall(ticket.ticket_id))

    states = []
    for _ in range(2):
        clock.advance(seconds=30)
        await ring(engine, store, clock)
        states.append(await state_of(store, venue, ticket))

    assert states == ["called", "missed"]


async def test_five_more_minutes_are_five_more_minutes(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    await engine.do(venue.id, Extend(ticket.ticket_id))

    clock.advance(minutes=5, seconds=59)
    await ring(engine, store, clock)
    early = await state_of(store, venue, ticket)
    clock.advance(seconds=1)
    await ring(engine, store, clock)

    assert early == "called"
    assert await state_of(store, venue, ticket) == "missed"


@pytest.mark.parametrize("then", [Start, Finish, Miss])
async def test_whoever_came_or_is_gone_is_not_missed(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, then: Callable[[Any], Any]
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    after = await engine.do(venue.id, then(ticket.ticket_id))

    clock.advance(minutes=1)
    await ring(engine, store, clock)

    assert await stored_ticket(store, venue, ticket.ticket_id) == after


async def test_a_queue_without_the_timer_misses_nobody(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue, queue="eye")
    await engine.do(venue.id, Call(ticket.ticket_id))

    clock.advance(hours=2)
    await ring(engine, store, clock)

    assert await state_of(store, venue, ticket) == "called"
    assert await database.rows(DUE) == []


async def test_a_timer_that_was_switched_off_meanwhile_misses_nobody(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id))
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue("lab"), miss_after=None))))

    clock.advance(minutes=1)
    await ring(engine, store, clock)

    assert await state_of(store, venue, ticket) == "called"


async def test_nobody_is_missed_while_the_desk_that_called_them_is_on_a_break(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    ticket = await take(engine, venue)
    await engine.do(venue.id, Call(ticket.ticket_id, "desk-1"))
    await engine.do(venue.id, BreakDesk("desk-1", clock.now + 30 * MINUTE), origin=NOOR)

    clock.advance(minutes=29)
    await ring(engine, store, clock)
    over_lunch = await state_of(store, venue, ticket)
    clock.advance(minutes=1)
    await ring(engine, store, clock)
    at_its_end = await state_of(store, venue, ticket)
    clock.advance(minutes=1)
    await ring(engine, store, clock)

    assert (over_lunch, at_its_end, await state_of(store, venue, ticket)) == ("called", "called", "missed")


async def test_whoever_rejoined_and_was_called_again_is_missed_again(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    for _ in range(2):
        await engine.do(venue.id, Call(ticket.ticket_id))
        clock.advance(minutes=1)
        await ring(engine, store, clock)
        assert await state_of(store, venue, ticket) == "missed"
        await engine.do(venue.id, rejoin(ticket.ticket_id))

    assert (await kinds_of(engine, venue)).count("ticket.missed") == 2


# Held


async def test_whoever_is_held_may_be_called_again_after_the_limit_at_the_place_they_had(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    first, _ = await take(engine, venue), await take(engine, venue)
    await engine.do(venue.id, Hold(first.ticket_id))

    clock.advance(minutes=9, seconds=59)
    await ring(engine, store, clock)
    early = await state_of(store, venue, first)
    clock.advance(seconds=1)
    await ring(engine, store, clock)

    again = await stored_ticket(store, venue, first.ticket_id)
    assert early == "held"
    assert (again.state, again.sequence) == ("waiting", first.sequence)


async def test_whoever_was_resumed_and_held_again_is_held_for_the_whole_time(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    await engine.do(venue.id, Hold(ticket.ticket_id))
    clock.advance(minutes=5)
    await engine.do(venue.id, Resume(ticket.ticket_id))
    await engine.do(venue.id, Hold(ticket.ticket_id))

    clock.advance(minutes=5)
    await ring(engine, store, clock)

    assert await state_of(store, venue, ticket) == "held"


# Calling by itself


async def an_open_desk(engine: Engine, venue: Venue, people: int, desk: str = "desk-1") -> list[Ticket]:
    tickets = [await take(engine, venue) for _ in range(people)]
    await engine.do(venue.id, OpenDesk(desk, "chance"), origin=NOOR)
    return tickets


async def test_an_open_desk_with_nobody_at_it_calls_by_itself(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await an_open_desk(engine, venue, 2)

    clock.advance(seconds=29)
    await ring(engine, store, clock)
    early = await called_at(store, venue, "desk-1")
    clock.advance(seconds=1)
    await ring(engine, store, clock)
    first = await called_at(store, venue, "desk-1")
    clock.advance(seconds=45)
    await ring(engine, store, clock)

    assert (early, first, await called_at(store, venue, "desk-1")) == ([], [1], [1])


async def test_whoever_is_done_makes_room_for_the_next(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    first, _ = await an_open_desk(engine, venue, 2)
    await engine.do(venue.id, Call(first.ticket_id, "desk-1"))
    clock.advance(minutes=1)
    await engine.do(venue.id, Finish(first.ticket_id))

    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert await called_at(store, venue, "desk-1") == [2]


async def test_a_desk_that_waits_for_people_calls_the_first_who_comes(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await an_open_desk(engine, venue, 0)
    for _ in range(4):
        clock.advance(seconds=30)
        await ring(engine, store, clock)
    await take(engine, venue)

    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert await called_at(store, venue, "desk-1") == [1]


@pytest.mark.parametrize("how", ["never opened", "closed", "break"])
async def test_only_an_open_desk_calls_by_itself(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, how: str
) -> None:
    if how == "never opened":
        await take(engine, venue)
    else:
        await an_open_desk(engine, venue, 1)
    if how == "closed":
        await engine.do(venue.id, CloseDesk("desk-1"), origin=NOOR)
    if how == "break":
        await engine.do(venue.id, BreakDesk("desk-1", clock.now + 30 * MINUTE), origin=NOOR)

    for _ in range(5):
        clock.advance(minutes=5)
        await ring(engine, store, clock)

    assert "ticket.called" not in await kinds_of(engine, venue)


async def test_after_a_break_a_desk_calls_again(engine: Engine, store: Store, clock: DrivenClock, venue: Venue) -> None:
    await an_open_desk(engine, venue, 1)
    await engine.do(venue.id, BreakDesk("desk-1", clock.now + 10 * MINUTE), origin=NOOR)
    clock.advance(minutes=10)
    await ring(engine, store, clock)

    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert await called_at(store, venue, "desk-1") == [1]


async def test_three_misses_in_a_row_stop_a_desk_until_somebody_sits_down_again(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    tickets = await an_open_desk(engine, venue, 5)

    async def pass_time() -> list[str]:
        for _ in range(20):
            clock.advance(seconds=30)
            await ring(engine, store, clock)
        return [await state_of(store, venue, ticket) for ticket in tickets]

    stopped = await pass_time()
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=NOOR)
    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert stopped == ["missed"] * 3 + ["waiting"] * 2
    assert await called_at(store, venue, "desk-1") == [4]


async def test_somebody_who_comes_between_two_misses_shows_that_people_are_there(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    tickets = await an_open_desk(engine, venue, 6)
    for number, ticket in enumerate(tickets):
        clock.advance(seconds=30)
        await ring(engine, store, clock)
        assert await called_at(store, venue, "desk-1") == [ticket.number]
        if number == 2:
            await engine.do(venue.id, Finish(ticket.ticket_id))
        else:
            clock.advance(minutes=1)
            await ring(engine, store, clock)

    states = [await state_of(store, venue, ticket) for ticket in tickets]
    assert states == ["missed", "missed", "finished", "missed", "missed", "missed"]


async def test_a_desk_of_several_queues_goes_on_calling_after_somebody_of_a_quiet_one(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    quiet = await take(engine, venue, queue="eye")
    await an_open_desk(engine, venue, 1, desk="desk-2")
    await engine.do(venue.id, Call(quiet.ticket_id, "desk-2"))
    clock.advance(minutes=5)
    await ring(engine, store, clock)
    busy = await called_at(store, venue, "desk-2")
    await engine.do(venue.id, Finish(quiet.ticket_id))

    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert busy == [quiet.number]
    called = await called_at(store, venue, "desk-2")
    assert called == [1]
    assert (await kinds_of(engine, venue)).count("ticket.called") == 2
