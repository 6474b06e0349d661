"""Tickets: taken by anybody, seen and moved by staff."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from dawr.domain import TicketId, VisitId, Why
from dawr.domain.errors import (
    CannotUndo,
    ChangedSince,
    InvalidValue,
    JoinedTooOften,
    LineEnded,
    OutsideHours,
    PlaceTaken,
    QueueClosed,
    QueueFull,
    QueuePaused,
    TicketInWrongState,
    UndoTooLate,
    UnknownDesk,
    UnknownQueue,
    UnknownTicket,
    UnknownVenue,
    VenueInactive,
)
from dawr.domain.ticket import LARGEST_PARTY, LONGEST_VISITOR, PRIORITIES
from dawr.domain.visit import LONGEST_NOTE
from dawr.operations import reception, snapshots, staff, ticket, visitor
from dawr.operations.operation import Operation
from dawr.operations.undo import Undo
from dawr.reliability.idempotency import Reply
from dawr.web.api.answers import PlaceAnswer, TicketAnswer, place_answer, ticket_answer
from dawr.web.api.queues import NoInput, Reason
from dawr.web.links import new_link
from dawr.web.problems import BadRequest
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "tickets"


Note = Annotated[
    str,
    msgspec.Meta(max_length=LONGEST_NOTE, description="What staff should know. Only staff or a kiosk gives one."),
]


class TakeInput(msgspec.Struct, forbid_unknown_fields=True):
    visitor: (
        Annotated[
            str,
            msgspec.Meta(
                max_length=LONGEST_VISITOR, description="Who comes; one open ticket each per queue. None: somebody new."
            ),
        ]
        | None
    ) = None
    name: Annotated[str, msgspec.Meta(max_length=LONGEST_VISITOR, description="What staff call out.")] | None = None
    party_size: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PARTY)] = 1
    area: Literal["indoor", "outdoor"] | None = None
    priority: Annotated[
        int, msgspec.Meta(ge=0, lt=PRIORITIES, description="Above 0 only when staff or a kiosk gives the number.")
    ] = 0
    why: Annotated[Why, msgspec.Meta(description="Of somebody with priority.")] | msgspec.UnsetType = msgspec.UNSET
    """Left out, it is no part of the fingerprint: a retry of a request that knew no such field is still one."""
    note: Note | msgspec.UnsetType = msgspec.UNSET


class TakenAnswer(msgspec.Struct, frozen=True):
    """A number, and the secret link that goes with it."""

    ticket: str | None
    """Null if the visitor had this number before and the caller is no staff: a name can be guessed."""
    place: PlaceAnswer
    already: bool
    """The visitor had this number before; then there is no link, for a name can be guessed."""
    link: str | None
    """`/t/` and what `GET /v1/visits/{visit}` takes."""


class OvertakingInput(Reason, forbid_unknown_fields=True):
    why: (
        Annotated[Why, msgspec.Meta(description="If others are overtaken: counted with their number.")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


class DeskInput(OvertakingInput, forbid_unknown_fields=True):
    desk: Annotated[str, msgspec.Meta(max_length=64, description="Where to, by the desk's code.")] | None = None


class RejoinInput(OvertakingInput, forbid_unknown_fields=True):
    where: Literal["first", "last"] = "last"


class ExtendInput(Reason, forbid_unknown_fields=True):
    minutes: Annotated[int, msgspec.Meta(ge=1, le=staff.MOST_MORE_MINUTES)] = 5


class PriorityInput(Reason, kw_only=True, forbid_unknown_fields=True):
    priority: Annotated[int, msgspec.Meta(ge=0, lt=PRIORITIES)]
    why: Why


class TransferInput(Reason, kw_only=True, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=64, description="Where to, by the queue's code.")]


class UndoInput(Reason, kw_only=True, forbid_unknown_fields=True):
    version: Annotated[int, msgspec.Meta(ge=0, le=2**53, description="The ticket's, as it was seen last.")]


async def take(parts: Parts, request: Request[TakeInput]) -> Reply:
    return await give_number(parts, request, request.code, request.given)


async def give_number(parts: Parts, request: Request[object], queue: str, given: TakeInput) -> Reply:
    must_be_allowed(request, given.priority, given.note)
    by_staff = request.caller.may("staff", request.venue_id)
    link = new_link(parts.ids, request.venue_id)
    issue = visitor.Issue(
        queue=queue,
        visitor=given.visitor,
        ticket_id=TicketId(parts.ids.new(request.venue_id)),
        visit_id=VisitId(link.visit_id),
        secret_hash=link.secret_hash,
        priority=given.priority,
        name=given.name,
        party_size=given.party_size,
        area=given.area,
        why=given.why or "other",
        most_per_hour=None if request.caller.may_issue(request.venue_id) else parts.joins_per_hour,
        note=given.note or None,
        by_staff=by_staff,
    )
    answer = partial(_taken, request.venue, link.path, by_staff=by_staff)
    return await request.do(issue, answer, status=201)


def must_be_allowed(request: Request[object], priority: int, note: str | msgspec.UnsetType) -> None:
    """Priority and notes are given by staff and kiosks."""
    if request.caller.may_issue(request.venue_id):
        return
    if priority or note:
        raise BadRequest(403, "role-too-low", why="priority" if priority else "note")


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    standing = await parts.engine.read(request.venue_id, snapshots.LookAtTicket(TicketId(request.code)))
    return answered(ticket_answer(request.venue, standing.ticket))


def _taken(venue: str, link: str, joined: ticket.Joined, *, by_staff: bool) -> TakenAnswer:
    place = place_answer(venue, joined, reserve_mode=joined.reserve_mode)
    if joined.already:
        return TakenAnswer(joined.ticket.ticket_id if by_staff else None, place, already=True, link=None)
    return TakenAnswer(joined.ticket.ticket_id, place, already=False, link=link)


async def undo(parts: Parts, request: Request[UndoInput]) -> Reply:
    operation = Undo(TicketId(request.code), request.given.version, parts.settings.undo_minutes)
    return await request.do(operation, lambda undone: ticket_answer(request.venue, undone), reason=request.given.reason)


def verb(
    name: str,
    summary: str,
    body: Any,  # noqa: ANN401 - any input
    make: Callable[[TicketId, Any], Operation[Any]],
    *refusals: type[Exception],
) -> Route:
    async def change(_: Parts, request: Request[Any]) -> Reply:
        return await request.do(
            make(TicketId(request.code), request.given),
            lambda outcome: ticket_answer(request.venue, getattr(outcome, "ticket", outcome)),
            reason=request.given.reason,
        )

    return Route(
        method="POST",
        path=f"/v1/tickets/{{ticket}}/{name}",
        name=f"{name}-ticket",
        summary=summary,
        tag=TAG,
        handler=change,
        body=body,
        answer=TicketAnswer,
        who="staff",
        venue="ticket",
        refusals=(UnknownTicket, UnknownDesk, TicketInWrongState, LineEnded, QueuePaused, *refusals),
    )


TAKE_REFUSALS = (
    UnknownVenue,
    UnknownQueue,
    VenueInactive,
    QueueClosed,
    OutsideHours,
    QueueFull,
    JoinedTooOften,
    InvalidValue,
)

ROUTES = (
    Route(
        method="POST",
        path="/v1/queues/{queue}/tickets",
        name="take-ticket",
        summary="Take a number",
        tag=TAG,
        handler=take,
        body=TakeInput,
        answer=TakenAnswer,
        status=201,
        venue="queue",
        joins=True,
        limit="join",
        refusals=TAKE_REFUSALS,
    ),
    Route(
        method="GET",
        path="/v1/tickets/{ticket}",
        name="look-at-ticket",
        summary="A ticket as staff see it",
        tag=TAG,
        handler=look,
        query=NoInput,
        answer=TicketAnswer,
        who="viewer",
        venue="ticket",
        refusals=(UnknownTicket,),
    ),
    verb(
        "call",
        "Call this visitor, whoever is first",
        DeskInput,
        lambda t, given: staff.Call(t, given.desk, given.why or "other"),
    ),
    verb("recall", "Call the same visitor again", Reason, lambda t, _: staff.Recall(t)),
    verb("extend", "Give who was called more time to come", ExtendInput, lambda t, g: staff.Extend(t, g.minutes)),
    verb("start", "The visitor came and is being served", Reason, lambda t, _: staff.Start(t)),
    verb("finish", "The visitor is done here", Reason, lambda t, _: staff.Finish(t)),
    verb("miss", "The visitor was called and did not come", Reason, lambda t, _: staff.Miss(t)),
    verb(
        "rejoin",
        "Let a missed visitor back in",
        RejoinInput,
        lambda t, g: visitor.Rejoin(t, g.where, g.why or "returned"),
    ),
    verb(
        "put-back",
        "Send who was called and did not come back into the line",
        RejoinInput,
        lambda t, g: staff.PutBack(t, g.where, g.why or "returned"),
    ),
    verb("hold", "Keep the place without calling", Reason, lambda t, _: staff.Hold(t)),
    verb("resume", "Let a held visitor be called again", Reason, lambda t, _: staff.Resume(t)),
    verb(
        "prioritize",
        "Let a visitor be called earlier, or later",
        PriorityInput,
        lambda t, given: staff.Prioritize(t, given.priority, given.why),
    ),
    verb("leave", "Take the visitor out of the line", Reason, lambda t, _: visitor.Leave(t)),
    verb(
        "transfer",
        "Send the visitor to the end of another queue's line",
        TransferInput,
        lambda t, given: reception.Transfer(t, given.queue),
        *(UnknownQueue, QueueClosed, OutsideHours, QueueFull, PlaceTaken),
    ),
    Route(
        method="POST",
        path="/v1/tickets/{ticket}/undo",
        name="undo-ticket",
        summary="Take back what happened last",
        tag=TAG,
        handler=undo,
        body=UndoInput,
        answer=TicketAnswer,
        who="staff",
        venue="ticket",
        refusals=(UnknownTicket, CannotUndo, ChangedSince, UndoTooLate, PlaceTaken, LineEnded),
    ),
)
