"""Exit PINs at the clinic's door. A patient is told how long one is, and only that clinic's staff what it is."""

import msgspec

from dawr.domain import QueueId
from dawr.domain.errors import InvalidValue, NotAtThisDesk, PinTaken, UnknownQueue, UnknownVenue
from dawr.operations import pins
from dawr.operations.snapshots import AtMoment
from dawr.reliability.idempotency import Reply
from dawr.web.doors.clinic import TAG
from dawr.web.doors.clinic_patient_shapes import PinText
from dawr.web.doors.clinic_shapes import Answer, AnyInput, ClinicAnswer, ClinicInput
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

WORDS = {"queue": "clinic"}


class AssignInput(ClinicInput):
    pin: PinText | None = None


class PinStatus(ClinicAnswer, omit_defaults=True):
    required: bool
    """Whether some exam type asks for it here."""
    length: int
    pin: str | None = None
    """For that clinic's staff only."""


class ShownPin(msgspec.Struct):
    clinic: str
    pin: str


class AssignedPin(ClinicAnswer):
    pin: str


class AllPins(Answer):
    pins: list[ShownPin]


async def status(parts: Parts, request: Request[AnyInput]) -> Response:
    actor = request.caller.actor if request.caller.may("staff", request.venue_id) else None
    view = pins.LookAtPin(request.params["clinic"], actor, _is_manager(request))
    moment = await parts.engine.read(request.venue_id, AtMoment(view))
    queue, length, pin = moment.seen
    shown = None if pin is None else pin.pin
    if shown is None and actor is not None:
        shown = await _made(parts, request, queue.id)
    required = moment.venue.asks_for_pin(queue.id)
    return answered(PinStatus(success=True, clinic=queue.id, required=required, length=length, pin=shown))


async def assign(parts: Parts, request: Request[AssignInput]) -> Reply:
    """The one that is given; without one, that of today, made if there is none yet."""
    given, chance = request.given, parts.ids.token()
    if given.pin is None:
        return await request.do(pins.GivePin(chance, is_manager=True, queue=given.clinic), _assigned)
    return await request.do(pins.RotatePin(chance, is_manager=True, queue=given.clinic, pin=given.pin), _assigned)


async def rotate(parts: Parts, request: Request[ClinicInput]) -> Reply:
    operation = pins.RotatePin(parts.ids.token(), _is_manager(request), request.given.clinic)
    return await request.do(operation, _assigned)


async def renew(parts: Parts, request: Request[AnyInput]) -> Reply:
    return await request.do(pins.RenewPins(parts.ids.token(), is_manager=True), _all_of)


async def _made(parts: Parts, request: Request[AnyInput], queue_id: QueueId) -> str | None:
    """Today's first, for whoever may see it."""
    operation = pins.GivePin(parts.ids.token(), _is_manager(request), queue_id)
    try:
        (made,) = await parts.engine.do(request.venue_id, operation, origin=request.origin())
    except NotAtThisDesk:
        return None
    return made.pin


def _is_manager(request: Request[AnyInput] | Request[ClinicInput]) -> bool:
    return request.caller.may("manager", request.venue_id)


def _assigned(given: list[pins.PinOf]) -> AssignedPin:
    return AssignedPin(success=True, clinic=given[0].queue_id, pin=given[0].pin)


def _all_of(given: list[pins.PinOf]) -> AllPins:
    return AllPins(success=True, pins=[ShownPin(pin.queue_id, pin.pin) for pin in given])


ROUTES = (
    Route(
        method="GET",
        path="/api/v1/pin/{clinic}/status",
        name="pin/status",
        summary="Whether a clinic has a PIN, and how long it is; for its staff, the PIN",
        tag=TAG,
        handler=status,
        query=AnyInput,
        answer=PinStatus,
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/pin/assign",
        name="pin/assign",
        summary="Give a clinic this PIN, or see to it that it has one",
        tag=TAG,
        handler=assign,
        body=AssignInput,
        answer=AssignedPin,
        who="manager",
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue, PinTaken, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/pin/rotate",
        name="pin/rotate",
        summary="Another PIN for a clinic: by managers, and by whoever sits there",
        tag=TAG,
        handler=rotate,
        body=ClinicInput,
        answer=AssignedPin,
        who="staff",
        venue="clinic",
        refusals=(UnknownVenue, UnknownQueue, NotAtThisDesk),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/pin/renew",
        name="pin/renew",
        summary="Another PIN for every clinic",
        tag=TAG,
        handler=renew,
        body=AnyInput,
        answer=AllPins,
        who="manager",
        venue="clinic",
        refusals=(UnknownVenue,),
        words=WORDS,
    ),
)
