"""Who asked a moment ago: what was found for a session or a token, kept for a second at most.

The database alone says who may. A change in this process drops everything that is kept, before whoever made the change
is answered; one in another process is seen when the second is over, whether or not the processes can
reach each other. Nothing is kept for credentials that are no good, and no secret is kept: keys are hashes.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from dawr.domain import SignedIn, Token
from dawr.operations.rows import STAFF, TOKENS
from dawr.ports import Changes

KEPT_MS = 1000
MOST = 10_000

Found = TypeVar("Found", SignedIn, Token)


class Remembered:
    """`ticks` are milliseconds that never go back."""

    def __init__(self, ticks: Callable[[], int], *, most: int = MOST) -> None:
        self._ticks = ticks
        self._most = most
        self._kept: dict[str, tuple[int, SignedIn | Token]] = {}
        self._drops = 0

    def get(self, key: str) -> SignedIn | Token | None:
        until, found = self._kept.get(key, (0, None))
        return found if found is not None and self._ticks() < until else None

    async def keep(self, key: str, look: Awaitable[Found | None]) -> Found | None:
        """What is found. The second begins before the store is asked; what was dropped meanwhile is not kept again."""
        until, drops = self._ticks() + KEPT_MS, self._drops
        found = await look
        if found is not None and drops == self._drops:
            self._kept.pop(key, None)
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = (until, found)
        return found

    def drop(self) -> None:
        """All of it: such changes are rare, and one look each brings everybody back."""
        self._kept.clear()
        self._drops += 1

    async def outdate(self, changed: Iterable[Changes]) -> None:
        """Told what a batch changed, before its callers are answered."""
        if any(changes.of(STAFF) or changes.of(TOKENS) for changes in changed):
            self.drop()

    async def doubt(self, _: object) -> None:
        """What was to be changed may be so, or not."""
        self.drop()
