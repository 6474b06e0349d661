"""A visitor's secret link: made here, told once, kept as a hash."""

import msgspec

from dawr.domain import VenueId
from dawr.domain.secret import hash_of
from dawr.ports import Ids


class NewLink(msgspec.Struct, frozen=True):
    visit_id: str
    secret_hash: str
    token: str
    """Visit and secret, as the API takes them."""

    @property
    def path(self) -> str:
        return f"/t/{self.token}"


def new_link(ids: Ids, venue_id: VenueId) -> NewLink:
    return link_to(ids, ids.new(venue_id))


def link_to(ids: Ids, visit_id: str) -> NewLink:
    """A new secret for a visit."""
    secret = ids.token()
    return NewLink(visit_id, hash_of(secret), f"{visit_id}.{secret}")
