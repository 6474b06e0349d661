"""Visits: begun by anybody, followed and gone on with by whoever holds the secret link."""

from functools import partial
from typing import Annotated

import msgspec

from dawr.domain import Audience, Link, VisitId, Why
from dawr.domain.choice import best
from dawr.domain.digits import LONGEST_PIN
from dawr.domain.errors import (
    CannotUndo,
    LineEnded,
    NotEntered,
    NotForThisAudience,
    NothingToEnter,
    NotInPlan,
    NotItsTurn,
    PinForeign,
    PinNeeded,
    PinRotated,
    PinWrong,
    PlaceTaken,
    TicketInWrongState,
    UndoTooLate,
    UnknownJourney,
    UnknownQueue,
    UnknownVenue,
    UnknownVisit,
    VenueInactive,
    VisitInWrongState,
    VisitLocked,
)
from dawr.domain.session_code import SessionCodes
from dawr.operations import pins, visits
from dawr.operations.undo import UndoLeave
from dawr.reliability.idempotency import Reply
from dawr.web.api.queues import NoInput
from dawr.web.api.tickets import TAKE_REFUSALS, Note, TakeInput, TakenAnswer, give_number, must_be_allowed
from dawr.web.api.visit_answers import (
    CandidateAnswer,
    StartedAnswer,
    VisitAnswer,
    candidate_answer,
    started_answer,
    visit_answer,
)
from dawr.web.known_links import link_in_path
from dawr.web.links import new_link
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "visits"
LONGEST_CODE = 64


class StartInput(TakeInput, kw_only=True, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE, description="Where it begins, by the queue's code.")]


class JourneyInput(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    journey: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE, description="By its code or an alias.")]
    visitor: Annotated[str, msgspec.Meta(max_length=128, description="Who comes; one journey under way each.")]
    audience: Audience = "any"
    name: Annotated[str, msgspec.Meta(max_length=128, description="What staff call out.")] | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=3, description="Above 0 only by staff or a kiosk.")] = 0
    why: Why = "other"
    note: Note | msgspec.UnsetType = msgspec.UNSET


class PinInput(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE, description="Which stage is done, by its code.")]
    pin: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PIN)] | None = None


class ChoiceQuery(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    journey: Annotated[str, msgspec.Meta(max_length=LONGEST_CODE, description="By its code or an alias.")]
    audience: Audience = "any"


class ChoiceAnswer(msgspec.Struct, frozen=True):
    queue: str | None
    """The best of them; null: none takes people now."""
    candidates: list[CandidateAnswer]


class WentAnswer(msgspec.Struct, frozen=True):
    """The stage that was finished, and where the visitor is now."""

    queue: str
    number: int
    visit: VisitAnswer


async def start(parts: Parts, request: Request[StartInput]) -> Reply:
    """A visit of one stage: the same as taking a number there."""
    return await give_number(parts, request, request.given.queue, request.given)


async def start_journey(parts: Parts, request: Request[JourneyInput]) -> Reply:
    given, by_staff = request.given, request.caller.may("staff", request.venue_id)
    must_be_allowed(request, given.priority, given.note)
    link = new_link(parts.ids, request.venue_id)
    operation = visits.StartVisit(
        given.journey,
        given.visitor,
        given.audience,
        VisitId(link.visit_id),
        link.secret_hash,
        given.name,
        given.priority,
        given.why,
        given.note or None,
        by_staff=by_staff,
    )
    return await request.do(
        operation,
        lambda seen: started_answer(parts.codes, request.venue, seen, link.path, by_staff=by_staff),
        status=201,
    )


async def choose(parts: Parts, request: Request[ChoiceQuery]) -> Response:
    view = visits.LookAtChoice(request.given.journey, request.given.audience)
    _, found = await parts.engine.read(request.venue_id, view)
    chosen = best(found)
    candidates = [candidate_answer(request.venue, candidate) for candidate in found]
    return answered(ChoiceAnswer(None if chosen is None else f"{request.venue}:{chosen.queue_id}", candidates))


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    seen = await parts.engine.read(request.venue_id, visits.LookAtVisit(Link.read(request.code)))
    return answered(visit_answer(parts.codes, request.venue, seen))


async def leave(parts: Parts, request: Request[NoInput]) -> Reply:
    return await request.do(
        visits.LeaveByLink(Link.read(request.code)), partial(visit_answer, parts.codes, request.venue)
    )


async def undo_leave(parts: Parts, request: Request[NoInput]) -> Reply:
    return await request.do(UndoLeave(Link.read(request.code)), partial(visit_answer, parts.codes, request.venue))


async def rejoin(parts: Parts, request: Request[NoInput]) -> Reply:
    return await request.do(
        visits.RejoinByLink(Link.read(request.code)), partial(visit_answer, parts.codes, request.venue)
    )


async def enter(parts: Parts, request: Request[NoInput]) -> Reply:
    return await request.do(
        visits.EnterByLink(Link.read(request.code)), partial(visit_answer, parts.codes, request.venue)
    )


async def finish_stage(parts: Parts, request: Request[PinInput]) -> Reply:
    given = request.given
    operation = pins.VerifyPin(given.queue, given.pin, request.attempt, link=Link.read(request.code))
    return await request.do(operation, partial(_went, parts.codes, request.venue))


def _went(codes: SessionCodes, venue: str, went: pins.Went) -> WentAnswer:
    return WentAnswer(f"{venue}:{went.ticket.queue_id}", went.ticket.number, visit_answer(codes, venue, went.now))


PIN_REFUSALS = (
    NotInPlan,
    NotItsTurn,
    NotEntered,
    VisitLocked,
    PinNeeded,
    PinWrong,
    PinForeign,
    PinRotated,
    VisitInWrongState,
    TicketInWrongState,
    LineEnded,
)


def _by_link(verb: str, summary: str, handler: object, *refusals: type[Exception]) -> Route:
    return Route(
        method="POST",
        path=f"/v1/visits/{{visit}}/{verb}",
        name=f"{verb}-visit",
        summary=summary,
        tag=TAG,
        handler=handler,  # type: ignore[arg-type] # each takes its own input
        body=NoInput,
        answer=VisitAnswer,
        venue="visit",
        joins=verb in {"enter", "rejoin"},
        link=link_in_path,
        refusals=(UnknownVisit, *refusals),
    )


ROUTES = (
    Route(
        method="POST",
        path="/v1/venues/{venue}/visits",
        name="start-visit",
        summary="Begin a visit of one queue with its number",
        tag=TAG,
        handler=start,
        body=StartInput,
        answer=TakenAnswer,
        status=201,
        venue="venue",
        joins=True,
        limit="join",
        refusals=TAKE_REFUSALS,
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/journeys",
        name="start-journey",
        summary="Begin a journey, and enter its first queue",
        tag=TAG,
        handler=start_journey,
        body=JourneyInput,
        answer=StartedAnswer,
        status=201,
        venue="venue",
        joins=True,
        limit="join",
        refusals=(UnknownVenue, UnknownJourney, NotForThisAudience, VenueInactive),
        other_codes=((422, "invalid-value"),),
    ),
    Route(
        method="GET",
        path="/v1/venues/{venue}/choice",
        name="look-at-choice",
        summary="Which queue a journey would lead to first now, and why",
        tag=TAG,
        handler=choose,
        query=ChoiceQuery,
        answer=ChoiceAnswer,
        venue="venue",
        refusals=(UnknownVenue, UnknownJourney, NotForThisAudience),
    ),
    Route(
        method="GET",
        path="/v1/visits/{visit}",
        name="look-at-visit",
        summary="Where the visitor with this link stands",
        tag=TAG,
        handler=look,
        query=NoInput,
        answer=VisitAnswer,
        venue="visit",
        link=link_in_path,
        refusals=(UnknownVisit,),
    ),
    _by_link("leave", "Give the place up, and the journey", leave, TicketInWrongState, VisitInWrongState),
    _by_link(
        "undo-leave",
        "Take back leaving, within ten seconds",
        undo_leave,
        *(CannotUndo, UndoTooLate, PlaceTaken, LineEnded, VisitInWrongState),
    ),
    _by_link("rejoin", "Come back after a missed call, to the end of the line", rejoin, TicketInWrongState, LineEnded),
    _by_link("enter", "Go into the next queue, if a stage is ready", enter, VisitInWrongState, NothingToEnter),
    Route(
        method="POST",
        path="/v1/visits/{visit}/finish-stage",
        name="finish-stage",
        summary="Finish the stage that the visitor is at, by the PIN that is shown there",
        tag=TAG,
        handler=finish_stage,
        body=PinInput,
        answer=WentAnswer,
        venue="visit",
        joins=True,
        link=link_in_path,
        refusals=(UnknownVisit, UnknownQueue, *PIN_REFUSALS),
        other_codes=((422, "invalid-value"),),
    ),
)
