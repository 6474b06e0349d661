"""Exit PINs: seen by managers and by whoever sits at a desk of the queue, changed by them."""

from typing import Annotated

import msgspec

from dawr.domain.digits import LONGEST_PIN
from dawr.domain.errors import InvalidValue, NotAtThisDesk, PinTaken, UnknownQueue, UnknownVenue
from dawr.operations import pins
from dawr.reliability.idempotency import Reply
from dawr.web.api.queues import Reason
from dawr.web.routes import Parts, Request, Route

TAG = "pins"


class NewPinInput(Reason, kw_only=True, forbid_unknown_fields=True):
    pin: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PIN, description="Else one is made.")] | None = (
        None
    )


class PinAnswer(msgspec.Struct, frozen=True):
    queue: str
    pin: str


class PinsAnswer(msgspec.Struct, frozen=True):
    pins: list[PinAnswer]


async def show(parts: Parts, request: Request[Reason]) -> Reply:
    """A write, because a PIN that is not there yet is made."""
    operation = pins.GivePin(parts.ids.token(), _is_manager(request), request.code)
    return await request.do(operation, lambda given: _pins(request, given).pins[0], reason=request.given.reason)


async def rotate(parts: Parts, request: Request[NewPinInput]) -> Reply:
    operation = pins.RotatePin(parts.ids.token(), _is_manager(request), request.code, request.given.pin)
    return await request.do(operation, lambda given: _pins(request, given).pins[0], reason=request.given.reason)


async def renew(parts: Parts, request: Request[Reason]) -> Reply:
    operation = pins.RenewPins(parts.ids.token(), is_manager=True)
    return await request.do(operation, lambda given: _pins(request, given), reason=request.given.reason)


def _is_manager(request: Request[Reason]) -> bool:
    return request.caller.may("manager", request.venue_id)


def _pins(request: Request[Reason], given: list[pins.PinOf]) -> PinsAnswer:
    return PinsAnswer([PinAnswer(f"{request.venue}:{pin.queue_id}", pin.pin) for pin in given])


ROUTES = (
    Route(
        method="POST",
        path="/v1/queues/{queue}/pin",
        name="show-pin",
        summary="Today's exit PIN, made if there is none yet",
        tag=TAG,
        handler=show,
        body=Reason,
        answer=PinAnswer,
        who="staff",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue, NotAtThisDesk),
    ),
    Route(
        method="POST",
        path="/v1/queues/{queue}/pin/rotate",
        name="rotate-pin",
        summary="Another exit PIN for a queue",
        tag=TAG,
        handler=rotate,
        body=NewPinInput,
        answer=PinAnswer,
        who="staff",
        venue="queue",
        refusals=(UnknownVenue, UnknownQueue, NotAtThisDesk, PinTaken, InvalidValue),
    ),
    Route(
        method="POST",
        path="/v1/venues/{venue}/pins/renew",
        name="renew-pins",
        summary="Another exit PIN for every queue",
        tag=TAG,
        handler=renew,
        body=Reason,
        answer=PinsAnswer,
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
)
