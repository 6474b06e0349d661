"""One person's whole stay: one secret link, one or more tickets."""

from typing import Literal

import msgspec

from dawr.domain.ticket import VisitId
from dawr.domain.venue import VenueId


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
