"""A retried request has one effect and one answer.

The answer is stored under (scope, principal, key). An effect in the same database commits
together with its answer. Work that has its effect elsewhere is done under a claim: a lease
with a fence, which one of many gets, and which another takes over when its holder is gone.
"""

from dawr.reliability.idempotency.answers import (
    ANONYMOUS,
    Answer,
    AnswerKey,
    Claim,
    ClaimLost,
    InProgress,
    KeyConflict,
    KeyReused,
    Reply,
)
from dawr.reliability.idempotency.claims import Attempt, Idempotency

__all__ = [
    "ANONYMOUS",
    "Answer",
    "AnswerKey",
    "Attempt",
    "Claim",
    "ClaimLost",
    "Idempotency",
    "InProgress",
    "KeyConflict",
    "KeyReused",
    "Reply",
]
