"""Reception: staff find a visitor, and change where their visit leads."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec

from dawr.domain import Audience, VisitId, Why
from dawr.domain.errors import (
    InvalidValue,
    LineEnded,
    NotForThisAudience,
    NothingToEnter,
    NotInPlan,
    StageInWrongState,
    TicketInWrongState,
    UnknownJourney,
    UnknownQueue,
    UnknownVenue,
    UnknownVisit,
    VisitInWrongState,
)
from dawr.domain.ticket import ENDED_STATES
from dawr.domain.visit import LONGEST_NOTE
from dawr.operations import reception, snapshots, visits
from dawr.operations.operation import Operation
from dawr.reliability.idempotency import Reply
from dawr.web.api.answers import TicketAnswer, ticket_answer
from dawr.web.api.queues import NoInput, Reason
from dawr.web.api.visit_answers import StaffVisitAnswer, staff_visit_answer
from dawr.web.links import NewLink, link_to
from dawr.web.pagination import Limit, Page
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "reception"
LONGEST_CODE = 64
BEYOND = 2**31 - 1


class FindQuery(msgspec.Struct, forbid_unknown_fields=True):
    find: Annotated[
        str,
        msgspec.Meta(
            min_length=1,
            max_length=reception.LONGEST_SEARCH,
            description="What the door knows them by, a part of their name, a label, or a session code.",
        ),
    ]


class DoneQuery(msgspec.Struct, forbid_unknown_fields=True):
    cursor: Annotated[int, msgspec.Meta(ge=0, le=BEYOND, description="Begin below this number.")] = BEYOND
    limit: Limit = 50


class StageInput(Reason, kw_only=True, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE)]


class NewStageInput(StageInput, kw_only=True, forbid_unknown_fields=True):
    pin: bool = True


class CompletedStageInput(StageInput, kw_only=True, forbid_unknown_fields=True):
    why: Why = "other"


class PathInput(Reason, kw_only=True, forbid_unknown_fields=True):
    journey: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE, description="By its code or an alias.")]
    audience: Audience | None = None


class NoteInput(Reason, kw_only=True, forbid_unknown_fields=True):
    note: Annotated[
        str, msgspec.Meta(max_length=LONGEST_NOTE, description="What staff should know; empty removes it.")
    ] = ""


class FoundAnswer(msgspec.Struct, frozen=True):
    found: list[TicketAnswer]


class LinkAnswer(msgspec.Struct, frozen=True):
    visit: str
    link: str
    """`/t/` and what `GET /v1/visits/{visit}` takes. The one before leads nowhere any more."""


class SlipAnswer(msgspec.Struct, frozen=True):
    """What is printed for somebody who stands at reception."""

    venue: dict[str, str]
    queue: dict[str, str]
    label: str
    number: int
    session_code: str
    """As text, barcode or QR."""
    floor: str | None
    room: str | None
    ahead: int
    wait_minutes: int
    issued_at: int


async def find(parts: Parts, request: Request[FindQuery]) -> Response:
    tickets = await parts.engine.read(request.venue_id, reception.LookForVisitors(request.given.find, parts.codes))
    return answered(FoundAnswer([ticket_answer(request.venue, ticket) for ticket in tickets]))


async def list_done(parts: Parts, request: Request[DoneQuery]) -> Response:
    most = request.given.limit
    view = snapshots.LookAtStates(request.code, ENDED_STATES, request.given.cursor, most + 1)
    tickets = await parts.engine.read(request.venue_id, view)
    following = str(tickets[most - 1].number) if len(tickets) > most else None
    return answered(Page([ticket_answer(request.venue, ticket) for ticket in tickets[:most]], following))


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    seen = await parts.engine.read(request.venue_id, visits.LookAtVisitById(_visit_id(request)))
    return answered(staff_visit_answer(parts.codes, request.venue, seen))


async def slip(parts: Parts, request: Request[NoInput]) -> Response:
    venue, joined = await parts.engine.read(request.venue_id, reception.LookAtSlip(request.code))
    ticket, queue = joined.ticket, joined.queue
    return answered(
        SlipAnswer(
            venue.name,
            queue.name,
            ticket.label,
            ticket.number,
            parts.codes.code_of(venue, ticket),
            queue.floor,
            queue.room,
            joined.ahead,
            joined.wait_minutes,
            ticket.issued_at,
        )
    )


async def renew_link(parts: Parts, request: Request[Reason]) -> Reply:
    """The secret is told once: a retry under the same key is told the same, and makes no other."""
    link: NewLink = link_to(parts.ids, _visit_id(request))
    operation = reception.NewLink(_visit_id(request), link.secret_hash)
    return await request.do(
        operation, lambda seen: LinkAnswer(seen.visit.visit_id, link.path), reason=request.given.reason
    )


def _visit_id(request: Request[Any]) -> VisitId:
    """Staff may paste a link: its secret is not asked for."""
    return VisitId(request.code.partition(".")[0])


def _edit(
    verb: str,
    summary: str,
    body: Any,  # noqa: ANN401 - any input
    make: Callable[[VisitId, Any], Operation[visits.Whereabouts]],
    *refusals: type[Exception],
) -> Route:
    async def change(parts: Parts, request: Request[Any]) -> Reply:
        operation = make(_visit_id(request), request.given)
        answer = partial(staff_visit_answer, parts.codes, request.venue)
        return await request.do(operation, answer, reason=request.given.reason)

    return Route(
        method="POST",
        path=f"/v1/visits/{{visit}}/{verb}",
        name=verb,
        summary=summary,
        tag=TAG,
        handler=change,
        body=body,
        answer=StaffVisitAnswer,
        who="staff",
        venue="visit",
        refusals=(UnknownVisit, VisitInWrongState, *refusals),
    )


STAGE = (UnknownQueue, NotInPlan, StageInWrongState, TicketInWrongState, LineEnded)

ROUTES = (
    Route(
        method="GET",
        path="/v1/venues/{venue}/visitors",
        name="find-visitors",
        summary="Find today's tickets of a visitor",
        tag=TAG,
        handler=find,
        query=FindQuery,
        answer=FoundAnswer,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="GET",
        path="/v1/queues/{queue}/done",
        name="list-done",
        summary="Those of today's line whose tickets have ended, the highest number first",
        tag=TAG,
        handler=list_done,
        query=DoneQuery,
        answer=Page[TicketAnswer],
        who="viewer",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="GET",
        path="/v1/visits/{visit}/whole",
        name="look-at-whole-visit",
        summary="A visit as staff see it",
        tag=TAG,
        handler=look,
        query=NoInput,
        answer=StaffVisitAnswer,
        who="viewer",
        venue="visit",
        refusals=(UnknownVisit,),
    ),
    Route(
        method="GET",
        path="/v1/tickets/{ticket}/slip",
        name="look-at-slip",
        summary="What is printed for a visitor: label, session code, where to go",
        tag=TAG,
        handler=slip,
        query=NoInput,
        answer=SlipAnswer,
        who="staff",
        venue="ticket",
    ),
    Route(
        method="POST",
        path="/v1/visits/{visit}/renew-link",
        name="renew-link",
        summary="A new link for a visitor who lost theirs; the old one ends",
        tag=TAG,
        handler=renew_link,
        body=Reason,
        answer=LinkAnswer,
        who="staff",
        venue="visit",
        refusals=(UnknownVisit, VisitInWrongState),
    ),
    _edit(
        "note",
        "Write down what staff should know about the visitor",
        NoteInput,
        lambda v, given: reception.NoteVisit(v, given.note),
        InvalidValue,
    ),
    _edit("unlock", "Let PINs be tried again", Reason, lambda v, _: reception.Unlock(v)),
    _edit(
        "enter-stage",
        "Let the visitor into the next queue, if a stage is ready",
        Reason,
        lambda v, _: reception.EnterStage(v),
        NothingToEnter,
    ),
    _edit(
        "remove",
        "Take the visitor out of their queue; the stage can be entered again",
        Reason,
        lambda v, _: reception.RemoveFromQueue(v),
        TicketInWrongState,
    ),
    _edit("end", "The visitor has gone home", Reason, lambda v, _: reception.EndVisit(v), TicketInWrongState),
    _edit(
        "add-stage",
        "One more stage, behind the others",
        NewStageInput,
        lambda v, given: reception.AddStage(v, given.queue, given.pin),
        *STAGE,
    ),
    _edit(
        "skip-stage",
        "The visitor need not go there",
        StageInput,
        lambda v, given: reception.SkipStage(v, given.queue),
        *STAGE,
    ),
    _edit(
        "complete-stage",
        "The visitor was examined there, whatever the queue says",
        CompletedStageInput,
        lambda v, given: reception.CompleteStage(v, given.queue, given.why),
        *STAGE,
    ),
    _edit("reset-path", "Begin the plan again", Reason, lambda v, _: reception.ResetPath(v), TicketInWrongState),
    _edit(
        "change-path",
        "Another journey; what was done stays done",
        PathInput,
        lambda v, given: reception.ChangePath(v, given.journey, given.audience),
        UnknownJourney,
        NotForThisAudience,
        TicketInWrongState,
    ),
)
