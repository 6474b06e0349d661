"""Venues: how they are set up, and what the state of a queue allows."""

import msgspec
import pytest

from dawr.domain.day import Day
from dawr.domain.errors import (
    InvalidValue,
    QueueClosed,
    QueueInWrongState,
    UnknownQueue,
    UnknownVenue,
)
from dawr.domain.queue import QueueVerb
from dawr.domain.venue import Venue
from dawr.domain.visit import Link
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.visits import LeaveByLink
from dawr.ports import Store
from dawr.ports.faults import Unstorable
from tests.builders import DrivenClock, a_journey, a_queue, a_venue, call_next, issue, start_visit
from tests.stores.databases import Database
from tests.stores.doing import (
    create_venue,
    do_each,
    elsewhere,
    stored_head,
    take,
    together,
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


def without_eye(venue: Venue) -> SetUp:
    return SetUp(
        msgspec.structs.replace(venue, queues=tuple(q for q in venue.queues if q.id != "eye"), desks=(), journeys=())
    )


async def test_a_queue_that_never_gave_a_number_can_be_removed_and_made_again(
    engine: Engine, clock: DrivenClock, store: Store, venue: Venue
) -> None:
    await do_each(engine, venue, ChangeQueue("eye", "pause"), Reset("eye"))

    await engine.do(venue.id, without_eye(venue))

    with pytest.raises(UnknownQueue):
        await engine.do(venue.id, issue("eye"))
    clock.advance(days=1)
    assert (await take(engine, venue)).number == 1
    await engine.do(venue.id, SetUp(venue))
    assert (await take(engine, venue, queue="eye")).number == 1
    assert await store.faults() == []


async def test_a_queue_that_gave_a_number_stays(engine: Engine, clock: DrivenClock, store: Store, venue: Venue) -> None:
    await take(engine, venue, queue="eye")
    clock.advance(days=400)

    with pytest.raises(InvalidValue) as refused:
        await engine.do(venue.id, without_eye(venue))

    assert refused.value.facts == {"field": "queues", "rule": "queue-stays", "queue": "eye"}
    assert (await engine.read(venue.id, LookAtQueue("eye"))).queue == venue.queue("eye")
    assert (await stored_head(store, venue)).config_version == 1


async def test_codes_that_were_good_when_they_were_chosen_can_be_kept_and_new_ones_cannot_be_like_them(
    engine: Engine, store: Store
) -> None:
    venue = await create_venue(store, msgspec.structs.replace(a_venue(a_queue("-lab")), slug="--help"))
    renamed = msgspec.structs.replace(venue, name={"en": "Another name"})
    with_another = msgspec.structs.replace(venue, queues=(*venue.queues, a_queue("-eye")))

    assert (await take(engine, venue, queue="-lab")).number == 1
    assert await engine.do(venue.id, SetUp(renamed)) == renamed
    with pytest.raises(InvalidValue, match="rule=code code=-eye"):
        await engine.do(venue.id, SetUp(with_another))


async def test_a_queue_of_another_venue_keeps_nobody_from_removing_theirs(
    engine: Engine, store: Store, venue: Venue
) -> None:
    other = await create_venue(store, a_venue(a_queue("lab"), a_queue("eye")))
    await take(engine, other, queue="eye")

    await engine.do(venue.id, without_eye(venue))

    with pytest.raises(UnknownQueue):
        await engine.read(venue.id, LookAtQueue("eye"))


async def test_of_a_join_and_a_removal_at_once_the_first_counts(engine: Engine, venue: Venue) -> None:
    joined, refused = await together(engine.do(venue.id, issue("eye")), engine.do(venue.id, without_eye(venue)))
    without_xray = SetUp(msgspec.structs.replace(venue, queues=(venue.queues[0], venue.queues[2]), desks=()))
    removed, too_late = await together(engine.do(venue.id, without_xray), engine.do(venue.id, issue("xray")))

    assert (joined.ticket.number, type(refused)) == (1, InvalidValue)
    assert ([queue.id for queue in removed.queues], type(too_late)) == (["lab", "eye"], UnknownQueue)


async def test_a_queue_that_is_part_of_somebodys_plan_stays(engine: Engine, store: Store) -> None:
    """Before the plan is stored, while it is under way, and when it has ended."""
    planned = msgspec.structs.replace(
        a_venue(a_queue("lab"), a_queue("eye")), journeys=(a_journey("army", "eye", fixed=("lab",)),)
    )
    venue = await create_venue(store, planned)

    seen, at_once = await together(engine.do(venue.id, start_visit()), engine.do(venue.id, without_eye(venue)))
    later = await together(engine.do(venue.id, without_eye(venue)))
    await engine.do(venue.id, LeaveByLink(Link.read(f"{seen.visit.visit_id}.secret-of-{seen.visit.visit_id}")))
    ended = await together(engine.do(venue.id, without_eye(venue)))

    assert [type(outcome) for outcome in (at_once, *later, *ended)] == [InvalidValue] * 3


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
