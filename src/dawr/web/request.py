"""A request as it came, and as handlers see it: parsed, and judged."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from dawr.domain.errors import InvalidValue, Refused
from dawr.domain.events import Origin
from dawr.domain.staff import Role
from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from dawr.reliability.asgi import Receive, Scope
from dawr.reliability.idempotency import Claim, Reply
from dawr.web.caller import Caller
from dawr.web.problems import NO_WORDS, problem_reply
from dawr.web.response import encoded

G_co = TypeVar("G_co", covariant=True)
R = TypeVar("R")

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
    engine: Engine
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
    words: Mapping[str, str] = NO_WORDS
    """What this door calls a field that the rules name otherwise."""

    @property
    def params(self) -> Mapping[str, str]:
        return self.raw.params

    @property
    def role(self) -> Role:
        """The caller's at the venue, where the route needs one."""
        return self.caller.roles[self.venue_id]

    async def do(
        self, operation: Operation[R], answer: Callable[[R], object], *, status: int = 200, reason: str | None = None
    ) -> Reply:
        """Have an operation done at the venue. A retry under the same key gets the same bytes."""

        def render(outcome: R | Refused) -> Reply:
            if isinstance(outcome, Refused):
                return self.refused(outcome)
            return Reply(status, encoded(answer(outcome)))

        return await self.engine.answer(self.venue_id, operation, render, claim=self.claim, origin=self.origin(reason))

    def refused(self, refusal: Refused) -> Reply:
        """A refusal that an operation returned, as a retry is to get it."""
        return problem_reply(refusal, self.words, self.raw.correlation_id)

    def at(self, venue_id: VenueId) -> "Request[G_co]":
        """The same request, at a venue that was not there when it came."""
        claim = self.claim
        if claim is not None:
            scope = f"{venue_id}:{claim.key.scope.partition(':')[2]}"
            claim = msgspec.structs.replace(claim, key=claim.key._replace(scope=scope))
        return msgspec.structs.replace(self, venue_id=venue_id, claim=claim)

    def origin(self, reason: str | None = None) -> Origin:
        if reason is not None and (len(reason) > LONGEST_REASON or not reason.replace("\n", " ").isprintable()):
            raise InvalidValue("reason", f"A reason has at most {LONGEST_REASON} printable characters.")
        return Origin(self.caller.actor, self.raw.correlation_id, reason or None)
