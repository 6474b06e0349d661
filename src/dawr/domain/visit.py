"""One person's whole stay: one secret link, one or more tickets."""

from hmac import compare_digest
from typing import Literal

import msgspec

from dawr.domain.errors import UnknownVisit
from dawr.domain.secret import hash_of
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import VenueId


class Link(msgspec.Struct, frozen=True):
    """What a visitor's link says: which visit, and the secret that only its holder knows, as its SHA-256."""

    visit_id: VisitId
    secret_hash: str

    @staticmethod
    def read(text: str) -> "Link":
        """From `{visit id}.{secret}`, as it stands at the end of the link."""
        if not text.isprintable():
            raise UnknownVisit
        visit_id, _, secret = text.partition(".")
        return Link(VisitId(visit_id), hash_of(secret))

    def opens(self, visit: "Visit") -> bool:
        return compare_digest(self.secret_hash, visit.secret_hash)


class Visit(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    visit_id: VisitId
    secret_hash: str
    """SHA-256 of the secret in the visitor's link; the secret itself is not kept. The link names the visit too."""
    visitor: str
    state: Literal["open", "finished", "left"]
    started_at: int
    finished_at: int | None = None
    left_at: int | None = None
    ticket_id: TicketId | None = None
    """The ticket it has come to; that one names the ticket before."""
