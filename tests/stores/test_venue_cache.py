"""The cached set-up is the one that belongs to the head, whoever else looks at the same moment."""

from collections.abc import Iterable, Sequence

import msgspec

from dawr.domain.venue import Head, Venue, VenueId
from dawr.stores.session import Row, VenueCache
from tests.builders import a_head, a_queue, a_venue


class Interrupted:
    """A gateway during whose look somebody else looks at an older picture."""

    def __init__(self, cache: VenueCache, documents: dict[VenueId, Venue]) -> None:
        self._cache = cache
        self._documents = documents
        self.older: tuple[Head, Venue] | None = None

    async def fetch(self, name: str, keys: Sequence[Row]) -> Iterable[Row]:
        assert name == "venues_by_id"
        if self.older is not None:
            (head, venue), self.older = self.older, None
            await self._cache.get(Interrupted(self._cache, {venue.id: venue}), {venue.id: head})
        return [(msgspec.json.encode(self._documents[venue_id]).decode(),) for (venue_id,) in keys]

    async def write(self, name: str, rows: Sequence[Row]) -> None:
        raise NotImplementedError


async def test_a_reader_of_an_older_picture_does_not_change_what_a_writer_sees() -> None:
    cache = VenueCache()
    before, other = a_venue(a_queue()), a_venue()
    after = msgspec.structs.replace(before, queues=(a_queue(state="closed"),))
    heads = {
        before.id: msgspec.structs.replace(a_head(before), config_version=2),
        other.id: a_head(other),
    }
    gateway = Interrupted(cache, {after.id: after, other.id: other})
    await cache.get(gateway, {after.id: heads[after.id]})

    gateway.older = (a_head(before), before)
    seen = await cache.get(gateway, heads)

    assert seen == {after.id: after, other.id: other}
    assert await cache.get(gateway, heads) == seen
