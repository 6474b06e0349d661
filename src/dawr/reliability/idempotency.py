"""A retried request has one effect and one answer.

The answer is stored under (scope, principal, key) in the transaction of its effect.
Another payload under the same key is refused; an expired answer is as if it had never been.
"""

from typing import ClassVar, Literal, NamedTuple

import msgspec

ANONYMOUS = "anonymous"
"""The principal of somebody who did not say who they are: a value, never NULL."""


class AnswerKey(NamedTuple):
    scope: str
    principal: str
    key: str


class Claim(msgspec.Struct, frozen=True):
    """What a request with an idempotency key brings along."""

    key: AnswerKey
    fingerprint: str
    keep_ms: int
    """How long the answer is kept."""


class Answer(msgspec.Struct, frozen=True):
    """The fields are the columns of `idempotency`, in their order, after the key."""

    scope: str
    principal: str
    key: str
    fingerprint: str
    state: Literal["started", "completed", "failed"]
    lease_until: int | None
    fence: int
    status: int
    body: bytes
    expires_at: int

    def replay(self, claim: Claim) -> "Reply":
        if self.fingerprint != claim.fingerprint:
            raise KeyReused
        return Reply(self.status, self.body, replayed=True)


class Reply(msgspec.Struct, frozen=True):
    """Status and body as the caller gets them; the engine does not look inside."""

    status: int
    body: bytes
    replayed: bool = False

    def kept(self, claim: Claim, now: int) -> Answer:
        return Answer(
            *claim.key,
            fingerprint=claim.fingerprint,
            state="completed",
            lease_until=None,
            fence=0,
            status=self.status,
            body=self.body,
            expires_at=now + claim.keep_ms,
        )


class KeyReused(Exception):
    """This idempotency key was used for another request."""

    code: ClassVar[str] = "idempotency-key-reused"
