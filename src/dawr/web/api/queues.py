"""Queues: how they stand, who is in them, and what managers do with them."""

from functools import partial
from typing import Annotated

import msgspec

from dawr.domain import QueueState, QueueVerb, Ticket, Venue
from dawr.domain.errors import QueueInWrongState, QueuePaused, UnknownDesk, UnknownQueue, UnknownVenue
from dawr.domain.queue import QUEUE_VERBS
from dawr.engine.clockwork import sweep_old_rounds
from dawr.operations import admin, snapshots, staff
from dawr.reliability.idempotency import Reply
from dawr.web.api.answers import QueueAnswer, TicketAnswer, queue_answer, ticket_answer
from dawr.web.pagination import ListQuery, Page
from dawr.web.problems import BadRequest
from dawr.web.response import Response, answered, encoded
from dawr.web.routes import Parts, Request, Route

TAG = "queues"
BEYOND = (2**31, 2**63)


class Reason(msgspec.Struct, forbid_unknown_fields=True):
    reason: Annotated[str, msgspec.Meta(max_length=500, description="Kept in the audit trail.")] | None = None


class CallNextInput(msgspec.Struct, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(description="Only this one of the desk's queues, by its code.")] | None = None


class CalledAnswer(msgspec.Struct, frozen=True):
    """Who was called; null when nobody waits."""

    ticket: TicketAnswer | None
    next_label: str | None
    waiting: int
    """Who still waits, in all of the desk's queues, paused or not."""
    paused: list[str]
    """Those of the desk's queues that nobody is called from now."""


class ChangedQueue(msgspec.Struct, frozen=True):
    queue: str
    state: QueueState


class RoundAnswer(msgspec.Struct, frozen=True):
    queue: str
    day: str
    round: int


class NoInput(msgspec.Struct, forbid_unknown_fields=True):
    """Nothing needs to be said."""


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    return Response(
        200, await parts.status_cache.at_queue(parts.engine, request.venue_id, request.code, "queue", _queue)
    )


async def list_tickets(parts: Parts, request: Request[ListQuery]) -> Response:
    """One more is asked for than is shown, to know whether there are more."""
    after, most = read_cursor(request.given.cursor), request.given.limit
    tickets = await parts.engine.read(request.venue_id, snapshots.LookAtLine(request.code, after, most + 1))
    shown = [ticket_answer(request.venue, ticket) for ticket in tickets[:most]]
    return answered(Page(shown, cursor_at(tickets, most)))


async def call_next_from_queue(_: Parts, request: Request[NoInput]) -> Reply:
    return await request.do(staff.CallNext(queue=request.code), partial(_called, request.venue))


async def call_next_to_desk(_: Parts, request: Request[CallNextInput]) -> Reply:
    return await request.do(staff.CallNext(request.code, request.given.queue), partial(_called, request.venue))


async def reset(parts: Parts, request: Request[Reason]) -> Reply:
    reply = await request.do(
        admin.Reset(request.code),
        lambda line: RoundAnswer(f"{request.venue}:{line.queue_id}", line.day, line.round),
        reason=request.given.reason,
    )
    await sweep_old_rounds(parts.engine, request.venue_id, request.code)
    return reply


def change_by(verb: QueueVerb) -> Route:
    async def change(_: Parts, request: Request[Reason]) -> Reply:
        return await request.do(
            admin.ChangeQueue(request.code, verb),
            lambda queue: ChangedQueue(f"{request.venue}:{queue.id}", queue.state),
            reason=request.given.reason,
        )

    return Route(
        method="POST",
        path=f"/v1/queues/{{queue}}/{verb}",
        name=f"{verb}-queue",
        summary=f"{verb.capitalize()} a queue",
        tag=TAG,
        handler=change,
        body=Reason,
        answer=ChangedQueue,
        who="manager",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue, QueueInWrongState),
    )


def _queue(venue: Venue, seen: snapshots.QueueSnapshot) -> bytes:
    return encoded(queue_answer(venue, seen))


def _called(venue: str, called: staff.Called) -> CalledAnswer:
    return CalledAnswer(
        None if called.ticket is None else ticket_answer(venue, called.ticket),
        None if called.next is None else called.next.label,
        called.waiting,
        [f"{venue}:{queue}" for queue in called.paused],
    )


def cursor_at(tickets: list[Ticket], most: int) -> str | None:
    """Where the next page begins, if more than `most` were found."""
    if len(tickets) <= most:
        return None
    priority, sequence = tickets[most - 1].place
    return f"{priority}.{sequence}"


def read_cursor(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return snapshots.FROM_THE_START
    priority, _, sequence = cursor.partition(".")
    try:
        behind = (int(priority), int(sequence))
    except ValueError:
        behind = BEYOND
    if not all(abs(part) < most for part, most in zip(behind, BEYOND, strict=True)):
        raise BadRequest(422, "invalid-query", why="cursor")
    return behind


CALL_REFUSALS = (UnknownVenue, UnknownQueue, UnknownDesk, QueuePaused)

ROUTES = (
    Route(
        method="GET",
        path="/v1/queues/{queue}",
        name="look-at-queue",
        summary="How a queue stands",
        tag=TAG,
        handler=look,
        answer=QueueAnswer,
        query=NoInput,
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="GET",
        path="/v1/queues/{queue}/tickets",
        name="list-tickets",
        summary="Everybody in the line who is not done, in the order of calling",
        tag=TAG,
        handler=list_tickets,
        answer=Page[TicketAnswer],
        query=ListQuery,
        who="viewer",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="POST",
        path="/v1/queues/{queue}/call-next",
        name="call-next-from-queue",
        summary="Call whoever is first in a queue",
        tag=TAG,
        handler=call_next_from_queue,
        body=NoInput,
        answer=CalledAnswer,
        who="staff",
        venue="queue",
        refusals=CALL_REFUSALS,
    ),
    Route(
        method="POST",
        path="/v1/desks/{desk}/call-next",
        name="call-next",
        summary="Call whoever is first over all queues of a desk",
        tag=TAG,
        handler=call_next_to_desk,
        body=CallNextInput,
        answer=CalledAnswer,
        who="staff",
        venue="desk",
        refusals=CALL_REFUSALS,
    ),
    Route(
        method="POST",
        path="/v1/queues/{queue}/reset",
        name="reset-queue",
        summary="Begin a new round at number 1",
        tag=TAG,
        handler=reset,
        body=Reason,
        answer=RoundAnswer,
        who="manager",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    *(change_by(verb) for verb in QUEUE_VERBS),
)
