"""Patients at the clinic's door: they log in, type the clinic's PIN when they leave it, and see where they stand.

An id is no secret: who knows nothing else is told of no clinic.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Final

from dawr.domain import Line, VisitId, VisitState
from dawr.domain.errors import (
    InvalidValue,
    LineEnded,
    NotEntered,
    NotForThisAudience,
    NotInPlan,
    NotItsTurn,
    NumberWrong,
    PinForeign,
    PinNeeded,
    PinRotated,
    PinTriedTooOften,
    PinWrong,
    TicketInWrongState,
    UnknownJourney,
    UnknownQueue,
    UnknownVenue,
    UnknownVisit,
    VenueInactive,
    VisitInWrongState,
    VisitLocked,
)
from dawr.operations import pins, visits
from dawr.operations.operation import View
from dawr.reliability.idempotency import Reply
from dawr.web.doors.clinic import STATUS_WORDS, TAG, status_word
from dawr.web.doors.clinic_patient_shapes import (
    AUDIENCE_OF,
    LoggedIn,
    LoginInput,
    Named,
    NextClinic,
    PatientData,
    PatientPosition,
    PatientStatus,
    Verified,
    VerifyInput,
    read_number,
    stages_of,
)
from dawr.web.known_links import link_in_body
from dawr.web.links import new_link, read_link
from dawr.web.pin_tries import guessing_by_name
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

WORDS = {"visitor": "patientId", "queue": "clinic", "journey": "examType"}

VISIT_WORDS: Final[Mapping[VisitState, str]] = {
    "open": "READY_TO_ENTER",
    "finished": "DONE",
    "left": "LEFT",
    "expired": "LEFT",
}
"""Of whoever stands in no queue."""


async def login(parts: Parts, request: Request[LoginInput]) -> Reply:
    given = request.given
    link = new_link(parts.ids, request.venue_id)
    operation = visits.StartVisit(
        given.exam_type, given.patient_id, AUDIENCE_OF[given.gender], VisitId(link.visit_id), link.secret_hash
    )
    return await request.do(operation, lambda seen: _logged_in(given, seen, link.path))


async def verify_pin(parts: Parts, request: Request[VerifyInput]) -> Reply:
    given = request.given
    link = read_link(given.ticket) if given.ticket else None
    number = read_number(given.queue_number)
    operation = pins.VerifyPin(
        given.clinic, given.pin, request.attempt, visitor=given.patient_id, link=link, number=number
    )
    async with guessing_by_name(parts, request) if link is None else nullcontext():
        return await request.do(operation, _verified)


async def status(parts: Parts, request: Request[Named]) -> Response:
    async with naming(parts, request) as view:
        return answered(status_of(await parts.engine.read(request.venue_id, view)))


async def position(parts: Parts, request: Request[Named]) -> Response:
    async with naming(parts, request) as view:
        seen, line = await parts.engine.read(request.venue_id, visits.LookAtPlace(view))
    return answered(_position(seen, line))


@asynccontextmanager
async def naming(parts: Parts, request: Request[Named]) -> AsyncIterator[View[visits.Whereabouts]]:
    """Give the view of the patient that a request names. A name and number that do not fit are a guess."""
    is_guess = request.given.ticket is None and not request.caller.may("staff", request.venue_id)
    view = view_of(request)
    async with guessing_by_name(parts, request) if is_guess else nullcontext():
        yield view


def view_of(request: Request[Named]) -> View[visits.Whereabouts]:
    """Of whoever the caller names. An id alone is enough for staff only: for others it is as if nobody had it."""
    given = request.given
    if given.ticket is not None:
        return visits.LookAtVisit(read_link(given.ticket))
    if given.patient_id is None:
        raise InvalidValue("patientId", "patient-or-link")
    number = None if given.queue_number is None else read_number(given.queue_number)
    return visits.LookAtPlanned(given.patient_id, number, by_staff=request.caller.may("staff", request.venue_id))


def status_of(seen: visits.Whereabouts) -> PatientStatus:
    place = seen.place
    return PatientStatus(
        success=True,
        status=_word(seen),
        clinic=None if place is None else place.queue.id,
        queue_number=None if place is None else place.ticket.number,
        ahead=None if place is None else place.ahead,
        stages=stages_of(seen.visit),
    )


def _word(seen: visits.Whereabouts) -> str:
    place = seen.place
    return VISIT_WORDS[seen.visit.state] if place is None else status_word(place.ticket.state, near=place.is_near)


def _logged_in(given: LoginInput, seen: visits.Whereabouts, link: str) -> LoggedIn:
    """The echo is of what was asked for: what somebody came for earlier is not told to who knows their id."""
    journey = seen.venue.journey(given.exam_type, AUDIENCE_OF[given.gender])
    data = PatientData(given.patient_id, given.gender, journey.id)
    place = None if seen.already else seen.place
    return LoggedIn(
        success=True,
        data=data,
        ticket=None if seen.already else link,
        clinic=None if place is None else place.queue.id,
        queue_number=None if place is None else place.ticket.number,
        ahead=None if place is None else place.ahead,
        stages=[] if seen.already else stages_of(seen.visit),
        message="visit under way" if seen.already else None,
    )


def _verified(went: pins.Went) -> Verified:
    place = went.now.place
    return Verified(
        success=True,
        clinic=went.ticket.queue_id,
        status=STATUS_WORDS[went.ticket.state],
        next=None
        if place is None
        else NextClinic(place.queue.id, place.ticket.number, place.ahead, place.queue.floor, place.queue.room),
        stages=stages_of(went.now.visit),
    )


def _position(seen: visits.Whereabouts, line: Line | None) -> PatientPosition:
    place, told = seen.place, status_of(seen)
    return PatientPosition(
        success=True,
        patient_id=seen.visit.visitor,
        status=told.status,
        clinic=told.clinic,
        queue_number=told.queue_number,
        display_number=None if place is None else place.ticket.label,
        ahead=told.ahead,
        position=None if place is None else place.position,
        total_waiting=None if place is None or line is None else line.people_waiting,
        estimated_wait_minutes=None if place is None else place.wait_minutes,
        floor=None if place is None else place.queue.floor,
        room=None if place is None else place.queue.room,
    )


def _position_at(path: str) -> Route:
    return Route(
        method="GET",
        path=f"/api/v1/{path}",
        name=path,
        summary="Where a patient stands: by their link, by id and number, or asked by staff",
        tag=TAG,
        handler=position,
        query=Named,
        answer=PatientPosition,
        venue="clinic",
        refusals=(UnknownVenue, UnknownVisit, InvalidValue),
        words=WORDS,
    )


ROUTES = (
    Route(
        method="POST",
        path="/api/v1/patient/login",
        name="patient/login",
        summary="Begin what the patient came for, and enter its first clinic",
        tag=TAG,
        handler=login,
        body=LoginInput,
        answer=LoggedIn,
        venue="clinic",
        joins=True,
        limit="clinic-join",
        refusals=(UnknownVenue, UnknownJourney, NotForThisAudience, VenueInactive, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/patient/verify-pin",
        name="patient/verify-pin",
        summary="Leave a clinic by the PIN that is shown there, and enter the next",
        tag=TAG,
        handler=verify_pin,
        body=VerifyInput,
        answer=Verified,
        venue="clinic",
        joins=True,
        limit="clinic-join",
        body_link=link_in_body,
        refusals=(
            UnknownVenue,
            UnknownQueue,
            UnknownVisit,
            VisitInWrongState,
            NotInPlan,
            NotItsTurn,
            NotEntered,
            NumberWrong,
            VisitLocked,
            PinNeeded,
            PinWrong,
            PinForeign,
            PinRotated,
            PinTriedTooOften,
            TicketInWrongState,
            LineEnded,
            InvalidValue,
        ),
        words=WORDS,
    ),
    Route(
        method="GET",
        path="/api/v1/patient/status",
        name="patient/status",
        summary="A patient's stages and queue: by their link, by id and number, or asked by staff",
        tag=TAG,
        handler=status,
        query=Named,
        answer=PatientStatus,
        venue="clinic",
        refusals=(UnknownVenue, UnknownVisit, InvalidValue),
        words=WORDS,
    ),
    _position_at("my-position"),
    _position_at("patient/my-position"),
)
