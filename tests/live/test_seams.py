"""Commits fall into every gap between asking the store and joining a stream. Nothing is missed, nothing comes twice."""

import itertools
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from dawr.live.feed import RING, Unresumable
from dawr.live.watcher import Watcher
from dawr.operations.operation import Operation
from dawr.operations.staff import Finish, Start
from tests.builders import call_next
from tests.live.seams import slowly
from tests.live.watching import Watched, last_id, read, told, versions
from tests.stores.doing import EVERY_EVENT

MOST_READS = 12

Join = Callable[[Watched], Awaitable[Watcher]]
STREAMS: dict[str, Join] = {
    "changes": lambda here: here.changes(),
    "changes resumed": lambda here: here.changes(since="1.2"),
    "clinic": lambda here: here.clinic(),
    "clinic resumed": lambda here: here.clinic(since="1.2"),
    "clinic with a visitor": lambda here: here.clinic(user="Sara"),
    "clinic with a visitor resumed": lambda here: here.clinic(user="Sara", since="1.2"),
}


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("stream", STREAMS)
async def test_a_commit_in_any_gap_is_seen_once(watched: Watched, stream: str, when: str, *, heard: bool) -> None:
    here, store = slowly(watched)
    for visitor in ("Omar", "Sara", None):
        await watched.take(visitor=visitor)
    writer = here if heard else watched

    async def meanwhile() -> None:
        if store.reads < MOST_READS:
            await writer.take()

    setattr(store, when, meanwhile)
    watcher = await STREAMS[stream](here)
    store.before = store.after = None
    await here.hub.poll()
    await writer.take()
    await here.hub.poll()

    sent = [one for one in await read(watcher) if one.event != "hello"]
    stored = len(await watched.engine.events_after(watched.venue.id, 0, most=EVERY_EVENT))
    shown = [one for one in sent if one.event in {"QUEUE_UPDATE", "ticket.issued"}]
    seen = list(dict.fromkeys(versions(shown)))
    first = 3 if "resumed" in stream else seen[0]
    assert stored > 4
    assert seen == list(range(first, stored + 1))
    assert len(versions(shown)) - len(seen) <= ("clinic" in stream)
    line = [one.data.get("waiting", one.data.get("line", {}).get("waiting")) for one in shown]
    assert line == [int(one.id.partition(".")[2]) for one in shown]


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_read", range(1, 6))
async def test_a_visitor_is_told_of_their_turn_once_whenever_it_comes(
    watched: Watched, when: str, at_read: int, *, heard: bool
) -> None:
    here, store = slowly(watched)
    sara = await watched.take(visitor="Sara")
    writer = here if heard else watched
    steps: Iterator[Operation[Any]] = iter([call_next(), Start(sara.ticket_id), Finish(sara.ticket_id)])

    async def meanwhile() -> None:
        if store.reads >= at_read:
            for step in itertools.islice(steps, 1):
                await writer.engine.do(watched.venue.id, step)

    setattr(store, when, meanwhile)
    watcher = await here.clinic(user="Sara", since="1.1")
    store.before = store.after = None
    for step in steps:
        await writer.engine.do(watched.venue.id, step)
    await here.hub.poll()

    words = [word for word in told(await read(watcher)) if word != "POSITION_UPDATE"]
    assert words == ["YOUR_TURN", "IN_SERVICE", "STEP_DONE_NEXT"]


async def test_who_is_overtaken_by_more_than_the_ring_holds_while_joining_takes_a_fresh_picture(
    watched: Watched,
) -> None:
    here, store = slowly(watched)
    await watched.take()
    first = await here.changes()

    async def a_flood() -> None:
        store.after = None
        for _ in range(RING + 1):
            await here.take()
            await read(first)

    store.after = a_flood

    with pytest.raises(Unresumable):
        await here.clinic(since="1.1")


async def test_a_line_that_is_watched_already_shows_what_was_before_it_to_who_resumes(watched: Watched) -> None:
    for _ in range(6):
        await watched.take()
    restarted = watched.another()
    await restarted.clinic()

    again = await read(await restarted.clinic(since="1.2"))

    assert versions([one for one in again if one.event == "QUEUE_UPDATE"]) == [3, 4, 5, 6, 6]


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("at_read", range(1, 5))
async def test_a_visitor_who_enters_while_they_join_is_found(watched: Watched, at_read: int, *, heard: bool) -> None:
    here, store = slowly(watched)
    writer = here if heard else watched

    async def meanwhile() -> None:
        if store.reads == at_read:
            await writer.take(visitor="Sara")

    store.after = meanwhile
    watcher = await here.clinic(user="Sara")
    if store.reads < at_read:
        await writer.take(visitor="Sara")
    await here.hub.poll()
    here.beat()
    for task in tuple(here.hub._background):
        await task

    assert told(await read(watcher)) == ["NEAR_TURN", "POSITION_UPDATE"]


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "of another process"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at_read", range(1, 4))
async def test_a_turn_that_comes_while_a_visitor_joins_is_told_once(
    watched: Watched, when: str, at_read: int, *, heard: bool
) -> None:
    here, store = slowly(watched)
    sara = await watched.take(visitor="Sara")
    writer = here if heard else watched

    async def meanwhile() -> None:
        if store.reads == at_read:
            store.reads += 10
            await writer.do(call_next())

    setattr(store, when, meanwhile)
    place, clinic = await here.place(sara), await here.clinic(user="Sara")
    await meanwhile()
    await here.hub.poll()

    words = told(await read(clinic))
    assert words.count("YOUR_TURN") == 1
    assert words[-1] in {"YOUR_TURN", "POSITION_UPDATE"}
    states = [one.data["state"] for one in await read(place) if one.data]
    assert states in (["called"], ["waiting", "called"])


async def test_what_commits_while_a_feed_opens_is_seen_without_another_poll(watched: Watched) -> None:
    here, store = slowly(watched)

    async def meanwhile() -> None:
        if store.reads == 1:
            await here.take()

    store.after = meanwhile

    assert await last_id(await here.changes()) == "1.1"
