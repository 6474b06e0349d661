"""A staff member: an account's membership of one venue, with a role.

Roles rise from viewer to owner. Nobody grants a role above their own, and nobody changes
somebody who stands above them. A venue that has an owner keeps one.
"""

from collections.abc import Iterable
from typing import Final, Literal, NewType

import msgspec

from dawr.domain.errors import LastOwner, RoleTooLow, UnknownStaff
from dawr.domain.venue import VenueId

AccountId = NewType("AccountId", str)

Role = Literal["viewer", "staff", "manager", "owner"]

ROLES: Final[tuple[Role, ...]] = ("viewer", "staff", "manager", "owner")
"""Each may do what those before it may."""

MANAGES_PEOPLE: Final[Role] = "manager"
"""The least role that adds and changes staff, and makes tokens."""


LONGEST_USERNAME: Final = 64


class StaffMember(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    account_id: AccountId
    username: str
    """The account's, which never changes."""
    role: Role
    added_at: int
    disabled_at: int | None = None

    @property
    def is_active(self) -> bool:
        return self.disabled_at is None


def at_least(role: Role, needed: Role) -> bool:
    return ROLES.index(role) >= ROLES.index(needed)


def lower(one: Role, other: Role) -> Role:
    return other if at_least(one, other) else one


def must_grant(by: Role | None, role: Role) -> None:
    """Refuse unless `by` may give this role, or act on somebody who has it. None is the command line, which may."""
    if by is None:
        return
    needed = role if at_least(role, MANAGES_PEOPLE) else MANAGES_PEOPLE
    if not at_least(by, needed):
        raise RoleTooLow(by, needed)


def member_called(staff: Iterable[StaffMember], username: str) -> StaffMember:
    wanted = username.strip().lower()
    for member in staff:
        if member.username == wanted:
            return member
    raise UnknownStaff(username[:LONGEST_USERNAME])


def must_leave_an_owner(staff: Iterable[StaffMember], leaving: StaffMember) -> None:
    """Refuse when nobody else could give this venue an owner again."""
    owners = {member.account_id for member in staff if member.role == "owner" and member.is_active}
    if owners == {leaving.account_id}:
        raise LastOwner(leaving.username)
