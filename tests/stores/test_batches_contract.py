"""Batches: many commands in one transaction, and each as if it had been alone."""

import random
from typing import Any, ClassVar, TypeVar

import pytest

from dawr.domain.errors import Refused
from dawr.domain.queue import QueueId
from dawr.domain.ticket import Ticket, TicketId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, Called, CallNext, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.ticket import Joined
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Issue, Leave
from dawr.ports import Store
from tests.builders import DrivenClock, a_desk, a_queue, a_venue, call_next, issue, rejoin
from tests.stores.doing import create_venue, events_of, numbers, stored_line, take, together

R = TypeVar("R")


class Unannounced(Operation[R], frozen=True):
    """Another operation that does not say which rows it will need."""

    inner: Operation[R]

    def decide(self, tx: Transaction, now: int) -> R | Refused:
        return self.inner.decide(tx, now)


class CallSeveral(Operation[list[int]], frozen=True):
    """More calls in one command than its batch has loaded people for."""

    count: int

    def decide(self, tx: Transaction, now: int) -> list[int]:
        called = [call_next().decide(tx, now).ticket for _ in range(self.count)]
        return [ticket.number for ticket in called if ticket is not None]


class CountChanged(Operation[int], frozen=True):
    """How many tickets its transaction has changed already."""

    def decide(self, tx: Transaction, now: int) -> int:  # noqa: ARG002 - every operation is asked in the same way
        return tx.touched


class CountChangedAlone(CountChanged, frozen=True):
    alone: ClassVar[bool] = True


async def test_several_venues_share_a_batch(engine: Engine, store: Store, venue: Venue) -> None:
    venues = [venue, *[await create_venue(store, a_venue()) for _ in range(4)]]

    outcomes = await together(*(engine.do(where.id, issue()) for _ in range(3) for where in venues))

    assert numbers(outcomes) == [1] * 5 + [2] * 5 + [3] * 5


async def test_a_batch_is_decided_in_the_order_of_coming(engine: Engine, venue: Venue) -> None:
    aisha, called, left, again = await together(
        engine.do(venue.id, first := issue(visitor="Aisha")),
        engine.do(venue.id, call_next()),
        engine.do(venue.id, Leave(first.ticket_id)),
        engine.do(venue.id, issue(visitor="Aisha")),
    )

    assert isinstance(called, Called)
    assert isinstance(left, Ticket)
    assert called.ticket is not None
    assert (called.ticket.number, left.state) == (1, "left")
    assert numbers([aisha, again]) == [1, 2]


async def test_whoever_asks_in_the_middle_of_a_batch_is_told_the_place_of_that_moment(
    engine: Engine, venue: Venue
) -> None:
    missed, first, leaving, held, *_ = [await take(engine, venue) for _ in range(5)]
    await engine.do(venue.id, Call(missed.ticket_id))
    await engine.do(venue.id, Miss(missed.ticket_id))
    asks = issue(visitor="Aisha")
    assert (await engine.do(venue.id, asks)).ahead == 4

    changes: list[Operation[Any]] = [
        call_next(),
        issue(priority=2),
        issue(),
        Leave(leaving.ticket_id),
        Hold(held.ticket_id),
        Resume(held.ticket_id),
        rejoin(missed.ticket_id, "first"),
        call_next(),
        Miss(first.ticket_id),
        rejoin(first.ticket_id, "last"),
    ]
    outcomes = await together(*(engine.do(venue.id, step) for change in changes for step in (change, asks)))

    assert [place.ahead for place in outcomes[1::2]] == [3, 4, 4, 3, 2, 3, 4, 3, 3, 3]


async def test_whoever_came_with_the_batch_is_told_the_place_of_that_moment_too(engine: Engine, venue: Venue) -> None:
    missed, first, leaving, _ = [await take(engine, venue) for _ in range(4)]
    await engine.do(venue.id, Call(missed.ticket_id))
    await engine.do(venue.id, Miss(missed.ticket_id))
    asks = issue(visitor="Aisha")

    changes: list[Operation[Any]] = [
        asks,
        call_next(),
        issue(priority=1),
        issue(),
        rejoin(missed.ticket_id, "first"),
        Leave(leaving.ticket_id),
        Miss(first.ticket_id),
        rejoin(first.ticket_id, "last"),
    ]
    outcomes = await together(*(engine.do(venue.id, step) for change in changes for step in (change, asks)))

    assert [place.ahead for place in outcomes[1::2]] == [3, 2, 3, 3, 4, 3, 3, 3]
    assert [outcomes[8].ahead, outcomes[14].ahead] == [1, 5]


async def test_a_whole_life_fits_in_one_batch(engine: Engine, store: Store, venue: Venue) -> None:
    life = issue(visitor="Aisha")
    at = life.ticket_id

    outcomes = await together(
        engine.do(venue.id, life),
        *(engine.do(venue.id, step) for step in (Hold(at), Resume(at), Call(at), Recall(at), Miss(at))),
        *(engine.do(venue.id, step) for step in (rejoin(at, "first"), Call(at), Start(at), Finish(at))),
    )

    assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    finished = outcomes[-1]
    assert isinstance(finished, Ticket)
    assert finished.state == "finished"
    assert (await stored_line(store, venue, finished.line_key)).finished == 1
    assert len(await events_of(engine, venue)) == 10


async def test_a_reset_divides_its_batch(engine: Engine, venue: Venue) -> None:
    before, _, after, called = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, Reset("lab")),
        engine.do(venue.id, issue()),
        engine.do(venue.id, call_next()),
    )

    assert isinstance(before, Joined)
    assert isinstance(after, Joined)
    assert isinstance(called, Called)
    assert called.ticket is not None
    assert (before.ticket.round, after.ticket.round) == (1, 2)
    assert called.ticket.ticket_id == after.ticket.ticket_id


async def test_a_pause_holds_for_the_rest_of_its_batch(engine: Engine, venue: Venue) -> None:
    await take(engine, venue)

    _, refused, _, called = await together(
        engine.do(venue.id, ChangeQueue("lab", "pause")),
        engine.do(venue.id, call_next()),
        engine.do(venue.id, ChangeQueue("lab", "resume")),
        engine.do(venue.id, call_next()),
    )

    assert isinstance(refused, Refused)
    assert isinstance(called, Called)


@pytest.mark.parametrize("seed", range(3))
async def test_an_operation_that_announces_nothing_decides_the_same(
    engine: Engine, store: Store, clock: DrivenClock, seed: int
) -> None:
    queues = tuple(a_queue(code) for code in ("lab", "xray", "eye"))
    announced, unannounced = [
        await create_venue(store, a_venue(*queues, desks=(a_desk("desk-2", "lab", "xray", "eye"),))) for _ in range(2)
    ]

    for batch in random_batches(random.Random(seed)):
        clock.advance(seconds=10)
        hinted = await together(*(engine.do(announced.id, operation) for operation in batch))
        unhinted = await together(*(engine.do(unannounced.id, Unannounced(operation)) for operation in batch))
        assert [comparable(o, announced) for o in hinted] == [comparable(o, unannounced) for o in unhinted]

    events = [await events_of(engine, venue) for venue in (announced, unannounced)]
    assert [event.data for event in events[0]] == [event.data for event in events[1]]


async def test_a_command_may_call_deeper_than_its_batch_has_loaded(engine: Engine, store: Store, venue: Venue) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(60)))

    called = await engine.do(venue.id, CallSeveral(40))
    rest = await engine.do(venue.id, CallSeveral(40))

    assert called == list(range(1, 41))
    assert rest == list(range(41, 61))
    (line,) = {event.queue_id for event in await events_of(engine, venue)}
    assert line == "lab"


async def test_commands_after_a_deep_one_go_on_where_it_stopped(engine: Engine, venue: Venue) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(30)))

    _, first, several, second = await together(
        engine.do(venue.id, issue(priority=1)),
        engine.do(venue.id, call_next()),
        engine.do(venue.id, CallSeveral(12)),
        engine.do(venue.id, call_next()),
    )

    assert isinstance(first, Called)
    assert isinstance(second, Called)
    assert first.ticket is not None
    assert second.ticket is not None
    assert (first.ticket.number, several, second.ticket.number) == (31, list(range(1, 13)), 13)


async def test_a_line_is_called_whole_by_one_batch(engine: Engine, venue: Venue) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(50)))

    outcomes = await together(*(engine.do(venue.id, call_next()) for _ in range(60)))

    called = [outcome.ticket for outcome in outcomes if isinstance(outcome, Called)]
    assert [ticket.number if ticket else None for ticket in called] == [*range(1, 51), *[None] * 10]


async def test_a_crowd_larger_than_a_batch_is_served_in_several(store: Store, clock: DrivenClock, venue: Venue) -> None:
    engine = Engine(store, clock, batch_limit=7)

    outcomes = await together(*(engine.do(venue.id, issue()) for _ in range(50)))

    assert numbers(outcomes) == list(range(1, 51))


async def test_bulk_work_has_a_transaction_of_its_own(engine: Engine, venue: Venue) -> None:
    _, _, in_batch, alone, _, after = await together(
        engine.do(venue.id, issue()),
        engine.do(venue.id, issue()),
        engine.do(venue.id, CountChanged()),
        engine.do(venue.id, CountChangedAlone()),
        engine.do(venue.id, issue()),
        engine.do(venue.id, CountChanged()),
    )

    assert (in_batch, alone, after) == (2, 0, 1)


async def test_the_sweep_of_an_ended_line_may_come_between_visitors(
    engine: Engine, clock: DrivenClock, venue: Venue
) -> None:
    await together(*(engine.do(venue.id, issue()) for _ in range(5)))
    clock.advance(days=1)

    before, swept, after = await together(
        engine.do(venue.id, issue()), engine.do(venue.id, ExpireEnded(QueueId("lab"))), engine.do(venue.id, issue())
    )

    assert swept == 5
    assert numbers([before, after]) == [1, 2]


def random_batches(rng: random.Random) -> list[list[Operation[Any]]]:
    """A busy hour: people come, are called, miss, rejoin, are held and leave, in batches of any size."""
    known: list[TicketId] = []
    batches = []
    for _ in range(12):
        batch = [random_operation(rng, known) for _ in range(rng.randint(1, 20))]
        known += [operation.ticket_id for operation in batch if isinstance(operation, Issue)]
        batches.append(batch)
    return batches


def random_operation(rng: random.Random, known: list[TicketId]) -> Operation[Any]:
    queue = rng.choice(["lab", "xray", "eye"])
    if not known or rng.random() < 0.4:
        return issue(queue, rng.choice(["Aisha", "Badr", None]), priority=rng.choice([0, 0, 1, 3]))
    one = rng.choice(known)
    return rng.choice(
        [
            CallNext("desk-2"),
            call_next(queue),
            Call(one),
            Start(one),
            Finish(one),
            Miss(one),
            rejoin(one, rng.choice(["first", "last"])),
            Hold(one),
            Resume(one),
            Leave(one),
            Reset(queue) if rng.random() < 0.2 else Recall(one),
        ]
    )


def comparable(outcome: object, venue: Venue) -> str:
    """What came of a command, whichever of the two venues it was."""
    text = f"{type(outcome).__name__}: {outcome}"
    return text.replace(venue.id, "the-venue")
