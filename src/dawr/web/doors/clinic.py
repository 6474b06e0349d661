"""The clinic's contract under `/api/v1/queue`. Its words for states appear here only."""

from collections.abc import Mapping
from contextlib import nullcontext

import msgspec

from dawr.domain import State, Ticket, TicketId, Venue, VisitId
from dawr.domain.errors import (
    InvalidValue,
    LineEnded,
    NotInQueue,
    OutsideHours,
    PinForeign,
    PinNeeded,
    PinRotated,
    PinTriedTooOften,
    PinWrong,
    QueueClosed,
    QueueFull,
    QueuePaused,
    TicketInWrongState,
    UnknownDesk,
    UnknownQueue,
    UnknownVenue,
    UnknownVisit,
    VenueInactive,
    VisitLocked,
)
from dawr.engine.clockwork import sweep_old_rounds
from dawr.operations import admin, pins, snapshots, staff, visitor
from dawr.operations.ticket import Joined
from dawr.reliability.idempotency import Reply
from dawr.web.api.sessions import sign_in
from dawr.web.doors.clinic_shapes import (
    CalledPatient,
    CallInput,
    ClinicInput,
    ClinicQuery,
    DoneInput,
    DonePatient,
    Entered,
    EnterInput,
    NewRound,
    Position,
    PositionQuery,
    QueuedPatient,
    QueueStatus,
    SignedInAnswer,
    SignedInUser,
    StaffLoginInput,
)
from dawr.web.doors.times import iso_time
from dawr.web.known_links import link_in_body
from dawr.web.links import new_link, read_link
from dawr.web.pin_tries import guessing_by_name
from dawr.web.response import Header, Response, answered, encoded
from dawr.web.routes import Parts, Request, Route

TAG = "clinic"
WORDS = {"visitor": "user", "queue": "clinic"}
MS_PER_MINUTE = 60_000
MOST_LISTED = 1000
VARY_BY_CALLER: Header = (b"vary", b"authorization, cookie")
STATUSES: Mapping[type[Exception], int] = {QueueFull: 503}

STATUS_WORDS: Mapping[State, str] = {
    "waiting": "WAITING",
    "held": "WAITING",
    "called": "CALLED",
    "serving": "IN_SERVICE",
    "finished": "DONE",
    "missed": "MISSED",
    "left": "LEFT",
    "expired": "LEFT",
}


async def enter(parts: Parts, request: Request[EnterInput]) -> Reply:
    given, venue_id = request.given, request.venue_id
    link = new_link(parts.ids, venue_id)
    issue = visitor.Issue(
        queue=given.clinic,
        visitor=given.user,
        ticket_id=TicketId(parts.ids.new(venue_id)),
        visit_id=VisitId(link.visit_id),
        secret_hash=link.secret_hash,
        by_staff=request.caller.may("staff", venue_id),
    )
    return await request.do(issue, lambda joined: _entered(joined, link.path))


async def status(parts: Parts, request: Request[ClinicQuery]) -> Response:
    """Staff see who is there, and nobody else does: what they are told is kept nowhere."""
    if request.caller.may("viewer", request.venue_id):
        view = snapshots.LookAtQueueWithTickets(request.given.clinic, MOST_LISTED)
        seen, tickets = await parts.engine.read(request.venue_id, view)
        return answered(_queue_status(seen, [_queued(ticket) for ticket in tickets]), headers=(VARY_BY_CALLER,))
    return Response(
        200, await parts.status_cache.at_queue(parts.engine, request.venue_id, request.given.clinic, "clinic", _status)
    )


async def call_next(_: Parts, request: Request[CallInput]) -> Reply:
    return await request.do(staff.CallNext(request.given.desk, request.given.clinic), _called)


async def done(parts: Parts, request: Request[DoneInput]) -> Reply:
    """Finish a visitor. A PIN that comes without the visit's link, and not from staff, may be a guess."""
    given = request.given
    by_staff = request.caller.may("staff", request.venue_id)
    link = read_link(given.ticket) if given.ticket else None
    operation = pins.Done(given.clinic, given.pin, request.attempt, visitor=given.user, by_staff=by_staff, link=link)
    is_guess = given.pin is not None and link is None and not by_staff
    async with guessing_by_name(parts, request) if is_guess else nullcontext():
        return await request.do(operation, _done)


async def reset(parts: Parts, request: Request[ClinicInput]) -> Reply:
    reply = await request.do(
        admin.Reset(request.given.clinic),
        lambda line: NewRound(success=True, clinic=line.queue_id, round=line.round, message="begins at number 1"),
    )
    await sweep_old_rounds(parts.engine, request.venue_id, request.given.clinic)
    return reply


async def position(parts: Parts, request: Request[PositionQuery]) -> Response:
    by_staff = request.caller.may("staff", request.venue_id)
    view = snapshots.LookAtVisitor(request.given.clinic, request.given.user, by_staff)
    standing, line = await parts.engine.read(request.venue_id, view)
    ticket = standing.ticket
    return answered(
        Position(
            success=True,
            clinic=standing.queue.id,
            user=ticket.visitor,
            status=status_word(ticket.state, near=standing.is_near),
            number=ticket.number,
            display_number=ticket.label,
            ahead=standing.ahead,
            position=standing.position,
            total_waiting=line.people_waiting,
            estimated_wait_minutes=standing.wait_minutes,
        )
    )


async def login(parts: Parts, request: Request[StaffLoginInput]) -> Response:
    session, signed_in, cookies = await sign_in(parts, request)
    role = signed_in.role_at(request.venue_id) or signed_in.memberships[0].role
    answer = SignedInAnswer(success=True, token=session, user=SignedInUser(signed_in.account.username, role))
    return answered(answer, headers=cookies)


def status_word(state: State, *, near: bool) -> str:
    """Near turn is said of who waits, and stored nowhere."""
    return "NEAR_TURN" if near else STATUS_WORDS[state]


def _status(_: Venue, seen: snapshots.QueueSnapshot) -> bytes:
    return encoded(_queue_status(seen, msgspec.UNSET))


def _queue_status(seen: snapshots.QueueSnapshot, people: list[QueuedPatient] | msgspec.UnsetType) -> QueueStatus:
    return QueueStatus(
        success=True,
        clinic=seen.queue.id,
        current=seen.line.current_number,
        length=seen.line.people,
        waiting=seen.line.people_waiting,
        next=None if seen.next is None else seen.next.number,
        state=seen.queue.state.upper(),
        avg_wait_minutes=seen.line.mean_wait_minutes,
        people=people,
    )


def _queued(ticket: Ticket) -> QueuedPatient:
    return QueuedPatient(
        number=ticket.number,
        display_number=ticket.label,
        user=ticket.visitor,
        status=STATUS_WORDS[ticket.state],
        entered_at=iso_time(ticket.issued_at),
    )


def _entered(joined: Joined, link: str) -> Entered:
    """The secret link goes out with the number it was made for, and never again: a user's name can be guessed."""
    ticket = joined.ticket
    return Entered(
        success=True,
        number=ticket.number,
        status=STATUS_WORDS[ticket.state],
        user=ticket.visitor,
        clinic=ticket.queue_id,
        ahead=joined.ahead,
        position=joined.position,
        estimated_wait_minutes=joined.wait_minutes,
        display_number=ticket.label,
        your_number=ticket.number,
        current=joined.current,
        ticket=None if joined.already else link,
        message="already in queue" if joined.already else None,
        reserve_mode=joined.reserve_mode,
    )


def _called(called: staff.Called) -> CalledPatient:
    ticket = called.ticket
    return CalledPatient(
        success=True,
        clinic=called.queues[0],
        current=None if ticket is None else ticket.number,
        next=None if called.next is None else called.next.number,
        queue_length=called.waiting,
        user=None if ticket is None else ticket.visitor,
        display_number=None if ticket is None else ticket.label,
        desk=None if ticket is None else ticket.desk_id,
    )


def _done(went: pins.Went) -> DonePatient:
    ticket, place = went.ticket, went.now.place
    return DonePatient(
        success=True,
        clinic=ticket.queue_id,
        user=ticket.visitor,
        number=ticket.number,
        status=STATUS_WORDS[ticket.state],
        wait_time_minutes=round((ticket.waited_ms or 0) / MS_PER_MINUTE, 1),
        service_time_minutes=round((ticket.served_ms or 0) / MS_PER_MINUTE, 1),
        next_clinic=None if place is None else place.queue.id,
    )


ROUTES = (
    Route(
        method="POST",
        path="/api/v1/queue/enter",
        name="queue/enter",
        summary="Take a number",
        tag=TAG,
        handler=enter,
        body=EnterInput,
        answer=Entered,
        venue="clinic",
        joins=True,
        limit="clinic-join",
        refusals=(UnknownVenue, UnknownQueue, VenueInactive, QueueClosed, OutsideHours, QueueFull, InvalidValue),
        words=WORDS,
        statuses=STATUSES,
    ),
    Route(
        method="GET",
        path="/api/v1/queue/status",
        name="queue/status",
        summary="How a queue stands today; for staff, who is in it",
        tag=TAG,
        handler=status,
        query=ClinicQuery,
        answer=QueueStatus,
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="POST",
        path="/api/v1/queue/call",
        name="queue/call",
        summary="Call whoever is first",
        tag=TAG,
        handler=call_next,
        body=CallInput,
        answer=CalledPatient,
        who="staff",
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue, UnknownDesk, QueuePaused, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/queue/done",
        name="queue/done",
        summary="Finish a visitor who was called, by PIN or link; with the PIN and for staff, one who waits too",
        tag=TAG,
        handler=done,
        body=DoneInput,
        answer=DonePatient,
        venue="clinic",
        joins=True,
        limit="clinic-join",
        body_link=link_in_body,
        refusals=(
            UnknownVenue,
            UnknownQueue,
            NotInQueue,
            UnknownVisit,
            VisitLocked,
            PinNeeded,
            PinWrong,
            PinForeign,
            PinRotated,
            PinTriedTooOften,
            TicketInWrongState,
            LineEnded,
            QueuePaused,
            InvalidValue,
        ),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/queue/reset",
        name="queue/reset",
        summary="Begin a new round at number 1",
        tag=TAG,
        handler=reset,
        body=ClinicInput,
        answer=NewRound,
        who="manager",
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue),
    ),
    Route(
        method="GET",
        path="/api/v1/queue/position",
        name="queue/position",
        summary="Where a visitor stands",
        tag=TAG,
        handler=position,
        query=PositionQuery,
        answer=Position,
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue, NotInQueue, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/admin/login",
        name="admin/login",
        summary="Sign in; the token is a bearer",
        tag=TAG,
        handler=login,
        body=StaffLoginInput,
        answer=SignedInAnswer,
        venue="clinic",
        limit=None,
        keyed=False,
        refusals=(UnknownVenue,),
        other_codes=((401, "wrong-credentials"), (429, "quota-exceeded")),
    ),
)
