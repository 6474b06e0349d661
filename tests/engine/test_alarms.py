"""Whoever rings what is due: under a lease, and without one fault keeping anything else waiting."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.engine.clockwork import RING_SECONDS, Ringer
from dawr.engine.engine import Engine
from dawr.operations import alarms
from dawr.operations.staff import Call
from dawr.operations.transaction import Transaction
from dawr.ports import Store
from dawr.ports.faults import Busy
from dawr.reliability.lease import LeaseLost
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_queue, a_venue
from tests.stores.doing import create_venue, events_of, stored_ticket, take


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
    return await create_venue(store, a_venue(replace(a_queue("lab"), miss_after=60)))


async def called(engine: Engine, venue: Venue) -> Ticket:
    ticket = await take(engine, venue)
    return await engine.do(venue.id, Call(ticket.ticket_id))


async def test_what_is_due_is_done_in_the_name_of_the_clock(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await called(engine, venue)
    clock.advance(minutes=1)

    rung = await Ringer(engine, store, clock).ring_due()

    last = (await events_of(engine, venue))[-1]
    assert (rung, last.kind, last.actor) == (1, "ticket.missed", "clock")


async def test_one_that_fails_is_logged_and_keeps_no_other_waiting(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, fine = await called(engine, venue), await called(engine, venue)
    clock.advance(minutes=1)
    miss = alarms.RINGS["miss"]

    def fails_for_one(tx: Transaction, subject: str, now: int) -> None:
        if subject == broken.ticket_id:
            raise ZeroDivisionError
        miss(tx, subject, now)

    monkeypatch.setitem(alarms.RINGS, "miss", fails_for_one)
    with capture_logs() as logs:
        rung = await Ringer(engine, store, clock).ring_due()

    assert rung == 1
    assert (await stored_ticket(store, venue, fine.ticket_id)).state == "missed"
    assert (await stored_ticket(store, venue, broken.ticket_id)).state == "called"
    failed = [line for line in logs if line["event"] == "ring.failed"]
    assert failed
    assert {(line["venue"], line["alarm"]) for line in failed} == {(venue.id, "miss")}
    monkeypatch.undo()
    assert await Ringer(engine, store, clock).ring_due() == 1


async def test_whoever_lost_the_lease_rings_nothing(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await called(engine, venue)
    clock.advance(minutes=1)
    old = await store.leases.take("alarms", "one", lease_ms=0)
    new = await store.leases.take("alarms", "two")

    with pytest.raises(LeaseLost):
        await Ringer(engine, store, clock).ring_due(old)
    before = (await stored_ticket(store, venue, ticket.ticket_id)).state
    await Ringer(engine, store, clock).ring_due(new)

    assert (before, (await stored_ticket(store, venue, ticket.ticket_id)).state) == ("called", "missed")


async def test_a_busy_engine_is_asked_again_later(store: Store, clock: DrivenClock, venue: Venue) -> None:
    engine = Engine(store, clock)
    ticket = await called(engine, venue)
    clock.advance(minutes=1)
    engine._most_waiting = 0

    with pytest.raises(Busy):
        await Ringer(engine, store, clock).ring_due()
    engine._most_waiting = 10
    await Ringer(engine, store, clock).ring_due()

    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "missed"
    await engine.stop()


async def test_a_clock_that_is_ahead_of_the_stores_rings_nothing_early_and_does_not_spin(
    engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    ticket = await called(engine, venue)
    ahead = DrivenClock(clock.now + 5 * 60_000)

    async with asyncio.timeout(10):
        rung = await Ringer(engine, store, ahead).ring_due()

    assert rung == 0
    assert (await stored_ticket(store, venue, ticket.ticket_id)).state == "called"


def test_what_is_due_is_looked_for_often_enough_to_be_less_than_a_second_late() -> None:
    assert RING_SECONDS <= 0.5
