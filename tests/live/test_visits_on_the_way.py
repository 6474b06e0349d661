"""Between two queues: whatever happens while those who watch a visit move on with it, nothing is lost or told twice."""

import asyncio

import pytest

from dawr.domain.visit import Visit
from dawr.live.feed import RING
from dawr.operations.reception import NewLink, Transfer
from dawr.operations.staff import Finish
from dawr.ports.faults import StoreAway
from tests.builders import call_next
from tests.live.relays import until
from tests.live.seams import slowly
from tests.live.test_visits import WORDS
from tests.live.watching import Sent, Watched, last_id, read, told
from tests.stores.doing import together

MOST_READS = 20


async def on_the_way(here: Watched, visit: Visit) -> None:
    """Finish where the visitor is; they are not seated at the next queue yet."""
    await here.finish(visit)
    await here.hub.poll()


def words(sent: list[Sent]) -> list[tuple[str, str]]:
    return [(one.event, one.data["clinic"]) for one in sent if one.event in WORDS]


ALL_WORDS = [
    ("YOUR_TURN", "lab"),
    ("STEP_DONE_NEXT", "lab"),
    ("YOUR_TURN", "xray"),
    ("STEP_DONE_NEXT", "xray"),
    ("YOUR_TURN", "eye"),
]


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_read", range(1, 7))
async def test_a_visit_that_goes_on_in_any_gap_is_told_in_order_and_once(
    watched: Watched, when: str, at_read: int, *, heard: bool
) -> None:
    here, store = slowly(watched)
    visit = await watched.start()
    watcher = await here.visit(visit.visit_id)
    await read(watcher)
    writer, store.reads, steps, one_by_one = here if heard else watched, 0, 0, asyncio.Lock()

    async def next_step() -> None:
        nonlocal steps
        async with one_by_one:
            steps += 1
            if steps < 3:
                await writer.finish(visit)
            elif steps == 3:
                await writer.do(call_next("eye"))

    async def meanwhile() -> None:
        if at_read <= store.reads < MOST_READS:
            await next_step()

    setattr(store, when, meanwhile)
    await next_step()
    await here.hub.poll()
    await here.settled()
    store.before = store.after = None
    while steps < 3:
        await next_step()
    await here.hub.poll()
    await here.settled()

    assert words(await read(watcher)) == ALL_WORDS


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_read", range(1, 6))
@pytest.mark.parametrize("resumes", [True, False], ids=["resumed", "new"])
async def test_a_visit_that_goes_on_while_somebody_joins_is_not_lost(
    watched: Watched, at_read: int, when: str, *, heard: bool, resumes: bool
) -> None:
    here, store = slowly(watched)
    visit = await watched.start()
    writer = here if heard else watched
    has_gone = False

    async def meanwhile() -> None:
        nonlocal has_gone
        if store.reads >= at_read and not has_gone:
            has_gone = True
            await writer.finish(visit)
            await writer.do(call_next("xray"))

    setattr(store, when, meanwhile)
    watcher = await here.visit(visit.visit_id, since="1.2" if resumes else None)
    store.before = store.after = None
    store.reads = MOST_READS
    await meanwhile()
    await here.hub.poll()
    await here.settled()

    heard_words = words(await read(watcher))
    if resumes:
        assert heard_words == ALL_WORDS[:3]
    else:
        assert heard_words == ALL_WORDS[3 - len(heard_words) : 3]
        assert heard_words[-1] == ("YOUR_TURN", "xray")


async def test_a_store_that_is_away_delays_the_new_place_and_loses_nothing(watched: Watched) -> None:
    here, store = slowly(watched)
    visit = await here.start()
    watcher = await here.visit(visit.visit_id)
    told_last = await last_id(watcher)
    store.before = away
    await on_the_way(here, visit)
    await here.settled()
    gone = words(await read(watcher))
    for _ in range(2):
        await here.do(call_next("xray"))
        here.beat()
        await here.settled()
    assert words(await read(watcher)) == []

    store.before = None
    here.beat()
    await here.settled()

    assert gone == ALL_WORDS[:2]
    assert words(await read(watcher)) == ALL_WORDS[2:3]
    assert told_last == "1.2"


async def test_who_goes_away_between_two_queues_is_told_the_rest_when_they_come_back(watched: Watched) -> None:
    """No heartbeat takes their id beyond what they were told."""
    here, store = slowly(watched)
    visit = await here.start()
    watcher = await here.visit(visit.visit_id)
    await read(watcher)
    store.before = away
    await here.finish(visit)
    await here.do(call_next("xray"))
    await here.take("eye")
    await here.settled()
    here.beat(15)

    sent = await read(watcher)
    watcher.break_off()
    store.before = None
    left_at = [one.id for one in sent if one.id][-1]

    assert [one.comment for one in sent if one.data is None] == [True]
    assert words(sent) == ALL_WORDS[:2]
    assert words(await read(await here.visit(visit.visit_id, since=left_at))) == ALL_WORDS[2:3]


async def test_who_leaves_between_two_queues_leaves_nothing_behind(watched: Watched) -> None:
    here, store = slowly(watched)
    visit = await here.start()
    watchers = [await here.visit(visit.visit_id) for _ in range(3)]
    (feed,) = here.hub._feeds.values()
    may_read = asyncio.Event()

    async def until_it_may() -> None:
        await may_read.wait()

    store.after = until_it_may
    await here.finish(visit)
    assert all(watcher.seat.is_between(watcher) for watcher in watchers)
    watchers[0].break_off()
    may_read.set()
    await here.settled()
    watchers[1].break_off()

    assert told(await read(watchers[2]))[-1] == "POSITION_UPDATE"
    assert list(feed.queues) == ["xray"]
    watchers[2].break_off()
    assert (here.hub.streams, here.hub.feeds) == (0, 0)
    assert not feed.visits
    assert not feed.queues


async def test_all_who_leave_between_two_queues_leave_nothing_behind(watched: Watched) -> None:
    here, store = slowly(watched)
    visit = await here.start()
    watcher = await here.visit(visit.visit_id)
    (feed,) = here.hub._feeds.values()
    may_read = asyncio.Event()

    async def until_it_may() -> None:
        await may_read.wait()

    store.after = until_it_may
    await here.finish(visit)
    watcher.break_off()
    may_read.set()
    await until(lambda: not feed._is_moving)

    assert (here.hub.streams, here.hub.feeds) == (0, 0)
    assert not feed.visits
    assert not feed.visits_between()


async def test_one_who_joins_while_others_are_on_the_way_is_told_where_it_is_and_they_what_they_missed(
    watched: Watched,
) -> None:
    here, store = slowly(watched)
    visit = await here.start()
    first = await here.visit(visit.visit_id)
    await read(first)
    store.before = away
    await here.finish(visit)
    await here.settled()
    store.before = None

    second = await here.visit(visit.visit_id)
    here.beat()
    await here.settled()
    await here.do(call_next("xray"))

    assert words(await read(first)) == ALL_WORDS[:3]
    assert words(await read(second)) == ALL_WORDS[2:3]


async def test_who_is_on_the_way_for_longer_than_the_ring_holds_takes_a_fresh_picture(watched: Watched) -> None:
    here, store = slowly(watched)
    visit = await here.start()
    watcher = await here.visit(visit.visit_id)
    await read(watcher)
    store.before = away
    await here.finish(visit)
    for _ in range(5):
        await asyncio.gather(*(here.take("lab") for _ in range(RING // 4)))
    store.before = None
    here.beat()
    await here.settled()

    assert watcher.is_ended


async def test_visits_that_go_on_in_one_batch_are_read_together(watched: Watched) -> None:
    here, store = slowly(watched)
    visits = [await here.start(f"visitor {number}") for number in range(20)]
    watchers = [await here.visit(visit.visit_id) for visit in visits]
    tickets = [await here.now_at(visit) for visit in visits]
    for _ in visits:
        await here.do(call_next("lab"))
    for watcher in watchers:
        await read(watcher)
    store.reads = 0

    await asyncio.gather(*(here.engine.do(here.venue.id, Finish(ticket.ticket_id)) for ticket in tickets))
    await here.settled()

    assert store.reads == 2
    assert [(await read(watcher))[-1].data["ahead"] for watcher in watchers] == list(range(20))


async def test_a_line_that_was_read_for_one_visit_is_kept_until_the_others_lines_are_read(watched: Watched) -> None:
    """Though somebody goes just then, and lines that nobody watches are forgotten."""
    here, store = slowly(watched)
    first, second = await here.start("Omar"), await here.start("Sara")
    tickets = [await here.now_at(first), await here.now_at(second)]
    watchers = [await here.visit(visit.visit_id) for visit in (first, second)]
    others = [await here.changes() for _ in range(9)]
    await here.do(call_next("lab"))

    async def somebody_goes() -> None:
        others.pop().break_off()

    store.before = somebody_goes
    await together(
        here.engine.do(here.venue.id, Finish(tickets[0].ticket_id)),
        here.engine.do(here.venue.id, Transfer(tickets[1].ticket_id, "eye")),
    )
    await here.settled()
    store.before = None
    await here.do(call_next("xray"), call_next("eye"))

    for watcher, clinic in zip(watchers, ("xray", "eye"), strict=True):
        assert words(await read(watcher))[-1] == ("YOUR_TURN", clinic)


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_read", range(1, 5))
async def test_who_joins_by_name_while_the_ticket_becomes_a_visits_is_told_nothing_of_that(
    watched: Watched, when: str, at_read: int, *, heard: bool
) -> None:
    here, store = slowly(watched)
    await watched.take("xray", "Sara")
    visit = await watched.start("Sara")
    writer, has_gone = here if heard else watched, False

    async def meanwhile() -> None:
        nonlocal has_gone
        if store.reads >= at_read and not has_gone:
            has_gone = True
            await writer.finish(visit)

    setattr(store, when, meanwhile)
    watcher = await here.clinic("xray", user="Sara", since="1.1")
    store.before = store.after = None
    store.reads = MOST_READS
    await meanwhile()
    await here.hub.poll()
    await writer.finish(visit)
    await here.hub.poll()

    assert words([one for one in await read(watcher) if one.event != "QUEUE_UPDATE"]) == []


async def test_who_is_met_by_name_while_the_ticket_becomes_a_visits_is_told_nothing_of_that(watched: Watched) -> None:
    here, store = slowly(watched)
    visit = await here.start("Sara")
    watcher = await here.clinic("xray", user="Sara")
    await read(watcher)
    await here.take("xray", "Sara")

    async def meanwhile() -> None:
        store.after = None
        await here.finish(visit)

    store.after = meanwhile
    here.beat()
    for task in tuple(here.hub._background):
        await task
    await here.finish(visit)

    assert told(await read(watcher)) == []


async def test_a_new_link_ends_the_streams_of_the_old_one(watched: Watched) -> None:
    visit = await watched.start()
    watcher, other = await watched.visit(visit.visit_id), await watched.visit((await watched.start("Omar")).visit_id)

    await watched.do(NewLink(visit.visit_id, "another"))

    assert watcher.is_ended
    assert not other.is_ended


async def away() -> None:
    raise StoreAway
