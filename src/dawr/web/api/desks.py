"""Desks: opened, on a break, closed; and the record of who let whom be overtaken."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec

from dawr.domain import DeskNow, DeskState, Ticket, Why
from dawr.domain.errors import InvalidValue, UnknownDesk, UnknownVenue
from dawr.operations import desks, reception
from dawr.operations.operation import Operation
from dawr.reliability.idempotency import Reply
from dawr.web.api.answers import TicketAnswer, ticket_answer
from dawr.web.api.queues import NoInput, Reason
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "desks"


class BreakInput(Reason, kw_only=True, forbid_unknown_fields=True):
    until: Annotated[int, msgspec.Meta(ge=0, le=2**53, description="Milliseconds since 1970 UTC.")]


class DeskNowAnswer(msgspec.Struct, frozen=True):
    """A desk as staff see it."""

    desk: str
    state: DeskState
    occupant: str | None
    since: int | None
    until: int | None
    misses: int
    """Who was called here and did not come, one after the other: after three the clock calls nobody here."""


class DeskWithTickets(msgspec.Struct, frozen=True):
    desk: DeskNowAnswer
    here: list[TicketAnswer]
    """Who was called to it, or is being served."""
    waiting: int
    """In all of its queues, paused or not."""
    paused: list[str]
    """Those of its queues that nobody is called from now."""


class DayQuery(msgspec.Struct, forbid_unknown_fields=True):
    day: (
        Annotated[
            str,
            msgspec.Meta(
                pattern=r"^\d{4}-\d{2}-\d{2}$",
                description="A service day; else today.",
                examples=["2026-12-31"],
                extra={"rule": "date"},
            ),
        ]
        | None
    ) = None


class OvertakingAnswer(msgspec.Struct, frozen=True):
    actor: str
    why: Why
    times: int
    overtaken: int


class FairnessAnswer(msgspec.Struct, frozen=True):
    """Every time that somebody was called or placed before others, by who let it happen and why."""

    overtakings: list[OvertakingAnswer]


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    seen = await parts.engine.read(request.venue_id, desks.LookAtDesk(request.code))
    return answered(
        DeskWithTickets(
            desk_now_answer(request.venue, seen.desk),
            [_ticket(request, ticket) for ticket in seen.here],
            seen.waiting,
            [f"{request.venue}:{queue}" for queue in seen.paused],
        )
    )


async def fairness(parts: Parts, request: Request[DayQuery]) -> Response:
    sums = await parts.engine.read(request.venue_id, reception.LookAtOvertakings(request.given.day))
    return answered(
        FairnessAnswer(
            [
                OvertakingAnswer(actor, why, times, overtaken)
                for actor, reasons in sorted(sums.items())
                for why, (times, overtaken) in sorted(reasons.items())
            ]
        )
    )


def _ticket(request: Request[NoInput], ticket: Ticket) -> TicketAnswer:
    return ticket_answer(request.venue, ticket)


def desk_now_answer(venue: str, desk: DeskNow) -> DeskNowAnswer:
    return DeskNowAnswer(
        f"{venue}:{desk.desk_id}", desk.state, desk.occupant, desk.since or None, desk.until, desk.misses
    )


def _verb(
    verb: str,
    summary: str,
    body: Any,  # noqa: ANN401 - any input
    make: Callable[[Parts, Request[Any]], Operation[DeskNow]],
) -> Route:
    async def change(parts: Parts, request: Request[Any]) -> Reply:
        return await request.do(
            make(parts, request), partial(desk_now_answer, request.venue), reason=request.given.reason
        )

    return Route(
        method="POST",
        path=f"/v1/desks/{{desk}}/{verb}",
        name=f"{verb}-desk",
        summary=summary,
        tag=TAG,
        handler=change,
        body=body,
        answer=DeskNowAnswer,
        who="staff",
        venue="desk",
        refusals=(UnknownVenue, UnknownDesk, InvalidValue),
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/desks/{desk}",
        name="look-at-desk",
        summary="A desk: who sits there, and who is being served",
        tag=TAG,
        handler=look,
        query=NoInput,
        answer=DeskWithTickets,
        who="viewer",
        venue="desk",
        refusals=(UnknownVenue, UnknownDesk),
    ),
    _verb("open", "Sit down at a desk, or come back to it", Reason, lambda p, r: desks.OpenDesk(r.code, p.ids.token())),
    _verb(
        "break",
        "Nobody is called to the desk until then",
        BreakInput,
        lambda _, r: desks.BreakDesk(r.code, r.given.until),
    ),
    _verb("close", "Leave the desk", Reason, lambda _, r: desks.CloseDesk(r.code)),
    Route(
        method="GET",
        path="/v1/venues/{venue}/fairness",
        name="look-at-fairness",
        summary="Who let others be overtaken on a day, why, and how many",
        tag=TAG,
        handler=fairness,
        query=DayQuery,
        answer=FairnessAnswer,
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
)
