"""Where entries are kept: the one contract of all places."""

from collections.abc import Collection
from typing import Protocol

import msgspec

Since = tuple[bytes | int, ...]
"""The generations of some tags at one moment. Equal ones: none of the tags was invalidated in between."""

TAG_OUTLIVES_MS = 60_000
"""By so much a tag's generation outlives the longest entry under it."""


class CacheAway(Exception):
    """Where the entries are kept cannot be reached now."""


class Found(msgspec.Struct, frozen=True):
    """What was found under a key."""

    value: bytes | None
    is_fresh: bool = False
    """Not so: it may be served while somebody computes it anew."""
    since: Since = ()
    """Taken in the same step, for whoever computes now."""
    leads: bool = False
    """Whether to compute is this asker's part; nobody else was told so lately."""
    token: str = ""
    """Shows who leads."""


class Keep(msgspec.Struct, frozen=True):
    """How long, and until what changes."""

    tags: tuple[str, ...]
    ttl_ms: int
    stale_ms: int

    @property
    def life_ms(self) -> int:
        return self.ttl_ms + self.stale_ms


class Entries(Protocol):
    """Every method may raise `CacheAway`, but for `invalidate` and `delete`: what cannot be done now is done later.

    From when one of these two was called, nothing that they took away is found by this process. They say
    whether others do not find it either.
    """

    async def read(self, key: str, keep: Keep) -> Found:
        """What is there and valid; if it is not fresh, also all that is needed to compute it."""

    async def store(self, key: str, value: bytes, keep: Keep, found: Found | None) -> bool:
        """Keep a value with its tags in one step, unless one was invalidated since it was read; None: under what is."""

    async def release(self, key: str, found: Found) -> None:
        """Whoever led gives up: another may."""

    async def invalidate(self, tags: Collection[str] | None) -> bool:
        """Nothing that was made under one of these tags is found any more; None: nothing at all is."""

    async def delete(self, key: str) -> bool:
        """What is kept under a key, with whatever tags."""

    async def delete_pattern(self, pattern: str) -> int:
        """All whose keys match a pattern as Redis knows them, and how many they were."""

    async def close(self) -> None:
        """From now on it is of no use."""
