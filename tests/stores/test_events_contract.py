"""Events: one for every change, numbered without holes in each venue, and none for what was refused."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from dawr.domain.errors import Refused
from dawr.domain.events import Origin
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.operation import Operation
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.staff import Call, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Leave, Rejoin
from dawr.ports import Store
from tests.builders import DrivenClock, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, do_each, events_of, kinds_of, stored_head, stored_ticket, take, together

Way = Sequence[Callable[[TicketId], Operation[Any]]]

KINDS: dict[str, Way] = {
    "ticket.called": (Call,),
    "ticket.recalled": (Call, Recall),
    "ticket.started": (Call, Start),
    "ticket.finished": (Call, Start, Finish),
    "ticket.missed": (Call, Miss),
    "ticket.rejoined": (Call, Miss, Rejoin),
    "ticket.held": (Hold,),
    "ticket.resumed": (Hold, Resume),
    "ticket.left": (Leave,),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_every_verb_records_one_event_of_its_kind(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, kind: str
) -> None:
    ticket = await take(engine, venue)
    *before, last = KINDS[kind]
    await do_each(engine, venue, *(step(ticket.ticket_id) for step in before))
    state_before = (await stored_ticket(store, venue, ticket.ticket_id)).state
    clock.advance(minutes=1)

    await engine.do(venue.id, last(ticket.ticket_id))

    events = await events_of(engine, venue)
    stored = await stored_ticket(store, venue, ticket.ticket_id)
    assert len(events) == len(KINDS[kind]) + 1
    assert (events[-1].kind, events[-1].at, events[-1].ticket_id) == (kind, clock.now, ticket.ticket_id)
    assert stored.version == events[-1].version
    assert facts(events[-1].data)["state"] == stored.state
    assert facts(events[-1].data)["before"] == state_before


async def test_an_issued_ticket_is_an_event_with_its_facts(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    ticket = await take(engine, venue, priority=2)

    (event,) = await events_of(engine, venue)

    assert (event.venue_id, event.version, event.kind, event.at) == (venue.id, 1, "ticket.issued", clock.now)
    assert (event.queue_id, event.ticket_id) == ("lab", ticket.ticket_id)
    assert facts(event.data) == {
        "number": 1,
        "label": "A001",
        "day": "2026-03-02",
        "round": 1,
        "priority": 2,
        "sequence": 1,
        "state": "waiting",
        "line": {"waiting": 1},
    }


async def test_a_call_tells_the_desk(engine: Engine, venue: Venue) -> None:
    await do_each(engine, venue, issue(), call_next("lab", desk="desk-1"))

    assert facts((await events_of(engine, venue))[-1].data)["desk"] == "desk-1"


async def test_an_event_never_tells_who_the_visitor_is(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, visitor="Aisha")

    (event,) = await events_of(engine, venue)

    assert "Aisha" not in msgspec.json.encode(event).decode()


async def test_queue_changes_are_events_too(engine: Engine, venue: Venue) -> None:
    await do_each(
        engine,
        venue,
        *(ChangeQueue("lab", verb) for verb in ("pause", "resume", "close", "open")),
        Reset("lab"),
        SetUp(venue),
        SetUp(msgspec.structs.replace(venue, name={"en": "Another name"})),
    )

    events = await events_of(engine, venue)

    assert [(event.kind, event.queue_id) for event in events] == [
        ("queue.paused", "lab"),
        ("queue.resumed", "lab"),
        ("queue.closed", "lab"),
        ("queue.opened", "lab"),
        ("queue.reset", "lab"),
        ("venue.set_up", None),
    ]
    assert facts(events[0].data) == {"state": "paused"}
    assert facts(events[4].data) == {"day": "2026-03-02", "round": 2}


async def test_versions_go_up_by_one_over_all_the_queues_of_a_venue(engine: Engine, store: Store, venue: Venue) -> None:
    await do_each(engine, venue, issue("lab"), issue("xray"), call_next("lab"), ChangeQueue("eye", "close"))
    await together(*(engine.do(venue.id, issue("xray")) for _ in range(20)))

    events = await events_of(engine, venue)

    assert [event.version for event in events] == list(range(1, 25))
    assert (await stored_head(store, venue)).version == 24


async def test_each_venue_has_its_own_versions(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())

    await together(*(engine.do(where.id, issue()) for where in (venue, other, venue, other, other)))

    assert [event.version for event in await events_of(engine, venue)] == [1, 2]
    assert [event.version for event in await events_of(engine, other)] == [1, 2, 3]


async def test_versions_go_on_after_a_reset_and_the_next_day(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await do_each(engine, venue, issue(), Reset("lab"))
    clock.advance(days=1)
    await take(engine, venue)

    assert [event.version for event in await events_of(engine, venue)] == [1, 2, 3]


async def test_a_refused_command_leaves_no_event_and_no_hole(engine: Engine, store: Store, venue: Venue) -> None:
    given = await take(engine, venue)

    commands: list[Operation[Any]] = [Finish(given.ticket_id), issue("nowhere"), Leave(TicketId("nobody's"))]
    for refused in commands:
        with pytest.raises(Refused):
            await engine.do(venue.id, refused)
    await engine.do(venue.id, Leave(given.ticket_id))

    assert await kinds_of(engine, venue) == ["ticket.issued", "ticket.left"]
    assert (await stored_head(store, venue)).version == 2


async def test_a_visitor_who_asks_again_is_no_event(engine: Engine, venue: Venue) -> None:
    await do_each(engine, venue, issue(visitor="Aisha"), issue(visitor="Aisha"))

    assert await kinds_of(engine, venue) == ["ticket.issued"]


async def test_a_look_is_no_event(engine: Engine, venue: Venue) -> None:
    await engine.read(venue.id, LookAtQueue("lab"))

    assert await kinds_of(engine, venue) == []


async def test_a_new_number_in_place_of_yesterdays_is_two_events(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    yesterdays = await take(engine, venue, visitor="Aisha")
    clock.advance(days=1)
    todays = await take(engine, venue, visitor="Aisha")

    events = await events_of(engine, venue)

    assert [(event.kind, event.ticket_id) for event in events] == [
        ("ticket.issued", yesterdays.ticket_id),
        ("ticket.expired", yesterdays.ticket_id),
        ("ticket.issued", todays.ticket_id),
    ]


async def test_an_event_keeps_who_asked_and_under_which_id(engine: Engine, venue: Venue) -> None:
    origin = Origin(actor="staff:maryam", correlation_id="01J-abc", reason="the visitor asked")

    await engine.do(venue.id, issue(), origin=origin)

    (event,) = await events_of(engine, venue)
    assert Origin(event.actor, event.correlation_id, event.reason) == origin


async def test_an_event_without_an_origin_names_nobody(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)

    (event,) = await events_of(engine, venue)

    assert Origin(event.actor, event.correlation_id, event.reason) == Origin()


async def test_the_origins_of_batch_mates_are_not_mixed_up(engine: Engine, venue: Venue) -> None:
    operations = [issue() for _ in range(10)]

    await together(
        *(engine.do(venue.id, operation, origin=Origin(correlation_id=operation.ticket_id)) for operation in operations)
    )

    events = await events_of(engine, venue)
    assert [event.correlation_id for event in events] == [event.ticket_id for event in events]
    assert len(events) == 10


async def test_the_events_of_a_batch_stand_in_the_order_of_its_commands(engine: Engine, venue: Venue) -> None:
    operations = [issue() for _ in range(10)]

    await together(*(engine.do(venue.id, operation) for operation in operations))

    assert [event.ticket_id for event in await events_of(engine, venue)] == [o.ticket_id for o in operations]


async def test_a_watcher_reads_on_from_where_it_was(engine: Engine, venue: Venue) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(10)))

    first = await engine.events_after(venue.id, 0, most=4)
    then = await engine.events_after(venue.id, first[-1].version, most=4)
    last = await engine.events_after(venue.id, then[-1].version, most=4)

    assert [event.version for event in first + then + last] == list(range(1, 11))
    assert await engine.events_after(venue.id, 10, most=4) == []


async def test_every_ticket_carries_the_version_of_its_latest_event(
    database: Database, engine: Engine, venue: Venue
) -> None:
    await do_each(engine, venue, *(issue() for _ in range(5)), *(call_next() for _ in range(3)))

    latest = await database.rows("SELECT ticket_id, max(version) FROM events GROUP BY ticket_id ORDER BY 1")

    assert await database.rows("SELECT ticket_id, version FROM tickets ORDER BY 1") == latest


async def test_a_ticket_that_changes_twice_in_a_batch_has_both_events(
    engine: Engine, store: Store, venue: Venue
) -> None:
    given = await take(engine, venue)

    await together(*(engine.do(venue.id, step(given.ticket_id)) for step in (Call, Start, Finish)))

    assert await kinds_of(engine, venue) == ["ticket.issued", "ticket.called", "ticket.started", "ticket.finished"]
    stored: Ticket = await stored_ticket(store, venue, given.ticket_id)
    assert (stored.state, stored.version) == ("finished", 4)


def facts(data: str) -> dict[str, object]:
    decoded: dict[str, object] = msgspec.json.decode(data)
    return decoded
