"""A process that holds a claim and dies, or was only thought to: one of many takes over, and it stays so."""

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dawr.reliability.idempotency import Idempotency, InProgress, Reply
from tests.builders import DrivenClock
from tests.reliability.backends import LOG_SECRET, Backend
from tests.reliability.holder import CLAIM, LEASE_MS
from tests.stores.databases import wall_clock

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
DONE = Reply(201, b"done by the one who took over")
REPLAYED = Reply(201, b"done by the one who took over", replayed=True)


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


@contextlib.asynccontextmanager
async def holder(backend: Backend) -> AsyncIterator[asyncio.subprocess.Process]:
    """Another process, which holds the claim when this comes back."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.reliability.holder", backend.kind, backend.address),
        cwd=REPOSITORY,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        assert (await process.stdout.readline()).startswith(b"held ")
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def test_a_claim_whose_holder_was_killed_is_taken_over_once_after_its_lease(backend: Backend) -> None:
    clock, times = DrivenClock(wall_clock()), Counter[str]()

    async def work() -> Reply:
        times.update(["done"])
        await asyncio.sleep(0.05)
        return DONE

    async with holder(backend) as process:
        process.kill()
        await process.wait()
    services = [Idempotency(await backend.open(), clock, secret=LOG_SECRET, patience_ms=0) for _ in range(4)]
    for service in services:
        with pytest.raises(InProgress):
            await service.run(CLAIM, work)

    clock.advance(ms=LEASE_MS + 60_000)
    patient = [Idempotency(service.records, clock, secret=LOG_SECRET, patience_ms=20_000) for service in services]
    replies = await asyncio.gather(*(patient[n % 4].run(CLAIM, work) for n in range(100)))

    assert times == {"done": 1}
    assert Counter(replies) == {DONE: 1, REPLAYED: 99}


async def test_a_holder_that_was_frozen_past_its_lease_changes_nothing_when_it_thaws(backend: Backend) -> None:
    clock = DrivenClock(wall_clock() + LEASE_MS + 60_000)

    async def work() -> Reply:
        return DONE

    async with holder(backend) as process:
        process.send_signal(signal.SIGSTOP)
        idempotency = Idempotency(await backend.open(), clock, secret=LOG_SECRET)
        assert await idempotency.run(CLAIM, work) == DONE

        process.send_signal(signal.SIGCONT)
        said, _ = await process.communicate(b"go on\n")

    assert said.decode().splitlines()[-1] == "idempotency-claim-lost"
    assert await idempotency.check(CLAIM) == REPLAYED
