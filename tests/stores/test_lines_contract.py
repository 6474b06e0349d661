"""Lines: numbers, days, rounds, capacity, priorities and hours."""

import msgspec
import pytest

from dawr.domain.errors import InvalidValue, OutsideHours, QueueFull, UnknownQueue
from dawr.domain.hours import Hours
from dawr.domain.queue import QueueId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import Reset, SetUp
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.staff import Call, Finish, Hold, Miss, Start
from dawr.operations.visitor import Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_queue, a_venue, call_next, issue
from tests.stores.databases import Database
from tests.stores.doing import create_venue, do_each, stored_head, stored_line, take

OFFICE_HOURS = Hours(((((8 * 60, 16 * 60)),),) * 5 + ((), ()))


async def test_numbers_begin_at_one_and_go_up_by_one(engine: Engine, venue: Venue) -> None:
    assert [(await take(engine, venue)).number for _ in range(5)] == [1, 2, 3, 4, 5]


async def test_each_queue_counts_on_its_own(engine: Engine, venue: Venue) -> None:
    given = [(await take(engine, venue, queue=queue)).number for queue in ("lab", "xray", "lab", "eye", "xray")]

    assert given == [1, 1, 2, 1, 2]


async def test_each_venue_counts_on_its_own(engine: Engine, store: Store, venue: Venue) -> None:
    other = await create_venue(store, a_venue())

    assert [(await take(engine, where)).number for where in (venue, other, venue, other)] == [1, 1, 2, 2]


async def test_a_queue_is_found_by_its_alias_in_any_case(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab", aliases=("bloods",))))

    given = [(await take(engine, venue, queue=code)).number for code in ("lab", "LAB", "Bloods")]

    assert given == [1, 2, 3]


async def test_a_queue_that_there_is_not_is_refused(engine: Engine, venue: Venue) -> None:
    with pytest.raises(UnknownQueue):
        await engine.do(venue.id, issue("surgery"))


async def test_numbers_go_on_after_a_restart(
    database: Database, engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)
    await take(engine, venue)

    restarted = await database.open()
    after = await take(Engine(restarted, clock), venue)
    await restarted.close()

    assert after.number == 3


async def test_a_new_day_begins_at_one_again(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    yesterday = [await take(engine, venue) for _ in range(3)]
    clock.advance(days=1)

    today = await take(engine, venue)

    assert (yesterday[-1].number, today.number) == (3, 1)
    assert (yesterday[-1].day, today.day) == ("2026-03-02", "2026-03-03")


async def test_the_day_begins_at_day_start_and_not_at_midnight(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)

    clock.advance(hours=18, minutes=59)  # 04:59
    before_day_start = await take(engine, venue)
    clock.advance(minutes=1)
    at_day_start = await take(engine, venue)

    assert (before_day_start.number, at_day_start.number) == (2, 1)
    assert (await stored_head(store, venue)).day == at_day_start.day == "2026-03-03"


async def test_the_day_never_goes_back_with_the_clock(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    clock.advance(days=1)
    await take(engine, venue)

    clock.advance(days=-3)
    after = await take(engine, venue)

    assert (after.day, after.number) == ("2026-03-03", 2)


async def test_a_day_on_which_nothing_happened_is_passed_over(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)
    clock.advance(days=10)

    assert (await take(engine, venue)).day == "2026-03-12"
    assert (await stored_head(store, venue)).day == "2026-03-12"


async def test_yesterdays_ticket_does_not_keep_its_visitor_from_a_number_today(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    yesterdays = await take(engine, venue, visitor="Aisha")
    clock.advance(days=1)

    today = await engine.do(venue.id, issue(visitor="Aisha"))

    assert (today.already, today.ticket.number, today.ahead) == (False, 1, 0)
    assert (await stored_line(store, venue, yesterdays.line_key)).waiting == (0, 0, 0, 0)


async def test_each_queue_begins_its_day_with_its_first_visitor(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue, queue="lab")
    await take(engine, venue, queue="xray")
    clock.advance(days=1)

    await take(engine, venue, queue="lab")
    lab, xray = [await engine.read(venue.id, LookAtQueue(queue)) for queue in ("lab", "xray")]

    assert (lab.line.day, lab.line.last_number) == ("2026-03-03", 1)
    assert (xray.line.day, xray.line.last_number, xray.next) == ("2026-03-03", 0, None)


async def test_a_reset_begins_a_new_round_at_number_one(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    before = await take(engine, venue)

    key = await engine.do(venue.id, Reset("lab"))
    after = await take(engine, venue)

    assert key == after.line_key == ("lab", "2026-03-02", 2)
    assert (before.number, after.number) == (2, 1)


async def test_a_reset_of_a_line_that_has_not_begun_is_a_round_too(engine: Engine, venue: Venue) -> None:
    await do_each(engine, venue, Reset("lab"), Reset("lab"))

    assert (await take(engine, venue)).round == 3


async def test_rounds_begin_again_with_the_day(engine: Engine, clock: DrivenClock, venue: Venue) -> None:
    await engine.do(venue.id, Reset("lab"))
    clock.advance(days=1)

    assert (await take(engine, venue)).round == 1


async def test_a_reset_touches_no_other_queue(engine: Engine, venue: Venue) -> None:
    await take(engine, venue, queue="xray")

    await engine.do(venue.id, Reset("lab"))

    assert (await take(engine, venue, queue="xray")).number == 2


async def test_after_a_reset_nobody_of_the_old_round_is_called(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    await engine.do(venue.id, Reset("lab"))
    of_the_new_round = await take(engine, venue)

    called = await engine.do(venue.id, call_next())

    assert called.ticket is not None
    assert called.ticket.ticket_id == of_the_new_round.ticket_id
    assert (called.next, called.waiting) == (None, 0)


async def test_a_full_queue_refuses(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=2)))
    await do_each(engine, venue, issue(), issue())

    with pytest.raises(QueueFull):
        await engine.do(venue.id, issue())


async def test_the_reserve_is_given_after_the_capacity_and_said_to_be_so(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=2, reserve=1)))

    places = [await engine.do(venue.id, issue()) for _ in range(3)]

    assert [place.reserve_mode for place in places] == [False, False, True]
    with pytest.raises(QueueFull):
        await engine.do(venue.id, issue())


async def test_a_visitor_with_a_number_still_finds_it_when_the_queue_is_full(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=1)))
    await take(engine, venue, visitor="Aisha")

    assert (await engine.do(venue.id, issue(visitor="Aisha"))).already


async def test_whoever_leaves_does_not_give_their_number_back(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=1)))
    given = await take(engine, venue)
    await engine.do(venue.id, Leave(given.ticket_id))

    with pytest.raises(QueueFull):
        await engine.do(venue.id, issue())


async def test_a_refused_visitor_uses_up_no_number(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=1)))
    await take(engine, venue)
    with pytest.raises(QueueFull):
        await take(engine, venue)

    await engine.do(venue.id, SetUp(msgspec.structs.replace(venue, queues=(a_queue(capacity=2),))))

    assert (await take(engine, venue)).number == 2


async def test_the_capacity_is_the_days_and_not_the_rounds(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=3)))
    served, _ = await take(engine, venue), await take(engine, venue)
    await do_each(engine, venue, Call(served.ticket_id), Finish(served.ticket_id), Reset("lab"))

    places = [await engine.do(venue.id, issue()) for _ in range(2)]

    assert [place.ticket.number for place in places] == [1, 2]
    with pytest.raises(QueueFull):
        await engine.do(venue.id, issue())


async def test_the_capacity_is_there_again_the_next_day(engine: Engine, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(a_queue(capacity=1)))
    await take(engine, venue)
    clock.advance(days=1)

    assert (await take(engine, venue)).number == 1


async def test_outside_its_hours_a_queue_says_when_it_opens(engine: Engine, store: Store, clock: DrivenClock) -> None:
    venue = await create_venue(store, a_venue(a_queue(hours=OFFICE_HOURS)))
    assert (await take(engine, venue)).number == 1

    clock.advance(hours=6)
    with pytest.raises(OutsideHours) as refused:
        await engine.do(venue.id, issue())

    assert refused.value.facts["opens_at"] == "2026-03-03 08:00"
    clock.advance(hours=16)
    assert (await take(engine, venue)).number == 1


async def test_whoever_is_behind_sees_those_of_a_higher_priority_ahead(engine: Engine, venue: Venue) -> None:
    places = [await engine.do(venue.id, issue(priority=priority)) for priority in (0, 0, 3, 1, 3, 0)]

    assert [place.ahead for place in places] == [0, 1, 0, 1, 1, 5]


async def test_a_visitor_who_asks_again_sees_who_came_ahead_since(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    await take(engine, venue, visitor="Aisha")
    await take(engine, venue, priority=1)
    await take(engine, venue)

    assert (await engine.do(venue.id, issue(visitor="Aisha"))).ahead == 2


async def test_a_priority_that_there_is_not_is_refused(engine: Engine, venue: Venue) -> None:
    for priority in (-1, 4):
        with pytest.raises(InvalidValue):
            await engine.do(venue.id, issue(priority=priority))


async def test_a_line_counts_everybody_by_state(engine: Engine, store: Store, venue: Venue) -> None:
    called, serving, missed, finished, held, *_ = [await take(engine, venue, priority=i % 2) for i in range(9)]
    await do_each(engine, venue, *(Call(ticket.ticket_id) for ticket in (called, serving, missed, finished)))
    await do_each(engine, venue, Start(serving.ticket_id), Miss(missed.ticket_id), Finish(finished.ticket_id))
    await engine.do(venue.id, Hold(held.ticket_id))

    line = await stored_line(store, venue, called.line_key)

    assert line.waiting == (2, 2, 0, 0)
    assert (line.called, line.serving, line.missed, line.finished, line.held) == (1, 1, 1, 1, 1)
    assert (line.last_number, line.people_waiting) == (9, 4)


async def test_a_line_sums_how_long_people_waited_and_were_served(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    first, second = await take(engine, venue), await take(engine, venue)
    clock.advance(minutes=3)
    await engine.do(venue.id, Call(first.ticket_id))
    clock.advance(minutes=2)
    await do_each(engine, venue, Call(second.ticket_id), Start(first.ticket_id))
    clock.advance(minutes=10)
    await engine.do(venue.id, Finish(first.ticket_id))

    line = await stored_line(store, venue, first.line_key)

    assert (line.calls, line.waits_ms, line.services_ms) == (2, 8 * 60_000, 10 * 60_000)
    assert line.current_number == 2


async def test_a_queue_that_nobody_asked_for_yet_is_empty(engine: Engine, database: Database, venue: Venue) -> None:
    snapshot = await engine.read(venue.id, LookAtQueue("lab"))

    assert (snapshot.next, snapshot.line.people, snapshot.line.mean_wait_minutes) == (None, 0, 0.0)
    assert await database.rows("SELECT count(*) FROM lines") == [(0,)]


async def test_a_snapshot_shows_who_is_next(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    urgent = await take(engine, venue, priority=1)

    snapshot = await engine.read(venue.id, LookAtQueue("lab"))

    assert (snapshot.next, snapshot.line.people_waiting) == (urgent, 2)


async def test_a_line_of_another_queue_is_not_mistaken_for_this_one(engine: Engine, store: Store) -> None:
    venue = await create_venue(store, a_venue(a_queue("lab"), a_queue("lab-2"), a_queue("la")))

    given = [(await take(engine, venue, queue=code)).queue_id for code in ("lab", "lab-2", "la")]

    assert given == [QueueId("lab"), QueueId("lab-2"), QueueId("la")]
