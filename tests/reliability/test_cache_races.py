"""Whatever races with an invalidation, nobody is shown what was before it."""

import asyncio
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec
import pytest
import redis.asyncio as redis

from dawr.bootstrap import system
from dawr.reliability.cache import Cache, SharedEntries
from dawr.reliability.shared import Shared
from tests.reliability.cache_reader import MISSING, Reader, Report
from tests.reliability.caching import PLACES, Truth, cache_at, sharing, until
from tests.servers import ValkeyServer

T = TypeVar("T")

REPOSITORY = Path(__file__).parents[2]
LONG = 60_000


@pytest.fixture
async def shared(valkey_server: ValkeyServer) -> AsyncIterator[Shared]:
    async with sharing(valkey_server.url) as shared:
        yield shared


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(5))
async def test_an_invalidation_among_a_thousand_reads_and_stores_leaves_nothing_stale(
    valkey_server: ValkeyServer, place: str, seed: int
) -> None:
    chance = Random(seed)
    truth, floor, shown_less = 0, 0, 0

    async def compute() -> bytes:
        seen = truth
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        return b"%d" % seen

    async def read(number: int) -> None:
        nonlocal shown_less
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        may_not_see_less_than = floor
        shown = await cache.get(f"key-{number % 7}", compute, tags=["x", f"{number % 3}"], ttl_ms=LONG)
        shown_less += int(shown) < may_not_see_less_than

    async def change() -> None:
        nonlocal truth, floor
        for _ in range(20):
            truth += 1
            changed_to = truth
            await cache.invalidate("x")
            floor = max(floor, changed_to)
            await asyncio.sleep(0)

    async with cache_at(place, valkey_server.url) as cache:
        await asyncio.gather(*(read(number) for number in range(1000)), change())

        assert shown_less == 0
        assert {int(await cache.get(f"key-{number}", compute, tags=["x"], ttl_ms=LONG)) for number in range(7)} == {20}


@pytest.mark.slow
async def test_processes_that_race_with_invalidations_show_nobody_what_was(
    shared: Shared, valkey_server: ValkeyServer
) -> None:
    await race(shared, valkey_server, processes=2, changes=150)


@pytest.mark.prove
async def test_many_processes_that_race_with_many_invalidations_show_nobody_what_was(
    shared: Shared, valkey_server: ValkeyServer
) -> None:
    await race(shared, valkey_server, processes=4, changes=5000)


async def race(shared: Shared, valkey: ValkeyServer, *, processes: int, changes: int) -> None:
    readers = [await reading("race", valkey, shared.prefix) for _ in range(processes)]
    here, server = Reader(shared), shared._client
    await begin_together(shared, processes)

    for _ in range(changes):
        truth = await server.incr(f"{shared.prefix}truth")
        assert await here.cache.invalidate("x")
        await server.set(f"{shared.prefix}floor", truth)
        await here.read("key-0")
    await server.set(f"{shared.prefix}stop", 1)
    reports = [here.report, *[await report_of(reader) for reader in readers]]

    assert [report.stale for report in reports] == [0] * len(reports)
    assert all(0 < report.computed < report.reads for report in reports)
    assert {int(await here.cache.get(f"key-{n}", Truth(-1), ttl_ms=LONG)) for n in range(3)} == {changes}
    await here.cache.close()


@pytest.mark.slow
async def test_who_misses_at_once_in_several_processes_computes_once(
    shared: Shared, valkey_server: ValkeyServer
) -> None:
    readers = [await reading("miss", valkey_server, shared.prefix) for _ in range(3)]
    here = Reader(shared)
    await begin_together(shared, 3)

    asking = [here.cache.get("a", here.compute_slowly, tags=["x"], ttl_ms=LONG) for _ in range(MISSING)]
    shown = await asyncio.gather(*asking)
    reports = [here.report, *[await report_of(reader) for reader in readers]]

    assert shown == [b"1"] * MISSING
    assert sum(report.computed for report in reports) == 1
    await here.cache.close()


@pytest.mark.slow
async def test_who_computes_and_is_killed_holds_nobody_up_for_long(shared: Shared, valkey_server: ValkeyServer) -> None:
    killed = await reading("die", valkey_server, shared.prefix)
    await begin_together(shared, 1)
    assert killed.stdout is not None
    assert await killed.stdout.readline() == b"computing\n"
    killed.kill()
    await killed.wait()
    patient = Cache(SharedEntries(shared, system.correlation_id), wait_seconds=0.3)
    truth = Truth(7)

    async with asyncio.timeout(30):
        shown = await asyncio.gather(*(patient.get("a", truth, tags=["x"], ttl_ms=LONG) for _ in range(10)))

    assert shown == [b"7"] * 10
    assert truth.read == 1
    assert await patient.get("a", Truth(8), tags=["x"], ttl_ms=LONG) == b"7"
    await patient.close()


async def test_whoever_is_told_to_lead_while_others_here_wait_leads_for_all(shared: Shared) -> None:
    """One elsewhere leads and gives no sign; when their time is over, somebody of those who come later leads."""
    elsewhere = Cache(SharedEntries(shared, system.correlation_id, lead_ms=200))
    here = Cache(SharedEntries(shared, system.correlation_id, lead_ms=LONG), wait_seconds=60)
    never, truth = Truth(1), Truth(2)
    never.go.clear()
    lost = asyncio.create_task(elsewhere.get("a", never, tags=["x"], ttl_ms=LONG))
    await until(lambda: never.read == 1)

    async with asyncio.timeout(10):
        asking = [asyncio.create_task(here.get("a", truth, tags=["x"], ttl_ms=LONG)) for _ in range(3)]
        while not truth.read:
            asking.append(asyncio.create_task(here.get("a", truth, tags=["x"], ttl_ms=LONG)))
            await asyncio.sleep(0.005)
        shown = await asyncio.gather(*asking)

    assert set(shown) == {b"2"}
    assert truth.read == 1
    lost.cancel()
    await elsewhere.close()
    await here.close()


async def test_nobody_waits_for_who_leads_since_before_an_invalidation(shared: Shared) -> None:
    elsewhere = Cache(SharedEntries(shared, system.correlation_id, lead_ms=LONG))
    here = Cache(SharedEntries(shared, system.correlation_id), wait_seconds=60)
    slow = Truth(1)
    slow.go.clear()
    leading = asyncio.create_task(elsewhere.get("a", slow, tags=["x"], ttl_ms=LONG))
    await until(lambda: slow.read == 1)

    await elsewhere.invalidate("x")

    async with asyncio.timeout(30):
        assert await here.get("a", Truth(2), tags=["x"], ttl_ms=LONG) == b"2"
    slow.go.set()
    assert await leading == b"1"
    await elsewhere.close()
    assert await here.get("a", Truth(3), tags=["x"], ttl_ms=LONG) == b"2"
    await here.close()


class SlowLink(Shared):
    """What the server did is heard of when the gate is open."""

    gate: asyncio.Event

    async def ask(self, question: Callable[[redis.Redis], Awaitable[T]]) -> T:
        answer = await super().ask(question)
        await self.gate.wait()
        return answer


async def test_a_tag_that_is_invalidated_again_while_that_is_on_its_way_is_invalidated_twice(
    shared: Shared, valkey_server: ValkeyServer
) -> None:
    link = SlowLink.open(valkey_server.url, system.ticks, prefix=shared.prefix, patience_seconds=20)
    link.gate = asyncio.Event()
    here = Cache(SharedEntries(link, system.correlation_id))
    elsewhere = Cache(SharedEntries(shared, system.correlation_id))
    await elsewhere.put("a", b"1", tags=["x"], ttl_ms=LONG)
    first = asyncio.create_task(here.invalidate("x"))
    async with asyncio.timeout(10):
        while await elsewhere.get("a", Truth(2), tags=["x"], ttl_ms=LONG) == b"1":  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    await until(lambda: not elsewhere._tasks)

    second = asyncio.create_task(here.invalidate("x"))
    await asyncio.sleep(0)
    link.gate.set()

    assert await first
    assert await second
    assert await elsewhere.get("a", Truth(3), tags=["x"], ttl_ms=LONG) == b"3"
    for cache in (here, elsewhere):
        await cache.close()
    await link.close()


async def test_when_who_leads_fails_the_next_one_computes(shared: Shared) -> None:
    first = Cache(SharedEntries(shared, system.correlation_id))
    second = Cache(SharedEntries(shared, system.correlation_id), wait_seconds=60)
    go, truth = asyncio.Event(), Truth(2)

    async def fail() -> bytes:
        await go.wait()
        raise LookupError

    failing = asyncio.create_task(first.get("a", fail, tags=["x"], ttl_ms=LONG))
    await until(lambda: bool(first._flights))
    waiting = asyncio.create_task(second.get("a", truth, tags=["x"], ttl_ms=LONG))
    await until(lambda: bool(second._flights))
    go.set()

    with pytest.raises(LookupError):
        await failing
    async with asyncio.timeout(30):
        assert await waiting == b"2"
    await first.close()
    await second.close()


async def reading(what: str, valkey: ValkeyServer, prefix: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.reliability.cache_reader", what, valkey.url, prefix),
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )


async def begin_together(shared: Shared, processes: int) -> None:
    async with asyncio.timeout(30):
        while int(await shared._client.get(f"{shared.prefix}there") or 0) < processes:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await shared._client.set(f"{shared.prefix}go", 1)


async def report_of(reader: Process) -> Report:
    said, _ = await asyncio.wait_for(reader.communicate(), 30)
    assert reader.returncode == 0
    return msgspec.json.decode(said, type=Report)
