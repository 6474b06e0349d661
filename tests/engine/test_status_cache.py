"""How a queue stands, kept for a moment: nobody who was answered is shown what was before."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog

from dawr.bootstrap import system
from dawr.domain.availability import availability
from dawr.domain.errors import UnknownQueue
from dawr.domain.hours import Hours
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.engine.status_cache import KEPT_MS, StatusCache
from dawr.operations.admin import ChangeQueue, Reset, SetUp
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk, VenueSnapshot
from dawr.operations.operation import Operation
from dawr.operations.snapshots import QueueSnapshot
from dawr.ports import Changes
from dawr.reliability.shared import Shared
from dawr.stores.sqlite import SqliteStore
from tests.builders import Cache, DrivenClock, Told, a_desk, a_head, a_queue, a_venue, call_next, issue
from tests.reliability.caching import Counted, sharing
from tests.servers import ValkeyServer, server_directory


class Watched(msgspec.Struct, frozen=True):
    """A clinic, and somebody who status_cache at it."""

    engine: Engine
    status_cache: StatusCache
    store: SqliteStore
    venue: Venue
    clock: DrivenClock
    counted: Counted

    async def look(self, queue: str = "lab") -> "Shown":
        said = await self.status_cache.at_queue(self.engine, self.venue.id, queue, "test", shown)
        return msgspec.json.decode(said, type=Shown)

    async def waiting(self, queue: str = "lab") -> int:
        return (await self.look(queue)).waiting

    async def look_at_venue(self) -> str:
        said = await self.status_cache.at_venue(
            self.engine, self.venue.id, "test", lambda seen: seen.venue.name["en"].encode()
        )
        return said.decode()

    async def desks(self) -> list[str]:
        """How each desk stands, as whoever looks at the venue sees it."""
        said = await self.status_cache.at_venue(
            self.engine, self.venue.id, "desks", lambda seen: ",".join(desk.state for desk in seen.desks).encode()
        )
        return said.decode().split(",")

    async def lines(self) -> list[int]:
        """How many wait in each queue, as whoever looks at the venue sees it."""
        said = await self.status_cache.at_venue(
            self.engine, self.venue.id, "lines", lambda seen: bytes(line.people_waiting for line in seen.lines)
        )
        return list(said)

    async def joinable(self) -> list[bool]:
        """Whether people may join: asked of a queue, and of the venue."""

        def of_queue(venue: Venue, seen: QueueSnapshot) -> bytes:
            return bytes([availability(venue, seen.queue, seen.line, seen.now).joinable])

        def of_venue(seen: VenueSnapshot) -> bytes:
            return bytes([availability(seen.venue, seen.venue.queues[0], seen.lines[0], seen.now).joinable])

        queue = await self.status_cache.at_queue(self.engine, self.venue.id, "lab", "joinable", of_queue)
        venue = await self.status_cache.at_venue(self.engine, self.venue.id, "joinable", of_venue)
        return [bool(queue[0]), bool(venue[0])]


class Shown(msgspec.Struct):
    waiting: int
    state: str
    day: str
    room: str | None


def shown(_: Venue, seen: QueueSnapshot) -> bytes:
    return msgspec.json.encode(Shown(seen.line.people_waiting, seen.queue.state, seen.line.day, seen.queue.room))


@pytest.fixture(params=["memory", "shared"])
async def watched(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Watched]:
    shared: Shared | None = None
    async with AsyncExitStack() as stack:
        if request.param == "shared":
            valkey: ValkeyServer = request.getfixturevalue("valkey_server")
            shared = await stack.enter_async_context(sharing(valkey.url))
        yield await stack.enter_async_context(a_watched_clinic(tmp_path, shared))


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Watched]:
    """Kept in this process, where the clock can be driven."""
    async with a_watched_clinic(tmp_path, None) as watched:
        yield watched


class a_watched_clinic:  # noqa: N801 - read as a function
    def __init__(self, directory: Path, shared: Shared | None) -> None:
        self._directory = directory
        self._shared = shared

    async def __aenter__(self) -> Watched:
        clock, counted = DrivenClock(), Counted()
        store = SqliteStore(self._directory / "dawr.sqlite", clock=clock)
        await store.migrate()
        desks = (a_desk("desk-1", "lab", "eye"), a_desk("desk-2", "eye"))
        venue = a_venue(a_queue("lab", aliases=("laboratory",)), a_queue("eye"), desks=desks)
        await store.add_venue(venue, a_head(venue))
        status_cache = StatusCache.kept(self._shared, clock, system.correlation_id, counted)
        engine = Engine(store, clock, caches=[status_cache])
        self._watched = Watched(engine, status_cache, store, venue, clock, counted)
        return self._watched

    async def __aexit__(self, *_: object) -> None:
        await self._watched.engine.stop()
        await self._watched.status_cache.close()
        await self._watched.store.close()


async def test_a_hundred_who_look_at_once_ask_the_store_once(watched: Watched) -> None:
    seen = await asyncio.gather(*(watched.waiting() for _ in range(100)))
    seen += await asyncio.gather(*(watched.waiting() for _ in range(100)))

    assert seen == [0] * 200
    assert (watched.counted.words["miss"], watched.counted.words["hit"]) == (100, 100)


async def test_whoever_was_answered_is_shown_what_they_wrote(watched: Watched) -> None:
    """However many look at the same time, and so have it kept."""
    stop = asyncio.Event()

    async def look_again_and_again() -> None:
        while not stop.is_set():
            await watched.look()
            await asyncio.sleep(0)

    async def take(_: int) -> None:
        number = (await watched.engine.do(watched.venue.id, issue())).ticket.number
        assert await watched.waiting() >= number

    looking = [asyncio.create_task(look_again_and_again()) for _ in range(5)]
    for turn in range(20):
        await asyncio.gather(*(take(turn) for _ in range(5)))
    stop.set()
    await asyncio.gather(*looking)

    assert await watched.waiting() == 100


async def test_a_change_of_one_queue_leaves_the_others_kept(watched: Watched) -> None:
    await watched.look("eye")

    await watched.engine.do(watched.venue.id, issue("lab"))
    await watched.look("eye")

    assert watched.counted.words == {"miss": 1, "hit": 1}


async def test_every_change_of_a_queue_is_shown_at_once(watched: Watched) -> None:
    seen = [await watched.look()]
    operations: list[Operation[Any]] = [issue(), issue(), call_next(), Reset("lab")]
    for operation in operations:
        await watched.engine.do(watched.venue.id, operation)
        seen.append(await watched.look())

    assert [look.waiting for look in seen] == [0, 1, 2, 1, 0]


async def test_a_changed_set_up_is_shown_at_once_at_every_queue_and_of_the_venue(watched: Watched) -> None:
    before = [(await watched.look("lab")).room, (await watched.look("eye")).room, await watched.look_at_venue()]
    moved = tuple(msgspec.structs.replace(queue, room="7") for queue in watched.venue.queues)

    await watched.engine.do(
        watched.venue.id, SetUp(msgspec.structs.replace(watched.venue, name={"en": "Renamed"}, queues=moved))
    )

    after = [(await watched.look("lab")).room, (await watched.look("eye")).room, await watched.look_at_venue()]
    assert before == [None, None, "A venue"]
    assert after == ["7", "7", "Renamed"]


async def test_every_change_of_any_queue_is_shown_at_once_at_the_venue(watched: Watched) -> None:
    seen = [await watched.lines()]
    operations: list[Operation[Any]] = [issue("lab"), issue("eye"), issue("eye"), call_next("lab")]
    for operation in operations:
        await watched.engine.do(watched.venue.id, operation)
        seen.append(await watched.lines())
    again = await watched.lines()

    assert [*seen, again] == [[0, 0], [1, 0], [1, 1], [1, 2], [0, 2], [0, 2]]
    assert watched.counted.words == {"miss": 5, "hit": 1}


async def test_a_desk_that_opens_takes_a_break_or_closes_outdates_every_queue_it_serves(watched: Watched) -> None:
    seen = [await watched.desks()]
    await watched.look("lab")
    await watched.look("eye")

    for step in (OpenDesk("desk-1"), BreakDesk("desk-1", watched.clock() + 60_000), CloseDesk("desk-1")):
        await watched.engine.do(watched.venue.id, step)
        misses = watched.counted.words["miss"]
        await watched.look("lab")
        await watched.look("eye")
        assert watched.counted.words["miss"] == misses + 2
        seen.append(await watched.desks())

    assert [one for one, _ in seen] == ["closed", "open", "break", "closed"]


async def test_a_desk_that_stays_as_it_is_outdates_nothing(watched: Watched) -> None:
    await watched.engine.do(watched.venue.id, OpenDesk("desk-1"))
    await watched.look("lab")
    misses = watched.counted.words["miss"]

    await watched.engine.do(watched.venue.id, OpenDesk("desk-1"))
    await watched.look("lab")

    assert watched.counted.words["miss"] == misses


async def test_a_queue_that_was_paused_is_shown_paused(watched: Watched) -> None:
    await watched.look()

    await watched.engine.do(watched.venue.id, ChangeQueue("lab", "pause"))

    assert (await watched.look()).state == "paused"


async def test_a_queue_is_kept_once_by_all_its_names(watched: Watched) -> None:
    for name in ("lab", "LAB", "laboratory", "Laboratory"):
        await watched.look(name)
    await watched.engine.do(watched.venue.id, issue("laboratory"))

    assert [await watched.waiting(name) for name in ("lab", "laboratory")] == [1, 1]
    assert watched.counted.words == {"miss": 2, "hit": 4}


async def test_a_name_that_was_given_to_another_queue_shows_that_queue(watched: Watched) -> None:
    await watched.engine.do(watched.venue.id, issue("lab"))
    before = await watched.waiting("laboratory")
    lab, eye = watched.venue.queues
    queues = (
        msgspec.structs.replace(lab, aliases=()),
        msgspec.structs.replace(eye, aliases=("laboratory",)),
    )

    await watched.engine.do(watched.venue.id, SetUp(msgspec.structs.replace(watched.venue, queues=queues)))

    assert (before, await watched.waiting("laboratory")) == (1, 0)


async def test_a_queue_that_is_not_there_is_not_remembered_so(watched: Watched) -> None:
    """It may be made by another process, of which this one is not told."""
    with pytest.raises(UnknownQueue):
        await watched.look("dental")

    elsewhere = Engine(watched.store, watched.clock)
    queues = (*watched.venue.queues, a_queue("dental"))
    await elsewhere.do(watched.venue.id, SetUp(msgspec.structs.replace(watched.venue, queues=queues)))

    assert await watched.waiting("dental") == 0
    await elsewhere.stop()


async def test_what_depends_on_the_clock_is_no_older_than_what_is_kept(here: Watched) -> None:
    day = (await here.look()).day

    here.clock.advance(days=1)

    assert (await here.look()).day > day


@pytest.mark.parametrize("before_ms", [1, KEPT_MS - 1])
async def test_from_closing_time_on_nobody_is_told_that_a_queue_is_open(here: Watched, before_ms: int) -> None:
    """The clock stands still while the answer is asked for again and again, so it is kept."""
    hours = Hours(week=(((8 * 60, 12 * 60),),) * 7)
    queues = tuple(msgspec.structs.replace(queue, hours=hours) for queue in here.venue.queues)
    await here.engine.do(here.venue.id, SetUp(msgspec.structs.replace(here.venue, queues=queues)))
    here.clock.advance(hours=2, ms=-before_ms)
    open_still = [await here.joinable() for _ in range(2)]

    here.clock.advance(ms=before_ms)

    assert open_still == [[True, True]] * 2
    assert [await here.joinable() for _ in range(2)] == [[False, False]] * 2


async def test_what_another_process_changed_untold_is_shown_in_time(here: Watched) -> None:
    elsewhere = Engine(here.store, here.clock)
    await here.look()
    await elsewhere.do(here.venue.id, issue())

    here.clock.advance(ms=KEPT_MS)

    assert await here.waiting() == 1
    await elsewhere.stop()


# The engine


async def test_answers_wait_until_what_was_is_let_go(here: Watched) -> None:
    go, begun = asyncio.Event(), asyncio.Event()
    told: list[str] = []

    async def outdate(_: list[Changes]) -> None:
        told.append("outdated")
        begun.set()
        await go.wait()

    engine = Engine(here.store, here.clock, caches=[Cache(outdate)], listeners=[Told(lambda _: told.append("told"))])
    asking = asyncio.create_task(engine.do(here.venue.id, issue()))
    await begun.wait()
    for _ in range(10):
        await asyncio.sleep(0)

    assert not asking.done()
    go.set()
    await asking
    await engine.stop()
    assert told == ["outdated", "told"]


async def test_what_changed_nothing_lets_nothing_go(here: Watched) -> None:
    told: list[list[Changes]] = []

    async def outdate(changed: list[Changes]) -> None:
        told.append(changed)

    engine = Engine(here.store, here.clock, caches=[Cache(outdate)])
    await engine.do(here.venue.id, call_next())
    await engine.stop()

    assert told == []


async def test_what_cannot_be_let_go_fails_nobody(here: Watched) -> None:
    async def fail(_: list[Changes]) -> None:
        raise RuntimeError("a fault of its own")

    engine = Engine(here.store, here.clock, caches=[Cache(fail)])
    with structlog.testing.capture_logs() as lines:
        place = await engine.do(here.venue.id, issue())
    await engine.stop()

    assert place.ticket.number == 1
    assert [line["event"] for line in lines] == ["cache.not-outdated"]


# The shared store away


async def test_answers_wait_for_a_frozen_server_for_a_moment_only(tmp_path: Path) -> None:
    with server_directory() as directory, ValkeyServer(directory) as valkey:
        async with sharing(valkey.url, patience_seconds=60) as shared, a_watched_clinic(tmp_path, shared) as watched:
            os.kill(valkey.pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(40):
                    numbers = [(await watched.engine.do(watched.venue.id, issue())).ticket.number for _ in range(10)]
            finally:
                os.kill(valkey.pid, signal.SIGCONT)

            assert numbers == list(range(1, 11))
            assert await watched.waiting() == 10


async def test_while_the_server_is_frozen_nobody_here_sees_what_was(tmp_path: Path) -> None:
    with server_directory() as directory, ValkeyServer(directory) as valkey:
        async with sharing(valkey.url, patience_seconds=1) as shared, a_watched_clinic(tmp_path, shared) as watched:
            await watched.engine.do(watched.venue.id, issue())
            assert await watched.waiting() == 1
            os.kill(valkey.pid, signal.SIGSTOP)
            try:
                async with asyncio.timeout(60):
                    for number in range(2, 12):
                        await watched.engine.do(watched.venue.id, issue())
                        assert await watched.waiting() == number
            finally:
                os.kill(valkey.pid, signal.SIGCONT)

            assert await watched.waiting() == 11
            assert watched.counted.words["away"] >= 1


async def test_the_longer_patience_comes_back_with_the_server(tmp_path: Path) -> None:
    with server_directory() as directory, ValkeyServer(directory) as valkey:
        async with sharing(valkey.url, patience_seconds=1) as shared, a_watched_clinic(tmp_path, shared) as watched:
            valkey.kill()
            await watched.engine.do(watched.venue.id, issue())
            assert not watched.status_cache._is_prompt

            valkey.start()
            async with asyncio.timeout(60):
                while not watched.status_cache._is_prompt:
                    await watched.engine.do(watched.venue.id, issue())
                    await asyncio.sleep(0.01)
