"""What whoever works at a desk sees, in one answer."""

from typing import Annotated

import msgspec

from dawr.domain import QueueState
from dawr.domain.errors import UnknownDesk, UnknownVenue
from dawr.operations import console
from dawr.operations.reception import LONGEST_SEARCH
from dawr.web.api.answers import TicketAnswer, ticket_answer
from dawr.web.api.desks import DeskNowAnswer, desk_now_answer
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

MOST_ROWS = 500


class ConsoleQuery(msgspec.Struct, forbid_unknown_fields=True):
    find: (
        Annotated[
            str,
            msgspec.Meta(
                max_length=LONGEST_SEARCH,
                description="List only those whose label, name or note has this in it, or whom the door knows by it.",
            ),
        ]
        | None
    ) = None
    most: Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS, description="How many of those who wait are listed.")] = 100


class ConsoleQueue(msgspec.Struct, frozen=True):
    """A queue that the desk serves."""

    queue: str
    name: dict[str, str]
    state: QueueState
    waiting: int
    held: int
    missed: int


class ConsoleStage(msgspec.Struct, frozen=True):
    number: int
    """1 is the first."""
    of: int


class ConsoleTicket(msgspec.Struct, frozen=True):
    """Somebody as whoever works at a desk sees them."""

    ticket: TicketAnswer
    waits_since: int
    """When the wait began that a call ends."""
    stage: ConsoleStage | None
    """How far their visit has come; null: it is a single ticket."""
    note: str | None
    due_at: int | None
    """When the clock takes who was called for missed, or ends a hold; null: never."""


class ConsoleLatest(msgspec.Struct, frozen=True):
    """What was done last to somebody at this desk."""

    ticket: str
    label: str
    queue: str
    what: console.What
    at: int
    version: int
    """The ticket's, for `undo`."""
    can_undo: bool
    """Whether an undo would be done now."""


class ConsoleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    venue: str
    now: int
    desk: DeskNowAnswer
    name: dict[str, str]
    queues: list[ConsoleQueue]
    here: list[ConsoleTicket]
    people_waiting: int
    """In all of its queues, paused or not."""
    waiting: list[ConsoleTicket]
    """The first of those who wait, in the order of calling; with `find`, those who fit."""
    held: list[ConsoleTicket]
    """At most 20, the latest first."""
    missed: list[ConsoleTicket]
    """At most 20, the latest first."""
    latest: list[ConsoleLatest]
    """The five last changes at this desk, the last first."""


async def look(parts: Parts, request: Request[ConsoleQuery]) -> Response:
    view = console.LookAtConsole(request.code, request.given.find, request.given.most, parts.settings.undo_minutes)
    return answered(console_answer(await parts.engine.read(request.venue_id, view)))


def console_answer(seen: console.Console) -> ConsoleAnswer:
    slug = seen.venue.slug
    return ConsoleAnswer(
        venue=slug,
        now=seen.now,
        desk=desk_now_answer(slug, seen.desk_now),
        name=seen.desk.name,
        queues=[
            ConsoleQueue(f"{slug}:{queue.id}", queue.name, queue.state, line.people_waiting, line.held, line.missed)
            for queue, line in zip(seen.queues, seen.lines, strict=True)
        ],
        here=[_ticket(slug, one) for one in seen.here],
        people_waiting=seen.people_waiting,
        waiting=[_ticket(slug, one) for one in seen.waiting],
        held=[_ticket(slug, one) for one in seen.held],
        missed=[_ticket(slug, one) for one in seen.missed],
        latest=[_latest(slug, one) for one in seen.latest],
    )


def _ticket(slug: str, one: console.AtDesk) -> ConsoleTicket:
    stage = None if one.stage is None else ConsoleStage(one.stage.number, one.stage.of)
    return ConsoleTicket(ticket_answer(slug, one.ticket), one.ticket.waits_since, stage, one.note, one.due_at)


def _latest(slug: str, one: console.Latest) -> ConsoleLatest:
    ticket = one.ticket
    return ConsoleLatest(
        ticket.ticket_id,
        ticket.label,
        f"{slug}:{ticket.queue_id}",
        one.what,
        one.at,
        ticket.version,
        one.can_undo,
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/desks/{desk}/console",
        name="look-at-console",
        summary="All that whoever works at a desk sees, at one moment",
        tag="desks",
        handler=look,
        query=ConsoleQuery,
        answer=ConsoleAnswer,
        who="viewer",
        venue="desk",
        refusals=(UnknownVenue, UnknownDesk),
    ),
)
