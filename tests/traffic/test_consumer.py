"""From the queue to details and aggregates: in batches, each once, and poison holds up nobody. On both databases."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from dawr.reliability.lease import Fence, LeaseLost, Leases
from dawr.traffic.collector import Answered, Collector
from dawr.traffic.consumer import Consumer
from dawr.traffic.database import Database, DatabaseAway, Transaction
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of, encoded
from dawr.traffic.keys import VisitorKeys
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import Spool
from tests.builders import DrivenClock
from tests.traffic.builders import NOON, an_event
from tests.traffic.faults import FaultyDatabase
from tests.traffic.tables import rows_of

T = TypeVar("T")

LEASE = "traffic-events"
STEP_MS = 100
"""How often the traffic process looks."""
REFUSED = "/refused\0"
REFUSING = """
    CREATE TRIGGER refusing BEFORE INSERT ON traffic_events WHEN new.path BETWEEN '/refused' AND '/refusee'
    BEGIN SELECT RAISE(ABORT, 'not this one'); END
"""
"""PostgreSQL takes no text with the character zero. SQLite takes every event, so it is taught to refuse one."""
COUNTED = "SELECT request_id FROM traffic_events ORDER BY id, request_id"
LEDGER = "SELECT hour, stored, detailed, duplicates, dead FROM traffic_ledger ORDER BY hour"


class Consuming:
    """A consumer on a driven clock, and what it said about its batches."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = DrivenClock(NOON)
        self.batches: list[int] = []
        self.consumer = Consumer(database, self.clock, told=self._hear)
        self.leases = Leases(database, self.clock)
        self.fence = Fence(LEASE, 0)

    async def take(self) -> Fence:
        """The lease, also from whoever has it: as if that was frozen until its time was over."""
        fence = await self.leases.take(LEASE, "this one")
        assert fence is not None
        return fence

    async def arrive(self, *bodies: str) -> None:
        rows = [(NOON, body, self.clock()) for body in bodies]
        await self.database.transact(lambda transaction: transaction.change_each("add_to_queue", rows))

    async def consume(self) -> None:
        await self.consumer.consume(self.fence)

    async def counted(self) -> list[int]:
        return sorted(int(number) for (number,) in await rows_of(self.database, COUNTED))

    async def waiting(self) -> list[tuple[int, int]]:
        """How often each was tried, and when it is due."""
        return await rows_of(self.database, "SELECT tries, due_at FROM traffic_queue ORDER BY seq")

    def _hear(self, sentence: str) -> None:
        if sentence.startswith("Received "):
            self.batches.append(int(sentence.split()[1]))


@pytest.fixture
async def consuming(database: Database) -> Consuming:
    made = Consuming(database)
    if "Sqlite" in type(database).__name__:
        await rows_of(database, REFUSING)
    made.fence = await made.take()
    return made


def bodies(numbers: Sequence[int]) -> list[str]:
    return [encoded(an_event(number)).decode() for number in numbers]


async def test_batches_are_full_or_five_seconds_old(consuming: Consuming) -> None:
    await consuming.arrive(*bodies(range(250)))

    await consuming.consume()
    at_once = list(consuming.batches)
    while await consuming.waiting():
        consuming.clock.advance(ms=STEP_MS)
        await consuming.consume()

    assert at_once == [100, 100, 50]
    assert consuming.clock() - NOON <= 5_500
    assert await consuming.counted() == list(range(250))


async def test_few_wait_for_others_and_no_longer_than_five_and_a_half_seconds(consuming: Consuming) -> None:
    await consuming.arrive(*bodies(range(3)))
    consuming.clock.advance(seconds=2)
    await consuming.arrive(*bodies(range(3, 5)))

    consuming.clock.advance(ms=2_999)
    await consuming.consume()
    early = list(consuming.batches)
    while await consuming.waiting():
        consuming.clock.advance(ms=STEP_MS)
        await consuming.consume()

    assert early == []
    assert consuming.batches == [5]
    assert consuming.clock() - NOON <= 5_500


async def test_poison_delays_no_mate_is_tried_again_after_1_4_and_16_seconds_and_then_dead(
    consuming: Consuming,
) -> None:
    refused = encoded(an_event(900, path=REFUSED)).decode()
    poison = ["{}", '"text"', "[" * 5000, refused]
    mates = bodies(range(96))
    await consuming.arrive(*mates[:50], *poison, *mates[50:])

    await consuming.consume()
    counted_at_once, tried_at, before = await consuming.counted(), list[int](), list[tuple[int, int]]()
    while await consuming.waiting():
        if await consuming.waiting() != before:
            tried_at.append(consuming.clock() - NOON)
            before = await consuming.waiting()
        consuming.clock.advance(ms=500)
        await consuming.consume()

    dead = await rows_of(consuming.database, "SELECT at, kind, tries, body, reason FROM traffic_dead ORDER BY seq")
    assert counted_at_once == await consuming.counted() == list(range(96))
    assert tried_at == [0, 1_000, 5_000]
    assert [(at - NOON, kind, tries) for at, kind, tries, _, _ in dead] == [(21_000, "poison", 4)] * 4
    assert sorted(body for _, _, _, body, _ in dead) == sorted(poison)
    assert all(reason for *_, reason in dead)
    assert await rows_of(consuming.database, LEDGER) == [(NOON, 96, 96, 0, 4)]


async def test_what_fails_waits_for_itself_alone(consuming: Consuming) -> None:
    """Messages that come later are counted at their own time."""
    await consuming.arrive("{}")
    consuming.clock.advance(seconds=5)
    await consuming.consume()

    await consuming.arrive(*bodies(range(100)))
    await consuming.consume()

    assert await consuming.counted() == list(range(100))
    assert await consuming.waiting() == [(1, NOON + 6_000)]


async def test_wherever_the_database_goes_away_nothing_is_lost_or_doubled(consuming: Consuming) -> None:
    """Also when it had committed, and could not say so. Each round has mates, poison of both kinds, and a repeat."""
    expected = 0
    is_quick = "Sqlite" in type(consuming.database).__name__
    for rounds, moment in enumerate(itertools.count(1, 1 if is_quick else 7), start=1):
        numbers = range(10 * moment, 10 * moment + 3)
        refused = encoded(an_event(10 * moment, path=REFUSED)).decode()
        await consuming.arrive(*bodies(numbers), "{}", refused, *bodies(numbers[:1]))
        expected += len(numbers)
        faulty = FaultyDatabase(consuming.database, moment)
        consumer = Consumer(faulty, consuming.clock, retries=0)
        while await consuming.waiting():
            consuming.clock.advance(seconds=5)
            await consumed(consumer, consuming.fence)

        [(requests,)] = await rows_of(consuming.database, "SELECT sum(requests) FROM traffic_minutes")
        assert len(set(await consuming.counted())) == len(await consuming.counted()) == expected == requests
        ledger = await rows_of(consuming.database, LEDGER)
        assert ledger == [(NOON, expected, expected, rounds, 2 * rounds)]
        if not faulty.has_failed:
            break
    assert moment > 50


async def consumed(consumer: Consumer, fence: Fence) -> None:
    try:
        await consumer.consume(fence)
    except DatabaseAway:
        await consumer.consume(fence)


async def test_a_consumer_that_was_frozen_past_its_lease_changes_nothing(consuming: Consuming) -> None:
    await consuming.arrive(*bodies(range(100)), "{}", encoded(an_event(1, path=REFUSED)).decode())
    another = await consuming.take()
    before = await everything(consuming.database)

    with pytest.raises(LeaseLost):
        await consuming.consume()
    unchanged = await everything(consuming.database)
    await Consumer(consuming.database, consuming.clock).consume(another)

    assert unchanged == before
    assert await consuming.counted() == list(range(100))


async def test_one_that_is_frozen_while_it_looks_for_poison_changes_nothing_more(
    consuming: Consuming, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a batch is stored under its lease; then another takes over, and has all the rest to itself."""
    await consuming.arrive(*bodies(range(75)), encoded(an_event(1, path=REFUSED)).decode(), *bodies(range(75, 99)))
    own, works, before = consuming.database.transact, itertools.count(1), list[object]()

    async def transact(work: Callable[[Transaction], Awaitable[T]]) -> T:
        if next(works) == 3:
            monkeypatch.setattr(consuming.database, "transact", own)
            await consuming.take()
            before.extend(await everything(consuming.database))
        return await own(work)

    monkeypatch.setattr(consuming.database, "transact", transact)

    with pytest.raises(LeaseLost):
        await consuming.consume()

    assert before == await everything(consuming.database)
    assert await consuming.counted() == list(range(50))


async def everything(database: Database) -> list[list[tuple[object, ...]]]:
    tables = ("queue", "events", "hours", "minutes", "buckets", "visitors", "seen", "ledger", "dead")
    return [sorted(await rows_of(database, f"SELECT * FROM traffic_{table}")) for table in tables]


class Worker:
    """One of several that serve, with the key of their host."""

    def __init__(self, directory: Path, name: str, clock: DrivenClock) -> None:
        numbers = itertools.count(1)
        keys = VisitorKeys(directory / "key", lambda: b"k" * 32)
        self.spool = Spool(directory / "spool", lambda: f"{name}-{next(numbers)}")
        self.collector = Collector(self.spool, keys, clock=clock, new_id=lambda: f"{name} {next(numbers)}")

    def answer(self, ray: str | None) -> str:
        return self.collector.collect(
            Answered("GET", "/api/test", "/api/test", 200, 1_000_000, client="192.168.1.1", request_id=ray)
        )


@pytest.mark.parametrize(
    ("first_at", "later_ms", "is_repeat"),
    [
        (NOON, 1_000, True),
        (NOON + MS_PER_HOUR - 1_000, 2_000, True),
        (day_of(NOON) + MS_PER_DAY - 30_000, 60_000, True),
        (day_of(NOON) + MS_PER_DAY - 30_000, 601_000, False),
        (NOON, 601_000, False),
    ],
    ids=["at noon", "over the hour", "over midnight", "over midnight and too late", "too late"],
)
async def test_a_request_that_comes_again_through_another_worker_counts_once_for_ten_minutes(
    consuming: Consuming, tmp_path: Path, first_at: int, later_ms: int, *, is_repeat: bool
) -> None:
    clock = consuming.clock
    clock.now = first_at
    one, two = (Worker(tmp_path / "host", name, clock) for name in ("one", "two"))
    (tmp_path / "host").mkdir()
    first = one.answer("ray")
    clock.advance(ms=later_ms)
    again = two.answer("ray")
    two.answer(None)

    one.spool.close()
    two.spool.close()
    await Shipper(consuming.database, tmp_path / "host" / "spool", clock).ship()
    clock.advance(seconds=5)
    await consuming.consume()

    rows = await rows_of(consuming.database, "SELECT id FROM traffic_events WHERE request_id = 'ray' ORDER BY at")
    assert [id_ for (id_,) in rows] == ([first] if is_repeat else [first, again])
    assert sum(row[3] for row in await rows_of(consuming.database, LEDGER)) == int(is_repeat)
