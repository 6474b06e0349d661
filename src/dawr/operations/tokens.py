"""The tokens of a venue: make one, revoke one, take one over. Who makes a token may do at least what it may."""

import msgspec

from dawr.domain import AccountId, Role, Token, TokenId, TokenKind, Venue
from dawr.domain.errors import UnknownVenue
from dawr.domain.staff import member_called, must_grant
from dawr.domain.token import checked_name, checked_role
from dawr.operations.authority import must_grant_now, role_now
from dawr.operations.operation import Operation, View
from dawr.operations.rows import STAFF, TOKENS
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class TokenState(msgspec.Struct, frozen=True):
    """A token as it is now."""

    token: Token
    username: str | None
    """Who answers for it; None is the command line. Empty: nobody, until an owner takes it over."""
    may: Role | None
    """What it may now; None: nothing."""


class _OfTokens(Operation[TokenState], frozen=True):
    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(TOKENS)
        wants.add(STAFF)


class MakeToken(_OfTokens, frozen=True, kw_only=True):
    token_id: TokenId
    secret_hash: str
    kind: TokenKind
    name: str
    role: Role | None = None
    """None for a kiosk or display, whose role is fixed."""
    made_by: str
    account_id: AccountId | None
    """Of whoever makes it and answers for it; None is the command line."""

    def decide(self, tx: Transaction, now: int) -> TokenState:
        role = checked_role(self.kind, self.role)
        must_grant_now(tx, self.account_id, role)
        name = checked_name(self.name)
        token = Token(tx.venue.id, self.token_id, self.secret_hash, self.kind, role, name, self.made_by, now)
        return _put(tx, "token.made", msgspec.structs.replace(token, account_id=self.account_id))


class RevokeToken(_OfTokens, frozen=True):
    """From now on it opens nothing. Revoked already, it stays so."""

    token_id: TokenId
    by: AccountId | None
    by_token: TokenId | None = None
    """Of a token that asks: it has no account."""

    def decide(self, tx: Transaction, now: int) -> TokenState:
        role = role_now(tx, self.by) if self.by_token is None else _role_of_token(tx, self.by_token)
        before = tx.get(TOKENS, self.token_id)
        must_grant(role, before.role)
        if not before.is_active:
            return as_it_is_now(tx, before)
        return _put(tx, "token.revoked", msgspec.structs.replace(before, revoked_at=now))


class TakeTokenOver(_OfTokens, frozen=True):
    """By an owner: from now on somebody else answers for it. Theirs already, or revoked, it stays as it is."""

    token_id: TokenId
    username: str | None
    """Who will; None is the command line."""
    by: AccountId | None

    def decide(self, tx: Transaction, now: int) -> TokenState:
        must_grant_now(tx, self.by, "owner")
        before = tx.get(TOKENS, self.token_id)
        member = None if self.username is None else member_called(tx.all(STAFF), self.username)
        account_id = None if member is None else member.account_id
        if not before.is_active or before.account_id == account_id:
            return as_it_is_now(tx, before)
        taken = msgspec.structs.replace(before, account_id=account_id)
        return _put(tx, "token.taken_over", taken, answers="command line" if member is None else member.username)


class LookAtTokens(View[tuple[TokenState, ...]], frozen=True):
    """Every token of the venue, revoked ones too, in the order they were made."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(TOKENS)
        wants.add(STAFF)

    def look(self, tx: Transaction, now: int) -> tuple[TokenState, ...]:
        return tuple(as_it_is_now(tx, token) for token in sorted(tx.all(TOKENS), key=_age))


def tokens_of(tx: Transaction, account_id: AccountId) -> tuple[TokenState, ...]:
    """Those that this account answers for, without revoked ones."""
    theirs = [token for token in tx.all(TOKENS) if token.account_id == account_id and token.is_active]
    return tuple(as_it_is_now(tx, token) for token in sorted(theirs, key=_age))


def as_it_is_now(tx: Transaction, token: Token) -> TokenState:
    if token.account_id is None:
        return TokenState(token, None, token.role_now(None))
    member = tx.find(STAFF, token.account_id)
    if member is None:
        return TokenState(token, "", None)
    return TokenState(token, member.username, token.role_now(member.role if member.is_active else None))


def _role_of_token(tx: Transaction, token_id: TokenId) -> Role:
    token = tx.find(TOKENS, token_id)
    may = None if token is None else as_it_is_now(tx, token).may
    if may is None:
        raise UnknownVenue(tx.venue.slug)
    return may


def _age(token: Token) -> tuple[int, TokenId]:
    return token.made_at, token.token_id


def _put(tx: Transaction, kind: str, token: Token, **facts: str) -> TokenState:
    """Let a token be as it is now, with the event that says so."""
    tx.put(TOKENS, token)
    tx.happened(kind, None, token=token.token_id, name=token.name, token_kind=token.kind, role=token.role, **facts)
    return as_it_is_now(tx, token)
