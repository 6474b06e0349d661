"""Streams stay alive, end in order, are cut off when nobody reads, and leave nothing behind."""

import asyncio
import itertools
from random import Random

import pytest

from dawr.domain.account import AccountId
from dawr.domain.errors import UnknownVenue
from dawr.domain.venue import VenueId
from dawr.live import hub as hubs
from dawr.live.hub import Hub, HubClosed, TooManyStreams
from dawr.live.joining import Wish
from dawr.live.watcher import MOST_BYTES, MOST_FRAMES
from dawr.operations.people import AddStaff
from dawr.reliability.works import Work, Works
from dawr.stores.postgres import PostgresStore
from dawr.web.api.events import NOTICES, Changes
from tests.builders import DrivenClock, a_venue
from tests.live.watching import Watched, events, hello, parsed, read, versions
from tests.servers import PostgresServer, server_directory
from tests.stores.databases import wall_clock
from tests.stores.doing import create_venue

A_LIFE = 300


async def test_the_first_bytes_say_when_to_come_again_and_where_it_begins(watched: Watched) -> None:
    waits = set()
    for _ in range(50):
        retry, first = await read(await watched.changes())
        assert first.id == "1.0"
        waits.add(int(retry.retry))

    assert min(waits) >= 1000
    assert max(waits) <= 5000
    assert len(waits) > 40


async def test_every_stream_has_a_heartbeat_every_fifteen_seconds_that_carries_the_newest_id(watched: Watched) -> None:
    watchers = [await watched.changes(queue="xray") for _ in range(40)]
    for watcher in watchers:
        await read(watcher)
    await watched.take("lab")

    beats: list[list[int]] = [[] for _ in watchers]
    for second in range(60):
        watched.beat()
        for watcher, heard in zip(watchers, beats, strict=True):
            for one in await read(watcher):
                assert one.comment
                assert one.data is None
                assert one.id == "1.1"
                heard.append(second)

    for heard in beats:
        assert len(heard) == 4
        assert heard[0] < hubs.HEARTBEAT_SECONDS
        assert {after - before for before, after in itertools.pairwise(heard)} == {hubs.HEARTBEAT_SECONDS}
    assert max(sum(second in heard for heard in beats) for second in range(60)) <= 3


async def test_a_stream_ends_in_good_order_when_its_life_is_over(watched: Watched) -> None:
    hub = Hub(watched.store, watched.clock, Random(1), stream_seconds=A_LIFE)
    loop = asyncio.get_running_loop()
    lives = []
    for _ in range(50):
        watcher = await hub.join(watched.venue.id, a_wish(watched), address="here")
        assert watcher.seat is not None
        assert watcher.seat.ends is not None
        lives.append(watcher.seat.ends.when() - loop.time())
        await read(watcher)

        watcher.end()

        assert int((await read(watcher))[-1].retry) >= 1000
        assert await watcher.take() is None
    assert min(lives) > 0.89 * A_LIFE
    assert max(lives) < 1.11 * A_LIFE
    assert max(lives) - min(lives) > 0.1 * A_LIFE
    assert (hub.streams, hub.feeds) == (0, 0)


async def test_a_life_that_is_over_ends_the_stream_by_itself(watched: Watched) -> None:
    hub = Hub(watched.store, watched.clock, Random(1), stream_seconds=0)
    watcher = await hub.join(watched.venue.id, a_wish(watched), address="here")

    body = b""
    while (more := await watcher.take()) is not None:
        body += more

    assert parsed(body)[-1].retry
    assert hub.streams == 0


async def test_who_does_not_read_is_cut_off_and_delays_nobody(watched: Watched) -> None:
    frozen, reading = await watched.changes(), await watched.changes()
    cut = []
    frozen.cut = lambda: cut.append("frozen")
    frozen.sending_since = 0.0
    seen = versions(await read(reading))

    for _ in range(MOST_FRAMES + 1):
        await watched.take()
        seen += versions(await read(reading))

    assert frozen.is_ended
    assert cut == ["frozen"]
    assert not frozen._frames
    assert seen == list(range(MOST_FRAMES + 2))
    assert watched.hub.streams == 1


async def test_a_buffer_is_bounded_by_its_bytes_too(watched: Watched) -> None:
    watcher = await watched.changes()

    watcher.push(b"x" * (MOST_BYTES // 2))
    assert not watcher.is_ended
    watcher.push(b"x" * MOST_BYTES)

    assert watcher.is_ended


async def test_a_thousand_missed_changes_do_not_count_against_the_bound(watched: Watched) -> None:
    for _ in range(4):
        await asyncio.gather(*(watched.take() for _ in range(250)))
    watcher = await watched.changes(since="1.0")

    for _ in range(MOST_FRAMES - 1):
        await watched.take()

    assert not watcher.is_ended
    assert len(versions(await read(watcher))) == 1001 + MOST_FRAMES - 1


async def test_a_reader_who_blocks_a_heartbeat_for_thirty_seconds_is_cut_off(watched: Watched) -> None:
    watcher, slow = await watched.changes(), await watched.changes()
    cut = []
    watcher.cut = lambda: cut.append("blocked")
    watcher.sending_since = 100.0
    slow.sending_since = 120.0

    for second in range(15):
        watched.hub.beat(131.0 + second)

    assert cut == ["blocked"]
    assert watcher.is_ended
    assert not slow.is_ended


async def test_a_disconnect_leaves_nothing_behind(watched: Watched) -> None:
    ticket = await watched.take(visitor="Sara")
    watchers = [
        await watched.changes(),
        await watched.changes(queue="lab", staff=True),
        await watched.clinic(user="Sara"),
        await watched.clinic(user="Omar"),
        await watched.place(ticket),
    ]
    (feed,) = watched.hub._feeds.values()

    for watcher in watchers:
        watcher.break_off()

    assert (watched.hub.streams, watched.hub.feeds) == (0, 0)
    assert not feed.channels
    assert not feed.queues
    assert not watched.hub._counted
    assert not any(watched.hub._buckets)


async def test_a_commit_that_nobody_watches_is_not_kept(watched: Watched) -> None:
    await watched.take()

    assert watched.hub.feeds == 0


async def test_closing_ends_every_stream_and_lets_nobody_join(watched: Watched) -> None:
    watchers = [await watched.changes() for _ in range(10)]
    frozen = await watched.changes()
    cut = []
    frozen.cut, frozen.sending_since = lambda: cut.append("frozen"), 0.0

    watched.hub.close()

    for watcher in watchers:
        assert (await read(watcher))[-1].retry
        assert await watcher.take() is None
    assert cut == ["frozen"]
    with pytest.raises(HubClosed):
        await watched.changes()


async def test_one_address_has_so_many_streams_and_no_more(watched: Watched) -> None:
    hub = Hub(watched.store, watched.clock, Random(1), most_per_address=3)
    watchers = [await hub.join(watched.venue.id, a_wish(watched), address="192.0.2.1") for _ in range(3)]

    with pytest.raises(TooManyStreams):
        await hub.join(watched.venue.id, a_wish(watched), address="192.0.2.1")
    await hub.join(watched.venue.id, a_wish(watched), address="192.0.2.2")
    watchers[0].break_off()
    await hub.join(watched.venue.id, a_wish(watched), address="192.0.2.1")

    assert hub.streams == 4


async def test_who_could_not_join_does_not_count(watched: Watched) -> None:
    for _ in range(3):
        with pytest.raises(UnknownVenue):
            await watched.hub.join(VenueId("nowhere"), a_wish(watched), address="192.0.2.1")

    assert not watched.hub._counted


async def test_what_staff_see_ends_when_the_staff_change_so_that_they_are_judged_again(watched: Watched) -> None:
    as_staff, as_anybody = await watched.changes(staff=True), await watched.changes()

    await watched.do(AddStaff(AccountId("a"), "sara", "staff", None))

    assert as_staff.is_ended
    assert not as_anybody.is_ended
    sent = await read(as_anybody)
    assert "sara" not in str(sent)
    assert sent[-1].id == "1.1"
    assert sent[-1].data is None


async def test_staff_see_who_and_why_and_others_do_not(watched: Watched) -> None:
    as_staff, as_anybody = await watched.changes(staff=True), await watched.changes()

    ticket = await watched.take(visitor="Sara")

    assert (await read(as_staff))[-1].data["ticket"] == ticket.ticket_id
    shown = (await read(as_anybody))[-1].data
    assert shown.keys() == {"kind", "at", "queue", "number", "label", "state", "day", "round", "line"}
    assert "Sara" not in str(shown)


async def test_a_store_that_is_away_is_said_once_and_so_is_its_return(clock: DrivenClock) -> None:
    with server_directory() as directory, PostgresServer(directory) as server, server.lend_database() as url:
        store = await PostgresStore.open(url, clock=wall_clock)
        await store.migrate()
        venue = await create_venue(store, a_venue())
        hub = Hub(store, clock, Random(1))
        watcher = await hub.join(
            venue.id, Wish(hello, NOTICES, Changes(venue.slug, None, is_staffs=False)), address="x"
        )
        await read(watcher)

        server.kill()
        await hub.poll()
        await hub.poll()
        away = await read(watcher)
        for _ in range(15):
            hub.beat(0.0)
        beats = await read(watcher)
        server.start()
        while any(feed.is_stale for feed in hub._feeds.values()):
            await hub.poll()

        assert events(away) == ["stale"]
        assert [one.comment for one in beats] == [True]
        assert events(await read(watcher)) == ["fresh"]
        hub.close()
        await store.close()


async def test_a_store_that_goes_away_while_staff_are_judged_ends_nobody(clock: DrivenClock) -> None:
    with server_directory() as directory, PostgresServer(directory) as server, server.lend_database() as url:
        store = await PostgresStore.open(url, clock=wall_clock)
        await store.migrate()
        venue = await create_venue(store, a_venue())
        hub = Hub(store, clock, Random(1))
        asked = 0

        async def still_may() -> bool:
            nonlocal asked
            asked += 1
            if asked == 1:
                server.kill()
            return await store.accounts.signed_in("of nobody", clock(), idle_ms=1000) is not None

        form = Changes(venue.slug, None, is_staffs=True)
        watcher = await hub.join(venue.id, Wish(hello, NOTICES, form, still_may=still_may), address="x")

        await hub.poll()
        assert (asked, watcher.is_ended) == (1, False)
        await hub.poll()
        assert (asked, watcher.is_ended) == (1, False)
        server.start()
        while asked == 1:
            await hub.poll()

        assert watcher.is_ended
        hub.close()
        await store.close()


async def test_while_it_runs_it_polls_by_itself(watched: Watched) -> None:
    watcher = await watched.changes()
    await watched.another().take()
    await read(watcher)

    async with Works([Work(name="poll", run=watched.hub.poll, every=0.01)]).running():
        body = parsed(await watcher.take() or b"")

    assert events(body) == ["ticket.issued"]


def a_wish(watched: Watched) -> Wish:
    return Wish(hello, NOTICES, Changes(watched.venue.slug, None, is_staffs=False))
