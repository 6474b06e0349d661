"""Venues: how they are set up, and what the state of a queue allows."""

import msgspec
import pytest

from dawr.domain.day import Day
from dawr.domain.errors import (
    InvalidValue,
    QueueClosed,
    QueueInWrongState,
    UnknownVenue,
)
from dawr.domain.queue import QueueVerb
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.snapshots import LookAtQueue
from dawr.ports import Store, Unstorable
from tests.builders import DrivenClock, a_queue, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import (
    create_venue,
    do_each,
    elsewhere,
    stored_head,
    take,
)


async def test_venues_are_listed_by_slug(store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())

    assert await store.venue_ids() == {venue.slug: venue.id, other.slug: other.id}


async def test_a_slug_belongs_to_one_venue(store: Store, venue: Venue) -> None:
    with pytest.raises(Unstorable):
        await create_venue(store, msgspec.structs.replace(a_venue(), slug=venue.slug))

    assert await store.venue_ids() == {venue.slug: venue.id}


async def test_a_look_at_a_venue_that_there_is_not_is_refused(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownVenue):
        await engine.read(elsewhere(venue), LookAtQueue("lab"))


async def test_a_closed_queue_takes_nobody_and_still_calls(engine: Engine, venue: Venue) -> None:
    waiting = await take(engine, venue)
    await engine.do(venue.id, ChangeQueue("lab", "close"))

    with pytest.raises(QueueClosed):
        await engine.do(venue.id, issue())

    called = await engine.do(venue.id, call_next())
    assert called.ticket is not None
    assert called.ticket.ticket_id == waiting.ticket_id


async def test_a_paused_queue_takes_people(engine: Engine, venue: Venue) -> None:
    await engine.do(venue.id, ChangeQueue("lab", "pause"))

    assert (await take(engine, venue)).number == 1


@pytest.mark.parametrize(
    ("verbs", "state"),
    [(("pause",), "paused"), (("close",), "closed"), (("pause", "resume"), "open"), (("close", "open"), "open")],
)
async def test_the_state_of_a_queue_outlives_a_restart(
    database: Database, engine: Engine, venue: Venue, verbs: tuple[QueueVerb, ...], state: str
) -> None:
    await do_each(engine, venue, *(ChangeQueue("lab", verb) for verb in verbs))

    restarted = await database.open()
    snapshot = await Engine(restarted, DrivenClock()).read(venue.id, LookAtQueue("lab"))
    await restarted.close()

    assert snapshot.queue.state == state


async def test_a_queue_verb_that_its_state_forbids_is_refused(engine: Engine, venue: Venue) -> None:
    with pytest.raises(QueueInWrongState):
        await engine.do(venue.id, ChangeQueue("lab", "resume"))


async def test_a_set_up_that_drops_a_queue_is_refused_and_changes_nothing(
    engine: Engine, store: Store, venue: Venue
) -> None:
    with pytest.raises(InvalidValue):
        await engine.do(venue.id, SetUp(msgspec.structs.replace(venue, queues=venue.queues[:1], desks=())))

    assert (await engine.read(venue.id, LookAtQueue("eye"))).queue == venue.queue("eye")
    assert (await stored_head(store, venue)).config_version == 1


async def test_a_queue_added_by_a_set_up_takes_people_at_once(engine: Engine, store: Store, venue: Venue) -> None:
    await engine.do(venue.id, SetUp(msgspec.structs.replace(venue, queues=(*venue.queues, a_queue("ent")))))

    assert (await take(engine, venue, queue="ent")).number == 1
    assert (await stored_head(store, venue)).config_version == 2


async def test_a_change_of_zone_does_not_take_the_day_back(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    clock.advance(hours=-4)  # 06:00 in Qatar, 17:00 of the day before in Honolulu
    here = await take(engine, venue)

    await engine.do(venue.id, SetUp(msgspec.structs.replace(venue, zone="Pacific/Honolulu")))

    there = await take(engine, venue)
    assert (here.day, there.day, there.number) == (Day("2026-03-02"), Day("2026-03-02"), 2)


async def test_a_set_up_is_stored_without_what_says_nothing_so_that_the_version_before_can_read_it(
    database: Database, store: Store
) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab", capacity=7)))

    ((document,),) = await database.rows(f"SELECT document FROM venues WHERE venue_id = '{venue.id}'")

    stored = msgspec.json.decode(document)
    assert stored.keys() == {"id", "slug", "name", "zone", "queues"}
    assert stored["queues"] == [{"id": "lab", "name": {"en": "Lab"}, "capacity": 7}]
    assert msgspec.json.decode(document, type=Venue) == venue
