"""What the engine tells of a commit, and what an event says about its line."""

import asyncio
from typing import Any

import msgspec
import pytest

from dawr.domain.errors import QueuePaused
from dawr.domain.events import TicketFacts, line_facts
from dawr.domain.queue import QueueId
from dawr.domain.ticket import LineKey
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.operation import Operation
from dawr.operations.staff import Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Leave
from dawr.ports import Changes, Store
from tests.builders import DrivenClock, Told, call_next, issue, rejoin
from tests.stores.doing import events_of, stored_line


async def test_a_commit_is_told_once_with_all_that_its_batch_changed(
    store: Store, clock: DrivenClock, venue: Venue
) -> None:
    told: list[list[Changes]] = []
    engine = Engine(store, clock, listeners=[Told(told.append)])

    await asyncio.gather(*(engine.do(venue.id, issue()) for _ in range(10)))
    await engine.do(venue.id, issue())
    await engine.stop()

    stored = await events_of(engine, venue)
    assert [event for changed in told for changes in changed for event in changes.events] == stored
    assert len(told) == 2
    assert [changes.head.version for changed in told for changes in changed] == [10, 11]


async def test_what_changed_nothing_is_not_told(store: Store, clock: DrivenClock, venue: Venue) -> None:
    told: list[list[Changes]] = []
    engine = Engine(store, clock, listeners=[Told(told.append)])
    await engine.do(venue.id, ChangeQueue("lab", "pause"))

    with pytest.raises(QueuePaused):
        await engine.do(venue.id, call_next())
    await engine.stop()

    assert len(told) == 1


async def test_a_fault_of_those_who_watch_harms_no_batch(store: Store, clock: DrivenClock, venue: Venue) -> None:
    def fail(_: list[Changes]) -> None:
        raise RuntimeError("a watcher's own fault")

    engine = Engine(store, clock, listeners=[Told(fail)])

    numbers = [(await engine.do(venue.id, issue())).ticket.number for _ in range(3)]
    await engine.stop()

    assert numbers == [1, 2, 3]


async def test_every_event_of_a_ticket_says_how_its_line_stands_after_it(
    store: Store, clock: DrivenClock, venue: Venue
) -> None:
    engine = Engine(store, clock)
    tickets = [(await engine.do(venue.id, issue(priority=turn % 2))).ticket.ticket_id for turn in range(6)]
    steps: tuple[Operation[Any], ...] = (
        call_next(),
        call_next(),
        Hold(tickets[4]),
        Resume(tickets[4]),
        Leave(tickets[4]),
        Recall(tickets[1]),
        Start(tickets[1]),
        Finish(tickets[1]),
        Miss(tickets[3]),
        rejoin(tickets[3]),
        Reset("lab"),
        issue(),
    )
    for step in steps:
        clock.advance(minutes=1)
        await engine.do(venue.id, step)

        event = (await events_of(engine, venue))[-1]
        if event.ticket_id is not None:
            facts = msgspec.json.decode(event.data, type=TicketFacts)
            line = await stored_line(store, venue, LineKey(QueueId("lab"), facts.day, facts.round))
            assert facts.line == line_facts(line)
            assert (facts.line.people, facts.line.waiting) == (line.people, line.people_waiting)
    await engine.stop()
