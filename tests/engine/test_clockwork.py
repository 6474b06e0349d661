"""What was left open when a day or a round ended is ended too, whatever happens meanwhile."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from dawr import bootstrap
from dawr.domain.ticket import State, Ticket
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Sweeper, purge, reset
from dawr.engine.engine import Engine
from dawr.operations.admin import Reset
from dawr.operations.staff import Hold, Miss, Start
from dawr.ports import Store
from dawr.ports.faults import Busy, StoreFault
from dawr.reliability.lease import Fence, Lease, LeaseLost
from dawr.reliability.works import Work, Works
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_claim, a_queue, a_timekeeper, a_venue, call_next, issue
from tests.servers import PostgresServer, server_directory
from tests.serving import quiet
from tests.stores.databases import PostgresDatabase
from tests.stores.doing import create_venue, kinds_of, rendered, stored_ticket, take

LEASE_MS = 2000


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
async def store(tmp_path: Path, clock: DrivenClock) -> AsyncIterator[Store]:
    store = SqliteStore(tmp_path / "dawr.sqlite", clock=clock)
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def engine(store: Store, clock: DrivenClock) -> AsyncIterator[Engine]:
    engine = Engine(store, clock)
    yield engine
    await engine.stop()


@pytest.fixture
async def venue(store: Store) -> Venue:
    return await create_venue(store, a_venue(a_queue("lab"), a_queue("eye")))


async def one_in_each_open_state(engine: Engine, venue: Venue) -> list[Ticket]:
    """Five visitors: missed, serving, called, held, waiting."""
    tickets = [await take(engine, venue) for _ in range(5)]
    for _ in range(3):
        await engine.do(venue.id, call_next())
    await engine.do(venue.id, Miss(tickets[0].ticket_id))
    await engine.do(venue.id, Start(tickets[1].ticket_id))
    await engine.do(venue.id, Hold(tickets[3].ticket_id))
    return tickets


async def states(store: Store, venue: Venue, tickets: list[Ticket]) -> list[State]:
    return [(await stored_ticket(store, venue, ticket.ticket_id)).state for ticket in tickets]


async def test_a_new_day_expires_everything_that_yesterday_left_open(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    sweeping = Sweeper(engine, store)
    tickets = await one_in_each_open_state(engine, venue)

    await sweeping.sweep_all()
    before = await states(store, venue, tickets)
    clock.advance(days=1)
    today = await take(engine, venue)
    await sweeping.sweep_all()

    assert before == ["missed", "serving", "called", "held", "waiting"]
    assert await states(store, venue, tickets) == ["expired"] * 5
    assert await states(store, venue, [today]) == ["waiting"]


async def test_a_quiet_venue_is_swept_too(engine: Engine, store: Store, venue: Venue, clock: DrivenClock) -> None:
    tickets = [await take(engine, venue, queue="lab"), await take(engine, venue, queue="eye")]

    clock.advance(days=3)
    await Sweeper(engine, store).sweep_all()

    assert await states(store, venue, tickets) == ["expired", "expired"]


async def test_every_venue_is_swept_when_its_own_day_begins(engine: Engine, store: Store, clock: DrivenClock) -> None:
    sweeping = Sweeper(engine, store)
    west = await create_venue(store, a_venue(zone="America/Los_Angeles"))
    east = await create_venue(store, a_venue(zone="Asia/Tokyo"))
    at_home, abroad = await take(engine, west), await take(engine, east)

    seen = []
    for _ in range(3):
        await sweeping.sweep_all()
        seen.append([*await states(store, west, [at_home]), *await states(store, east, [abroad])])
        clock.advance(hours=7)

    assert seen == [["waiting", "waiting"], ["expired", "waiting"], ["expired", "expired"]]


async def test_sweeping_twice_changes_nothing(engine: Engine, store: Store, venue: Venue, clock: DrivenClock) -> None:
    await one_in_each_open_state(engine, venue)
    clock.advance(days=1)
    await Sweeper(engine, store).sweep_all()
    once = await kinds_of(engine, venue)

    await Sweeper(engine, store).sweep_all()

    assert await kinds_of(engine, venue) == once
    assert once.count("ticket.expired") == 5


async def test_a_day_with_more_people_than_one_step_takes_is_swept_whole(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(1234)))

    clock.advance(days=1)
    await Sweeper(engine, store).sweep_all()

    assert (await kinds_of(engine, venue)).count("ticket.expired") == 1234
    assert await store.faults() == []


async def test_a_reset_expires_who_waits_and_leaves_who_is_being_served(
    engine: Engine, store: Store, venue: Venue
) -> None:
    tickets = await one_in_each_open_state(engine, venue)
    elsewhere = await take(engine, venue, queue="eye")

    await reset(engine, venue.id, "lab")

    assert await states(store, venue, tickets) == ["expired", "serving", "called", "expired", "expired"]
    assert await states(store, venue, [elsewhere]) == ["waiting"]


async def test_who_was_served_through_a_reset_expires_with_the_day(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    tickets = await one_in_each_open_state(engine, venue)
    await reset(engine, venue.id, "lab")

    clock.advance(days=1)
    await Sweeper(engine, store).sweep_all()

    assert await states(store, venue, tickets) == ["expired"] * 5


async def test_answers_that_have_expired_are_dropped(store: Store, venue: Venue, clock: DrivenClock) -> None:
    time = a_timekeeper(store, clock)
    engine = Engine(store, clock, time=time)
    for number in range(700):
        await engine.answer(venue.id, issue(), rendered, claim=a_claim(f"key-{number}", keep_ms=1000))
    await engine.answer(venue.id, issue(), rendered, claim=a_claim("kept", keep_ms=100_000))

    clock.advance(seconds=2)
    await purge(store, clock, time)

    assert await store.purge_answers(time.ran_ms + 1_000_000, most=5000) == 1
    await engine.stop()


async def test_a_store_that_is_away_is_looked_at_again_later(clock: DrivenClock) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        store = await PostgresDatabase(postgres.create_database("dawr")).open()
        await store.migrate()
        venue = await create_venue(store, a_venue())
        engine = Engine(store, clock)
        old = await take(engine, venue)
        clock.advance(days=1)
        _, sweeping = clockwork_of(engine, store)
        await until_expired(store, venue, old)
        ticket = await take(engine, venue)

        postgres.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(sweeping), 1)
        clock.advance(days=1)
        postgres.start()

        assert not sweeping.done()
        await until_expired(store, venue, ticket)
        await ended(sweeping)
        await engine.stop()
        await store.close()


async def test_a_busy_engine_is_looked_at_again_later(store: Store, venue: Venue, clock: DrivenClock) -> None:
    engine = Engine(store, clock)
    ticket = await take(engine, venue)
    clock.advance(days=1)
    engine._most_waiting = 0
    _, sweeping = clockwork_of(engine, store)

    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(sweeping), 0.3)
    engine._most_waiting = 10

    assert not sweeping.done()
    await until_expired(store, venue, ticket)
    await ended(sweeping)
    await engine.stop()


async def test_of_two_processes_one_sweeps_and_the_other_takes_over_when_it_stops(
    postgres_url: str, clock: DrivenClock
) -> None:
    database = PostgresDatabase(postgres_url)
    stores = [await database.open(), await database.open()]
    await stores[0].migrate()
    venue = await create_venue(stores[0], a_venue())
    engines = [Engine(store, clock) for store in stores]
    first, sweeping = clockwork_of(engines[0], stores[0], holder="first", sweep=sweep_nothing)
    await until(lambda: first.fence is not None)
    second, standing_by = clockwork_of(engines[1], stores[1], holder="second")
    ticket = await take(engines[1], venue)

    clock.advance(days=1)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(standing_by), 1.5 * LEASE_MS / 1000)

    assert (first.fence, second.fence) == (Fence("clockwork", 1), None)
    assert await states(stores[1], venue, [ticket]) == ["waiting"]
    await ended(sweeping)
    await until_expired(stores[1], venue, ticket)
    [(fence,)] = await database.rows("SELECT fence FROM leases WHERE name = 'clockwork'")
    assert fence >= 2
    await ended(standing_by)
    for engine, store in zip(engines, stores, strict=True):
        await engine.stop()
        await store.close()


async def test_a_server_runs_the_clockwork_until_it_stops_and_a_tool_leaves_it_alone(postgres_url: str) -> None:
    database, settings = PostgresDatabase(postgres_url), quiet(database_url=postgres_url)

    async with bootstrap.at_hand(settings) as tool:
        by_tool = await tool.store.leases.take("clockwork", "a server")
        await tool.store.leases.release(must_have(by_tool))
    async with bootstrap.running(settings, bootstrap.instruments_of(settings)):
        async with asyncio.timeout(60):
            while len(await database.rows("SELECT name FROM leases WHERE holder <> ''")) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    assert by_tool == Fence("clockwork", 1)
    held = await database.rows("SELECT name, holder, fence, until_at FROM leases ORDER BY name")
    assert held == [("alarms", "", 1, 0), ("clockwork", "", 2, 0), ("purge", "", 1, 0), ("waiting", "", 1, 0)]


async def test_a_sweeper_whose_lease_was_taken_sweeps_nothing(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    old = await store.leases.take("clockwork", "one", lease_ms=0)
    await store.leases.take("clockwork", "two")
    tickets = await one_in_each_open_state(engine, venue)
    clock.advance(days=1)

    with pytest.raises(LeaseLost):
        await Sweeper(engine, store).sweep_all(old)

    assert "expired" not in await states(store, venue, tickets)


async def test_a_round_that_another_process_began_is_found_and_swept(
    engine: Engine, store: Store, venue: Venue, clock: DrivenClock
) -> None:
    sweeping = Sweeper(engine, store)
    tickets = [await take(engine, venue), await take(engine, venue, queue="eye")]
    await sweeping.sweep_all()
    await engine.do(venue.id, Reset("lab"))  # and its process was killed before it swept

    await sweeping.sweep_all()

    assert await states(store, venue, tickets) == ["expired", "waiting"]


def must_have(fence: Fence | None) -> Fence:
    assert fence is not None
    return fence


def clockwork_of(
    engine: Engine,
    store: Store,
    *,
    holder: str = "one",
    sweep: Callable[[Fence], Coroutine[Any, Any, None]] | None = None,
) -> tuple[Lease, asyncio.Task[None]]:
    """As a process runs it, but in more of a hurry."""
    lease = Lease(store.leases, "clockwork", holder=holder, lease_ms=LEASE_MS)
    work = Work(name="clockwork", run=sweep or Sweeper(engine, store).sweep_all, every=0.05, lease=lease)

    async def run() -> None:
        async with Works([work], expected=(StoreFault, Busy)).running():
            await asyncio.Event().wait()

    return lease, asyncio.create_task(run())


async def sweep_nothing(_: Fence) -> None: ...


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a lease tells nobody
            await asyncio.sleep(0.01)


async def until_expired(store: Store, venue: Venue, ticket: Ticket) -> None:
    async with asyncio.timeout(60):
        while await states(store, venue, [ticket]) != ["expired"]:  # noqa: ASYNC110 - a store tells nobody
            await asyncio.sleep(0.01)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
