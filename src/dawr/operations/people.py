"""Who works at a venue: add somebody, change their role, disable and enable them.

`by` is the account of whoever asks; None is the command line, which may do everything but
leave a venue without its last owner.
"""

import msgspec

from dawr.domain import AccountId, Role, StaffMember, Venue
from dawr.domain.errors import AlreadyStaff
from dawr.domain.staff import member_called, must_grant, must_leave_an_owner
from dawr.operations.authority import must_grant_now, role_now
from dawr.operations.operation import Operation, View
from dawr.operations.rows import STAFF, TOKENS
from dawr.operations.tokens import TokenState, tokens_of
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class StaffChanged(msgspec.Struct, frozen=True):
    """A member as they are now, and the tokens that they answer for."""

    member: StaffMember
    tokens: tuple[TokenState, ...]


class _OfStaff(Operation[StaffChanged], frozen=True):
    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(STAFF)
        wants.add(TOKENS)


class AddStaff(Operation[StaffMember], frozen=True):
    """Make an account a member of this venue's staff."""

    account_id: AccountId
    username: str
    role: Role
    by: AccountId | None

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(STAFF)

    def decide(self, tx: Transaction, now: int) -> StaffMember:
        must_grant_now(tx, self.by, self.role)
        if tx.find(STAFF, self.account_id) is not None:
            raise AlreadyStaff(self.username)
        member = StaffMember(tx.venue.id, self.account_id, self.username, self.role, now)
        return _put(tx, "staff.added", member)


class ChangeRole(_OfStaff, frozen=True):
    username: str
    role: Role
    by: AccountId | None

    def decide(self, tx: Transaction, now: int) -> StaffChanged:
        before = _member(tx, self.username, self.by)
        must_grant_now(tx, self.by, self.role)
        if before.role == self.role:
            return _with_tokens(tx, before)
        if before.role == "owner":
            must_leave_an_owner(tx.all(STAFF), before)
        member = msgspec.structs.replace(before, role=self.role)
        return _with_tokens(tx, _put(tx, "staff.role_changed", member, before=before.role))


class DisableStaff(_OfStaff, frozen=True):
    """From now on they may nothing here. Disabled already, they stay so."""

    username: str
    by: AccountId | None

    def decide(self, tx: Transaction, now: int) -> StaffChanged:
        before = _member(tx, self.username, self.by)
        if not before.is_active:
            return _with_tokens(tx, before)
        must_leave_an_owner(tx.all(STAFF), before)
        return _with_tokens(tx, _put(tx, "staff.disabled", msgspec.structs.replace(before, disabled_at=now)))


class EnableStaff(_OfStaff, frozen=True):
    """They may again what their role may."""

    username: str
    by: AccountId | None

    def decide(self, tx: Transaction, now: int) -> StaffChanged:
        before = _member(tx, self.username, self.by)
        if before.is_active:
            return _with_tokens(tx, before)
        return _with_tokens(tx, _put(tx, "staff.enabled", msgspec.structs.replace(before, disabled_at=None)))


class LookAtStaff(View[tuple[StaffMember, ...]], frozen=True):
    """Everybody who works here, disabled ones too, by name."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(STAFF)

    def look(self, tx: Transaction, now: int) -> tuple[StaffMember, ...]:
        return tuple(sorted(tx.all(STAFF), key=lambda member: member.username))


def _member(tx: Transaction, username: str, by: AccountId | None) -> StaffMember:
    """Somebody who works here, and whom `by` may act on."""
    role = role_now(tx, by)
    member = member_called(tx.all(STAFF), username)
    must_grant(role, member.role)
    return member


def _with_tokens(tx: Transaction, member: StaffMember) -> StaffChanged:
    return StaffChanged(member, tokens_of(tx, member.account_id))


def _put(tx: Transaction, kind: str, member: StaffMember, **facts: str) -> StaffMember:
    """Let a member be as they are now, with the event that says so."""
    tx.put(STAFF, member)
    tx.happened(kind, None, username=member.username, role=member.role, **facts)
    return member
