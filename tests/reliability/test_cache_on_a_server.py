"""What the cache leaves in the server, and what it does when the server is away, frozen, or has forgotten."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from dawr.bootstrap import system
from dawr.reliability.cache import Cache, SharedEntries
from dawr.reliability.shared import Shared
from tests.reliability.caching import Counted, DrivenTicks, Truth, until
from tests.servers import ValkeyServer, server_directory

LONG = 60_000
PREFIX = "shop:"


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    """One of the test's own: it may be killed."""
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
async def shared(valkey: ValkeyServer) -> AsyncIterator[Shared]:
    shared = Shared.open(valkey.url, system.ticks, prefix=PREFIX, patience_seconds=1)
    yield shared
    await shared.close()


@pytest.fixture
async def cache(shared: Shared, counted: Counted) -> AsyncIterator[Cache]:
    cache = Cache(SharedEntries(shared, system.correlation_id), count=counted)
    yield cache
    await cache.close()


async def commands(shared: Shared) -> dict[str, int]:
    """How often each command ran in the server since it was asked to forget it."""
    stats = await shared._client.info("commandstats")
    return {name.removeprefix("cmdstat_"): said["calls"] for name, said in stats.items()}


# What is left in the server


async def test_a_tag_outlives_its_longest_entry_by_a_minute(cache: Cache, shared: Shared) -> None:
    await cache.get("long", Truth(1), tags=["x"], ttl_ms=500_000, stale_ms=100_000)
    await cache.get("short", Truth(1), tags=["x"], ttl_ms=1000)
    await cache.put("shorter", b"1", tags=["x"], ttl_ms=1)

    longest = await shared._client.pttl(f"{PREFIX}cache:entry:long")
    tags = [await shared._client.pttl(f"{PREFIX}cache:{name}") for name in ("tag:x", "all")]

    assert 590_000 < longest <= 600_000
    assert min(tags) >= longest + 60_000 - 1000


async def test_a_tag_lives_while_its_first_entry_is_computed(cache: Cache, shared: Shared) -> None:
    truth = Truth(1)
    truth.go.clear()
    asking = asyncio.create_task(cache.get("a", truth, tags=["x"], ttl_ms=1000))
    await until(lambda: truth.read == 1)

    assert await shared._client.pttl(f"{PREFIX}cache:tag:x") > 60_000
    truth.go.set()
    await asking


async def test_nothing_in_the_server_lives_for_ever(cache: Cache, shared: Shared) -> None:
    truth = Truth(1)
    truth.go.clear()
    asking = asyncio.create_task(cache.get("slow", truth, tags=["x", "z"], ttl_ms=LONG))
    await until(lambda: truth.read == 1)
    await cache.get("a", Truth(1), tags=["x", "y"], ttl_ms=LONG)
    await cache.put("b", b"1", tags=["y", "w"], ttl_ms=LONG)
    await cache.invalidate("y")

    lives = {key: await shared._client.pttl(key) async for key in shared._client.scan_iter()}

    assert len(lives) >= 6
    assert min(lives.values()) > 0
    assert all(key.startswith(PREFIX.encode()) for key in lives)
    truth.go.set()
    await asking


@pytest.mark.parametrize("entries", [1, 2000])
async def test_an_invalidation_is_one_command_however_much_hangs_on_the_tag(
    cache: Cache, shared: Shared, entries: int
) -> None:
    await asyncio.gather(*(cache.put(f"{number}", b"1", tags=["x"], ttl_ms=LONG) for number in range(entries)))
    await shared._client.config_resetstat()

    await cache.invalidate("x")

    ran = await commands(shared)
    assert {name: calls for name, calls in ran.items() if name not in {"info", "config|resetstat"}} == {"del": 1}
    assert await cache.get("0", Truth(2), tags=["x"], ttl_ms=LONG) == b"2"


async def test_patterns_are_found_by_scanning_and_never_by_keys(cache: Cache, shared: Shared) -> None:
    await asyncio.gather(*(cache.put(f"{number}", b"1", ttl_ms=LONG) for number in range(1000)))
    await shared._client.config_resetstat()

    assert await cache.delete_pattern("*") == 1000

    ran = await commands(shared)
    assert ran["scan"] >= 10
    assert "keys" not in ran


async def test_a_pattern_reaches_no_further_than_its_cache(shared: Shared) -> None:
    odd = Cache(SharedEntries(shared, system.correlation_id, name="[a-z]*"))
    plain = Cache(SharedEntries(shared, system.correlation_id, name="cache"))
    await odd.put("1", b"1", ttl_ms=LONG)
    await plain.put("1", b"1", ttl_ms=LONG)

    assert await odd.delete_pattern("*") == 1
    assert await plain.get("1", Truth(2), ttl_ms=LONG) == b"1"
    await odd.close()
    await plain.close()


async def test_a_generation_that_the_server_threw_out_makes_nothing_valid_again(cache: Cache, shared: Shared) -> None:
    await cache.get("a", Truth(1), tags=["x"], ttl_ms=LONG)
    await shared._client.delete(f"{PREFIX}cache:tag:x")
    await cache.get("b", Truth(2), tags=["x"], ttl_ms=LONG)

    assert await cache.get("a", Truth(3), tags=["x"], ttl_ms=LONG) == b"3"


async def test_what_cannot_be_kept_is_still_answered(cache: Cache, shared: Shared) -> None:
    await shared._client.set(f"{PREFIX}cache:entry:a", "somebody else's")

    assert await cache.get("a", Truth(1), tags=["x"], ttl_ms=LONG) == b"1"
    assert await cache.get("b", Truth(1), tags=["x"], ttl_ms=LONG) == b"1"
    assert not shared.is_away


# When the server is away


async def test_without_the_server_it_is_computed_once_for_all_who_ask_at_once(
    cache: Cache, valkey: ValkeyServer, counted: Counted
) -> None:
    truth = Truth(1)
    await cache.get("a", truth, tags=["x"], ttl_ms=LONG)
    valkey.kill()
    truth.value = 2
    truth.go.clear()

    asking = [asyncio.create_task(cache.get("a", truth, tags=["x"], ttl_ms=LONG)) for _ in range(100)]
    await until(lambda: counted.words["away"] == 100)
    truth.go.set()

    assert await asyncio.gather(*asking) == [b"2"] * 100
    assert truth.read == 2
    assert await cache.get("a", truth, tags=["x"], ttl_ms=LONG) == b"2"
    assert truth.read == 3


async def test_without_the_server_nobody_joins_who_computes_since_before_an_invalidation(
    cache: Cache, valkey: ValkeyServer, counted: Counted
) -> None:
    truth = Truth(1)
    valkey.kill()
    truth.go.clear()
    before = asyncio.create_task(cache.get("a", truth, tags=["x"], ttl_ms=LONG))
    await until(lambda: truth.read == 1)

    truth.value = 2
    assert not await cache.invalidate("x")
    after = asyncio.create_task(cache.get("a", truth, tags=["x"], ttl_ms=LONG))
    await until(lambda: truth.read == 2)
    truth.go.set()

    assert (await before, await after) == (b"1", b"2")


async def test_a_server_that_comes_later_is_used(counted: Counted) -> None:
    with server_directory() as directory:
        valkey = ValkeyServer(directory)
        shared = Shared.open(valkey.url, system.ticks, patience_seconds=1)
        cache = Cache(SharedEntries(shared, system.correlation_id), count=counted)
        assert await cache.get("a", Truth(1), ttl_ms=LONG) == b"1"

        with valkey:
            async with asyncio.timeout(10):
                while not counted.words["hit"]:
                    await cache.get("a", Truth(2), ttl_ms=LONG)
                    await asyncio.sleep(0.01)

        await cache.close()
        await shared.close()


async def test_a_server_that_came_back_empty_shows_nothing_that_was(
    cache: Cache, valkey: ValkeyServer, counted: Counted
) -> None:
    truth = Truth(1)
    await cache.get("a", truth, tags=["x"], ttl_ms=LONG)
    valkey.kill()
    truth.value = 2
    assert not await cache.invalidate("x")
    valkey.start()

    async with asyncio.timeout(10):
        while not counted.words["hit"]:
            assert await cache.get("a", truth, tags=["x"], ttl_ms=LONG) == b"2"
            await asyncio.sleep(0.01)


async def test_an_invalidation_while_the_server_is_frozen_reaches_the_others_when_it_thaws(
    cache: Cache, valkey: ValkeyServer
) -> None:
    """Nobody here asks again: what is still to delete is deleted all the same."""
    truth = Truth(1)
    await cache.get("a", truth, tags=["x"], ttl_ms=LONG)
    others = Shared.open(valkey.url, system.ticks, prefix=PREFIX)
    elsewhere = Cache(SharedEntries(others, system.correlation_id))
    assert await elsewhere.get("a", Truth(9), tags=["x"], ttl_ms=LONG) == b"1"

    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        truth.value = 2
        assert not await cache.invalidate("x")
        assert await cache.get("a", truth, tags=["x"], ttl_ms=LONG) == b"2"
    finally:
        os.kill(valkey.pid, signal.SIGCONT)

    async with asyncio.timeout(10):
        while await elsewhere.get("a", Truth(3), tags=["x"], ttl_ms=LONG) == b"1":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await elsewhere.close()
    await others.close()


async def test_nobody_waits_behind_the_one_who_tries_a_server_that_is_known_to_be_away(valkey: ValkeyServer) -> None:
    """And what is invalidated meanwhile still reaches the others, though that one try carries it not, and succeeds."""
    ticks = DrivenTicks()
    shared = Shared.open(valkey.url, ticks, prefix=PREFIX, patience_seconds=1.5)
    others = Shared.open(valkey.url, system.ticks, prefix=PREFIX)
    cache, elsewhere = (Cache(SharedEntries(one, system.correlation_id)) for one in (shared, others))
    assert await elsewhere.get("a", Truth(1), tags=["x"], ttl_ms=LONG) == b"1"
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        await cache.get("b", Truth(1), ttl_ms=LONG)
        ticks.ms += 1000
        trying = asyncio.create_task(cache.get("b", Truth(1), ttl_ms=LONG))
        await asyncio.sleep(0.01)

        assert await cache.get("c", Truth(2), ttl_ms=LONG) == b"2"
        assert not await cache.invalidate("x")
        assert not trying.done()
    finally:
        os.kill(valkey.pid, signal.SIGCONT)

    await trying
    assert not shared.is_away
    async with asyncio.timeout(10):
        while await elsewhere.get("a", Truth(3), tags=["x"], ttl_ms=LONG) == b"1":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    for one in (cache, elsewhere, shared, others):
        await one.close()


async def test_what_a_process_invalidated_it_never_sees_again_even_right_after_the_thaw(
    cache: Cache, valkey: ValkeyServer
) -> None:
    truth = Truth(1)
    for number in range(50):
        await cache.get(f"{number}", truth, tags=["x"], ttl_ms=LONG)
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        truth.value = 2
        invalidated = asyncio.create_task(cache.invalidate("x"))
        asking = [asyncio.create_task(cache.get(f"{n}", truth, tags=["x"], ttl_ms=LONG)) for n in range(50)]
        await asyncio.sleep(0.05)
    finally:
        os.kill(valkey.pid, signal.SIGCONT)

    await invalidated
    first = await asyncio.gather(*asking)
    second = await asyncio.gather(*(cache.get(f"{n}", truth, tags=["x"], ttl_ms=LONG) for n in range(50)))

    assert set(first) == set(second) == {b"2"}


async def test_an_answer_that_comes_too_late_is_not_taken_for_another(
    cache: Cache, valkey: ValkeyServer, shared: Shared
) -> None:
    for number in range(20):
        await cache.put(f"{number}", b"%d" % number, ttl_ms=LONG)
    for _ in range(3):
        os.kill(valkey.pid, signal.SIGSTOP)
        try:
            late = await asyncio.gather(*(cache.get(f"{n}", Truth(n), ttl_ms=LONG) for n in range(10)))
        finally:
            os.kill(valkey.pid, signal.SIGCONT)

        assert late == [b"%d" % n for n in range(10)]
        async with asyncio.timeout(10):
            while shared.is_away:
                assert await cache.get("15", Truth(15), ttl_ms=LONG) == b"15"
                await asyncio.sleep(0.01)
        assert [await cache.get(f"{n}", Truth(-1), ttl_ms=LONG) for n in range(20)] == [b"%d" % n for n in range(20)]


async def test_what_is_still_to_delete_is_bounded_and_then_everything_is_invalidated(
    cache: Cache, valkey: ValkeyServer, shared: Shared
) -> None:
    await cache.get("a", Truth(1), tags=["another"], ttl_ms=LONG)
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        assert not await cache.invalidate(*(f"{number}" for number in range(10_001)))
        to_delete = len(cache._entries._pipeline._to_delete)  # type: ignore[attr-defined]
    finally:
        os.kill(valkey.pid, signal.SIGCONT)

    assert to_delete == 1
    async with asyncio.timeout(10):
        while await cache.get("a", Truth(2), tags=["another"], ttl_ms=LONG) == b"1":  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("asks_again", [True, False])
async def test_what_is_still_to_delete_on_a_server_that_kept_its_entries_over_a_crash_is_deleted(
    counted: Counted,
    asks_again: bool,  # noqa: FBT001
) -> None:
    """Also when nobody asks any more in the process that invalidated it: the others are to know."""
    with server_directory() as directory, ValkeyServer(directory, appendonly=True) as valkey:
        shared = Shared.open(valkey.url, system.ticks, patience_seconds=1)
        cache, truth = Cache(SharedEntries(shared, system.correlation_id), count=counted), Truth(1)
        for key in "ab":
            await cache.get(key, truth, tags=[key], ttl_ms=LONG)
        await until(lambda: not cache._flights)
        valkey.kill()
        truth.value = 2
        assert not await cache.invalidate("a")
        valkey.start()

        others = Shared.open(valkey.url, system.ticks)
        elsewhere = Cache(SharedEntries(others, system.correlation_id))
        async with asyncio.timeout(10):
            while await elsewhere.get("a", truth, tags=["a"], ttl_ms=LONG) != b"2":
                if asks_again:
                    assert await cache.get("a", truth, tags=["a"], ttl_ms=LONG) == b"2"
                await asyncio.sleep(0.01)
        assert await elsewhere.get("b", truth, tags=["b"], ttl_ms=LONG) == b"1"

        for one in (cache, elsewhere, shared, others):
            await one.close()


async def test_closing_waits_for_no_server(valkey: ValkeyServer, shared: Shared) -> None:
    cache, truth = Cache(SharedEntries(shared, system.correlation_id)), Truth(1)
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        asking = asyncio.create_task(cache.get("a", truth, ttl_ms=LONG))
        await cache.invalidate("x")
        async with asyncio.timeout(20):
            await cache.close()
        assert await asking == b"1"
        assert not await cache.invalidate("x")
    finally:
        os.kill(valkey.pid, signal.SIGCONT)
