"""What a route is: one row of the table that serves it and describes it.

The same row makes the endpoint, the OpenAPI document and the matrix of who may do what.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, cast

import msgspec

from dawr.domain.staff import Role
from dawr.reliability.idempotency import Reply
from dawr.web.event_stream import Stream
from dawr.web.parts import Parts
from dawr.web.request import Request
from dawr.web.response import Response

Who = Literal["anyone", "signed-in"] | Role
"""The least that a caller must be: anyone, somebody with an account or token, or of this role at the venue."""

VenueFrom = Literal["clinic", "venue", "queue", "desk", "ticket", "visit"]
"""Where the venue is found: the clinic door's, or the path's parameter of this name."""

LimitClass = Literal["clinic-join", "join", "look", "stream"]

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
    venue: VenueFrom | None = None
    makes_venue: bool = False
    """Whether the venue may be one that is not there yet; of one that is, only an owner may."""
    limit: LimitClass | None = "look"
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
    keyed: bool = True
    """Whether a write is recognised under its key. Signing in is not one: a session is never handed out twice."""
    kind: str = "application/json"

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
