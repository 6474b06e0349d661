"""Whoever was called and is not ready: held, with the desk free for others, or put back into the line at once."""

import pytest
from msgspec.structs import replace

from dawr.domain.errors import LineEnded, TicketInWrongState
from dawr.domain.events import Origin
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.clockwork import reset
from dawr.engine.engine import Engine
from dawr.operations.admin import SetUp
from dawr.operations.desks import LookAtDesk, OpenDesk
from dawr.operations.reception import LookAtOvertakings
from dawr.operations.snapshots import LookAtWaiting
from dawr.operations.staff import Call, Hold, Miss, PutBack, Resume, Start
from dawr.operations.undo import Undo
from dawr.ports import Store
from tests.builders import DrivenClock, call_next
from tests.stores.doing import data_of, do_each, events_of, kinds_of, ring, stored_line, stored_ticket, take

AMNA = Origin(actor="amna")


async def set_up(engine: Engine, venue: Venue, **timers: int) -> None:
    """Timers for the laboratory."""
    await engine.do(venue.id, SetUp(venue.with_queue(replace(venue.queue("lab"), **timers))))


async def called(engine: Engine, venue: Venue, desk: str = "desk-1") -> Ticket:
    ticket = await take(engine, venue)
    return await engine.do(venue.id, Call(ticket.ticket_id, desk))


async def next_at(engine: Engine, venue: Venue) -> str | None:
    found = (await engine.do(venue.id, call_next("lab"))).ticket
    return None if found is None else found.label


async def test_whoever_was_called_is_held_and_gives_the_desk_back(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await called(engine, venue)

    held = await engine.do(venue.id, Hold(ticket.ticket_id))

    assert (held.state, held.desk_id) == ("held", None)
    assert (await engine.read(venue.id, LookAtDesk("desk-1"))).here == []
    line = await stored_line(store, venue, ticket.line_key)
    assert (line.people_waiting, line.called, line.held, line.current_number) == (0, 0, 1, 1)
    (facts,) = await data_of(engine, venue, "ticket.held")
    assert (facts["before"], facts["state"], facts.get("desk")) == ("called", "held", None)


async def test_whoever_was_held_after_a_call_comes_back_to_the_place_they_had(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue)
    for _ in range(2):
        await take(engine, venue)

    await engine.do(venue.id, Hold(ticket.ticket_id))
    others = await next_at(engine, venue)
    await engine.do(venue.id, Resume(ticket.ticket_id))

    assert [others, await next_at(engine, venue), await next_at(engine, venue)] == ["A002", "A001", "A003"]


async def test_whoever_is_called_again_after_a_hold_has_waited_since_they_were_back_in_the_line(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    for minutes, verb in ((10, Call), (2, Hold), (20, Resume), (1, Hold), (1, Resume)):
        clock.advance(minutes=minutes)
        await engine.do(venue.id, verb(ticket.ticket_id))
    (lab, *_) = await engine.read(venue.id, LookAtWaiting())
    before = await stored_line(store, venue, ticket.line_key)

    clock.advance(minutes=3)
    again = await engine.do(venue.id, Call(ticket.ticket_id))
    line = await stored_line(store, venue, ticket.line_key)
    await engine.do(venue.id, Undo(ticket.ticket_id, again.version))

    assert lab.since == clock.now - 5 * 60_000
    assert (line.calls, line.waits_ms) == (2, (10 + 5) * 60_000)
    assert await stored_line(store, venue, ticket.line_key) == before


async def test_whoever_was_held_before_any_call_has_waited_all_the_time(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue)
    for verb in (Hold, Resume, Call):
        clock.advance(minutes=4)
        await engine.do(venue.id, verb(ticket.ticket_id))

    line = await stored_line(store, venue, ticket.line_key)

    assert (line.calls, line.waits_ms) == (1, 12 * 60_000)


async def test_nobody_who_is_held_misses_the_call_before(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await set_up(engine, venue, miss_after=60, hold_limit=300)
    ticket = await called(engine, venue)
    await engine.do(venue.id, Hold(ticket.ticket_id))

    clock.advance(seconds=61)
    await ring(engine, store, clock)
    meanwhile = await stored_ticket(store, venue, ticket.ticket_id)
    clock.advance(seconds=240)
    await ring(engine, store, clock)

    assert meanwhile.state == "held"
    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "waiting"


async def test_a_desk_that_calls_by_itself_goes_on_after_a_hold(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await set_up(engine, venue, auto_call=30)
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=AMNA)
    ticket, other = await called(engine, venue), await take(engine, venue)
    await engine.do(venue.id, Hold(ticket.ticket_id))

    clock.advance(seconds=30)
    await ring(engine, store, clock)

    assert (await stored_ticket(store, venue, other.ticket_id)).state == "called"


async def test_an_undone_hold_gives_the_call_and_its_whole_time_back(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await set_up(engine, venue, miss_after=60)
    ticket = await called(engine, venue)
    held = await engine.do(venue.id, Hold(ticket.ticket_id))
    clock.advance(seconds=45)

    undone = await engine.do(venue.id, Undo(ticket.ticket_id, held.version))

    assert replace(undone, version=0) == replace(ticket, version=0, previous=None)
    clock.advance(seconds=59)
    assert await ring(engine, store, clock) == 0
    clock.advance(seconds=1)
    await ring(engine, store, clock)
    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "missed"


async def test_whoever_was_called_before_a_reset_is_not_held(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue)
    await reset(engine, venue.id, "lab")

    with pytest.raises(LineEnded):
        await engine.do(venue.id, Hold(ticket.ticket_id))


@pytest.mark.parametrize(("where", "order"), [("first", ["A001", "A002", "A003"]), ("last", ["A002", "A003", "A001"])])
async def test_whoever_does_not_come_is_put_back_first_or_last_in_one_change(
    engine: Engine, store: Store, venue: Venue, where: str, order: list[str]
) -> None:
    ticket = await called(engine, venue)
    for _ in range(2):
        await take(engine, venue)
    version = len(await events_of(engine, venue))

    placed = await engine.do(venue.id, PutBack(ticket.ticket_id, where, "mistake"))  # type: ignore[arg-type] # one of two

    assert (placed.ticket.state, placed.ticket.desk_id, placed.ahead) == ("waiting", None, order.index("A001"))
    assert (await kinds_of(engine, venue))[version:] == ["ticket.missed", "ticket.rejoined"]
    line = await stored_line(store, venue, ticket.line_key)
    assert (line.people_waiting, line.called, line.missed, line.calls) == (3, 0, 0, 1)
    assert [await next_at(engine, venue) for _ in range(3)] == order


async def test_one_undo_takes_a_put_back_back(engine: Engine, store: Store, venue: Venue) -> None:
    ticket = await called(engine, venue)
    other = await take(engine, venue)
    before = await stored_line(store, venue, ticket.line_key)

    placed = await engine.do(venue.id, PutBack(ticket.ticket_id, "first"))
    undone = await engine.do(venue.id, Undo(ticket.ticket_id, placed.ticket.version))

    assert replace(undone, version=0) == replace(ticket, version=0, previous=None)
    assert await stored_line(store, venue, ticket.line_key) == before
    assert await next_at(engine, venue) == other.label


async def test_whoever_missed_their_call_a_moment_ago_is_put_back_all_the_same(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue)
    await engine.do(venue.id, Miss(ticket.ticket_id))

    placed = await engine.do(venue.id, PutBack(ticket.ticket_id))
    undone = await engine.do(venue.id, Undo(ticket.ticket_id, placed.ticket.version))

    assert (placed.ticket.state, undone.state) == ("waiting", "missed")
    assert (await kinds_of(engine, venue)).count("ticket.missed") == 1


async def test_whoever_is_put_back_counts_once_for_a_desk_where_nobody_comes(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await set_up(engine, venue, auto_call=30)
    await engine.do(venue.id, OpenDesk("desk-1", "chance"), origin=AMNA)
    ticket = await called(engine, venue)

    placed = await engine.do(venue.id, PutBack(ticket.ticket_id))
    missed = (await engine.read(venue.id, LookAtDesk("desk-1"))).desk.misses
    await engine.do(venue.id, Undo(ticket.ticket_id, placed.ticket.version))

    assert (missed, (await engine.read(venue.id, LookAtDesk("desk-1"))).desk.misses) == (1, 0)


async def test_whoever_is_put_back_first_overtakes_for_a_reason(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue)
    for _ in range(3):
        await take(engine, venue)

    await engine.do(venue.id, PutBack(ticket.ticket_id, "first", "mistake"), origin=AMNA)

    assert await engine.read(venue.id, LookAtOvertakings(None)) == {"amna": {"mistake": (1, 3)}}


async def test_nobody_is_put_back_who_was_not_called(engine: Engine, store: Store, venue: Venue) -> None:
    waiting, serving = await take(engine, venue), await called(engine, venue)
    await engine.do(venue.id, Start(serving.ticket_id))

    for ticket in (waiting, serving):
        before = await stored_ticket(store, venue, ticket.ticket_id)
        with pytest.raises(TicketInWrongState) as refusal:
            await engine.do(venue.id, PutBack(ticket.ticket_id))
        assert refusal.value.facts["verb"] == "put-back"
        assert refusal.value.facts.get("desk_name") == (None if ticket is waiting else {"en": "Desk-1"})
        assert await stored_ticket(store, venue, ticket.ticket_id) == before


async def test_a_put_back_into_a_line_that_has_ended_changes_nothing(
    engine: Engine, store: Store, venue: Venue
) -> None:
    ticket = await called(engine, venue)
    await reset(engine, venue.id, "lab")

    with pytest.raises(LineEnded):
        await engine.do(venue.id, PutBack(ticket.ticket_id))

    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "called"


async def test_whoever_comes_second_is_told_which_desk_has_the_visitor(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue, "desk-2")

    with pytest.raises(TicketInWrongState) as refusal:
        await engine.do(venue.id, Call(ticket.ticket_id, "desk-1"))

    assert refusal.value.facts == {
        "label": "A001",
        "state": "called",
        "verb": "call",
        "desk": "desk-2",
        "just_now": True,
        "desk_name": {"en": "Desk-2"},
    }


async def test_a_desk_that_was_removed_since_has_no_name(engine: Engine, venue: Venue) -> None:
    ticket = await called(engine, venue, "desk-2")
    await do_each(engine, venue, SetUp(replace(venue, desks=venue.desks[:1])))

    with pytest.raises(TicketInWrongState) as refusal:
        await engine.do(venue.id, Call(ticket.ticket_id, "desk-1"))

    assert "desk_name" not in refusal.value.facts
