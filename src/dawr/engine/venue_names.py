"""Which venue a slug or an id means, and what people call it: one name is looked up, never all of them."""

import asyncio
from typing import TypeVar

from dawr.domain import VenueId
from dawr.ports import Store

K = TypeVar("K")
V = TypeVar("V")

MISSED_SECONDS = 1.0
MOST = 20_000
LONGEST_NAME = 200


class VenueNames:
    """A venue keeps its slug and its id, so what was found stays true. What was not is taken for nobody's for a second.

    Only so many of each are remembered: anybody can make names up.
    """

    def __init__(self, store: Store, *, most: int = MOST) -> None:
        self._store = store
        self._most = most
        self._ids: dict[str, VenueId] = {}
        self._slugs: dict[VenueId, str] = {}
        self._missed: dict[str, float] = {}
        """Until when."""
        self._met = 0

    def at_hand(self, name: str) -> VenueId | None:
        return self._ids.get(name)

    def slug_at_hand(self, venue_id: VenueId) -> str | None:
        return self._slugs.get(venue_id)

    def is_known(self, name: str) -> bool:
        """Whether the store need not be asked what it means, or that it means nothing."""
        return name in self._ids or asyncio.get_running_loop().time() < self._missed.get(name, 0.0)

    async def find(self, name: str) -> VenueId | None:
        """By its slug, else by its id. None: there was no such venue a second ago."""
        return self._ids.get(name) if self.is_known(name) else await self.find_now(name)

    async def find_now(self, name: str) -> VenueId | None:
        """The same, asked of the store. The second begins before; what was made meanwhile is not missed."""
        until, met = asyncio.get_running_loop().time() + MISSED_SECONDS, self._met
        called = await self._called(name)
        for slug, venue_id in called.items():
            self._keep(self._slugs, venue_id, slug)
        found = called.get(name, VenueId(name) if name in called.values() else None)
        if found is not None:
            self._keep(self._ids, name, found)
        elif met == self._met:
            self._forget_old_misses(until - MISSED_SECONDS)
            self._keep(self._missed, name, until)
        return found

    async def slug_of(self, venue_id: VenueId) -> str | None:
        if venue_id not in self._slugs and await self.find(venue_id) is not None and venue_id not in self._slugs:
            await self.find_now(venue_id)  # it is known as somebody's slug, and may be an id too
        return self._slugs.get(venue_id)

    def meet(self, slug: str, venue_id: VenueId) -> None:
        """It was made here."""
        self._met += 1
        self._missed.clear()
        self._keep(self._ids, slug, venue_id)
        self._keep(self._slugs, venue_id, slug)

    def _forget_old_misses(self, now: float) -> None:
        """They stand in the order of their ends."""
        while self._missed and self._missed[name := next(iter(self._missed))] <= now:
            del self._missed[name]

    async def _called(self, name: str) -> dict[str, VenueId]:
        """A name that could be nobody's is looked for nowhere: no database need understand it."""
        return await self._store.venues_called(name) if len(name) <= LONGEST_NAME and name.isprintable() else {}

    def _keep(self, kept: dict[K, V], key: K, value: V) -> None:
        kept.pop(key, None)
        if len(kept) >= self._most:
            del kept[next(iter(kept))]
        kept[key] = value
