"""Lanes and batches: one commit for many, nobody forgotten, an orderly end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from zlib import crc32

import apsw
import pytest

from dawr.domain.errors import UnknownQueue, UnknownVenue
from dawr.domain.venue import Venue, VenueId
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation, View
from dawr.operations.snapshots import LookAtQueue, LookAtVenue
from dawr.operations.ticket import Joined
from dawr.operations.transaction import Transaction
from dawr.ports.faults import Busy, Stopping, StoreAway
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_head, a_venue, issue


class Commits:
    """How often a store has written to its disk."""

    def __init__(self, store: SqliteStore) -> None:
        self.count = 0
        store._writer.submit(self._watch, store).result()

    def _watch(self, store: SqliteStore) -> None:
        store._connection().set_commit_hook(self._happened)

    def _happened(self) -> bool:
        self.count += 1
        return False


class AsksForever(Operation[None], frozen=True):
    """Wants one more row whenever it was given one."""

    def decide(self, tx: Transaction, now: int) -> None:  # noqa: ARG002 - every operation is asked in the same way
        number = 0
        while True:
            tx.open_ticket(f"lab:{number}")
            number += 1


class LooksForever(View[None], frozen=True):
    def look(self, tx: Transaction, now: int) -> None:
        AsksForever().decide(tx, now)


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "dawr.db", clock=DrivenClock())
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def venue(store: SqliteStore) -> Venue:
    return await a_founded_venue(store)


@pytest.fixture
def commits(store: SqliteStore, venue: Venue) -> Commits:
    return Commits(store)


async def test_commands_that_come_together_are_one_commit(
    store: SqliteStore, clock: DrivenClock, venue: Venue, commits: Commits
) -> None:
    engine = Engine(store, clock)

    places = await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(200)))

    assert [place.ticket.number for place in places] == list(range(1, 201))
    assert commits.count == 1


async def test_a_batch_is_never_larger_than_its_limit(
    store: SqliteStore, clock: DrivenClock, venue: Venue, commits: Commits
) -> None:
    engine = Engine(store, clock, batch_limit=100)

    await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(450)))

    assert commits.count == 5


async def test_what_comes_while_a_batch_is_written_is_the_next_batch(
    store: SqliteStore, clock: DrivenClock, venue: Venue, commits: Commits
) -> None:
    engine = Engine(store, clock)
    hold = asyncio.Event()
    loop = asyncio.get_running_loop()
    blocked = store._writer.submit(lambda: asyncio.run_coroutine_threadsafe(hold.wait(), loop).result())

    first = asyncio.ensure_future(engine.do(venue.id, issue()))
    for _ in range(3):
        await asyncio.sleep(0)
    later = [asyncio.ensure_future(engine.do(venue.id, issue())) for _ in range(50)]
    await asyncio.sleep(0)
    hold.set()
    await asyncio.gather(first, *later)

    assert blocked.result()
    assert commits.count == 2


async def test_venues_of_one_lane_share_a_commit(store: SqliteStore, clock: DrivenClock, commits: Commits) -> None:
    venues = [await a_founded_venue(store) for _ in range(8)]
    before = commits.count
    engine = Engine(store, clock, lanes=1)

    await asyncio.gather(*(engine.do(venue.id, issue()) for venue in venues))

    assert commits.count - before == 1


async def test_a_venue_has_one_lane_and_each_lane_its_own_commits(
    store: SqliteStore, clock: DrivenClock, commits: Commits
) -> None:
    venues = [await a_founded_venue(store) for _ in range(8)]
    before = commits.count
    engine = Engine(store, clock, lanes=3)

    places = await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(5) for venue in venues))

    assert [place.ticket.number for place in places] == [n for n in range(1, 6) for _ in venues]
    assert commits.count - before == len({crc32(venue.id.encode()) % 3 for venue in venues})


async def test_no_command_is_forgotten_however_they_come(store: SqliteStore, clock: DrivenClock, venue: Venue) -> None:
    engine = Engine(store, clock, batch_limit=3)

    async def one_after_the_other() -> list[int]:
        return [(await engine.do(venue.id, issue())).ticket.number for _ in range(100)]

    async with asyncio.timeout(30):
        alone = await one_after_the_other()
        together = await asyncio.gather(*(one_after_the_other() for _ in range(5)))

    assert alone == list(range(1, 101))
    assert sorted(number for numbers in together for number in numbers) == list(range(101, 601))
    assert all(numbers == sorted(numbers) for numbers in together)


async def test_a_command_sent_the_moment_another_is_answered_is_not_forgotten(
    store: SqliteStore, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock)
    followers: asyncio.Queue[asyncio.Future[Joined]] = asyncio.Queue()

    def follow(_: object) -> None:
        followers.put_nowait(asyncio.ensure_future(engine.do(venue.id, issue())))

    async with asyncio.timeout(30):
        for _ in range(50):
            command = asyncio.ensure_future(engine.do(venue.id, issue()))
            command.add_done_callback(follow)
            await command
            await (await followers.get())

    assert (await engine.do(venue.id, issue())).ticket.number == 101


async def test_what_an_engine_is_busy_with_does_not_stay_in_its_memory(
    store: SqliteStore, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock, most_waiting=10)

    outcomes = await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(1000)), return_exceptions=True)

    assert sum(isinstance(outcome, Busy) for outcome in outcomes) == 990
    assert [len(lane) for lane in engine._lanes] == [0]


async def test_an_idle_engine_stops_at_once_and_twice(store: SqliteStore, clock: DrivenClock, venue: Venue) -> None:
    engine = Engine(store, clock)
    await engine.do(venue.id, issue())
    await engine.ready()

    await engine.stop()
    await engine.stop()

    with pytest.raises(Stopping):
        await engine.ready()
    with pytest.raises(Stopping):
        await engine.do(venue.id, issue())


async def test_an_engine_that_stops_still_lets_people_look(
    store: SqliteStore, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock)
    await engine.do(venue.id, issue())

    await engine.stop()

    assert (await engine.read(venue.id, LookAtQueue("lab"))).line.last_number == 1


async def test_an_engine_that_stops_while_its_store_is_away_answers_everybody(
    store: SqliteStore, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock, batch_limit=1)
    store._busy_ms = 1
    somebody_else = apsw.Connection(str(store.path))
    somebody_else.execute("BEGIN IMMEDIATE")
    commands = [asyncio.ensure_future(engine.do(venue.id, issue())) for _ in range(20)]
    await asyncio.sleep(0)

    await engine.stop()
    outcomes = await asyncio.gather(*commands, return_exceptions=True)
    somebody_else.close()

    assert {type(outcome) for outcome in outcomes} == {StoreAway}


async def test_a_command_that_never_has_enough_is_given_up(
    store: SqliteStore, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock)

    endless = asyncio.ensure_future(engine.do(venue.id, AsksForever()))
    mate = asyncio.ensure_future(engine.do(venue.id, issue()))

    assert (await mate).ticket.number == 1
    with pytest.raises(RuntimeError):
        await endless
    with pytest.raises(RuntimeError):
        await engine.read(venue.id, LooksForever())


async def test_a_look_is_refused_like_a_command(store: SqliteStore, clock: DrivenClock, venue: Venue) -> None:
    with pytest.raises(UnknownQueue):
        await Engine(store, clock).read(venue.id, LookAtQueue("nowhere"))


async def test_a_look_tells_the_service_day(store: SqliteStore, clock: DrivenClock, venue: Venue) -> None:
    clock.advance(days=2)

    assert await Engine(store, clock).read(venue.id, LookAtVenue()) == (venue, "2026-03-04")


async def test_a_venue_is_found_by_its_slug_even_if_it_is_new(store: SqliteStore, clock: DrivenClock) -> None:
    engine = Engine(store, clock)
    first = await a_founded_venue(store)
    assert await engine.find_venue(first.slug) == first.id

    second = await a_founded_venue(store)

    assert await engine.find_venue(second.slug) == second.id
    with pytest.raises(UnknownVenue):
        await engine.find_venue("nowhere")


async def a_founded_venue(store: SqliteStore) -> Venue:
    venue = a_venue()
    await store.add_venue(venue, a_head(venue))
    return venue


class Looks:
    """How often the store was asked which venues there are."""

    def __init__(self, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        ask = store.venue_ids

        async def counted() -> dict[str, VenueId]:
            self.count += 1
            return await ask()

        monkeypatch.setattr(store, "venue_ids", counted)


async def test_the_clinic_doors_venue_is_not_looked_up_for_every_request(
    store: SqliteStore, clock: DrivenClock, venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, looks = Engine(store, clock), Looks(store, monkeypatch)
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: 1000.0)

    found = {await engine.clinic(called="") for _ in range(100)}
    before = looks.count
    monkeypatch.setattr(loop, "time", lambda: 1002.0)
    found |= set(await asyncio.gather(*(engine.clinic(called="") for _ in range(100))))

    assert (found, before, looks.count) == ({venue.id}, 1, 2)


async def test_all_venues_are_not_read_for_every_stranger(
    store: SqliteStore, clock: DrivenClock, venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, looks = Engine(store, clock), Looks(store, monkeypatch)
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "time", lambda: 1000.0)

    found = [await engine.latest_venues() for _ in range(100)]
    before = looks.count
    second = await a_founded_venue(store)
    monkeypatch.setattr(loop, "time", lambda: 1001.0)
    await asyncio.gather(*(engine.latest_venues() for _ in range(100)))

    assert (before, looks.count) == (1, 2)
    assert all(venues == [venue] for venues in found)
    assert {one.slug for one in await engine.latest_venues()} == {venue.slug, second.slug}


async def test_the_first_venue_is_seen_at_once(store: SqliteStore, clock: DrivenClock) -> None:
    engine = Engine(store, clock)
    assert await engine.latest_venues() == []

    first = await a_founded_venue(store)

    assert await engine.latest_venues() == [first]
