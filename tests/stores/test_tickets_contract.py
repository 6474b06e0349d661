"""Tickets: what was decided is what is stored, and what the database itself forbids."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from dawr.domain.day import Day
from dawr.domain.errors import TicketInWrongState, UnknownTicket
from dawr.domain.queue import QueueId
from dawr.domain.ticket import VERBS, Ticket, TicketId, Verb, VisitId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Leave, Rejoin
from dawr.ports import Changes, Session, Store
from dawr.ports.faults import Unstorable
from tests.builders import DrivenClock, a_head, a_new, a_queue, a_venue, day_of, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, do_each, stored_ticket, take

Steps = Sequence[Callable[[TicketId], Operation[Any]]]

WAYS: dict[Verb, Steps] = {
    "call": (Call,),
    "recall": (Call, Recall),
    "start": (Call, Start),
    "finish": (Call, Start, Finish),
    "miss": (Call, Miss),
    "rejoin": (Call, Miss, Rejoin),
    "hold": (Hold,),
    "resume": (Hold, Resume),
    "leave": (Leave,),
}


async def test_a_new_ticket_is_stored_as_it_was_given(engine: Engine, store: Store, venue: Venue) -> None:
    given = await take(engine, venue, visitor="Aisha", priority=2)

    stored = await stored_ticket(store, venue, given.ticket_id)

    assert stored == given
    assert (stored.number, stored.label, stored.priority, stored.visitor) == (1, "A001", 2, "Aisha")
    assert (stored.state, stored.open_key) == ("waiting", "lab:Aisha")


@pytest.mark.parametrize("verb", WAYS)
async def test_a_ticket_is_stored_as_its_verb_left_it(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, verb: Verb
) -> None:
    given = await take(engine, venue)
    *before, last = WAYS[verb]
    await do_each(engine, venue, *(step(given.ticket_id) for step in before))
    clock.advance(minutes=7)

    changed = await engine.do(venue.id, last(given.ticket_id))

    stored = await stored_ticket(store, venue, given.ticket_id)
    assert stored == getattr(changed, "ticket", changed)
    assert stored.state == VERBS[verb].target
    assert getattr(stored, VERBS[verb].stamp) == clock.now
    assert stored.version == len(WAYS[verb]) + 1


async def test_an_expired_ticket_is_stored_as_expired(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    given = await take(engine, venue)
    clock.advance(days=1)

    await engine.do(venue.id, ExpireEnded(QueueId("lab")))

    stored = await stored_ticket(store, venue, given.ticket_id)
    assert (stored.state, stored.expired_at, stored.open_key) == ("expired", clock.now, None)


async def test_a_ticket_keeps_what_its_latest_change_replaced(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    given = await take(engine, venue)
    await engine.do(venue.id, Call(given.ticket_id, "desk-1"))

    stored = await stored_ticket(store, venue, given.ticket_id)

    replaced = msgspec.json.decode(stored.previous or "")
    assert replaced == {"state": "waiting", "called_at": None, "desk_id": None, "current": None}


async def test_a_visitor_with_an_open_ticket_gets_that_ticket_again(engine: Engine, venue: Venue) -> None:
    first = await engine.do(venue.id, issue(visitor="Aisha"))

    again = await engine.do(venue.id, issue(visitor="Aisha"))

    assert again.already
    assert again.ticket == first.ticket
    assert (await take(engine, venue)).number == 2


@pytest.mark.parametrize("steps", [(Call,), (Call, Start), (Hold,), (Call, Miss)], ids=lambda steps: steps[-1].__name__)
async def test_a_ticket_is_the_visitors_until_it_ends(engine: Engine, venue: Venue, steps: Steps) -> None:
    first = await take(engine, venue, visitor="Aisha")
    await do_each(engine, venue, *(step(first.ticket_id) for step in steps))

    again = await engine.do(venue.id, issue(visitor="Aisha"))

    assert (again.already, again.ticket.ticket_id, again.ahead) == (True, first.ticket_id, 0)


@pytest.mark.parametrize("steps", [(Leave,), (Call, Finish)], ids=lambda steps: steps[-1].__name__)
async def test_a_visitor_whose_ticket_ended_gets_a_new_number(engine: Engine, venue: Venue, steps: Steps) -> None:
    first = await take(engine, venue, visitor="Aisha")
    await do_each(engine, venue, *(step(first.ticket_id) for step in steps))

    again = await engine.do(venue.id, issue(visitor="Aisha"))

    assert (again.already, again.ticket.number) == (False, 2)


async def test_a_visitor_may_wait_in_two_queues_at_once(engine: Engine, store: Store, venue: Venue) -> None:
    in_lab = await take(engine, venue, queue="lab", visitor="Aisha")
    in_xray = await take(engine, venue, queue="xray", visitor="Aisha")

    assert (in_lab.number, in_xray.number) == (1, 1)
    assert (await stored_ticket(store, venue, in_lab.ticket_id)).is_open
    assert (await stored_ticket(store, venue, in_xray.ticket_id)).is_open


async def test_somebody_without_a_name_is_somebody_new_every_time(engine: Engine, venue: Venue) -> None:
    first = await take(engine, venue, visitor=None)
    second = await take(engine, venue, visitor=None)

    assert (first.number, second.number) == (1, 2)


@pytest.mark.parametrize("name", ["عائشة بنت خالد", "王小明", "Zoë O'Brien; --", "🦷 Amal", "50%\\'\"{}"])
async def test_a_name_comes_back_as_it_was_written(engine: Engine, store: Store, venue: Venue, name: str) -> None:
    given = await take(engine, venue, visitor=name)

    stored = await stored_ticket(store, venue, given.ticket_id)

    assert stored.visitor == name
    assert (await engine.do(venue.id, issue(visitor=name))).already


async def test_names_that_differ_in_case_are_two_visitors(engine: Engine, venue: Venue) -> None:
    lower = await take(engine, venue, visitor="aisha")
    upper = await take(engine, venue, visitor="AISHA")

    assert (lower.number, upper.number) == (1, 2)


async def test_spaces_around_a_name_are_not_part_of_it(engine: Engine, venue: Venue) -> None:
    first = await take(engine, venue, visitor="Aisha")

    assert (await take(engine, venue, visitor="  Aisha ")).ticket_id == first.ticket_id


async def test_a_ticket_that_there_is_not_is_refused(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownTicket):
        await engine.do(venue.id, Leave(TicketId("nobody's")))


async def test_a_ticket_of_another_venue_is_unknown_here(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())
    theirs = await take(engine, other)

    with pytest.raises(UnknownTicket):
        await engine.do(venue.id, Leave(theirs.ticket_id))

    assert await stored_ticket(store, other, theirs.ticket_id) == theirs


async def test_a_verb_that_the_state_forbids_changes_nothing(engine: Engine, store: Store, venue: Venue) -> None:
    given = await take(engine, venue)

    with pytest.raises(TicketInWrongState):
        await engine.do(venue.id, Finish(given.ticket_id))

    assert await stored_ticket(store, venue, given.ticket_id) == given


async def test_the_database_forbids_two_open_tickets_of_a_visitor_in_a_queue(
    database: Database, store: Store, venue: Venue
) -> None:
    with pytest.raises(Unstorable):
        await store_tickets(store, venue, a_ticket(venue, number=1), a_ticket(venue, number=2))

    assert await database.rows("SELECT count(*) FROM tickets") == [(0,)]


async def test_the_database_forbids_a_number_given_twice(database: Database, store: Store, venue: Venue) -> None:
    with pytest.raises(Unstorable):
        await store_tickets(
            store, venue, a_ticket(venue, number=1, visitor="Aisha"), a_ticket(venue, number=1, visitor="Badr")
        )

    assert await database.rows("SELECT count(*) FROM tickets") == [(0,)]


async def test_the_database_forbids_a_ticket_id_used_twice(database: Database, store: Store, venue: Venue) -> None:
    first = a_ticket(venue, number=1, visitor="Aisha")
    await store_tickets(store, venue, first)

    with pytest.raises(Unstorable):
        await store_tickets(store, venue, msgspec.structs.replace(first, number=2, visitor="Badr", open_key="lab:Badr"))

    assert await stored_ticket(store, venue, first.ticket_id) == first


async def test_the_database_forbids_an_open_ticket_that_is_nobodys(store: Store, venue: Venue) -> None:
    with pytest.raises(Unstorable):
        await store_tickets(store, venue, msgspec.structs.replace(a_ticket(venue), open_key=None))


async def test_the_database_forbids_an_ended_ticket_that_is_still_somebodys(store: Store, venue: Venue) -> None:
    with pytest.raises(Unstorable):
        await store_tickets(store, venue, msgspec.structs.replace(a_ticket(venue), state="left"))


async def test_two_venues_may_have_the_same_visitor_and_number(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue(a_queue("lab")))

    here, there = await take(engine, venue, visitor="Aisha"), await take(engine, other, visitor="Aisha")

    assert (here.number, there.number) == (1, 1)


def a_ticket(venue: Venue, *, number: int = 1, visitor: str = "Aisha") -> Ticket:
    return Ticket(
        venue_id=venue.id,
        ticket_id=TicketId(a_new("ticket")),
        queue_id=QueueId("lab"),
        day=Day(day_of(venue, 0)),
        round=1,
        number=number,
        label=f"A{number:03}",
        priority=0,
        sequence=number,
        state="waiting",
        visitor=visitor,
        open_key=f"lab:{visitor}",
        visit_id=VisitId("a-visit"),
        issued_at=0,
    )


async def store_tickets(store: Store, venue: Venue, *tickets: Ticket) -> None:
    """Past the rules, which would not do such a thing."""

    async def save(session: Session) -> None:
        await session.save(
            [
                Changes(
                    head=a_head(venue),
                    venue=None,
                    new_tickets=list(tickets),
                    changed_tickets=[],
                    lines=[],
                    events=[],
                )
            ]
        )

    await store.transact([venue.id], save)
