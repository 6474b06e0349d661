"""Is it alive, is it ready, how is it."""

from typing import ClassVar, Literal

import msgspec

from dawr import __version__
from dawr.ports.faults import Busy, StoreFault
from dawr.reliability.works import WorkState
from dawr.traffic.status import SPOOL_UNWRITABLE
from dawr.web.api.queues import NoInput
from dawr.web.problems import BadRequest, problem_of
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

TAG = "health"


class Live(msgspec.Struct, frozen=True):
    status: Literal["live"] = "live"


class Ready(msgspec.Struct, frozen=True):
    status: Literal["ready", "degraded"]


class Health(msgspec.Struct, frozen=True):
    status: Literal["healthy", "degraded"]
    version: str
    shared: Literal["there", "away", "none"]
    """The Redis or Valkey: without it limits are counted by each process, and changes of others come later."""
    processes: int
    """That serve this installation."""
    streams: int
    """That this process serves."""
    stale: bool
    """Whether one of them shows what may be out of date."""
    works: dict[str, WorkState]
    """What goes on by itself in this process; standing by, where another process does it."""
    traffic: Literal["well", "warning", "critical", "unknown", "off"]
    """The worst alert of the traffic statistics; unknown while they cannot be read."""
    alerts: list[str]
    """Alerts that are open."""
    time: list[str]
    """What is wrong with the clock or with a venue's day, each in a sentence that says what to do."""


class ClinicHealth(msgspec.Struct, frozen=True):
    success: bool
    status: Literal["HEALTHY", "DEGRADED"]
    version: str


class ClinicBackend(msgspec.Struct, frozen=True):
    success: bool
    status: Literal["healthy", "degraded"]
    backend: Literal["up", "down"]
    version: str


class Unwell(BadRequest):
    """Nothing can be stored now, and a moment later perhaps it can."""

    retryable: ClassVar[bool] = True


async def live(_: Parts, __: Request[NoInput]) -> Response:
    """The process answers."""
    return answered(Live())


async def ready(parts: Parts, _: Request[NoInput]) -> Response:
    """A command could be stored now; otherwise the problem that is in the way."""
    await parts.engine.ready()
    return answered(Ready("degraded" if _is_degraded(parts) else "ready"))


async def health(parts: Parts, _: Request[NoInput]) -> Response:
    """The whole picture, also when nothing can be stored."""
    picture = Health(
        "degraded" if _is_degraded(parts) else "healthy",
        version=__version__,
        shared="none" if parts.shared is None else "away" if parts.shared.is_away else "there",
        processes=parts.processes(),
        streams=parts.hub.streams,
        stale=parts.hub.is_stale,
        works={work.name: work.state for work in parts.works.states()},
        traffic=_traffic(parts),
        alerts=_alerts(parts),
        time=_time(parts),
    )
    try:
        await parts.engine.ready()
    except (StoreFault, Busy) as fault:
        problem = problem_of(fault)
        facts = {name: fact for name, fact in msgspec.structs.asdict(picture).items() if name != "status"}
        unwell = Unwell if problem.retryable else BadRequest
        raise unwell(problem.status, problem.code, **facts) from fault
    return answered(picture)


async def clinic_health(parts: Parts, _: Request[NoInput]) -> Response:
    """The same in the clinic's words."""
    await parts.engine.ready()
    return answered(
        ClinicHealth(success=True, status="DEGRADED" if _is_degraded(parts) else "HEALTHY", version=__version__)
    )


async def clinic_backend(parts: Parts, _: Request[NoInput]) -> Response:
    """The same for older clients: also the answer of a server that is not ready is one that they read."""
    try:
        await parts.engine.ready()
    except (StoreFault, Busy) as fault:
        problem = problem_of(fault)
        down = ClinicBackend(success=False, status="degraded", backend="down", version=__version__)
        return answered(down, status=problem.status, headers=problem.headers_of_response())
    status: Literal["healthy", "degraded"] = "degraded" if _is_degraded(parts) else "healthy"
    return answered(ClinicBackend(success=True, status=status, backend="up", version=__version__))


def _traffic(parts: Parts) -> Literal["well", "warning", "critical", "unknown", "off"]:
    if parts.traffic is None:
        return "off"
    if parts.traffic.count_unspooled():
        return "critical"
    if parts.traffic.seen is None:
        return "unknown"
    levels = {alert.level for alert in parts.traffic.seen.alerts}
    return "critical" if "critical" in levels else "warning" if levels else "well"


def _alerts(parts: Parts) -> list[str]:
    if parts.traffic is None:
        return []
    seen = parts.traffic.seen
    names = [] if seen is None else [alert.name for alert in seen.alerts]
    if parts.traffic.count_unspooled() and SPOOL_UNWRITABLE not in names:
        names.append(SPOOL_UNWRITABLE)
    return names


def _time(parts: Parts) -> list[str]:
    doubts = [] if parts.time.doubt is None else [parts.time.doubt.sentence]
    return doubts + [ahead.sentence for ahead in parts.time.days_ahead]


def _is_degraded(parts: Parts) -> bool:
    """Everything works, but not as well as it should."""
    is_away = parts.shared is not None and parts.shared.is_away
    return is_away or parts.hub.is_stale or parts.works.failing > 0 or bool(_time(parts))


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
        path="/health",
        name="health",
        summary="How it is: what is away, and what that does",
        tag=TAG,
        handler=health,
        answer=Health,
        limit=None,
    ),
    Route(
        method="GET",
        path="/api/v1/health/status",
        name="clinic-health",
        summary="How it is, in the clinic's words",
        tag="clinic",
        handler=clinic_health,
        answer=ClinicHealth,
        limit=None,
    ),
    Route(
        method="GET",
        path="/api/v1/status",
        name="clinic-backend",
        summary="Whether the server is up, for older clients of the clinic",
        tag="clinic",
        handler=clinic_backend,
        answer=ClinicBackend,
        also_status=503,
        limit=None,
    ),
)
