"""A venue in which anything may happen, on a real store, beside the model that says what should."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from dawr.domain import Event, Origin, QueueId
from dawr.engine.engine import Engine
from dawr.operations.admin import Reset
from dawr.operations.clockwork import ExpireEnded
from dawr.operations.desks import OpenDesk
from dawr.operations.visitor import Issue
from dawr.operations.visits import StartVisit
from dawr.ports import Store
from dawr.reliability.idempotency import AnswerKey, Claim
from tests.builders import DrivenClock, a_head
from tests.operations.line_model import Plain, Row, Seen
from tests.operations.model import Job, Model
from tests.operations.picture import Picture, plain, render
from tests.operations.visit_model import shown
from tests.operations.wishes import ACTORS, DESKS, HOUR, MINUTE, MOODS, QUEUES, SECOND, WOUND_UP, Wishes, a_clinic, due
from tests.stores.databases import Database

KEEP_MS = 30 * MINUTE
PASSING = [1, SECOND, 20 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 40 * MINUTE]
LEAPS = [7 * HOUR, 25 * HOUR, -HOUR]
TOLD = ("visit", "next", "why", "overtaken", "unannounced")
"""What is compared of the facts in an event."""
seeds = st.integers(0, 2**64 - 1)


MOST_ORDERS = 200
"""That are looked at, of those that explain what happened."""


class World:
    """A store, and the loop it lives in, for as long as one test lasts."""

    def __init__(self, database: Database) -> None:
        self.runner = asyncio.Runner()
        self.store: Store = self.runner.run(database.open())
        self.runner.run(self.store.migrate())
        self.steps = 0
        self.kinds: set[str] = set()
        self.refusals: set[str] = set()
        self.undone: set[str] = set()

    def close(self) -> None:
        self.runner.run(self.store.close())
        self.runner.close()


class Venues(RuleBasedStateMachine):
    """A venue of its own for every example, run by two engines as if by two processes."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.clock = world, DrivenClock()
        venue = a_clinic()
        self.venue_id = venue.id
        self.run(world.store.add_venue(venue, a_head(venue, self.clock.now)))
        self.engines = [Engine(world.store, self.clock), Engine(world.store, self.clock)]
        self.model = Model(venue, self.clock.now)
        self.ids = itertools.count(1)
        self.retries: dict[str, Job] = {}
        self.mood = MOODS[0]
        self.one_engine = True
        self.is_sound = False
        self.happen([Job(WOUND_UP, None, "clock")])

    def run(self, work: Any) -> Any:  # noqa: ANN401 - whatever the work gives
        return self.world.runner.run(work)

    # What may happen

    @initialize(seed=seeds)
    def the_doors_open(self, seed: int) -> None:
        """Mostly staff sit down first, and people wait already."""
        wishes = self.wishes(self.luck(seed))
        for desk in DESKS:
            if wishes.luck.random() < 0.8:
                self.happen([Job(OpenDesk(desk, f"{seed}"), None, wishes.luck.choice(ACTORS))])
        for wish in ("start visit", "issue", "start visit", "start visit"):
            self.happen([Job(wishes.operation(wish), None, wishes.luck.choice(ACTORS))])

    @rule(seed=seeds, people=st.sampled_from([0, 0, 1, 2, 3, 4, 5, 8]))
    def go_on(self, seed: int, people: int) -> None:
        """So many people wish for something at once; when there is nobody, time passes.

        What is drawn never depends on the venue: two engines at once are not the same twice.
        """
        luck = self.luck(seed)
        self.mood = luck.choice([MOODS[0], *MOODS])
        self.one_engine = people > 5 or luck.random() < 0.5
        if people:
            wishes = self.wishes(luck)
            self.happen([self.job(wishes) for _ in range(people)])
        else:
            self.let_time_pass(luck)
        if luck.random() < 0.01:
            self.reset_and_sweep(QueueId(luck.choice(QUEUES)))

    def let_time_pass(self, luck: Random) -> None:
        """Mostly the clock does what is due, sometimes twice; sometimes somebody is faster."""
        self.clock.now += luck.choice(LEAPS if luck.random() < 0.06 else PASSING)
        self.model.now = self.clock.now
        if luck.random() < 0.2:
            return
        ringing = due(self.model)
        while ringing:
            rung, ringing = ringing[:4], ringing[4:]
            twice = [alarm for alarm in rung if luck.random() < 0.2]
            self.happen([Job(ring, None, "clock") for ring in (*rung, *twice)])

    def reset_and_sweep(self, queue: QueueId) -> None:
        sweep = Job(ExpireEnded(queue), None, "clock")
        self.happen([Job(Reset(queue), None, "amna")])
        self.happen([sweep])
        assert self.model.after(sweep, ())[0] == 0

    # How it happens

    def luck(self, seed: int) -> Random:
        """Spread evenly: drawn one by one, wishes would repeat each other too often."""
        return Random(f"{seed} {len(self.model.events)} {self.clock.now}")

    def wishes(self, luck: Random) -> Wishes:
        return Wishes(self.model, luck, self.ids, luck.choice([*QUEUES, None]))

    def job(self, wishes: Wishes) -> Job:
        luck = wishes.luck
        (wish,) = luck.choices([*self.mood], [*self.mood.values()])
        if wish == "retry" and self.retries:
            operation, claim, actor = luck.choice(list(self.retries.values()))
            return Job(wishes.asked_anew(operation), claim, actor)
        operation, actor = wishes.operation("issue" if wish == "retry" else wish), luck.choice(ACTORS)
        if luck.random() < 0.85:
            return Job(operation, None, actor)
        key, asked = luck.choice(["k1", "k2", "k3", "k4"]), operation
        if isinstance(asked, Issue):
            asked = msgspec.structs.replace(asked, ticket_id="", visit_id="", secret_hash="")
        if isinstance(asked, StartVisit):
            asked = msgspec.structs.replace(asked, visit_id="", secret_hash="")
        claim = Claim(AnswerKey(self.venue_id, "somebody", key), repr(asked), KEEP_MS)
        self.retries[key] = Job(operation, claim, actor)
        return self.retries[key]

    def happen(self, jobs: Sequence[Job]) -> list[Plain]:
        """Have it decided, and find the order in which the model would have said the same."""
        note(f"at {self.clock.now}: {jobs}")
        self.is_sound = False
        version = len(self.model.events)
        outcomes = [plain(outcome) for outcome in self.run(self.submit(jobs))]
        events = self.run(self.engines[0].events_after(self.venue_id, version, most=1000))
        seen = [as_seen(event) for event in events]

        explanations = in_some_order(self.model, list(zip(jobs, outcomes, strict=True)), seen)
        after = next(explanations, None)

        assert after is not None, self.nothing_explains(jobs, outcomes, seen)
        self.model = after if len(jobs) == 1 else self.as_it_is(after, explanations)
        self.world.kinds |= {event[1] for event in seen}
        self.world.refusals |= {said["refused"] for said in outcomes if isinstance(said, dict) and "refused" in said}
        return outcomes

    def as_it_is(self, first: Model, others: Iterator[Model]) -> Model:
        """Several orders may explain what was said and told: what is stored tells which one it was."""
        real: Row = self.run(self.engines[1].read(self.venue_id, Picture.of(first)))
        explained = itertools.chain([first], itertools.islice(others, MOST_ORDERS))
        return next((model for model in explained if is_as_stored(model, real)), first)

    def nothing_explains(self, jobs: Sequence[Job], outcomes: list[Plain], seen: list[Seen]) -> str:
        """What happened, and what the model would have said to each if it had come first."""
        told = [f"no order explains {seen}"]
        for job, outcome in zip(jobs, outcomes, strict=True):
            said, tried = self.model.after(job, seen)
            happened = tried.events[len(self.model.events) :]
            told.append(f"{job}: {outcome if said != outcome else 'as'} the model says {said} {happened}")
        return "\n".join(told)

    async def submit(self, jobs: Sequence[Job]) -> list[object]:
        engines = itertools.cycle(self.engines[:1] if self.one_engine else self.engines)
        return await asyncio.gather(*(self.decided(next(engines), job) for job in jobs), return_exceptions=True)

    async def decided(self, engine: Engine, job: Job) -> object:
        origin = Origin(actor=job.actor)
        if job.claim is None:
            return await engine.do(self.venue_id, job.operation, origin=origin)
        return await engine.answer(self.venue_id, job.operation, render, claim=job.claim, origin=origin)

    # What must hold

    def picture(self) -> Row:
        seen: Row = self.run(self.engines[1].read(self.venue_id, Picture.of(self.model)))
        return seen

    @invariant()
    def the_venue_is_as_the_model_says(self) -> None:
        model, real = self.model, self.picture()

        assert real["tickets"] == model.tickets
        assert real["visits"] == {visit_id: shown(visit) for visit_id, visit in model.visits.items()}
        assert real["ahead"] == {ticket_id: model.ahead(ticket) for ticket_id, ticket in model.tickets.items()}
        assert real["current"] == [model.line(model.current(queue)) for queue in QUEUES]
        assert real["lines"] == [model.line((line["queue_id"], line["day"], line["round"])) for line in real["lines"]]
        assert real["first"] == [model.first([queue]) for queue in QUEUES]
        assert real["states"] == [queue["state"] for queue in model.queues.values()]
        assert real["day"] == model.day()
        assert real["alarms"] == model.alarms
        assert real["pins"] == model.pins
        assert real["desks"] == {desk: model._desk(desk) for desk in model.desks}
        assert real["overtaken"] == model.overtaken
        assert_numbers_and_versions_have_no_holes(real, model)
        for visit_id, visit in real["visits"].items():
            assert_is_somewhere(visit, [t for t in real["tickets"].values() if t["visit_id"] == visit_id])
            is_under_way = visit["stages"] is not None and visit["state"] == "open"
            assert real["open keys"][visit_id] == (visit["visitor"] if is_under_way else None)
        todays = [pin["pin"] for pin in real["pins"].values() if pin["day"] == real["day"]]
        assert len(todays) == len(set(todays))
        self.world.steps += 1
        self.is_sound = True

    def teardown(self) -> None:
        if self.is_sound:
            self.nothing_is_left_over()
        for engine in self.engines:
            self.run(engine.stop())

    def nothing_is_left_over(self) -> None:
        alarms = self.run(self.world.store.due_alarms(2**53, most=100_000))
        known = {key: due_at for key, due_at in self.model.alarms.items() if due_at is not None}
        assert {(a.kind, a.subject): a.due_at for a in alarms if a.venue_id == self.venue_id} == known
        assert self.run(self.world.store.faults()) == []


def is_as_stored(model: Model, real: Row) -> bool:
    return (
        bool(real["tickets"] == model.tickets)
        and bool(real["alarms"] == model.alarms)
        and bool(real["visits"] == {visit_id: shown(visit) for visit_id, visit in model.visits.items()})
        and bool(real["overtaken"] == model.overtaken)
        and bool(real["desks"] == {desk: model._desk(desk) for desk in model.desks})
    )


def as_seen(event: Event) -> Seen:
    data = msgspec.json.decode(event.data)
    told = {name: data[name] for name in TOLD if name in data}
    return (event.version, event.kind, event.queue_id, event.ticket_id, event.at, event.actor, told)


def assert_numbers_and_versions_have_no_holes(real: Row, model: Model) -> None:
    for line in real["lines"]:
        key = [line["queue_id"], line["day"], line["round"]]
        numbers = [t["number"] for t in real["tickets"].values() if [t["queue_id"], t["day"], t["round"]] == key]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert [event[0] for event in model.events] == list(range(1, len(model.events) + 1))


def assert_is_somewhere(visit: Row, tickets: list[Row]) -> None:
    """One that is open has exactly one open ticket, or a stage to enter; one that has ended has neither."""
    is_open = [ticket["ticket_id"] for ticket in tickets if ticket["open_key"]]
    stages = visit["stages"] or []
    in_queue = [stage["ticket_id"] for stage in stages if stage["state"] == "in_queue"]
    ready = [stage for stage in stages if stage["state"] == "ready"]
    if visit["state"] != "open":
        assert (is_open, in_queue, ready) == ([], [], [])
    elif ready:
        assert (is_open, in_queue) == ([], [])
    else:
        assert is_open == [visit["ticket_id"]]
        assert visit["stages"] is None or in_queue == is_open


def in_some_order(model: Model, open_jobs: list[tuple[Job, Plain]], seen: list[Seen]) -> Iterator[Model]:
    """The model after all of this, in each order that gives these answers and, exactly, these events.

    What changes nothing is taken when it fits: the others are not told apart by when it came.
    """
    if not open_jobs:
        if not seen:
            yield model
        return
    for at, (job, outcome) in enumerate(open_jobs):
        said, tried = model.after(job, seen)
        happened = tried.events[len(model.events) :]
        if said == outcome and happened == seen[: len(happened)]:
            rest = open_jobs[:at] + open_jobs[at + 1 :]
            yield from in_some_order(tried, rest, seen[len(happened) :])
            if tried.changes == model.changes:
                return


def walk(world: World, machine: type[Venues], *, examples: int, steps: int = 50) -> None:
    run_state_machine_as_test(
        lambda: machine(world),  # type: ignore[arg-type] # anything that makes a machine will do
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
