"""A small table, made as the recipe in ARCHITECTURE.md says: a struct, a declaration, and the SQL beside them."""

from operator import attrgetter

import msgspec

from dawr.domain.errors import UnknownTicket
from dawr.domain.venue import VenueId
from dawr.ports import Kind


class Note(msgspec.Struct, frozen=True):
    """What staff wrote down about a ticket. The fields are the columns, in their order."""

    venue_id: VenueId
    ticket_id: str
    text: str
    changes: int = 0


NOTES: Kind[str, Note] = Kind(name="notes", row=Note, key=attrgetter("ticket_id"), missing=UnknownTicket)
