"""How a venue comes to be: with an id of its own, at the day it is there, before anything has happened."""

import msgspec

from dawr.domain.day import Day
from dawr.domain.venue import Head, Venue, VenueId, checked
from dawr.ports import Clock, Ids, Store


async def found(store: Store, clock: Clock, ids: Ids, venue: Venue) -> Venue:
    """The venue as it was made; its slug must be free."""
    new = checked(msgspec.structs.replace(venue, id=VenueId(ids.venue_code())))
    today = new.day_at(clock(), reached=Day(""))
    await store.add_venue(new, Head(new.id, ids.epoch(), today, version=0, config_version=0))
    return new
