"""What a route is: one row of the table that serves it and describes it; and what its handler is given.

The same row makes the endpoint, the OpenAPI document and the matrix of who may do what.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, TypeVar, cast

import msgspec

from dawr.accounts.accounts import Accounts
from dawr.domain import AccountId, Origin, Role, VenueId
from dawr.domain.errors import InvalidValue, Refused
from dawr.domain.secret import hash_of
from dawr.domain.session_code import SessionCodes
from dawr.engine.engine import Engine
from dawr.engine.status_cache import StatusCache
from dawr.engine.timekeeping import Timekeeper
from dawr.live.hub import Hub
from dawr.operations.operation import Operation
from dawr.ports import Ids
from dawr.reliability.client_address import Clients
from dawr.reliability.idempotency import Claim, Reply
from dawr.reliability.shared import Shared
from dawr.reliability.works import Works
from dawr.settings import Settings
from dawr.traffic.view import TrafficView
from dawr.web.auth import Auth, must_be_a_person
from dawr.web.event_stream import Stream
from dawr.web.forms import Form
from dawr.web.known_links import KnownLinks
from dawr.web.limits import Limits
from dawr.web.problems import NO_STATUSES, NO_WORDS, problem_of
from dawr.web.raw_request import Caller, RawRequest
from dawr.web.response import Response, encoded

G_co = TypeVar("G_co", covariant=True)
R = TypeVar("R")

LONGEST_REASON = 500
MS_PER_HOUR = 60 * 60 * 1000

Who = Literal["anyone", "signed-in"] | Role
"""The least that a caller must be: anyone, somebody with an account or token, or of this role at the venue."""

VenueFrom = Literal["clinic", "venue", "queue", "desk", "ticket", "visit"]
"""Where the venue is found: the clinic door's, or the path's parameter of this name."""

LimitClass = Literal["clinic-join", "join", "look", "stream"]


async def _no_venues() -> Mapping[str, VenueId]:
    return {}


class Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The running parts that handlers reach for."""

    engine: Engine
    status_cache: StatusCache
    ids: Ids
    accounts: Accounts
    hub: Hub
    auth: Auth
    limits: Limits
    links: KnownLinks
    codes: SessionCodes
    clients: Clients
    settings: Settings
    shared: Shared | None
    processes: Callable[[], int]
    """How many serve this installation, at least."""
    works: Works
    """What goes on by itself in this process."""
    time: Timekeeper
    traffic: TrafficView | None = None
    """None, when no statistics are kept."""
    is_demo: bool = False
    """Whether this is the demo: its pages may be shown in frames, and its staff sign in with one press."""
    venue_ids: Callable[[], Awaitable[Mapping[str, VenueId]]] = _no_venues
    """Every venue that there is now, by its slug."""

    @property
    def joins_per_hour(self) -> int | None:
        """Of one mobile number at one restaurant; None when nothing is limited."""
        return self.settings.limit_mobile if self.settings.rate_limits == "on" else None

    @property
    def keep_ms(self) -> int:
        """How long the answer to a request with a key is kept."""
        return self.settings.answers_kept_hours * MS_PER_HOUR


class Request(msgspec.Struct, Generic[G_co], frozen=True):
    """A request as handlers see it: parsed, and judged."""

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
    statuses: Mapping[type[Exception], int] = NO_STATUSES
    """What this door's contract has instead of our own statuses."""
    form: Form | None = None
    """There, when a page's form was sent and no JSON."""

    @property
    def params(self) -> Mapping[str, str]:
        return self.raw.params

    @property
    def role(self) -> Role:
        """The caller's at the venue, where the route needs one."""
        return self.caller.roles[self.venue_id]

    @property
    def account_id(self) -> AccountId:
        """The caller's, where the route is for people. It is never missing: none would be the command line."""
        return must_be_a_person(self.caller)

    @property
    def attempt(self) -> str:
        """Tells this request and its retries from all others. Empty: without a key nobody can tell."""
        if self.claim is None:
            return ""
        key = self.claim.key
        return hash_of(f"{key.scope}:{key.principal}:{key.key}:{self.claim.fingerprint}")[:16]

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
        """A refusal that an operation returned, as it is stored under its key: a retry gets the same bytes."""
        problem = problem_of(refusal, self.raw.language, words=self.words, statuses=self.statuses)
        return Reply(problem.status, problem.body(self.raw.correlation_id))

    def at(self, venue_id: VenueId) -> "Request[G_co]":
        """The same request, at a venue that was not there when it came."""
        claim = self.claim
        if claim is not None:
            scope = f"{venue_id}:{claim.key.scope.partition(':')[2]}"
            claim = msgspec.structs.replace(claim, key=claim.key._replace(scope=scope))
        return msgspec.structs.replace(self, venue_id=venue_id, claim=claim)

    def origin(self, reason: str | None = None) -> Origin:
        if reason is not None and (len(reason) > LONGEST_REASON or not reason.replace("\n", " ").isprintable()):
            raise InvalidValue("reason", "reason-length", most=LONGEST_REASON)
        return Origin(self.caller.actor, self.raw.correlation_id, reason or None)


Handler = Callable[[Parts, Request[Any]], Awaitable[Reply | Response | Stream]]


class Route(msgspec.Struct, frozen=True, kw_only=True):
    method: Literal["GET", "POST", "PUT"]
    path: str
    name: str
    """What the operation is called, and the scope of its idempotency keys."""
    summary: str
    tag: str
    handler: Handler
    answer: Any = None
    """The type of the answer; None is one without a described body."""
    status: int = 200
    also_status: int | None = None
    """Another status of the same answer: when the request made what it otherwise changes."""
    body: Any = None
    query: Any = None
    who: Who = "anyone"
    for_people: bool = False
    """Whether only somebody with an account may, and no token whatever its role. Who it is, the store is asked."""
    venue: VenueFrom | None = None
    joins: bool = False
    """Whether it may give a number in a queue. A display's token is refused there."""
    makes_venue: bool = False
    """Whether the venue may be one that is not there yet; of one that is, only an owner may."""
    limit: LimitClass | None = "look"
    link: Callable[[RawRequest], str | None] | None = None
    """Where a visitor's link stands in the request: whoever holds one that opens a visit is counted by it."""
    body_link: Callable[[Any], str | None] | None = None
    """Return the link in a decoded body. It is read where the limit of the address is used up."""
    watched: Callable[[RawRequest], str] | None = None
    """Where a venue stands in the query, if it is not in the path."""
    refusals: tuple[type[Exception], ...] = ()
    """What the rules may say, besides what every route may."""
    other_codes: tuple[tuple[int, str], ...] = ()
    """Status and code of what its handler itself may refuse."""
    key_field: str | None = None
    """A field of the body that is another way to give the idempotency key."""
    secret_fields: tuple[str, ...] = ()
    """Fields of the body that are no part of its fingerprint: from a hash of it a password could be guessed."""
    words: Mapping[str, str] = {}
    """What this door calls a field that the rules name otherwise."""
    statuses: Mapping[type[Exception], int] = {}
    """What this door's contract has instead of our own statuses."""
    keyed: bool = True
    """Whether a write is recognised under its key. Signing in is not one: a session is never handed out twice."""
    kind: str = "application/json"
    leads_to: Callable[[Request[Any], bytes], str] | None = None
    """Which page a browser goes on to, by the answer to its form; None: the one that the form names."""

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def needed_role(self) -> Role | None:
        """At the venue; None, when anybody or anybody signed in may."""
        if self.makes_venue:
            return "owner"
        return None if self.who in {"anyone", "signed-in"} else cast("Role", self.who)

    @property
    def takes_key(self) -> bool:
        return self.keyed and self.is_write and self.venue is not None
