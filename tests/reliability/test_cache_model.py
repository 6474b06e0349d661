"""The cache against a plain dictionary, in every order of things that hypothesis can think of."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dawr.reliability.cache import Cache, MemoryEntries
from tests.reliability.caching import DrivenTicks, cache_at, until
from tests.servers import ValkeyServer

T = TypeVar("T")

TAGS = {"a": ("x",), "b": ("x", "y"), "c": ("y",), "d": ()}
TTL_MS, STALE_MS = 100, 50
LONG_MS = 600_000

keys = st.sampled_from(sorted(TAGS))


class Slow:
    """Somebody who computes, and takes their time."""

    def __init__(self, value: bytes) -> None:
        self.value = value
        self.go = asyncio.Event()
        self.is_outdated = False
        self.asked: asyncio.Task[bytes] | None = None
        self.flight: asyncio.Task[None] | None = None

    async def compute(self) -> bytes:
        await self.go.wait()
        return self.value


class Kept:
    def __init__(self, value: bytes, at: int) -> None:
        self.value = value
        self.at = at


class CacheAgainstModel(RuleBasedStateMachine):
    """In this process, where the clock can be driven."""

    ttl_ms, stale_ms = TTL_MS, STALE_MS

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.ticks = DrivenTicks()
        self.values = count(1)
        self.kept: dict[str, Kept] = {}
        self.slow: dict[str, Slow] = {}
        self.cache = self.run(self.make_cache())

    async def make_cache(self) -> Cache:
        return Cache(MemoryEntries(self.ticks))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, 10))

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            for slow in self.slow.values():
                slow.go.set()
            self.run(self.settle())
            self.run(self.cache.close())
            self.run(self.stack.aclose())
            self.loop.close()

    async def settle(self) -> None:
        """Until nobody computes but those who were told to take their time."""
        hurrying = self.cache._tasks - {slow.flight for slow in self.slow.values()}
        if hurrying:
            await asyncio.wait(hurrying)

    def found(self, key: str) -> tuple[bytes | None, bool]:
        """What the model has, and whether it is fresh."""
        kept = self.kept.get(key)
        age = 0 if kept is None else self.ticks.ms - kept.at
        if kept is None or age >= self.ttl_ms + self.stale_ms:
            return None, False
        return kept.value, age < self.ttl_ms

    @rule(key=keys)
    def get(self, key: str) -> None:
        value, is_fresh = self.found(key)
        joined = self.slow.get(key)
        if value is None and joined is not None and not joined.is_outdated:
            return  # whoever asks now waits for the slow one: see `join`
        new = b"%d" % next(self.values)
        got = self.run(self.ask(key, new))

        assert got == (new if value is None else value)
        if value is None or (not is_fresh and (joined is None or joined.is_outdated)):
            self.kept[key] = Kept(new, self.ticks.ms)

    async def ask(self, key: str, value: bytes) -> bytes:
        async def compute() -> bytes:
            return value

        got = await self.cache.get(key, compute, tags=TAGS[key], ttl_ms=self.ttl_ms, stale_ms=self.stale_ms)
        await self.settle()
        return got

    @rule(key=keys)
    def begin_slowly(self, key: str) -> None:
        if key in self.slow or self.found(key)[0] is not None:
            return
        slow = Slow(b"%d" % next(self.values))

        async def begin() -> None:
            before = set(self.cache._tasks)
            slow.asked = asyncio.create_task(
                self.cache.get(key, slow.compute, tags=TAGS[key], ttl_ms=self.ttl_ms, stale_ms=self.stale_ms)
            )
            await until(lambda: self.cache._tasks != before)
            (slow.flight,) = self.cache._tasks - before

        self.run(begin())
        self.slow[key] = slow

    @precondition(lambda self: self.slow)
    @rule(key=keys)
    def join(self, key: str) -> None:
        """Whoever finds nothing while one computes gets what that one computes."""
        slow = self.slow.get(key)
        if slow is None or slow.is_outdated or self.found(key)[0] is not None:
            return

        async def join() -> bytes:
            joining = asyncio.create_task(self.ask_never(key))
            await asyncio.sleep(0.002)
            slow.go.set()
            return await joining

        assert self.run(join()) == slow.value
        self.finish(key)

    async def ask_never(self, key: str) -> bytes:
        async def never() -> bytes:
            raise AssertionError("computed twice")

        return await self.cache.get(key, never, tags=TAGS[key], ttl_ms=self.ttl_ms, stale_ms=self.stale_ms)

    @precondition(lambda self: self.slow)
    @rule(key=keys)
    def finish(self, key: str) -> None:
        slow = self.slow.pop(key, None)
        if slow is None or slow.asked is None:
            return
        slow.go.set()
        got = self.run(self.answered(slow.asked))

        assert got == slow.value
        if not slow.is_outdated:
            self.kept[key] = Kept(slow.value, self.ticks.ms)

    async def answered(self, asked: asyncio.Task[bytes]) -> bytes:
        got = await asked
        await self.settle()
        return got

    @rule(key=keys)
    def put(self, key: str) -> None:
        value = b"%d" % next(self.values)
        self.run(self.cache.put(key, value, tags=TAGS[key], ttl_ms=self.ttl_ms, stale_ms=self.stale_ms))
        self.kept[key] = Kept(value, self.ticks.ms)

    @rule(tags=st.lists(st.sampled_from(["x", "y", "unused"]), min_size=1, max_size=3))
    def invalidate(self, tags: list[str]) -> None:
        assert self.run(self.cache.invalidate(*tags))
        self.outdate(lambda key: not set(tags).isdisjoint(TAGS[key]))

    @rule()
    def clear(self) -> None:
        assert self.run(self.cache.clear())
        self.outdate(lambda _: True)

    def outdate(self, concerns: Callable[[str], bool]) -> None:
        for key in filter(concerns, tuple(self.kept)):
            del self.kept[key]
        for key in filter(concerns, self.slow):
            self.slow[key].is_outdated = True

    @rule(key=keys)
    def delete(self, key: str) -> None:
        assert self.run(self.cache.delete(key))
        self.kept.pop(key, None)

    @rule(pattern=st.sampled_from(["*", "[ab]", "?", "z*"]))
    def delete_pattern(self, pattern: str) -> None:
        matching = {"*": "abcd", "?": "abcd", "[ab]": "ab", "z*": ""}[pattern]
        deleted = self.run(self.cache.delete_pattern(pattern))

        assert deleted >= sum(self.found(key)[0] is not None for key in matching)
        for key in matching:
            self.kept.pop(key, None)

    @rule(ms=st.integers(1, 120))
    def pass_time(self, ms: int) -> None:
        self.ticks.ms += ms

    @invariant()
    def nothing_is_left_to_do(self) -> None:
        if hasattr(self, "cache"):
            assert len(self.cache._tasks) == len(self.slow)


def test_in_this_process_the_cache_is_as_its_model() -> None:
    run_state_machine_as_test(
        CacheAgainstModel, settings=settings(max_examples=100, stateful_step_count=30, deadline=None)
    )


def test_on_the_server_the_cache_is_as_its_model(valkey_server: ValkeyServer) -> None:
    class OnTheServer(CacheAgainstModel):
        """Where time is the server's own: everything lives long."""

        ttl_ms, stale_ms = LONG_MS, LONG_MS

        async def make_cache(self) -> Cache:
            return await self.stack.enter_async_context(cache_at("shared", valkey_server.url))

    run_state_machine_as_test(OnTheServer, settings=settings(max_examples=40, stateful_step_count=40, deadline=None))
