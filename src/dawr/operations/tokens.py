"""The tokens of a venue: make one, revoke one. Who makes a token may do at least what it may."""

import msgspec

from dawr.domain import Role, Token, TokenId, TokenKind, Venue
from dawr.domain.staff import must_grant
from dawr.domain.token import checked_name, checked_role
from dawr.operations.operation import Operation, View
from dawr.operations.rows import TOKENS
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class MakeToken(Operation[Token], frozen=True, kw_only=True):
    token_id: TokenId
    secret_hash: str
    kind: TokenKind
    name: str
    role: Role | None = None
    """None for a kiosk or display, whose role is fixed."""
    made_by: str
    by: Role | None
    """The role of whoever asks; None is the command line."""

    def decide(self, tx: Transaction, now: int) -> Token:
        role = checked_role(self.kind, self.role)
        must_grant(self.by, role)
        name = checked_name(self.name)
        token = Token(tx.venue.id, self.token_id, self.secret_hash, self.kind, role, name, self.made_by, now)
        return _put(tx, "token.made", token)


class RevokeToken(Operation[Token], frozen=True):
    """From now on it opens nothing. Revoked already, it stays so."""

    token_id: TokenId
    by: Role | None

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(TOKENS)

    def decide(self, tx: Transaction, now: int) -> Token:
        before = tx.get(TOKENS, self.token_id)
        must_grant(self.by, before.role)
        if not before.is_active:
            return before
        return _put(tx, "token.revoked", msgspec.structs.replace(before, revoked_at=now))


class LookAtTokens(View[tuple[Token, ...]], frozen=True):
    """Every token of the venue, revoked ones too, in the order they were made."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(TOKENS)

    def look(self, tx: Transaction, now: int) -> tuple[Token, ...]:
        return tuple(sorted(tx.all(TOKENS), key=lambda token: (token.made_at, token.token_id)))


def _put(tx: Transaction, kind: str, token: Token) -> Token:
    """Let a token be as it is now, with the event that says so."""
    tx.put(TOKENS, token)
    tx.happened(kind, token=token.token_id, name=token.name, token_kind=token.kind, role=token.role)
    return token
