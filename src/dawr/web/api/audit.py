"""The audit trail: every change of a venue, who made it, and why."""

from typing import Annotated

import msgspec

from dawr.domain import Event
from dawr.domain.errors import UnknownVenue
from dawr.web.pagination import Limit, Page
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

MOST_READ = 1000
"""Of a page, before it is given as far as it came: a quiet venue's one manager is not searched for without end."""


class AuditQuery(msgspec.Struct, forbid_unknown_fields=True):
    cursor: Annotated[int, msgspec.Meta(ge=0, le=2**53, description="Begin behind this version.")] = 0
    limit: Limit = 50
    everything: Annotated[bool, msgspec.Meta(description="What visitors and the clock did, too.")] = False


class AuditAnswer(msgspec.Struct, frozen=True):
    version: int
    kind: str
    at: int
    queue: str | None
    ticket: str | None
    actor: str | None
    reason: str | None
    correlation_id: str | None
    facts: msgspec.Raw


async def look(parts: Parts, request: Request[AuditQuery]) -> Response:
    given = request.given
    events = await parts.engine.events_after(request.venue_id, given.cursor, most=MOST_READ)
    wanted = [event for event in events if given.everything or _is_by_staff(event)]
    shown = wanted[: given.limit]
    following = None
    if len(wanted) > len(shown):
        following = str(shown[-1].version)
    elif len(events) == MOST_READ:
        following = str(events[-1].version)
    return answered(Page([_answer(request.venue, event) for event in shown], following))


def _is_by_staff(event: Event) -> bool:
    return event.actor not in {None, "visitor", "clock"}


def _answer(venue: str, event: Event) -> AuditAnswer:
    return AuditAnswer(
        event.version,
        event.kind,
        event.at,
        None if event.queue_id is None else f"{venue}:{event.queue_id}",
        event.ticket_id,
        event.actor,
        event.reason,
        event.correlation_id,
        msgspec.Raw(event.data.encode()),
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/venues/{venue}/audit",
        name="look-at-audit",
        summary="What staff changed, in order",
        tag="venues",
        handler=look,
        query=AuditQuery,
        answer=Page[AuditAnswer],
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
)
