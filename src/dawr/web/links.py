"""Links: a visitor's secret one, made here, told once, kept as a hash; and whole addresses, for paper and phones."""

import msgspec

from dawr.domain import Link, VenueId
from dawr.domain.secret import hash_of
from dawr.ports import Ids
from dawr.settings import Settings


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


def read_link(text: str) -> Link:
    """Read a visitor's link, with or without the path or the address before it."""
    return Link.read(text.rpartition("/t/")[2])


def absolute(settings: Settings, path: str) -> str | None:
    """The address of a page for a QR code, a message or paper. None, unless somebody has said where phones find us.

    It is never made of what a request says about its host: anybody can write anything there.
    """
    return f"{settings.public_url}{path}" if settings.public_url else None
