"""Visits: one for each ticket, found by a secret that is not kept."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dawr.domain.errors import QueueClosed
from dawr.domain.ticket import TicketId
from dawr.domain.venue import Venue
from dawr.domain.visit import Visit
from dawr.engine.clockwork import Sweeper, reset
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue
from dawr.operations.clockwork import Expire
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, Finish, Hold, Miss, Start
from dawr.operations.visitor import Leave
from dawr.ports import Store
from dawr.ports.faults import Unstorable
from tests.builders import DrivenClock, a_venue, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, do_each, stored_visit, take

Steps = tuple[Callable[[TicketId], Operation[Any]], ...]
COUNT = "SELECT count(*) FROM visits"


async def test_every_ticket_begins_a_visit(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await take(engine, venue, visitor="Aisha")

    secret_hash = f"secret-hash-of-{ticket.ticket_id}"
    visit = Visit(venue.id, ticket.visit_id, secret_hash, "Aisha", "open", clock.now, ticket_id=ticket.ticket_id)
    assert await database.rows("SELECT * FROM visits") == [msgspec.structs.astuple(visit)]


async def test_a_visitor_who_asks_again_begins_no_second_visit(
    database: Database, engine: Engine, venue: Venue
) -> None:
    await do_each(engine, venue, issue(visitor="Aisha"), issue(visitor="Aisha"))

    assert await database.rows(COUNT) == [(1,)]


async def test_a_visitor_who_comes_again_after_the_end_begins_another_visit(
    database: Database, engine: Engine, venue: Venue
) -> None:
    first = await take(engine, venue, visitor="Aisha")
    await do_each(engine, venue, Call(first.ticket_id), Finish(first.ticket_id))

    second = await take(engine, venue, visitor="Aisha")

    assert first.visit_id != second.visit_id
    assert await database.rows(COUNT) == [(2,)]


async def test_a_refused_visitor_leaves_no_visit(database: Database, engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, ChangeQueue("lab", "close"))

    with pytest.raises(QueueClosed):
        await engine.do(venue.id, issue())

    assert await database.rows(COUNT) == [(0,)]


async def test_a_visitor_without_a_name_goes_by_the_visit(database: Database, engine: Engine, venue: Venue) -> None:
    ticket = await take(engine, venue, visitor=None)

    assert ticket.visitor == ticket.visit_id
    assert await database.rows("SELECT visitor FROM visits") == [(ticket.visit_id,)]


async def test_two_visits_of_a_venue_are_never_the_same(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    first = issue()
    await engine.do(venue.id, first)

    with pytest.raises(Unstorable):
        await engine.do(venue.id, msgspec.structs.replace(issue("lab", "Basma"), visit_id=first.visit_id))
    clock.advance(seconds=1)
    again = issue("xray", first.visitor or first.visit_id)
    with pytest.raises(Unstorable):
        await engine.do(venue.id, msgspec.structs.replace(again, visit_id=first.visit_id))

    assert await database.rows(COUNT) == [(1,)]
    assert (await take(engine, venue)).number == 2


async def test_two_venues_know_nothing_of_each_others_secrets(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    other = await create_venue(store, a_venue())
    same = issue()

    places = [await engine.do(where.id, same) for where in (venue, other)]

    assert [place.ticket.number for place in places] == [1, 1]
    assert await database.rows(COUNT) == [(2,)]


ENDS: list[tuple[str, Steps]] = [
    ("open", (Call,)),
    ("open", (Call, Miss)),
    ("open", (Hold,)),
    ("finished", (Call, Finish)),
    ("finished", (Call, Start, Finish)),
    ("left", (Leave,)),
    ("left", (Call, Miss, Leave)),
    ("expired", (Expire,)),
    ("expired", (Call, Miss, Expire)),
]


async def test_a_visit_of_one_ticket_ends_as_its_ticket_does(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    for state, steps in ENDS:
        ticket = await take(engine, venue)
        clock.advance(seconds=3)

        await do_each(engine, venue, *(step(ticket.ticket_id) for step in steps))

        visit = await stored_visit(store, venue, ticket.visit_id)
        ended = {name: getattr(visit, f"{name}_at") for name in ("finished", "left", "expired")}
        assert visit.state == state, steps
        assert ended == {name: clock.now if name == state else None for name in ended}, steps


async def test_a_days_end_and_a_reset_end_the_visits_of_single_tickets(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    before_reset = await take(engine, venue)
    await reset(engine, venue.id, "lab")
    over_night, held = await take(engine, venue), await take(engine, venue, visitor="Aisha")
    clock.advance(days=1)
    await take(engine, venue, visitor="Aisha")  # before anything was swept
    await Sweeper(engine, store).sweep_all()

    visits = [await stored_visit(store, venue, ticket.visit_id) for ticket in (before_reset, over_night, held)]
    assert [visit.state for visit in visits] == ["expired"] * 3
