"""Entries in a Redis or Valkey that several processes share.

Each tag has a generation, a token that was never used before; an entry remembers those that it
was made under, and is valid as long as they are the ones of now. To invalidate a tag is to
delete its generation, however much hangs on it. A server that forgot some or all of it has
no valid entry left, and never one again that was invalid. The keys of one cache must lie on
one server; in a cluster, give a prefix with a `{hash tag}`.
"""

import re
from collections.abc import Callable, Collection

from dawr.reliability.cache.entries import TAG_OUTLIVES_MS, CacheAway, Found, Keep
from dawr.reliability.cache.redis_pipeline import Command, RedisPipeline
from dawr.reliability.log import log
from dawr.reliability.lua import Script
from dawr.reliability.shared import Shared, SharedAway

LEAD_MS = 5000
KEYS_PER_SCAN = 100
_SIGNS = re.compile(r"([*?\[\]\\^-])")


class SharedEntries:
    """`new_token` gives a text that nobody ever got before. Whoever leads and dies holds others up for `lead_ms`."""

    def __init__(
        self, shared: Shared, new_token: Callable[[], str], *, name: str = "cache", lead_ms: int = LEAD_MS
    ) -> None:
        self._shared = shared
        self._new_token = new_token
        self._lead_ms = lead_ms
        self._entry = f"{shared.prefix}{name}:entry:"
        self._lead = f"{shared.prefix}{name}:lead:"
        self._tag = f"{shared.prefix}{name}:tag:"
        self._all = f"{shared.prefix}{name}:all"
        self._pipeline = RedisPipeline(shared, self._all)
        self._read, self._store, self._release = (
            Script.beside(__file__, name) for name in ("read", "store", "release")
        )

    async def read(self, key: str, keep: Keep) -> Found:
        arguments = (self._new_token(), self._lead_ms, keep.life_ms + TAG_OUTLIVES_MS)
        command = Command(self._read, self._keys(key, keep.tags), arguments)
        is_fresh, value, *rest = await self._pipeline.run(command, group=(key, keep.tags))
        if is_fresh:
            return Found(value, is_fresh=True)
        leads, token, *since = rest
        return Found(value, since=tuple(since), leads=bool(leads), token=token.decode())

    async def store(self, key: str, value: bytes, keep: Keep, found: Found | None) -> bool:
        token, since = (self._new_token(), ()) if found is None else (found.token, found.since)
        arguments = (value, keep.ttl_ms, keep.stale_ms, TAG_OUTLIVES_MS, token, *since)
        return bool(await self._pipeline.run(Command(self._store, self._keys(key, keep.tags), arguments)))

    async def release(self, key: str, found: Found) -> None:
        await self._pipeline.run(Command(self._release, [f"{self._lead}{key}"], (found.token,)))

    async def invalidate(self, tags: Collection[str] | None) -> bool:
        keys = [self._all] if tags is None else [f"{self._tag}{tag}" for tag in tags]
        return await self._pipeline.delete(keys)

    async def delete(self, key: str) -> bool:
        return await self._pipeline.delete([f"{self._entry}{key}"])

    async def delete_pattern(self, pattern: str) -> int:
        """By a scan from cursor 0 until it is 0 again: the server is never held up, whatever it holds."""
        match = _SIGNS.sub(r"\\\1", self._entry) + pattern
        cursor, deleted = await self._delete_some(0, match)
        while cursor:
            cursor, more = await self._delete_some(cursor, match)
            deleted += more
        log.debug("cache.pattern-deleted", pattern=pattern, count=deleted)
        return deleted

    async def close(self) -> None:
        await self._pipeline.close()

    async def _delete_some(self, cursor: int, match: str) -> tuple[int, int]:
        try:
            following, keys = await self._shared.ask(lambda client: client.scan(cursor, match, KEYS_PER_SCAN))
            return following, await self._shared.ask(lambda client: client.unlink(*keys)) if keys else 0
        except SharedAway as away:
            raise CacheAway(str(away)) from away

    def _keys(self, key: str, tags: tuple[str, ...]) -> list[str]:
        return [f"{self._entry}{key}", f"{self._lead}{key}", self._all, *[f"{self._tag}{tag}" for tag in tags]]
