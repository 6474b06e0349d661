"""An address that only the demo has: the one that the traffic seed's own commands ask for."""

from typing import Literal

import msgspec

from dawr.web.api.queues import NoInput
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route


class Tested(msgspec.Struct, frozen=True):
    success: Literal[True] = True


async def test(_: Parts, __: Request[NoInput]) -> Response:
    return answered(Tested())


ROUTES = (
    Route(
        method="GET",
        path="/api/test",
        name="test",
        summary="Something to ask for, to see it counted",
        tag="health",
        handler=test,
        answer=Tested,
    ),
)
