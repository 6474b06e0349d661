"""What our `enter` is measured against: a bare Starlette endpoint that validates, and answers without storing anything.

Served by plain uvicorn, without an access log, headers of ours, limits, or correlation.
"""

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dawr.web.doors.clinic_shapes import Entered, EnterInput

_decoder = msgspec.json.Decoder(EnterInput)
_encode = msgspec.json.Encoder().encode

LINK = "/t/90hpe4-0P6W88RNLOznoXM8Y5B6ceRlMtTbypzW.CLDleI5bnz7J2tIaBQudMA"


async def enter(request: Request) -> Response:
    given = _decoder.decode(await request.body())
    entered = Entered(
        success=True,
        number=42,
        status="WAITING",
        user=given.user,
        clinic=given.clinic,
        ahead=41,
        position=42,
        estimated_wait_minutes=30,
        display_number="A042",
        your_number=42,
        current=None,
        ticket=LINK,
    )
    return Response(_encode(entered), media_type="application/json")


app = Starlette(routes=[Route("/api/v1/queue/enter", enter, methods=["POST"])])
