"""A request as it came, and as handlers see it: parsed, and judged."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from starlette.types import Receive, Scope

from dawr.domain.errors import InvalidValue
from dawr.domain.events import Origin
from dawr.domain.venue import VenueId
from dawr.reliability.idempotency import Claim, Reply
from dawr.web.caller import Caller
from dawr.web.response import encoded

G_co = TypeVar("G_co", covariant=True)

LONGEST_REASON = 500


class RawRequest(msgspec.Struct, frozen=True):
    """A request as it came."""

    scope: Scope
    receive: Receive
    headers: dict[bytes, bytes]
    """One value each, the last one that was sent."""
    params: Mapping[str, str]
    correlation_id: str


class Request(msgspec.Struct, Generic[G_co], frozen=True):
    raw: RawRequest
    given: G_co
    """The body or the query, as its type."""
    caller: Caller
    venue_id: VenueId
    venue: str
    """The venue's slug."""
    code: str
    """The queue's, desk's or ticket's own name in its venue."""
    claim: Claim | None = None
    """There, when the request came with an idempotency key."""

    @property
    def params(self) -> Mapping[str, str]:
        return self.raw.params

    def claim_at(self, venue_id: VenueId) -> Claim | None:
        """The claim, at a venue that was not there when the request came."""
        if self.claim is None:
            return None
        scope = f"{venue_id}:{self.claim.key.scope.partition(':')[2]}"
        return msgspec.structs.replace(self.claim, key=self.claim.key._replace(scope=scope))

    def origin(self, reason: str | None = None) -> Origin:
        if reason is not None and (len(reason) > LONGEST_REASON or not reason.replace("\n", " ").isprintable()):
            raise InvalidValue("reason", f"A reason has at most {LONGEST_REASON} printable characters.")
        return Origin(self.caller.actor, self.raw.correlation_id, reason or None)


def rendered(answer: Callable[[Any], object], *, status: int = 200) -> Callable[[Any], Reply]:
    """How the engine is to render what came of an operation, so that a retry gets the same bytes."""
    return lambda outcome: Reply(status, encoded(answer(outcome)))
