"""A token: what a program, a kiosk or a display shows instead of a password. It belongs to one venue.

Somebody answers for it, and it may never more than they may now.
"""

from typing import Final, Literal, NewType

import msgspec

from dawr.domain.errors import InvalidValue
from dawr.domain.staff import AccountId, Role, lower
from dawr.domain.text import can_be_shown
from dawr.domain.venue import VenueId

TokenId = NewType("TokenId", str)
"""It begins with its venue's id, so that the venue is known without a look-up."""

TokenKind = Literal["api", "kiosk", "display"]

ROLE_OF_A_DEVICE: Final[Role] = "viewer"
"""Of kiosks and displays: they stand where anybody can touch them. A kiosk may issue tickets besides."""

LONGEST_NAME: Final = 80


class Token(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    token_id: TokenId
    secret_hash: str
    """SHA-256 of the secret; the secret itself is told once and not kept."""
    kind: TokenKind
    role: Role
    name: str
    """What its maker calls it: where the kiosk stands, what the program is for."""
    made_by: str
    made_at: int
    revoked_at: int | None = None
    account_id: AccountId | None = None
    """Of whoever answers for it. None is the command line, which nobody demotes."""

    @property
    def is_active(self) -> bool:
        return self.revoked_at is None

    def role_now(self, theirs: Role | None) -> Role | None:
        """What it may, by what whoever answers for it may at the venue; None: nothing."""
        if not self.is_active:
            return None
        if self.account_id is None:
            return self.role
        return None if theirs is None else lower(self.role, theirs)


def checked_role(kind: TokenKind, role: Role | None) -> Role:
    """A device has its fixed role; an API token has the one that is asked for."""
    if kind == "api":
        if role is None:
            raise InvalidValue("role", "which-role")
        return role
    if role not in {None, ROLE_OF_A_DEVICE}:
        raise InvalidValue("role", "role-of-device", kind=kind, role=ROLE_OF_A_DEVICE)
    return ROLE_OF_A_DEVICE


def checked_name(name: str) -> str:
    trimmed = name.strip()
    if not can_be_shown(trimmed, most=LONGEST_NAME):
        raise InvalidValue("name", "token-name", most=LONGEST_NAME)
    return trimmed


def venue_of(token_id: str) -> VenueId:
    return VenueId(token_id.rpartition("-")[0])
