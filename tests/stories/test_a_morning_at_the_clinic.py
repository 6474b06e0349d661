"""A whole morning: people come, wait, are called, miss it, come back, leave. At its end nobody is forgotten."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from typing import cast

import pytest

from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Desk, Venue
from dawr.engine.clockwork import Sweeper, reset
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue
from dawr.operations.operation import Operation
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.staff import CallNext, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.ticket import Joined
from dawr.operations.visitor import Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_queue, a_venue, issue, rejoin
from tests.stores.databases import PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue, events_of, stored_ticket

QUEUES = ("lab", "xray", "eye")
VISITORS = 36
MINUTES = 120


class Morning:
    """The clinic as somebody who stands in it sees it, next to the clinic itself."""

    def __init__(self, engine: Engine, store: Store, venue: Venue, clock: DrivenClock) -> None:
        self.engine = engine
        self.store = store
        self.venue = venue
        self.clock = clock
        self.chance = Random(7)
        self.tickets: dict[TicketId, Ticket] = {}
        self.rounds: Counter[str] = Counter(dict.fromkeys(QUEUES, 1))
        self.misses: Counter[TicketId] = Counter()

    async def arrive(self, name: str) -> None:
        queue = self.chance.choice(QUEUES)
        priority = 2 if self.chance.random() < 0.1 else 0
        place = await self.engine.do(self.venue.id, issue(queue, name, priority=priority))
        assert place.ahead == sum(other.place < place.ticket.place for other in self.waiting(queue))
        self.tickets[place.ticket.ticket_id] = place.ticket

    async def work_at(self, desk: Desk) -> None:
        """One minute at a desk: go on with whoever is here, or call whoever is first."""
        here = [ticket for ticket in self.open() if ticket.desk_id == desk.id and ticket.state in {"called", "serving"}]
        if not here:
            await self.call(desk)
        elif here[0].state == "serving":
            await self.do(Finish(here[0].ticket_id))
        else:
            await self.wait_for(here[0])

    async def call(self, desk: Desk) -> None:
        called = (await self.engine.do(self.venue.id, CallNext(desk.id))).ticket
        expected = min(self.waiting(*desk.queues), key=lambda ticket: ticket.place, default=None)
        assert (called and called.ticket_id) == (expected and expected.ticket_id)
        if called is not None:
            self.tickets[called.ticket_id] = called

    async def wait_for(self, called: Ticket) -> None:
        """Most come, some need a second call, some do not come at all."""
        chance = self.chance.random()
        if chance < 0.15 and called.recalls < 2:
            await self.do(Recall(called.ticket_id))
        elif chance < 0.35 and not self.misses[called.ticket_id]:
            self.misses[called.ticket_id] += 1
            await self.do(Miss(called.ticket_id))
        else:
            await self.do(Start(called.ticket_id))

    async def people_change_their_minds(self) -> None:
        for ticket in self.open():
            chance = self.chance.random()
            if ticket.state == "missed" and chance < 0.3 and self.is_current(ticket):
                await self.do(rejoin(ticket.ticket_id, self.chance.choice(("first", "last"))))
            elif ticket.state == "waiting" and chance < 0.02 and self.is_current(ticket):
                await self.do(Hold(ticket.ticket_id))
            elif ticket.state == "waiting" and chance > 0.98:
                await self.do(Leave(ticket.ticket_id))
            elif ticket.state == "held" and chance < 0.2 and self.is_current(ticket):
                await self.do(Resume(ticket.ticket_id))

    async def do(self, operation: Operation[Ticket] | Operation[Joined]) -> None:
        result: Ticket | Joined = await self.engine.do(self.venue.id, cast("Operation[Ticket | Joined]", operation))
        ticket = result.ticket if isinstance(result, Joined) else result
        self.tickets[ticket.ticket_id] = ticket

    async def start_over(self, queue: str) -> None:
        await reset(self.engine, self.venue.id, queue)
        self.rounds[queue] += 1
        await self.look_again()

    async def look_again(self) -> None:
        """See what became of everybody."""
        self.tickets = {each: await stored_ticket(self.store, self.venue, each) for each in self.tickets}

    def open(self) -> list[Ticket]:
        return [ticket for ticket in self.tickets.values() if ticket.is_open]

    def waiting(self, *queues: str) -> list[Ticket]:
        return [ticket for ticket in self.open() if ticket.state == "waiting" and ticket.queue_id in queues]

    def is_current(self, ticket: Ticket) -> bool:
        return ticket.round == self.rounds[ticket.queue_id]


@pytest.fixture(params=["sqlite", "postgres"])
async def morning(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Morning]:
    """Three queues and three desks, of which one serves whoever is first anywhere."""
    if request.param == "sqlite":
        store = await SqliteDatabase(tmp_path / "dawr.sqlite").open()
    else:
        store = await PostgresDatabase(request.getfixturevalue("postgres_url")).open()
    await store.migrate()
    desks = (a_desk("room-1", "lab"), a_desk("room-2", "xray", "eye"), a_desk("room-3", *QUEUES))
    venue = await create_venue(store, a_venue(*(a_queue(code) for code in QUEUES), desks=desks))
    clock = DrivenClock()
    engine = Engine(store, clock)
    yield Morning(engine, store, venue, clock)
    await engine.stop()
    await store.close()


async def test_a_morning_ends_with_everybody_accounted_for(morning: Morning) -> None:
    for minute in range(MINUTES):
        if minute < VISITORS:
            await morning.arrive(f"visitor {minute}")
        if minute == 25:
            await morning.start_over("eye")
        if minute == 40:
            await morning.engine.do(morning.venue.id, ChangeQueue("xray", "close"))
            await morning.engine.do(morning.venue.id, ChangeQueue("xray", "open"))
        for desk in morning.venue.desks:
            await morning.work_at(desk)
        await morning.people_change_their_minds()
        morning.clock.advance(minutes=1)
    await morning.arrive("somebody who comes too late")

    morning.clock.advance(days=1)
    await Sweeper(morning.engine, morning.store).sweep_all()
    await morning.look_again()

    ended = Counter[str](ticket.state for ticket in morning.tickets.values())
    assert ended.keys() == {"finished", "left", "expired"}
    assert ended.total() == VISITORS + 1
    assert ended["finished"] > VISITORS / 2
    await must_add_up(morning, ended)


async def must_add_up(morning: Morning, ended: Counter[str]) -> None:
    """What is stored, what happened and what was seen are the same morning."""
    events = await events_of(morning.engine, morning.venue)
    kinds = Counter(event.kind for event in events)
    assert [event.version for event in events] == list(range(1, len(events) + 1))
    assert kinds["ticket.issued"] == VISITORS + 1
    assert {state: kinds[f"ticket.{state}"] for state in ended} == ended
    assert kinds["ticket.missed"] >= kinds["ticket.rejoined"] > 0
    assert min(kinds[f"ticket.{verb}"] for verb in ("recalled", "held", "resumed", "left", "expired")) > 0
    for ticket in morning.tickets.values():
        assert numbers_of(morning, ticket) == list(range(1, len(numbers_of(morning, ticket)) + 1))
    for queue in QUEUES:
        assert (await morning.engine.read(morning.venue.id, LookAtQueue(queue))).line.people == 0
    assert await morning.store.faults() == []


def numbers_of(morning: Morning, like: Ticket) -> list[int]:
    """The numbers of one line."""
    return sorted(ticket.number for ticket in morning.tickets.values() if ticket.line_key == like.line_key)
