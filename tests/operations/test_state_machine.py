"""All operations, at random, one by one and at once, against a model, on both real stores."""

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from dawr.domain.errors import Refused
from dawr.domain.queue import Queue, QueueId, QueueVerb
from dawr.domain.ticket import VERBS as TICKET_VERBS
from dawr.domain.ticket import LineKey, TicketId, VisitId
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.clockwork import Expire, ExpireEnded
from dawr.operations.operation import Operation, View
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.ticket import Joined
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Issue, Leave, Rejoin
from dawr.ports import Store, Wants
from dawr.reliability.idempotency import AnswerKey, Claim, KeyReused, Reply
from tests.builders import DrivenClock, a_desk, a_head, a_queue, a_venue
from tests.operations.model import Model, Plain, Seen
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase

SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
QUEUES = ("lab", "xray", "eye")
DESKS = {"one": ["lab"], "two": ["lab", "xray"], "three": ["eye", "lab", "xray"]}
KEEP_MS = 30 * MINUTE

Job = tuple[Operation[Any], Claim | None]

VERBS: dict[str, tuple[str, Callable[[TicketId], Operation[Any]]]] = {
    "call": ("waiting", lambda ticket: Call(ticket, "one")),
    "recall": ("called", Recall),
    "start": ("called", Start),
    "finish": ("called serving", Finish),
    "miss": ("called", Miss),
    "rejoin first": ("missed", lambda ticket: Rejoin(ticket, "first")),
    "rejoin last": ("missed", lambda ticket: Rejoin(ticket, "last")),
    "hold": ("waiting", Hold),
    "resume": ("held", Resume),
    "leave": ("waiting called held missed", Leave),
    "expire": ("serving held missed", Expire),
}
"""Verb → the states in which it is worth trying, and its operation."""
ENDING = {"leave", "expire"}
"""Tried less often, so that tickets live long enough for the rest."""

MOODS = [
    {"issue": 60, "call next": 40, "verb": 80, "queue": 8, "reset": 3, "sweep": 3, "retry": 12},
    {"verb": 100, "sweep": 1, "retry": 2},
]
"""What people wish for at one moment, and how often: anything, or nothing but to go on with their tickets."""
PASSING = [1, SECOND, SECOND, MINUTE, MINUTE, 5 * MINUTE, 40 * MINUTE, 7 * HOUR, 25 * HOUR, -HOUR]
seeds = st.integers(0, 2**64 - 1)


class Picture(View[dict[str, Plain]], frozen=True):
    """Every line, every ticket, and how many are ahead of each, read at one moment."""

    tickets: tuple[TicketId, ...]
    open_keys: tuple[str, ...]
    lines: tuple[LineKey, ...]

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.tickets.update(self.tickets)
        wants.open_keys.update(self.open_keys)
        wants.lines.update(self.lines)
        wants.waiting.update(queue.id for queue in venue.queues)

    def look(self, tx: Transaction, now: int) -> dict[str, Plain]:  # noqa: ARG002 - a view is asked like this
        tickets = [tx.ticket(ticket_id) for ticket_id in self.tickets]
        return {
            "day": tx.day,
            "tickets": {ticket.ticket_id: plain(ticket) for ticket in tickets},
            "ahead": {ticket.ticket_id: tx.ahead_of(ticket) for ticket in tickets},
            "current": [plain(tx.line(queue.id)) for queue in tx.venue.queues],
            "lines": [plain(tx.line_at(key)) for key in self.lines],
            "first": [plain(tx.first_waiting(queue.id)) for queue in tx.venue.queues],
            "states": [queue.state for queue in tx.venue.queues],
        }


def plain(result: object) -> Plain:
    """An answer as numbers, texts, lists and dicts. What an undo would need is tested with the ticket."""
    if isinstance(result, Exception):
        if isinstance(result, Refused | KeyReused):
            return {"refused": result.code}
        raise result
    if isinstance(result, Reply):
        return {"body": msgspec.json.decode(result.body), "replayed": result.replayed}
    if isinstance(result, Queue):
        return {"queue": result.id, "state": result.state}
    built = msgspec.json.decode(msgspec.json.encode(result))
    if isinstance(result, Joined):
        built |= {"queue": result.queue.id, "position": result.position, "is_near": result.is_near}
    for part in (built, built.get("ticket"), built.get("next")) if isinstance(built, dict) else ():
        if isinstance(part, dict):
            part.pop("previous", None)
    return built


def render(result: object) -> Reply:
    return Reply(200, msgspec.json.encode(plain(result)))


class World:
    """A store, and the loop it lives in, for as long as one test lasts."""

    def __init__(self, database: Database) -> None:
        self.runner = asyncio.Runner()
        self.store: Store = self.runner.run(database.open())
        self.runner.run(self.store.migrate())
        self.steps = 0
        self.kinds: set[str] = set()

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


class Venues(RuleBasedStateMachine):
    """A venue of its own for every example, run by two engines as if by two processes."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.clock = world, DrivenClock()
        rooms = tuple(
            a_queue(code, prefix=code[0].upper(), capacity=capacity, reserve=reserve, mean_service_seconds=seconds)
            for code, capacity, reserve, seconds in (("lab", None, 0, 300), ("xray", 4, 2, 90), ("eye", 9, 0, 600))
        )
        venue = a_venue(*rooms, desks=tuple(a_desk(code, *served) for code, served in DESKS.items()))
        self.venue_id = venue.id
        self.run(world.store.add_venue(venue, a_head(venue, self.clock.now)))
        self.engines = [Engine(world.store, self.clock), Engine(world.store, self.clock)]
        self.model = Model(venue.id, {room.id: msgspec.to_builtins(room) for room in rooms}, DESKS, self.clock.now)
        self.ids = itertools.count(1)
        self.retries: dict[str, Job] = {}
        self.mood = MOODS[0]
        self.rush: str | None = None
        self.one_engine = True

    def run(self, work: Any) -> Any:  # noqa: ANN401 - whatever the work gives
        return self.world.runner.run(work)

    # What may happen

    @rule(seed=seeds, people=st.sampled_from([0, 1, 1, 2, 3, 4, 5, 8]))
    def go_on(self, seed: int, people: int) -> None:
        """So many people wish for something at once; when there is nobody, time passes.

        What is drawn never depends on the venue: two engines at once are not the same twice.
        """
        luck = self.luck(seed)
        self.mood = luck.choice([MOODS[0], *MOODS])
        self.rush = luck.choice([*QUEUES, None])
        self.one_engine = people > 5 or luck.random() < 0.5
        if people:
            self.happen([self.job(luck) for _ in range(people)])
        else:
            self.clock.now += luck.choice(PASSING)
            self.model.now = self.clock.now
        if luck.random() < 0.03:
            self.reset_and_sweep(QueueId(luck.choice(QUEUES)))

    def reset_and_sweep(self, queue: QueueId) -> None:
        self.happen([(Reset(queue), None)])
        self.happen([(ExpireEnded(queue), None)])
        assert self.model.copied().answer(ExpireEnded(queue), None, ()) == 0

    # How it happens

    def luck(self, seed: int) -> Random:
        """Spread evenly: drawn one by one, wishes would repeat each other too often."""
        return Random(f"{seed} {len(self.model.events)} {self.clock.now}")

    def job(self, luck: Random) -> Job:
        (wish,) = luck.choices([*self.mood], [*self.mood.values()])
        if wish == "retry" and self.retries:
            operation, claim = luck.choice(list(self.retries.values()))
            return self.asked_anew(operation), claim
        operation = self.operation(wish, luck)
        if luck.random() < 0.7:
            return operation, None
        key = luck.choice(["k1", "k2", "k3"])
        asked = repr(operation)
        if isinstance(operation, Issue):
            asked = repr(msgspec.structs.replace(operation, ticket_id="", visit_id="", secret_hash=""))
        self.retries[key] = (operation, Claim(AnswerKey(self.venue_id, "somebody", key), asked, KEEP_MS))
        return self.retries[key]

    def operation(self, wish: str, luck: Random) -> Operation[Any]:
        queue = self.rush or luck.choice(QUEUES)
        match wish:
            case "call next":
                caller = luck.choice([*DESKS, queue, queue])
                return CallNext(desk=caller) if caller in DESKS else CallNext(queue=caller)
            case "verb":
                return self.verb(luck)
            case "queue":
                return ChangeQueue(queue, self.verb_for(queue, luck))
            case "reset":
                return Reset(queue)
            case "sweep":
                return ExpireEnded(QueueId(queue))
        return self.asked_anew(
            Issue(queue, self.visitor(queue, luck), TicketId(""), VisitId(""), "", luck.choice([0, 0, 0, 1, 2, 3]))
        )

    def visitor(self, queue: str, luck: Random) -> str | None:
        """Somebody new, somebody known, or somebody who waits here and asks again."""
        waiting = [
            t["visitor"] for t in self.model.tickets.values() if t["state"] == "waiting" and t["queue_id"] == queue
        ]
        who: str | None = luck.choice(waiting if waiting and luck.random() < 0.4 else [*"abcdef", None, None])
        return who

    def asked_anew(self, operation: Operation[Any]) -> Operation[Any]:
        """A request that comes again gets new ids, as the door makes them for every request."""
        if not isinstance(operation, Issue):
            return operation
        name = f"{self.venue_id}-{next(self.ids)}"
        return msgspec.structs.replace(operation, ticket_id=f"t-{name}", visit_id=f"s-{name}", secret_hash=f"h-{name}")

    def verb(self, luck: Random) -> Operation[Any]:
        """Mostly one that the ticket's state allows, sometimes any, rarely of a ticket that never was."""
        verbs = list(VERBS.values())
        tickets = [t for t in self.model.tickets.values() if t["queue_id"] == (self.rush or t["queue_id"])]
        if not tickets or luck.random() < 0.02:
            return luck.choice(verbs)[1](TicketId("t-nobody"))
        if luck.random() < 0.1:
            return luck.choice(verbs)[1](TicketId(luck.choice(tickets)["ticket_id"]))
        state = luck.choice(sorted({ticket["state"] for ticket in tickets if ticket["open_key"]}) or ["left"])
        ticket = luck.choice([ticket for ticket in tickets if ticket["state"] == state] or tickets)
        fitting = [
            verb for name, verb in VERBS.items() if state in verb[0].split() for _ in range(3 - 2 * (name in ENDING))
        ]
        return luck.choice(fitting or verbs)[1](TicketId(ticket["ticket_id"]))

    def verb_for(self, queue: str, luck: Random) -> QueueVerb:
        """Mostly one that opens what is not open, so that a venue is seldom shut."""
        opening: dict[str, QueueVerb] = {"closed": "open", "paused": "resume"}
        verbs: tuple[QueueVerb, ...] = get_args(QueueVerb)
        return opening.get(self.model.queues[queue]["state"], "pause") if luck.random() < 0.6 else luck.choice(verbs)

    def happen(self, jobs: list[Job]) -> None:
        """Have it decided, and find the order in which the model would have said the same."""
        note(f"at {self.clock.now}: {jobs}")
        version = len(self.model.events)
        outcomes = [plain(outcome) for outcome in self.run(self.submit(jobs))]
        events = self.run(self.engines[0].events_after(self.venue_id, version, most=1000))
        seen = [(event.version, event.kind, event.queue_id, event.ticket_id, event.at) for event in events]

        after = in_some_order(self.model, list(zip(jobs, outcomes, strict=True)), seen)

        assert after is not None, f"no order explains {list(zip(jobs, outcomes, strict=True))} and {seen}"
        self.model = after
        self.world.kinds |= {kind for _, kind, _, _, _ in seen}

    async def submit(self, jobs: list[Job]) -> list[object]:
        engines = itertools.cycle(self.engines[:1] if self.one_engine else self.engines)
        return await asyncio.gather(
            *(self.decided(next(engines), operation, claim) for operation, claim in jobs), return_exceptions=True
        )

    async def decided(self, engine: Engine, operation: Operation[Any], claim: Claim | None) -> object:
        if claim is None:
            return await engine.do(self.venue_id, operation)
        return await engine.answer(self.venue_id, operation, render, claim=claim)

    # What must hold

    @invariant()
    def the_venue_is_as_the_model_says(self) -> None:
        model = self.model
        stored = {LineKey(t["queue_id"], t["day"], t["round"]) for t in model.tickets.values()}
        picture = Picture(
            tuple(TicketId(ticket) for ticket in model.tickets),
            tuple(t["open_key"] for t in model.tickets.values() if t["open_key"]),
            tuple(sorted(stored)),
        )

        real = self.run(self.engines[1].read(self.venue_id, picture))

        assert real["tickets"] == model.tickets
        assert real["ahead"] == {ticket_id: model.ahead(ticket) for ticket_id, ticket in model.tickets.items()}
        assert real["current"] == [model.line(model.current(queue)) for queue in QUEUES]
        assert real["lines"] == [model.line(key) for key in sorted(stored)]
        assert real["first"] == [model.first([queue]) for queue in QUEUES]
        assert real["states"] == [queue["state"] for queue in model.queues.values()]
        assert real["day"] == model.day()
        for key in stored:
            numbers = [t["number"] for t in real["tickets"].values() if (t["queue_id"], t["day"], t["round"]) == key]
            assert sorted(numbers) == list(range(1, len(numbers) + 1))
        assert [version for version, *_ in model.events] == list(range(1, len(model.events) + 1))
        self.world.steps += 1

    def teardown(self) -> None:
        for engine in self.engines:
            self.run(engine.stop())


def in_some_order(model: Model, open_jobs: list[tuple[Job, Plain]], seen: list[Seen]) -> Model | None:
    """The model after all of this, in an order that gives these answers and, exactly, these events."""
    if not open_jobs:
        return None if seen else model
    for at, ((operation, claim), outcome) in enumerate(open_jobs):
        tried = model.copied()
        before = len(tried.events)
        said = tried.answer(operation, claim, seen)
        happened = tried.events[before:]
        if said == outcome and happened == seen[: len(happened)]:
            rest = open_jobs[:at] + open_jobs[at + 1 :]
            after = in_some_order(tried, rest, seen[len(happened) :])
            if after is not None:
                return after
    return None


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    database: Database = (
        SqliteDatabase(tmp_path / "dawr.db")
        if request.param == "sqlite"
        else PostgresDatabase(request.getfixturevalue("postgres_url"))
    )
    world = World(database)
    yield world
    world.close()


def walk(world: World, *, examples: int, steps: int = 50) -> None:
    run_state_machine_as_test(
        lambda: Venues(world),  # type: ignore[arg-type] # anything that makes a machine will do
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # a shorter example would take minutes to find, and the jobs say enough
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(
    ("world", "examples"),
    [
        ("sqlite", 16),
        ("postgres", 8),
        pytest.param("sqlite", 80, marks=pytest.mark.slow),
        pytest.param("postgres", 24, marks=pytest.mark.slow),
    ],
    indirect=["world"],
)
def test_whatever_people_do_at_once_the_venue_does_as_if_it_were_one_after_the_other(
    world: World, examples: int
) -> None:
    walk(world, examples=examples)

    assert world.steps >= examples * 45
    assert world.kinds >= {change.event for change in TICKET_VERBS.values()}


@pytest.mark.prove
@pytest.mark.parametrize(("world", "examples"), [("sqlite", 600), ("postgres", 200)], indirect=["world"])
def test_a_long_walk_finds_no_other_way(world: World, examples: int) -> None:
    walk(world, examples=examples, steps=100)

    assert world.steps >= examples * 90
