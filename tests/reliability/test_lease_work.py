"""A work that one of many does: begun by whoever has the lease, and ended when it is lost."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dawr.reliability import lease
from dawr.reliability.lease import Fence, Lease, LeaseLost, Leases
from dawr.reliability.records import Argument, Records
from tests.reliability.backends import Backend, opened
from tests.servers import PostgresServer, server_directory
from tests.stores.databases import PostgresDatabase, wall_clock

SHORT_MS = 600


@pytest.fixture(params=["sqlite", "dawr-postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if "postgres" in request.param else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


class Workers:
    """Those who would do one work, and what they did."""

    def __init__(self) -> None:
        self.began: list[tuple[str, int]] = []
        self.at_work: set[str] = set()
        self.counted: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, leases: Leases, name: str) -> None:
        async def work(under: Fence) -> None:
            self.began.append((name, under.number))
            self.at_work.add(name)
            try:
                await asyncio.Event().wait()
            finally:
                self.at_work.remove(name)

        mine = Lease(leases, "work", holder=name, lease_ms=SHORT_MS, count=self.counted.append)
        self._tasks[name] = asyncio.create_task(mine.run(work))

    async def stop(self, name: str) -> None:
        task = self._tasks.pop(name)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    async def stop_all(self) -> None:
        for name in list(self._tasks):
            await self.stop(name)


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers()
    yield workers
    await workers.stop_all()


async def test_of_two_who_start_at_once_one_works_and_the_other_stands_by(
    leases: Leases, others: Leases, workers: Workers
) -> None:
    workers.start(leases, "one")
    workers.start(others, "two")

    await until(lambda: bool(workers.began))
    await asyncio.sleep(3 * SHORT_MS / 1000)  # nothing may happen for three times as long as a lease

    # On a machine that is busy enough a holder may renew too late: then it stops, and the next has a higher fence.
    fences = [fence for _, fence in workers.began]
    assert fences == list(range(1, len(fences) + 1))
    assert len(workers.at_work) <= 1


async def test_whoever_stops_hands_over_to_the_next(leases: Leases, others: Leases, workers: Workers) -> None:
    workers.start(leases, "one")
    await until(lambda: workers.began == [("one", 1)])
    workers.start(others, "two")

    await workers.stop("one")

    await until(lambda: workers.began == [("one", 1), ("two", 2)])
    assert workers.at_work == {"two"}


async def test_whoever_lost_the_lease_is_told_to_stop_and_stands_by(
    backend: Backend, leases: Leases, others: Leases, workers: Workers
) -> None:
    workers.start(leases, "one")
    await until(lambda: bool(workers.began))

    taken = None
    while taken is None:
        await backend.rows("UPDATE leases SET until_at = 0")  # as if no renewal had come through
        taken = await others.take("work", "two")

    await until(lambda: not workers.at_work)
    assert workers.counted == ["taken", "lost"]
    await others.release(taken)
    await until(lambda: workers.began == [("one", 1), ("one", 3)])


async def test_whoever_finds_the_lease_taken_does_not_wait_for_its_end(
    leases: Leases, others: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "POLLS_PER_LEASE", 600)
    ended = asyncio.Event()

    async def work(_: Fence) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    mine = Lease(leases, "work", holder="one", lease_ms=60_000)
    running = asyncio.create_task(mine.run(work))
    await until(lambda: mine.fence is not None)

    await others.take("work", "one")  # as if it had been somebody else

    async with asyncio.timeout(60):
        await ended.wait()
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


async def test_work_that_finds_its_fence_old_stands_by_too(leases: Leases, others: Leases) -> None:
    fences: list[int] = []

    async def work(under: Fence) -> None:
        fences.append(under.number)
        if len(fences) == 1:
            raise LeaseLost

    async with asyncio.timeout(60):
        await Lease(leases, "work", holder="one", lease_ms=SHORT_MS).run(work)

    assert fences == [1, 2]
    assert await others.take("work", "two") == Fence("work", 3)


async def test_work_that_fails_says_so_and_leaves_the_lease_to_others(leases: Leases, others: Leases) -> None:
    async def work(_: Fence) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Lease(leases, "work", holder="one").run(work)

    assert await others.take("work", "two") == Fence("work", 2)


async def test_a_database_that_is_away_ends_the_work_in_time_and_is_found_again(workers: Workers) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        store = await PostgresDatabase(postgres.create_database("dawr")).open()
        await store.migrate()
        workers.start(store.leases, "one")
        await until(lambda: workers.at_work == {"one"})

        postgres.kill()
        await until(lambda: not workers.at_work)
        postgres.start()

        await until(lambda: workers.at_work == {"one"})
        assert workers.began == [("one", 1), ("one", 2)]
        await workers.stop_all()
        await store.close()


class Far:
    """The way to a database, which is slow, and then leads nowhere."""

    def __init__(self, records: Records) -> None:
        self.there_seconds = self.back_seconds = 0.0
        self.renewed = asyncio.Event()
        self._is_cut = False
        self._records = records

    async def select_rows(self, name: str, *arguments: Argument) -> Sequence[Any]:
        await self._pass(self.there_seconds)
        return await self._records.select_rows(name, *arguments)

    async def change_rows(self, name: str, *arguments: Argument) -> int:
        await self._pass(0)
        changed = await self._records.change_rows(name, *arguments)
        await self._pass(self.back_seconds)
        if name == "renew_lease":
            self._is_cut = True
            self.renewed.set()
        return changed

    async def _pass(self, seconds: float) -> None:
        if self._is_cut:
            await asyncio.Event().wait()
        await asyncio.sleep(seconds)


async def test_nobody_who_is_far_away_and_then_cut_off_believes_in_a_lease_that_another_can_have(
    tmp_path: Path,
) -> None:
    """It counts from when it asked, not from when it was answered: the database counts from between the two."""
    async with opened("sqlite", str(tmp_path / "kit.db")) as near, opened("sqlite", str(tmp_path / "kit.db")) as others:
        far, at_work = Far(near), asyncio.Event()

        async def work(_: Fence) -> None:
            at_work.set()
            far.there_seconds, far.back_seconds = 0.5, 0.6
            try:
                await asyncio.Event().wait()
            finally:
                at_work.clear()

        running = asyncio.create_task(Lease(Leases(far, wall_clock), "work", holder="one", lease_ms=2000).run(work))
        await far.renewed.wait()
        assert at_work.is_set()

        async with asyncio.timeout(60):
            while not await Leases(others, wall_clock).take("work", "two"):  # noqa: ASYNC110 - the database knows it
                await asyncio.sleep(0.02)

        assert not at_work.is_set()
        running.cancel()
        await asyncio.wait([running])


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - a worker tells nobody
            await asyncio.sleep(0.01)
