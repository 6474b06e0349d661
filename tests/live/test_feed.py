"""Every change once, in order, without a gap: also where a stream is joined, and whoever wrote it."""

import asyncio

import pytest

from dawr.domain.errors import UnknownVenue
from dawr.domain.venue import VenueId
from dawr.live import feed as feeds
from dawr.live.feed import Unresumable
from dawr.live.joining import Wish
from dawr.live.past import Past
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.staff import Finish
from dawr.web.api.events import NOTICES
from dawr.web.doors.clinic_stream import QueueUpdates
from tests.builders import call_next
from tests.live.watching import Sent, Watched, events, hello, last_id, read, versions
from tests.stores.databases import Database
from tests.stores.doing import EVERY_EVENT

MANY = 40


async def test_a_change_is_pushed_when_it_is_committed(watched: Watched) -> None:
    watcher = await watched.changes()
    await read(watcher)

    await watched.take()
    await watched.do(call_next())

    sent = await read(watcher)
    assert events(sent) == ["ticket.issued", "ticket.called"]
    assert [one.id for one in sent] == ["1.1", "1.2"]


async def test_nothing_is_missed_or_doubled_where_a_stream_is_joined(watched: Watched) -> None:
    """People take numbers without a pause while others join, again and again, from now and from an id."""
    enough = asyncio.Event()

    async def come() -> None:
        while not enough.is_set():
            await watched.take()

    coming = [asyncio.create_task(come()) for _ in range(4)]
    watchers = []
    for turn in range(MANY):
        since = None if turn % 2 else f"1.{turn // 2}"
        watchers.append(await watched.changes(since=since))
        await watched.take()
    enough.set()
    await asyncio.gather(*coming)

    last = len(await watched.engine.events_after(watched.venue.id, 0, most=EVERY_EVENT))
    for turn, watcher in enumerate(watchers):
        seen = versions(await read(watcher))
        begin = seen[0]
        assert turn % 2 or begin == turn // 2
        assert seen == list(range(begin, last + 1))


async def test_nothing_is_missed_where_a_stream_is_joined_that_another_process_writes(watched: Watched) -> None:
    elsewhere = watched.another()
    enough = asyncio.Event()

    async def come() -> None:
        while not enough.is_set():
            await elsewhere.take()

    coming = asyncio.create_task(come())
    watchers = []
    for turn in range(MANY):
        await elsewhere.take()
        watchers.append(await (watched.changes() if turn % 2 else watched.clinic(since="1.0")))
        if turn % 10 == 0:
            await watched.hub.poll()
    enough.set()
    await coming
    await watched.hub.poll()

    last = len(await watched.engine.events_after(watched.venue.id, 0, most=EVERY_EVENT))
    for turn, watcher in enumerate(watchers):
        sent = [one for one in await read(watcher) if one.event != "hello" or turn % 2]
        seen = list(dict.fromkeys(versions(sent)))
        assert seen == list(range(seen[0] if turn % 2 else 1, last + 1))


async def test_two_hundred_watchers_see_the_same_while_others_commit(watched: Watched) -> None:
    watchers = [await watched.changes(queue="lab") for _ in range(200)]

    async def commit(turn: int) -> None:
        await watched.take("lab" if turn % 3 else "xray")

    await asyncio.gather(*(commit(turn) for turn in range(60)))

    stored = await watched.engine.events_after(watched.venue.id, 0, most=EVERY_EVENT)
    of_lab = [event.version for event in stored if event.queue_id == "lab"]
    for watcher in watchers:
        assert versions(await read(watcher))[1:] == of_lab


async def test_a_commit_goes_out_as_one_piece_of_bytes_that_all_share(watched: Watched) -> None:
    first, second = await watched.changes(), await watched.changes()
    await read(first)
    await read(second)

    await asyncio.gather(*(watched.take() for _ in range(20)))

    assert len(first._frames) == 1
    assert first._frames[0] is second._frames[0]
    assert len(await read(first)) == 20


async def test_more_changes_in_one_commit_than_a_buffer_has_frames_close_nobody(watched: Watched) -> None:
    watcher = await watched.changes()

    await asyncio.gather(*(watched.take() for _ in range(250)))
    await asyncio.gather(*(watched.take() for _ in range(250)))

    assert not watcher.is_ended
    assert versions(await read(watcher)) == [0, *range(1, 501)]


async def test_a_stream_resumes_after_its_last_id(watched: Watched) -> None:
    watcher = await watched.changes()
    await watched.take()
    left_at = await last_id(watcher)
    watcher.break_off()
    await watched.take()
    await watched.do(call_next())

    again = await read(await watched.changes(since=left_at))

    assert again[1].id == left_at
    assert events(again) == ["hello", "ticket.issued", "ticket.called"]
    assert versions(again)[1:] == [2, 3]


async def test_a_stream_resumes_in_a_process_that_was_not_there_before(watched: Watched) -> None:
    for _ in range(30):
        await watched.take()

    restarted = watched.another()
    watchers = [await restarted.changes(since="1.7") for _ in range(20)]

    for watcher in watchers:
        assert versions(await read(watcher)) == list(range(7, 31))


async def test_all_who_resume_at_once_share_one_look_into_the_past(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(10):
        await watched.take()
    restarted, looks = watched.another(), 0
    look = Past.since

    async def counted(past: Past, *given: VenueId, **asked: int) -> object:
        nonlocal looks
        looks += 1
        return await look(past, *given, **asked)  # type: ignore[arg-type]

    monkeypatch.setattr(Past, "since", counted)

    watchers = await asyncio.gather(*(restarted.changes(since=f"1.{turn % 10}") for turn in range(50)))

    assert looks == 2
    for turn, watcher in enumerate(watchers):
        assert versions(await read(watcher)) == list(range(turn % 10, 11))


@pytest.mark.parametrize("since", ["2.1", "1.4", "0.0", "1.999999999999999999"])
async def test_an_id_of_another_epoch_or_of_no_event_cannot_be_resumed(watched: Watched, since: str) -> None:
    for _ in range(3):
        await watched.take()

    with pytest.raises(Unresumable):
        await watched.changes(since=since)


async def test_an_id_that_is_too_old_cannot_be_resumed(watched: Watched) -> None:
    for _ in range(4):
        await asyncio.gather(*(watched.take() for _ in range(251)))
    behind = 4 * 251 - feeds.FARTHEST_BEHIND

    with pytest.raises(Unresumable):
        await watched.changes(since=f"1.{behind - 1}")
    assert versions(await read(await watched.changes(since=f"1.{behind}"))) == list(range(behind, 4 * 251 + 1))


async def test_the_ring_stays_bounded_and_what_it_lost_is_read_again(watched: Watched) -> None:
    watcher = await watched.changes()
    for _ in range(5):
        await asyncio.gather(*(watched.take() for _ in range(250)))
        await read(watcher)

    (feed,) = watched.hub._feeds.values()
    assert len(feed.ring) == feeds.RING
    assert versions(await read(await watched.changes(since="1.400"))) == list(range(400, 1251))


async def test_events_without_the_counts_of_their_line_lead_to_a_fresh_picture(
    watched: Watched, database: Database
) -> None:
    """As they were stored before there was a live stream."""
    for _ in range(3):
        await watched.take()
    old = '{"number":2,"label":"A002","day":"2026-03-02","round":1,"priority":0,"sequence":2,"state":"waiting"}'
    await database.rows(f"UPDATE events SET data = '{old}' WHERE version = 2")

    with pytest.raises(Unresumable):
        await watched.changes(since="1.1")
    assert versions(await read(await watched.changes(since="1.2"))) == [2, 3]


async def test_what_another_process_wrote_is_found_by_polling(watched: Watched) -> None:
    elsewhere = watched.another()
    watcher = await watched.changes()
    await elsewhere.take()
    await elsewhere.take()
    assert events(await read(watcher)) == ["hello"]

    await watched.hub.poll()

    assert versions(await read(watcher)) == [1, 2]


async def test_a_gap_that_others_left_is_read_before_what_comes_after_it(watched: Watched) -> None:
    elsewhere = watched.another()
    watcher = await watched.changes()
    await read(watcher)
    await elsewhere.take()

    await watched.take()
    await watched.take()
    (feed,) = watched.hub._feeds.values()
    assert feed._catching_up is not None
    await feed._catching_up

    assert versions(await read(watcher)) == [1, 2, 3]


async def test_two_processes_write_and_both_their_watchers_see_everything_in_order(watched: Watched) -> None:
    here, there = watched, watched.another()
    watchers = [await here.changes(), await there.changes()]

    await asyncio.gather(*((here if turn % 2 else there).take() for turn in range(40)))
    await here.hub.poll()
    await there.hub.poll()

    for watcher in watchers:
        assert versions(await read(watcher)) == list(range(41))


async def test_a_queue_shows_its_own_changes_and_the_venues(watched: Watched) -> None:
    watcher = await watched.changes(queue="lab")

    await watched.take("xray")
    await watched.take("lab")
    await watched.do(ChangeQueue("xray", "pause"), ChangeQueue("lab", "pause"), Reset("lab"))

    sent = (await read(watcher))[2:]
    assert [(one.event, one.data["queue"].partition(":")[2]) for one in sent] == [
        ("ticket.issued", "lab"),
        ("queue.paused", "lab"),
        ("queue.reset", "lab"),
    ]
    assert sent[1].data["state"] == "paused"
    assert sent[2].data["round"] == 2


async def test_a_restored_copy_ends_its_streams_so_that_they_take_a_fresh_picture(
    watched: Watched, database: Database
) -> None:
    watcher = await watched.changes()
    await watched.take()
    await database.rows("UPDATE heads SET epoch = 77")

    await watched.hub.poll()

    assert watcher.is_ended
    assert versions(await read(watcher))[-1] == 1
    with pytest.raises(Unresumable):
        await watched.changes(since="1.1")
    assert await last_id(await watched.changes()) == "77.1"


async def test_a_line_follows_a_reset_and_what_ended_with_it_is_not_shown(watched: Watched) -> None:
    watcher = await watched.clinic("lab")
    first = await watched.take()
    await watched.do(call_next(), Reset("lab"))
    await watched.do(Finish(first.ticket_id))
    await watched.take()

    expected = [
        ("1.0", None, 0, 0),
        ("1.1", None, 1, 1),
        ("1.2", 1, 1, 0),
        ("1.3", None, 0, 0),
        ("1.5", None, 1, 1),
    ]
    assert line_updates(await read(watcher)) == expected
    assert line_updates(await read(await watched.clinic("lab", since="1.0")))[:-1] == expected[1:]
    assert line_updates(await read(await watched.another().clinic("lab", since="1.0")))[:-1] == expected[1:]


async def test_a_line_begins_anew_with_the_day(watched: Watched) -> None:
    """Also when the first that happens on the new day concerns somebody of the old one."""
    first = await watched.take()
    await watched.do(call_next())
    watcher = await watched.clinic("lab")
    watched.clock.advance(days=1)

    await watched.do(Finish(first.ticket_id))
    await watched.take()

    assert line_updates(await read(watcher)) == [("1.2", 1, 1, 0), ("1.3", None, 0, 0), ("1.4", None, 1, 1)]


async def test_a_stream_of_a_venue_that_is_not_there_is_refused(watched: Watched) -> None:
    with pytest.raises(UnknownVenue):
        await watched.hub.join(
            VenueId("nowhere"), Wish(hello, NOTICES, QueueUpdates(watched.venue.queues[0].id)), address="here"
        )
    assert watched.hub.feeds == 0


def line_updates(sent: list[Sent]) -> list[tuple[str, int | None, int, int]]:
    return [
        (one.id, one.data["current"], one.data["length"], one.data["waiting"])
        for one in sent
        if one.event == "QUEUE_UPDATE"
    ]
