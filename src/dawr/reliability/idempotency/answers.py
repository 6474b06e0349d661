"""What is stored under a key, and what a retry gets for it.

Another payload under the same key is refused; an expired answer is as if it had never been.
Only what was completed is replayed.
"""

import re
from typing import Any, ClassVar, Literal, NamedTuple, Self

import msgspec

from dawr.reliability.fingerprint import fingerprint

ANONYMOUS = "anonymous"
"""The principal of somebody who did not say who they are: a value, never NULL."""

DAY_MS = 24 * 60 * 60 * 1000
LEASE_MS = 30_000
LONGEST = 255
STORABLE = re.compile(rf"[^\0\ud800-\udfff]{{0,{LONGEST}}}")
"""No NUL, and no half of a surrogate pair."""
MOST_BYTES = 2500
"""PostgreSQL's index takes little more."""


class KeyConflict(Exception):
    """What came under this idempotency key cannot be answered.

    KeyConflict
    ├── KeyReused    never: the key is another request's
    ├── InProgress   not yet: the first attempt is still under way
    └── ClaimLost    not by us: somebody else has taken over
    """

    code: ClassVar[str] = "idempotency-conflict"

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class KeyReused(KeyConflict):
    """This idempotency key was used for another request."""

    code = "idempotency-key-reused"


class InProgress(KeyConflict):
    """The first request under this idempotency key is not finished yet. Try again in a second."""

    code = "idempotency-in-progress"


class ClaimLost(KeyConflict):
    """Somebody else has taken over what is done under this idempotency key. Try again to get their answer."""

    code = "idempotency-claim-lost"


class AnswerKey(NamedTuple):
    scope: str
    principal: str
    key: str

    def must_be_storable(self) -> None:
        """`ValueError` for what one database keeps and another does not."""
        for part, text in zip(self._fields, self, strict=True):
            if not STORABLE.fullmatch(text):
                raise ValueError(f"The {part} of a claim has at most {LONGEST} characters of Unicode, and no NUL.")
        if sum(len(text.encode()) for text in self) > MOST_BYTES:
            raise ValueError(f"Scope, principal and key of a claim have at most {MOST_BYTES} bytes together.")


class Claim(msgspec.Struct, frozen=True):
    """What a request with an idempotency key brings along."""

    key: AnswerKey
    fingerprint: str
    keep_ms: int
    """How long the answer is kept."""
    lease_ms: int = LEASE_MS
    """How long whoever does the work is believed to live without saying so."""

    def __post_init__(self) -> None:
        if not self.key.key:
            raise ValueError("The key of a claim is empty: all requests without one would be the same request.")

    @classmethod
    def of(
        cls,
        payload: Any,  # noqa: ANN401 - anything JSON can say
        *,
        scope: str,
        key: str,
        principal: str = ANONYMOUS,
        keep_ms: int = DAY_MS,
        lease_ms: int = LEASE_MS,
    ) -> Self:
        """For a request that says what it wants by this payload."""
        named = AnswerKey(scope, principal, key)
        named.must_be_storable()
        return cls(named, fingerprint(payload), keep_ms, lease_ms)


class Answer(msgspec.Struct, frozen=True):
    """The fields are the columns of `idempotency`, in their order."""

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

    def replay(self, claim: Claim, now: int) -> "Reply | None":
        """What a retry gets. None: nobody has done it or is doing it, so it may be done."""
        if self.expires_at <= now:
            return None
        if self.fingerprint != claim.fingerprint:
            raise KeyReused
        if self.state == "completed":
            return Reply(self.status, self.body, replayed=True)
        if self.state == "started" and self.lease_until is not None and now < self.lease_until:
            raise InProgress
        return None


class Reply(msgspec.Struct, frozen=True):
    """Status and body as the caller gets them; nobody here looks inside."""

    status: int
    body: bytes
    replayed: bool = False

    def must_be_bytes(self) -> None:
        """Nobody checks a body when it is made: what is no bytes is refused before it is stored."""
        body: object = self.body
        if not isinstance(body, bytes):
            raise TypeError(f"The body of a reply is bytes, not {type(body).__name__}.")

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
