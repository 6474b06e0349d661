"""Keep what was computed, compute it once for all who ask at once, and never serve what was invalidated.

Computing goes on by itself, so whoever goes away fails nobody; its error reaches all who wait
for it, and is not kept. Where the entries are kept may be away: then it is computed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from dawr.reliability.cache.entries import CacheAway, Entries, Found, Keep
from dawr.reliability.fingerprint import fingerprint
from dawr.reliability.log import log

T = TypeVar("T")

Compute = Callable[[], Awaitable[bytes]]

WAIT_SECONDS = 2.0
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 0.1


class ComputingCancelled(Exception):
    """What was to be computed was given up by whoever computed it."""


class Flight(msgspec.Struct, eq=False):
    """One computing, and all of this process who wait for it."""

    keep: Keep
    found: Found | None
    """What was found before it began; None: where the entries are kept was away."""
    value: asyncio.Future[bytes]

    def may_serve(self, found: Found | None) -> bool:
        """Whether somebody who found this may have what is computed here: nothing was invalidated in between.

        Who could not read does not know what others invalidated, and takes nothing that is done already.
        """
        if found is None:
            return not self.value.done()
        return self.found is not None and self.found.since == found.since

    def take_lead(self, found: Found) -> None:
        """Somebody here was told to compute while this one still waits for another process."""
        if self.found is not None and not self.found.leads:
            self.found = found


class Cache:
    """`count` hears of every read: hit, stale, miss, or away.

    In another process, who computes the same is waited for, for `wait_seconds` at most.
    """

    def __init__(
        self, entries: Entries, *, count: Callable[[str], None] = lambda _: None, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._entries = entries
        self._count = count
        self._wait_seconds = wait_seconds
        self._flights: dict[str, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def get(
        self, key: str, compute: Compute, *, tags: Collection[str] = (), ttl_ms: int, stale_ms: int = 0
    ) -> bytes:
        """What is kept under the key, or what is computed now, and kept.

        For `ttl_ms` it is fresh. For `stale_ms` more it is still served, while one computes it anew.
        """
        keep = _keep(tags, ttl_ms, stale_ms)
        try:
            found: Found | None = await self._entries.read(key, keep)
        except CacheAway:
            found = None
        if found is None or found.value is None:
            self._count("away" if found is None else "miss")
            return await asyncio.shield(self._flight(key, compute, keep, found).value)
        self._count("hit" if found.is_fresh else "stale")
        if found.leads:
            self._flight(key, compute, keep, found)
        return found.value

    async def put(self, key: str, value: bytes, *, tags: Collection[str] = (), ttl_ms: int, stale_ms: int = 0) -> None:
        """Keep what is known to be true now. What had to be read first is for `get`, which watches for changes."""
        with suppress(CacheAway):
            await self._entries.store(key, value, _keep(tags, ttl_ms, stale_ms), None)

    async def invalidate(self, *tags: str) -> bool:
        """From now on nothing is served that was made under one of these tags, and nothing kept that is being made.

        It costs the same however much that is. When the entries are away it is done for this process at once,
        for others when they are back, and the answer is False.
        """
        if not tags:
            return True
        invalid = set(tags)
        self._flights = {key: flight for key, flight in self._flights.items() if invalid.isdisjoint(flight.keep.tags)}
        return await self._entries.invalidate(tags)

    async def clear(self) -> bool:
        """The same for everything."""
        self._flights.clear()
        return await self._entries.invalidate(None)

    async def delete(self, key: str) -> bool:
        """What is kept now. Whoever is computing it may keep it again: what must not come back has a tag."""
        return await self._entries.delete(key)

    async def delete_pattern(self, pattern: str) -> int:
        """The same for all keys that match, and how many they were; or `CacheAway`.

        The pattern is taken as it is: `*`, `?`, `[a-z]`, `[^a]`, and a backslash before what stands for itself.
        """
        return await self._entries.delete_pattern(pattern)

    async def close(self) -> None:
        """Give up what is being computed."""
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._entries.close()

    def _flight(self, key: str, compute: Compute, keep: Keep, found: Found | None) -> Flight:
        """The one under way, or a new one."""
        flight = self._flights.get(key)
        if flight is None or not flight.may_serve(found):
            loop = asyncio.get_running_loop()
            flight = self._flights[key] = Flight(keep, found, loop.create_future())
            task = loop.create_task(self._fly(key, compute, flight))
            self._tasks.add(task)
            task.add_done_callback(partial(self._landed, key, flight))
        elif found is not None and found.leads:
            flight.take_lead(found)
        return flight

    async def _fly(self, key: str, compute: Compute, flight: Flight) -> None:
        """Compute, hand it out, keep it: in this order, so that nobody waits for what it takes to keep it."""
        try:
            await self._wait_for_others(key, flight)
            if flight.value.done():
                return
            value = await compute()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is for those who wait
            flight.value.set_exception(error)
            if flight.found is not None and flight.found.leads:
                with suppress(CacheAway):
                    await self._entries.release(key, flight.found)
            return
        flight.value.set_result(value)
        if flight.found is not None:
            with suppress(CacheAway):
                await self._entries.store(key, value, flight.keep, flight.found)

    async def _wait_for_others(self, key: str, flight: Flight) -> None:
        """Another process computes it. If that takes too long, or comes to nothing, it is computed here."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._wait_seconds, SHORTEST_PAUSE_SECONDS
        while flight.found is not None and not flight.found.leads and loop.time() < until:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                found = await self._entries.read(key, flight.keep)
            except CacheAway:
                flight.found = None
                return
            if found.value is not None:
                flight.value.set_result(found.value)
                return
            if not flight.found.leads:
                flight.found = found

    def _landed(self, key: str, flight: Flight, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._flights.get(key) is flight:
            del self._flights[key]
        if not flight.value.done():
            flight.value.set_exception(ComputingCancelled())  # whether it had begun or not
        error = flight.value.exception()  # whoever waited has it
        if error is not None and flight.found is not None and flight.found.value is not None:
            log.warning("cache.not-renewed", fault=type(error).__name__)


class Typed(Generic[T]):
    """A cache of values of one type, kept as JSON. Whoever gets one has it for themselves."""

    def __init__(self, cache: Cache, kind: type[T]) -> None:
        self._cache = cache
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(kind).decode

    async def get(
        self,
        key: str,
        compute: Callable[[], Awaitable[T]],
        *,
        tags: Collection[str] = (),
        ttl_ms: int,
        stale_ms: int = 0,
    ) -> T:
        async def computed() -> bytes:
            return self._encode(await compute())

        return self._decode(await self._cache.get(key, computed, tags=tags, ttl_ms=ttl_ms, stale_ms=stale_ms))

    async def put(self, key: str, value: T, *, tags: Collection[str] = (), ttl_ms: int, stale_ms: int = 0) -> None:
        await self._cache.put(key, self._encode(value), tags=tags, ttl_ms=ttl_ms, stale_ms=stale_ms)


def key_of(name: str, params: Any) -> str:  # noqa: ANN401 - anything JSON can say
    """Equal parameters give one key, in whatever order they come and however deep they lie."""
    return f"{name}:{fingerprint(params)}"


def _keep(tags: Collection[str], ttl_ms: int, stale_ms: int) -> Keep:
    if ttl_ms < 1 or stale_ms < 0:
        raise ValueError("An entry is fresh for 1 ms at least, and stale for no less than 0.")
    return Keep(tuple(sorted(set(tags))) if len(tags) > 1 else tuple(tags), ttl_ms, stale_ms)
