"""Visits: what the holder of a secret link sees and does. In this version a visit has one ticket."""

from functools import partial
from typing import Annotated

import msgspec

from dawr.domain import Link
from dawr.domain.errors import LineEnded, TicketInWrongState, UnknownVisit
from dawr.operations import visits
from dawr.reliability.idempotency import Reply
from dawr.web.api.answers import PlaceAnswer, place_answer
from dawr.web.api.queues import NoInput
from dawr.web.api.tickets import TAKE_REFUSALS, TakeInput, TakenAnswer, give_number
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "visits"


class VisitAnswer(msgspec.Struct, frozen=True):
    visit: str
    venue: str
    tickets: list[PlaceAnswer]


class StartInput(TakeInput, kw_only=True, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=64, description="Where the visit begins, by the queue's code.")]


async def start(parts: Parts, request: Request[StartInput]) -> Reply:
    """A visit of one stage: the same as taking a number there."""
    return await give_number(parts, request, request.given.queue, request.given)


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    link = Link.read(request.code)
    return answered(_visit(request.venue, link, await parts.engine.read(request.venue_id, visits.LookAtVisit(link))))


async def leave(_: Parts, request: Request[NoInput]) -> Reply:
    link = Link.read(request.code)
    return await request.do(visits.LeaveByLink(link), partial(_visit, request.venue, link))


async def rejoin(_: Parts, request: Request[NoInput]) -> Reply:
    link = Link.read(request.code)
    return await request.do(visits.RejoinByLink(link), partial(_visit, request.venue, link))


def _visit(venue: str, link: Link, seen: visits.Whereabouts) -> VisitAnswer:
    joined = seen.joined
    places = [] if joined is None else [place_answer(venue, joined, reserve_mode=joined.reserve_mode)]
    return VisitAnswer(link.visit_id, venue, places)


ROUTES = (
    Route(
        method="POST",
        path="/v1/venues/{venue}/visits",
        name="start-visit",
        summary="Begin a visit with its first number",
        tag=TAG,
        handler=start,
        body=StartInput,
        answer=TakenAnswer,
        status=201,
        venue="venue",
        limit="join",
        refusals=TAKE_REFUSALS,
        other_codes=((403, "role-too-low"),),
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
        refusals=(UnknownVisit,),
    ),
    Route(
        method="POST",
        path="/v1/visits/{visit}/leave",
        name="leave-visit",
        summary="Give the place up",
        tag=TAG,
        handler=leave,
        body=NoInput,
        answer=VisitAnswer,
        venue="visit",
        refusals=(UnknownVisit, TicketInWrongState),
    ),
    Route(
        method="POST",
        path="/v1/visits/{visit}/rejoin",
        name="rejoin-visit",
        summary="Come back after a missed call, to the end of the line",
        tag=TAG,
        handler=rejoin,
        body=NoInput,
        answer=VisitAnswer,
        venue="visit",
        refusals=(UnknownVisit, TicketInWrongState, LineEnded),
    ),
)
