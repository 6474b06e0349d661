"""A clock that is wrong once: answers outlive it, and nothing ends by it while it is doubted."""

import msgspec
import pytest
from structlog.testing import capture_logs

from dawr.domain.ticket import State, Ticket
from dawr.domain.venue import Venue
from dawr.engine.clockwork import Sweeper, purge, repair_day, reset
from dawr.engine.engine import Engine
from dawr.engine.timekeeping import DAY_MS, DOUBTED_MS, Timekeeper
from dawr.operations.admin import ChangeQueue, SetUp
from dawr.operations.desks import OpenDesk
from dawr.operations.snapshots import LookAtVisitor
from dawr.operations.staff import Call, Finish
from dawr.ports import Store
from dawr.reliability.idempotency import Reply
from tests.builders import TWO_DAYS_MS, DrivenClock, a_claim, issue
from tests.stores.databases import Database
from tests.stores.doing import (
    begin_visit,
    finish,
    kinds_of,
    look,
    rendered,
    ring,
    stored_ticket,
    stored_visit,
    take,
    ticket_of,
)

A_YEAR = 365


class Machine:
    """One process of the installation: its clock may jump, its ticks do not, and it may or may not be synchronised."""

    def __init__(self, store: Store, clock: DrivenClock) -> None:
        self.store = store
        self.clock = clock
        self.ticks = DrivenClock(now=5000)
        self.synchronised = False
        self.start()

    def start(self) -> None:
        """Anew: what it knew is gone, but for what is stored."""
        self.time = Timekeeper(self.store, self.clock, self.ticks, lambda: self.synchronised)
        self.engine = Engine(self.store, self.clock, time=self.time)
        self.sweeper = Sweeper(self.engine, self.store)

    async def run(self, *, minutes: int = 0, hours: int = 0) -> None:
        """So long, and then one step of everything that goes on by itself."""
        for clock in (self.clock, self.ticks):
            clock.advance(minutes=minutes, hours=hours)
        await self.time.keep()
        await self.sweeper.sweep_all()
        await ring(self.engine, self.store, self.clock)
        await purge(self.store, self.clock, self.time)


@pytest.fixture
async def machine(store: Store, clock: DrivenClock) -> Machine:
    machine = Machine(store, clock)
    await machine.run()
    return machine


async def enter(machine: Machine, venue: Venue) -> Reply:
    return await machine.engine.answer(venue.id, issue(), rendered, claim=a_claim(keep_ms=TWO_DAYS_MS))


async def state_of(store: Store, venue: Venue, ticket: Ticket) -> State:
    return (await stored_ticket(store, venue, ticket.ticket_id)).state


@pytest.mark.parametrize("days", [A_YEAR, -A_YEAR])
async def test_a_jump_of_the_clock_uses_up_no_answer_that_is_kept(machine: Machine, venue: Venue, days: int) -> None:
    first = await enter(machine, venue)
    machine.synchronised = True

    machine.clock.advance(days=days)
    machine.start()
    await machine.run(hours=2)
    meanwhile = await enter(machine, venue)
    machine.clock.advance(days=-days)
    await machine.run()

    for reply in (meanwhile, await enter(machine, venue)):
        assert (reply.body, reply.replayed) == (first.body, True)


async def test_an_answer_is_kept_for_as_long_as_the_installation_runs_and_no_longer(
    database: Database, machine: Machine, venue: Venue
) -> None:
    await enter(machine, venue)

    await machine.run(hours=47)
    machine.clock.advance(days=30)  # switched off
    machine.start()
    await machine.run()
    kept = await enter(machine, venue)
    await machine.run(minutes=61)

    assert kept.replayed
    assert await database.rows("SELECT count(*) FROM idempotency") == [(0,)]
    assert not (await enter(machine, venue)).replayed


async def test_two_processes_do_not_count_the_same_time_twice(database: Database, store: Store) -> None:
    clock, ticks = DrivenClock(), DrivenClock()
    await store.keep_time(1000, clock())
    async with database.share(store) as other:
        processes = [Timekeeper(each, clock, ticks, lambda: True) for each in (store, other)]
        for _ in range(3):
            ticks.advance(seconds=60)
            for process in processes:
                await process.keep()

    assert await database.rows("SELECT ran_ms FROM installation") == [(1000 + 2 * 60_000,)]
    assert {process.ran_ms for process in processes} == {1000 + 2 * 60_000}


async def test_who_waited_still_waits_after_the_clock_was_a_year_ahead_for_a_while(
    machine: Machine, store: Store, venue: Venue
) -> None:
    waiting = await take(machine.engine, venue)

    machine.clock.advance(days=A_YEAR)
    machine.start()
    on_the_wrong_day = await take(machine.engine, venue)
    await reset(machine.engine, venue.id, "lab")
    await machine.run(minutes=59)
    machine.clock.advance(days=-A_YEAR)
    machine.start()
    await machine.run(minutes=1)

    assert on_the_wrong_day.day > waiting.day
    assert await state_of(store, venue, waiting) == "waiting"
    assert "ticket.expired" not in (await kinds_of(machine.engine, venue))[:2]


async def test_a_visit_that_waits_for_its_next_stage_outlives_a_clock_that_is_doubted(
    machine: Machine, store: Store, clinic: Venue
) -> None:
    await machine.engine.do(clinic.id, ChangeQueue("lab", "close"))
    seen = await begin_visit(machine.engine, clinic, "Aisha")

    machine.clock.advance(days=A_YEAR)
    machine.start()
    await machine.run(minutes=1)

    assert seen.ticket is None
    assert (await stored_visit(store, clinic, seen.visit.visit_id)).state == "open"


async def test_a_journey_goes_on_while_the_clock_is_doubted_and_after_the_repair(
    machine: Machine, store: Store, clinic: Venue
) -> None:
    seen = await begin_visit(machine.engine, clinic, "Aisha")
    lab = ticket_of(seen)
    await machine.engine.do(clinic.id, Call(lab.ticket_id))

    machine.clock.advance(days=A_YEAR)
    await machine.engine.do(clinic.id, Finish(lab.ticket_id))
    ahead = ticket_of(await look(machine.engine, clinic, seen.visit))
    machine.clock.advance(days=-A_YEAR)
    await machine.run()
    await repair_day(machine.engine, store, clinic.id, epoch=7)
    now = ticket_of(await look(machine.engine, clinic, seen.visit))
    await finish(machine.engine, clinic, now.ticket_id)

    assert (ahead.queue_id, ahead.day > lab.day) == (now.queue_id, True)
    assert (now.day, now.state) == (lab.day, "waiting")
    assert (await stored_visit(store, clinic, seen.visit.visit_id)).state == "open"


@pytest.mark.parametrize("ahead", [A_YEAR, 0])
async def test_who_waits_and_asks_again_keeps_their_place_while_the_clock_is_or_was_ahead(
    machine: Machine, store: Store, venue: Venue, ahead: int
) -> None:
    waiting = await take(machine.engine, venue, visitor="Amna")
    machine.clock.advance(days=A_YEAR)
    await take(machine.engine, venue, visitor="Basma")
    machine.clock.advance(days=ahead - A_YEAR)

    again = await take(machine.engine, venue, visitor="Amna")
    seen, _ = await machine.engine.read(venue.id, LookAtVisitor("lab", "Amna"))

    assert again.ticket_id == seen.ticket.ticket_id == waiting.ticket_id
    assert await state_of(store, venue, waiting) == "waiting"


async def test_what_a_clock_that_was_ahead_let_ring_in_a_year_rings_once_the_time_is_believed(
    machine: Machine, database: Database, store: Store, venue: Venue
) -> None:
    lab = msgspec.structs.replace(venue.queue("lab"), miss_after=60)
    await machine.engine.do(venue.id, SetUp(venue.with_queue(lab)))
    called = await take(machine.engine, venue)
    await machine.engine.do(venue.id, OpenDesk("desk-1", "a chance"))
    await machine.engine.do(venue.id, Call(called.ticket_id))
    await database.rows(f"UPDATE alarms SET due_at = {machine.clock.now + A_YEAR * DAY_MS} WHERE kind = 'miss'")

    await machine.run()
    await machine.run()

    assert await state_of(store, venue, called) == "missed"
    assert await database.rows("SELECT kind FROM alarms WHERE due_at IS NOT NULL") == [("close",)]


async def test_a_clock_that_jumped_is_believed_at_once_where_it_is_synchronised(
    machine: Machine, store: Store, venue: Venue
) -> None:
    waiting = await take(machine.engine, venue)

    machine.clock.advance(days=3)
    machine.synchronised = True
    machine.start()
    await machine.run()

    assert await state_of(store, venue, waiting) == "expired"


async def test_a_clock_that_nobody_synchronises_is_believed_after_an_hour(
    machine: Machine, store: Store, venue: Venue
) -> None:
    waiting = await take(machine.engine, venue)
    machine.clock.advance(days=3)
    machine.start()

    await machine.run()
    first = await take(machine.engine, venue)
    before = await state_of(store, venue, waiting)
    await machine.run(minutes=DOUBTED_MS // 60_000)

    assert (first.number, first.day > waiting.day) == (1, True)
    assert (before, await state_of(store, venue, waiting)) == ("waiting", "expired")


async def test_a_restart_does_not_end_the_doubt(machine: Machine, store: Store, venue: Venue) -> None:
    waiting = await take(machine.engine, venue)
    machine.clock.advance(days=A_YEAR)

    for _ in range(3):
        machine.start()
        await take(machine.engine, venue)
        await machine.run(minutes=40)

    assert await state_of(store, venue, waiting) == "waiting"


async def test_a_clock_that_jumps_while_the_server_runs_is_doubted_before_anything_ends(
    machine: Machine, store: Store, venue: Venue
) -> None:
    waiting = await take(machine.engine, venue)

    machine.clock.advance(days=2)
    await take(machine.engine, venue)
    await machine.sweeper.sweep_all()

    assert await state_of(store, venue, waiting) == "waiting"


async def test_a_quiet_weekend_is_no_jump(machine: Machine, store: Store, venue: Venue) -> None:
    waiting = await take(machine.engine, venue)

    await machine.run(hours=60)

    assert machine.time.doubt is None
    assert await state_of(store, venue, waiting) == "expired"


async def test_a_doubted_clock_is_said_once_in_words(machine: Machine) -> None:
    machine.clock.advance(days=A_YEAR)

    with capture_logs() as logged:
        await machine.run()
        await machine.run(minutes=1)

    (said,) = [line["reason"] for line in logged if line["event"] == "clock.doubted"]
    assert said.startswith("The clock of this machine is 365 days ahead of what it said last, and is not synchronised")
    assert machine.time.doubt is not None
    assert machine.time.doubt.sentence == said
