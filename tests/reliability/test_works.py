"""Works: begun again when they fail, watched, and stopped together."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic_ns

import pytest
import structlog

from dawr.reliability import works as module
from dawr.reliability.lease import Fence, Lease, Leases
from dawr.reliability.sqlite_records import SqliteRecords
from dawr.reliability.works import Work, Works


class Away(Exception):
    """What a work depends on is not there."""


class Step:
    """Fails so many times, and then does what it should."""

    def __init__(self, *, failures: int = 0, fault: Exception | None = None) -> None:
        self.taken = 0
        self.fences: list[Fence] = []
        self._failures = failures
        self._fault = fault or RuntimeError("a fault of its own")

    async def __call__(self, *fence: Fence) -> None:
        self.taken += 1
        self.fences += fence
        if self.taken <= self._failures:
            raise self._fault


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


def states_of(works: Works) -> dict[str, str]:
    return {work.name: work.state for work in works.states()}


async def test_a_step_is_taken_again_and_again() -> None:
    step = Step()
    works = Works([Work(name="step", run=step, every=0.001)])

    async with works.running():
        await until(lambda: step.taken >= 3)

    assert [(work.name, work.state, work.failures) for work in works.states()] == [("step", "running", 0)]


async def test_a_step_that_fails_is_logged_counted_and_taken_again() -> None:
    step = Step(failures=2)
    counted: list[str] = []
    works = Works([Work(name="step", run=step, every=0.001)], count=counted.append)

    with structlog.testing.capture_logs() as lines:
        async with works.running():
            await until(lambda: step.taken >= 5)

    failed = [line for line in lines if line["event"] == "work.failed"]
    assert [(line["work"], line["log_level"], str(line["exc_info"])) for line in failed] == [
        ("step", "error", "a fault of its own")
    ] * 2
    assert counted == ["step", "step"]
    assert [(work.state, work.failures) for work in works.states()] == [("running", 2)]


async def test_a_fault_that_is_expected_is_said_without_its_traceback() -> None:
    step = Step(failures=1, fault=Away("the server is away"))
    works = Works([Work(name="step", run=step, every=0.001)], expected=(Away,))

    with structlog.testing.capture_logs() as lines:
        async with works.running():
            await until(lambda: step.taken >= 2)

    assert lines == [{"event": "work.failed", "work": "step", "reason": "the server is away", "log_level": "warning"}]


async def test_while_a_work_fails_it_is_seen_and_the_others_go_on() -> None:
    bad, good = Step(failures=1000), Step()
    works = Works([Work(name="bad", run=bad, every=0.001), Work(name="good", run=good, every=0.001)])

    async with works.running():
        await until(lambda: bad.taken >= 2 and good.taken >= 10)

        assert states_of(works) == {"bad": "failing", "good": "running"}
        assert works.failing == 1


async def test_a_work_that_just_ends_is_noticed_and_begun_again() -> None:
    step = Step()
    works = Works([Work(name="endless", run=step)])

    with structlog.testing.capture_logs() as lines:
        async with works.running():
            await until(lambda: step.taken >= 2)

    assert "EndedByItself" in repr(lines[0]["exc_info"])
    assert works.states()[0].failures >= 1


async def test_a_work_that_is_cancelled_from_inside_is_begun_again() -> None:
    taken = 0

    async def cancelled_once() -> None:
        nonlocal taken
        taken += 1
        if taken == 1:
            raise asyncio.CancelledError
        await asyncio.Event().wait()

    works = Works([Work(name="endless", run=cancelled_once)])

    async with works.running():
        await until(lambda: taken >= 2)

    assert works.states()[0].failures == 1


async def test_the_pause_doubles_with_every_failure_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    paused: list[float] = []
    slept = asyncio.sleep

    async def sleep(seconds: float) -> None:
        paused.append(seconds)
        await slept(0)

    monkeypatch.setattr("dawr.reliability.works.asyncio.sleep", sleep)
    step = Step(failures=12)

    async with Works([Work(name="step", run=step, every=60.0)]).running():
        while step.taken < 14:
            await slept(0)

    assert paused[:4] == [0.1, 0.2, 0.4, 0.8]
    assert paused[11] == module.LONGEST_PAUSE_SECONDS
    assert paused[12] == 60.0


async def test_a_work_that_has_gone_on_for_a_while_is_well_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SETTLED_SECONDS", 0.05)
    begun = 0

    async def fails_once() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise RuntimeError("once")
        await asyncio.Event().wait()

    works = Works([Work(name="endless", run=fails_once)])

    async with works.running():
        await until(lambda: begun == 2)
        await until(lambda: states_of(works) == {"endless": "running"})


async def test_when_they_are_told_to_stop_all_stop() -> None:
    ended = []

    async def goes_on(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    works = Works([Work(name=name, run=lambda name=name: goes_on(name)) for name in ("one", "two")])

    async with works.running():
        await asyncio.sleep(0.01)

    assert sorted(ended) == ["one", "two"]
    assert [work.failures for work in works.states()] == [0, 0]


@pytest.mark.parametrize("every", [None, 0.001])
async def test_a_work_that_swallows_its_cancellation_stops_all_the_same(every: float | None) -> None:
    begun = asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    works = Works([Work(name="stubborn", run=stubborn, every=every)])

    async with asyncio.timeout(20):
        async with works.running():
            await begun.wait()

    assert works.states()[0].failures == 0


@asynccontextmanager
async def leases(tmp_path: Path) -> AsyncIterator[Leases]:
    records = SqliteRecords(tmp_path / "leases.db")
    await records.create_tables()
    yield Leases(records, lambda: monotonic_ns() // 1_000_000)
    await records.close()


async def test_under_a_lease_one_does_the_work_and_the_other_stands_by(tmp_path: Path) -> None:
    first, second = Step(), Step()
    async with leases(tmp_path) as all_leases:
        one, two = (Lease(all_leases, "work", holder=holder, lease_ms=5000) for holder in ("one", "two"))
        working = Works([Work(name="work", run=first, every=0.001, lease=one)])
        waiting = Works([Work(name="work", run=second, every=0.001, lease=two)])

        async with working.running():
            await until(lambda: first.taken >= 1)
            async with waiting.running():
                await asyncio.sleep(0.05)

                assert (states_of(working), states_of(waiting)) == ({"work": "running"}, {"work": "standing-by"})

    assert second.taken == 0
    assert {fence.lease for fence in first.fences} == {"work"}


async def test_whoever_fails_under_a_lease_lets_another_one_have_it(tmp_path: Path) -> None:
    bad, good = Step(failures=1000), Step()
    async with leases(tmp_path) as all_leases:
        one, two = (Lease(all_leases, "work", holder=holder, lease_ms=400) for holder in ("one", "two"))

        async with Works([Work(name="work", run=bad, every=0.001, lease=one)]).running():
            await until(lambda: bad.taken >= 1)
            async with Works([Work(name="work", run=good, every=0.001, lease=two)]).running():
                await until(lambda: good.taken >= 1)


async def test_a_lease_that_nobody_can_be_asked_for_is_no_standing_by(tmp_path: Path) -> None:
    step = Step()
    records = SqliteRecords(tmp_path / "no tables.db")
    lease = Lease(Leases(records, lambda: 0), "work", holder="one", lease_ms=400)
    works = Works([Work(name="work", run=step, every=0.001, lease=lease)])

    async with works.running():
        await until(lambda: states_of(works) == {"work": "failing"})
    await records.close()

    assert step.taken == 0
