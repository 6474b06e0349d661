"""The restaurant's contract under `/api/public` and `/api/admin`. Its words for states appear here only."""

from collections.abc import Mapping
from typing import get_args

from dawr.domain import Link, QueueCode, Standing, State, Ticket, TicketId, Unnamed, VisitId
from dawr.domain.errors import (
    LineEnded,
    QueuePaused,
    TicketInWrongState,
    UnknownQueue,
    UnknownTicket,
    UnknownVenue,
    UnknownVisit,
)
from dawr.domain.ticket import OPEN_STATES
from dawr.operations import snapshots, staff, visitor, visits
from dawr.operations.operation import Operation
from dawr.operations.ticket import Joined as JoinedTicket
from dawr.reliability.idempotency import Reply
from dawr.web.api.queues import cursor_at, read_cursor
from dawr.web.api.tickets import TAKE_REFUSALS
from dawr.web.doors.restaurant_shapes import (
    Entry,
    EntryAnswer,
    EntryQuery,
    Joined,
    JoinedAnswer,
    JoinInput,
    ListAnswer,
    ListQuery,
    NextPartyInput,
    StaffEntry,
    StaffEntryAnswer,
    Status,
    StatusInput,
)
from dawr.web.doors.times import iso_time
from dawr.web.links import NewLink, new_link
from dawr.web.problems import BadRequest
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "restaurant"
WORDS = {"visitor": "mobileNumber", "party_size": "partySize"}

STATUS_WORDS: Mapping[State, Status] = {
    "waiting": "WAITING",
    "held": "WAITING",
    "called": "CALLED",
    "serving": "SEATED",
    "finished": "SEATED",
    "missed": "NO_SHOW",
    "left": "CANCELLED",
    "expired": "CANCELLED",
}

HIGHEST = 2**31 - 1
STATUSES: tuple[Status, ...] = get_args(Status)
STATES_LISTED: Mapping[Status, tuple[State, ...]] = {
    "WAITING": ("waiting", "held"),
    "CALLED": ("called",),
    "SEATED": ("serving", "finished"),
    "NO_SHOW": ("missed", "expired"),
    "CANCELLED": ("left",),
}
"""Of the list of today: only whoever missed their call and joined anew has a ticket there that expired."""


async def join(parts: Parts, request: Request[JoinInput]) -> Reply:
    link = new_link(parts.ids, request.venue_id)
    operation = joining(parts, request, request.given, Unnamed.WAITLIST, link)
    return await request.do(
        operation, lambda joined: JoinedAnswer(success=True, data=_joined(joined, link)), status=201
    )


def joining(parts: Parts, request: Request[object], given: JoinInput, queue: QueueCode, link: NewLink) -> visitor.Join:
    """A party that comes to the list, through this door or by the page that takes the same."""
    return visitor.Join(
        queue=queue,
        visitor=given.mobileNumber,
        ticket_id=TicketId(parts.ids.new(request.venue_id)),
        visit_id=VisitId(link.visit_id),
        secret_hash=link.secret_hash,
        name=given.name,
        party_size=given.partySize,
        area=given.seatingType,
        most_per_hour=None if request.caller.may_issue(request.venue_id) else parts.joins_per_hour,
        by_staff=request.caller.may("staff", request.venue_id),
    )


async def queue_status(parts: Parts, request: Request[EntryQuery]) -> Response:
    """Entry and secret must belong together: one without the other is as if there were no entry."""
    standing = (await parts.engine.read(request.venue_id, visits.LookAtVisit(Link.read(request.given.secret)))).joined
    if standing is None or standing.ticket.ticket_id != request.given.entryId:
        raise UnknownVisit
    return answered(EntryAnswer(success=True, data=_entry(standing)))


async def list_entries(parts: Parts, request: Request[ListQuery]) -> Response:
    """Who waits or was called, in the order of calling; a list with others, the highest number first."""
    most, cursor = request.given.limit, request.given.cursor
    states = frozenset(state for status in _statuses(request.given.status) for state in STATES_LISTED[status])
    if states <= OPEN_STATES:
        in_order = snapshots.LookAtLine(Unnamed.WAITLIST, read_cursor(cursor), most + 1, states)
        tickets = await parts.engine.read(request.venue_id, in_order)
        following = cursor_at(tickets, most)
    else:
        by_number = snapshots.LookAtStates(Unnamed.WAITLIST, states, _below(cursor), most + 1)
        tickets = await parts.engine.read(request.venue_id, by_number)
        following = str(tickets[most - 1].number) if len(tickets) > most else None
    shown = [_staff_entry(ticket) for ticket in tickets[:most]]
    return answered(ListAnswer(success=True, data=shown, next=following))


async def call_next(_: Parts, request: Request[NextPartyInput]) -> Reply:
    return await request.do(staff.CallNext(queue=Unnamed.WAITLIST), _called)


async def change_status(_: Parts, request: Request[StatusInput]) -> Reply:
    ticket_id = TicketId(request.params["entry"])
    verbs: Mapping[str, Operation[Ticket]] = {
        "CALLED": staff.Call(ticket_id),
        "SEATED": staff.Finish(ticket_id),
        "NO_SHOW": staff.Miss(ticket_id),
        "CANCELLED": visitor.Leave(ticket_id),
    }
    return await request.do(
        verbs[request.given.status],
        lambda ticket: StaffEntryAnswer(success=True, data=_staff_entry(ticket)),
        reason=request.given.reason,
    )


def _statuses(asked_for: str) -> set[Status]:
    wanted = {word.strip() for word in asked_for.split(",")}
    if wanted == {"all"}:
        return set(STATUSES)
    known = {status for status in STATUSES if status in wanted}
    if known != wanted:
        raise BadRequest(422, "invalid-query", field="status", why="choice", choices=[*STATUSES, "all"])
    return known


def _below(cursor: str | None) -> int:
    if cursor is None:
        return HIGHEST
    if not (cursor.isascii() and cursor.isdigit() and int(cursor) <= HIGHEST):
        raise BadRequest(422, "invalid-query", why="cursor")
    return int(cursor)


def _joined(joined: JoinedTicket, link: NewLink) -> Joined:
    ticket, new = joined.ticket, not joined.already
    return Joined(
        id=ticket.ticket_id if new else None,
        tokenNumber=ticket.number,
        displayNumber=ticket.label,
        status=_status(ticket),
        position=joined.position,
        estimatedWaitMinutes=joined.wait_minutes,
        partySize=ticket.party_size,
        seatingType=ticket.area,
        createdAt=iso_time(ticket.issued_at),
        alreadyInQueue=joined.already,
        secret=link.token if new else None,
        link=link.path if new else None,
    )


def _entry(standing: Standing) -> Entry:
    ticket = standing.ticket
    return Entry(
        id=ticket.ticket_id,
        tokenNumber=ticket.number,
        displayNumber=ticket.label,
        status=_status(ticket),
        position=standing.position,
        estimatedWaitMinutes=standing.wait_minutes,
        partySize=ticket.party_size,
        seatingType=ticket.area,
        createdAt=iso_time(ticket.issued_at),
    )


def _staff_entry(ticket: Ticket) -> StaffEntry:
    return StaffEntry(
        id=ticket.ticket_id,
        tokenNumber=ticket.number,
        displayNumber=ticket.label,
        status=_status(ticket),
        name=ticket.name,
        mobileNumber=ticket.visitor,
        partySize=ticket.party_size,
        seatingType=ticket.area,
        createdAt=iso_time(ticket.issued_at),
        calledAt=None if ticket.called_at is None else iso_time(ticket.called_at),
    )


def _called(called: staff.Called) -> StaffEntryAnswer:
    return StaffEntryAnswer(success=True, data=None if called.ticket is None else _staff_entry(called.ticket))


def _status(ticket: Ticket) -> Status:
    """Whoever missed their call did not cancel, though their ticket expires when they come again or the day ends."""
    if ticket.state == "expired" and (ticket.missed_at or 0) > (ticket.rejoined_at or 0):
        return "NO_SHOW"
    return STATUS_WORDS[ticket.state]


ROUTES = (
    Route(
        method="POST",
        path="/api/public/{venue}/queue",
        name="restaurant/join",
        summary="Join the waitlist",
        tag=TAG,
        handler=join,
        body=JoinInput,
        answer=JoinedAnswer,
        status=201,
        venue="venue",
        joins=True,
        limit="join",
        refusals=TAKE_REFUSALS,
        key_field="idempotencyKey",
        words=WORDS,
    ),
    Route(
        method="GET",
        path="/api/public/{venue}/queue-status",
        name="restaurant/queue-status",
        summary="How a party stands, for whoever holds its secret",
        tag=TAG,
        handler=queue_status,
        query=EntryQuery,
        answer=EntryAnswer,
        venue="venue",
        refusals=(UnknownVenue, UnknownVisit),
    ),
    Route(
        method="GET",
        path="/api/admin/{venue}/queue",
        name="restaurant/list",
        summary="Who waits or was called; or those of any status",
        tag=TAG,
        handler=list_entries,
        query=ListQuery,
        answer=ListAnswer,
        who="viewer",
        venue="venue",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="POST",
        path="/api/admin/{venue}/queue/call-next",
        name="restaurant/call-next",
        summary="Call the next party",
        tag=TAG,
        handler=call_next,
        body=NextPartyInput,
        answer=StaffEntryAnswer,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownQueue, QueuePaused),
    ),
    Route(
        method="POST",
        path="/api/admin/{venue}/queue/{entry}",
        name="restaurant/change-status",
        summary="Call, seat, miss or cancel a party",
        tag=TAG,
        handler=change_status,
        body=StatusInput,
        answer=StaffEntryAnswer,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownTicket, TicketInWrongState, LineEnded, QueuePaused),
    ),
)
