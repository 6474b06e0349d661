"""Who asks: anybody, a staff member by their session, or a token."""

from collections.abc import Mapping

import msgspec

from dawr.domain.account import AccountId
from dawr.domain.staff import Role, at_least
from dawr.domain.token import TokenKind
from dawr.domain.venue import VenueId
from dawr.reliability.idempotency import ANONYMOUS

DEVICES: frozenset[TokenKind] = frozenset({"kiosk", "display"})
ISSUING_KINDS: frozenset[TokenKind] = frozenset({"kiosk"})


class Caller(msgspec.Struct, frozen=True):
    actor: str
    """As events name them: `visitor`, `staff:…`, `token:…`."""
    roles: Mapping[VenueId, Role] = {}
    account_id: AccountId | None = None
    username: str | None = None
    session: str | None = None
    """The session's own secret, to end it by."""
    token_kind: TokenKind | None = None

    @property
    def is_known(self) -> bool:
        return self is not ANYBODY

    @property
    def principal(self) -> str:
        """Whose idempotency keys these are."""
        return self.actor if self.is_known else ANONYMOUS

    def may(self, needed: Role, venue_id: VenueId) -> bool:
        """A kiosk or display stands where anybody can touch it: it sees no more than anybody does."""
        role = self.roles.get(venue_id)
        return role is not None and self.token_kind not in DEVICES and at_least(role, needed)

    def may_issue(self, venue_id: VenueId) -> bool:
        """Staff and kiosks give numbers to people in front of them."""
        return self.may("staff", venue_id) or (self.token_kind in ISSUING_KINDS and venue_id in self.roles)


ANYBODY = Caller(actor="visitor")
