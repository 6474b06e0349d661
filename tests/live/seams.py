"""The real store, with something happening between asking it and hearing the answer."""

from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import TypeVar, cast

from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.live.hub import Hub
from dawr.ports import Session, Store
from tests.live.watching import Watched

T = TypeVar("T")
Meanwhile = Callable[[], Awaitable[None]]


class SlowStore:
    """Reads as the store does; the answer arrives after whatever happens meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads = 0
        self.before: Meanwhile | None = None
        self.after: Meanwhile | None = None

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        self.reads += 1
        if self.before is not None:
            await self.before()
        seen = await self._store.read(venues, work)
        if self.after is not None:
            await self.after()
        return seen


def slowly(watched: Watched) -> tuple[Watched, SlowStore]:
    """The same venue; its hub hears of commits at once, and reads slowly."""
    slow = SlowStore(watched.store)
    hub = Hub(cast("Store", slow), watched.clock, Random(3))
    engine = Engine(watched.store, watched.clock, listeners=[hub])
    return Watched(hub, engine, watched.store, watched.venue, watched.clock), slow
