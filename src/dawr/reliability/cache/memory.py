"""Entries in this process: the least recently used make room, by number and by bytes."""

from collections import OrderedDict
from collections.abc import Callable, Collection
from itertools import count

import msgspec

from dawr.reliability.cache.entries import Found, Keep, Since
from dawr.reliability.cache.patterns import matching
from dawr.reliability.log import log

OVERHEAD_BYTES = 400
"""About what an entry costs besides its key and value."""
TAGS_PER_ENTRY = 4


class Entry(msgspec.Struct, frozen=True):
    value: bytes
    tags: tuple[str, ...]
    since: Since
    fresh_until: int
    until: int
    size: int


class MemoryEntries:
    """`ticks` gives milliseconds that never go back.

    A generation is a number that was never given before. A tag that is not known has none, so whatever was
    made under it is void: forgetting a tag can make an entry invalid, never valid again.
    """

    def __init__(
        self, ticks: Callable[[], int], *, most_entries: int = 10_000, most_bytes: int = 64 * 1024 * 1024
    ) -> None:
        self._ticks = ticks
        self._most_entries = most_entries
        self._most_bytes = most_bytes
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._tags: OrderedDict[str, int] = OrderedDict()
        self._generations = count(1)
        self._all = next(self._generations)
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)

    async def read(self, key: str, keep: Keep) -> Found:
        entry = self._entries.get(key)
        if entry is not None:
            now = self._ticks()
            if now >= entry.until or self._now(entry.tags) != entry.since:
                self._drop(key)
                entry = None
            else:
                self._entries.move_to_end(key)
                if now < entry.fresh_until:
                    return Found(entry.value, is_fresh=True)
        return Found(None if entry is None else entry.value, since=self._since(keep.tags), leads=True)

    async def store(self, key: str, value: bytes, keep: Keep, found: Found | None) -> bool:
        since = self._since(keep.tags) if found is None else found.since
        if self._now(keep.tags) != since:
            return False
        self._drop(key)
        now, size = self._ticks(), len(key) + len(value) + OVERHEAD_BYTES
        if size <= self._most_bytes:
            self._entries[key] = Entry(value, keep.tags, since, now + keep.ttl_ms, now + keep.life_ms, size)
            self.bytes += size
        while self.bytes > self._most_bytes or len(self._entries) > self._most_entries:
            self._drop(next(iter(self._entries)))
        return True

    async def release(self, key: str, found: Found) -> None:
        """In one process, who leads is known without it."""

    async def invalidate(self, tags: Collection[str] | None) -> bool:
        if tags is None:
            self._all = next(self._generations)
            self._entries.clear()
            self._tags.clear()
            self.bytes = 0
        else:
            for tag in tags:
                self._tags.pop(tag, None)
        return True

    async def delete(self, key: str) -> bool:
        self._drop(key)
        return True

    async def delete_pattern(self, pattern: str) -> int:
        matches = matching(pattern).fullmatch
        now = self._ticks()
        keys = [key for key, entry in self._entries.items() if now < entry.until and matches(key.encode())]
        for key in keys:
            self._drop(key)
        log.debug("cache.pattern-deleted", pattern=pattern, count=len(keys))
        return len(keys)

    async def close(self) -> None:
        await self.invalidate(None)

    def _now(self, tags: tuple[str, ...]) -> Since:
        """Of a tag that is not known 0, which is no generation."""
        return (self._all, *[self._tags.get(tag, 0) for tag in tags])

    def _since(self, tags: tuple[str, ...]) -> Since:
        for tag in tags:
            if tag in self._tags:
                self._tags.move_to_end(tag)
            else:
                self._tags[tag] = next(self._generations)
        while len(self._tags) > max(len(tags), TAGS_PER_ENTRY * self._most_entries):
            self._tags.popitem(last=False)
        return self._now(tags)

    def _drop(self, key: str) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry.size
