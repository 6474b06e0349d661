"""Is it alive, is it ready, how is it."""

from typing import Literal

import msgspec

from dawr import __version__
from dawr.web.api.queues import NoInput
from dawr.web.call import Call, Response, answered
from dawr.web.edge import Edge
from dawr.web.routes import Route

TAG = "health"


class Live(msgspec.Struct, frozen=True):
    status: Literal["live"] = "live"


class Ready(msgspec.Struct, frozen=True):
    status: Literal["ready"] = "ready"


class Health(msgspec.Struct, frozen=True):
    success: bool
    status: Literal["HEALTHY"]
    version: str


async def live(_: Edge, __: Call[NoInput]) -> Response:
    """The process answers."""
    return answered(Live())


async def ready(edge: Edge, _: Call[NoInput]) -> Response:
    """A command could be stored now; otherwise the problem that is in the way."""
    await edge.engine.ready()
    return answered(Ready())


async def health(edge: Edge, _: Call[NoInput]) -> Response:
    """The same in the clinic's words."""
    await edge.engine.ready()
    return answered(Health(success=True, status="HEALTHY", version=__version__))


ROUTES = (
    Route(
        method="GET",
        path="/health/live",
        name="live",
        summary="The process answers",
        tag=TAG,
        handler=live,
        answer=Live,
        limit=None,
    ),
    Route(
        method="GET",
        path="/health/ready",
        name="ready",
        summary="A command could be stored now",
        tag=TAG,
        handler=ready,
        answer=Ready,
        limit=None,
    ),
    Route(
        method="GET",
        path="/api/v1/health/status",
        name="clinic-health",
        summary="The same, in the clinic's words",
        tag="clinic",
        handler=health,
        answer=Health,
        limit=None,
    ),
)
