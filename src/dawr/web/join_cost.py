"""Refusals that cost an address no join: a refused join counts as a look if it reveals nothing about people or secrets.

Any other refusal costs a join, because it helps a caller who guesses names, PINs or codes. A new kind of refusal does
too until it is listed here.
"""

from dawr.domain.errors import (
    Closed,
    Full,
    Invalid,
    NotForThisAudience,
    TooOften,
    UnknownJourney,
    UnknownQueue,
    UnknownVenue,
)
from dawr.ports.faults import Busy, StoreAway, Unstorable
from dawr.reliability.idempotency import KeyConflict
from dawr.web.problems import BadRequest

JOIN_CLASSES = frozenset({"join", "clinic-join"})

UNREVEALING: tuple[type[Exception], ...] = (
    *(UnknownVenue, UnknownQueue, UnknownJourney, NotForThisAudience),  # the set-up is public
    *(Closed, Full, TooOften, Invalid),
    KeyConflict,
    *(Busy, StoreAway, Unstorable),  # nothing was stored
)
GUESSED_STATUSES = frozenset({401, 410})
"""Statuses of a `BadRequest` that may follow a wrong password."""


def counts_as_look(refusal: Exception) -> bool:
    if isinstance(refusal, BadRequest):
        return refusal.status not in GUESSED_STATUSES
    return isinstance(refusal, UNREVEALING)
