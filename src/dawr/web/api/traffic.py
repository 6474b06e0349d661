"""The traffic statistics: what was asked for, how long it took, how much of it failed.

It is the traffic of all venues together, so it is for those who manage every venue of the installation.
"""

from typing import Annotated, Any

import msgspec

from dawr.domain import Role
from dawr.traffic.database import DatabaseAway
from dawr.traffic.reading.alerts import Alert
from dawr.traffic.reading.cursor import Sort
from dawr.traffic.reading.path import PathDetails
from dawr.traffic.reading.paths import PathsPage
from dawr.traffic.reading.timeseries import Metric, Step, Timeseries
from dawr.traffic.view import Freshness, OverviewAnswer, TrafficHealth, TrafficProcessAway, TrafficView
from dawr.web.api.queues import NoInput
from dawr.web.pagination import Limit
from dawr.web.problems import BadRequest
from dawr.web.response import Response, answered
from dawr.web.routes import Handler, Parts, Request, Route

TAG = "traffic"
NEEDED: Role = "manager"

Instant = Annotated[int, msgspec.Meta(ge=0, le=2**53, description="Milliseconds since 1970 UTC.")]
Path = Annotated[str, msgspec.Meta(min_length=1, max_length=1000, description="As in the list of paths.")]


class RangeQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The latest 24 hours unless something else is asked for; at most 90 days."""

    start: Instant | None = msgspec.field(default=None, name="from")
    end: Instant | None = msgspec.field(default=None, name="to")


class PathsQuery(RangeQuery, kw_only=True):
    search: Annotated[str, msgspec.Meta(max_length=200, description="A part of the path, in any case.")] | None = None
    sort: Sort | None = None
    limit: Limit = 50
    cursor: Annotated[str, msgspec.Meta(max_length=8000, description="What the page before gave as `next`.")] | None = (
        None
    )


class PathQuery(RangeQuery, kw_only=True):
    path: Path
    method: Annotated[str, msgspec.Meta(pattern="^[A-Z]{1,20}$", description="Only requests by it.")] | None = None


class TimeseriesQuery(RangeQuery, kw_only=True):
    metric: Metric = "requests"
    step: Step = "hour"
    path: Path | None = None


class AlertsAnswer(msgspec.Struct, frozen=True):
    items: list[Alert]


async def look(parts: Parts, request: Request[RangeQuery]) -> Response:
    view = await _view(parts, request)
    return answered(await view.overview(request.given.start, request.given.end))


async def refresh(parts: Parts, request: Request[NoInput]) -> Response:
    view = await _view(parts, request)
    return answered(await view.refresh())


async def list_paths(parts: Parts, request: Request[PathsQuery]) -> Response:
    view, given = await _view(parts, request), request.given
    page = await view.paths(
        given.start, given.end, sort=given.sort, search=given.search, limit=given.limit, behind=given.cursor
    )
    return answered(page)


async def look_at_path(parts: Parts, request: Request[PathQuery]) -> Response:
    view, given = await _view(parts, request), request.given
    return answered(await view.path(given.path, given.method, given.start, given.end))


async def look_at_timeseries(parts: Parts, request: Request[TimeseriesQuery]) -> Response:
    view, given = await _view(parts, request), request.given
    return answered(await view.timeseries(given.metric, given.step, given.path, start=given.start, end=given.end))


async def list_alerts(parts: Parts, request: Request[NoInput]) -> Response:
    view = await _view(parts, request)
    return answered(AlertsAnswer(await view.alerts()))


async def look_at_health(parts: Parts, request: Request[NoInput]) -> Response:
    view = await _view(parts, request)
    return answered(await view.health())


async def _view(parts: Parts, request: Request[object]) -> TrafficView:
    venue_ids = (await parts.venue_ids()).values()
    if not venue_ids or not all(request.caller.may(NEEDED, venue_id) for venue_id in venue_ids):
        raise BadRequest(403, "role-too-low", why="everywhere")
    if parts.traffic is None:
        raise BadRequest(404, "traffic-off")
    return parts.traffic


def _reading(path: str, name: str, summary: str, handler: Handler, *, query: Any = None, answer: Any) -> Route:  # noqa: ANN401 - types
    return Route(
        method="GET",
        path=f"/v1/traffic/{path}",
        name=name,
        summary=summary,
        tag=TAG,
        handler=handler,
        query=query,
        answer=answer,
        who="signed-in",
        refusals=(DatabaseAway,),
        other_codes=((404, "traffic-off"),),
    )


ROUTES = (
    _reading(
        "overview",
        "look-at-traffic",
        "What the latest 24 hours came to, or any other range",
        look,
        query=RangeQuery,
        answer=OverviewAnswer,
    ),
    Route(
        method="POST",
        path="/v1/traffic/snapshot/refresh",
        name="refresh-traffic-snapshot",
        summary="Compute the overview anew, unless that was done within the minute",
        tag=TAG,
        handler=refresh,
        body=NoInput,
        answer=Freshness,
        who="signed-in",
        refusals=(DatabaseAway, TrafficProcessAway),
        other_codes=((404, "traffic-off"),),
    ),
    _reading(
        "paths", "list-traffic-paths", "Which paths were asked for", list_paths, query=PathsQuery, answer=PathsPage
    ),
    _reading(
        "path",
        "look-at-traffic-path",
        "One path: hours, statuses, agents and its latest requests",
        look_at_path,
        query=PathQuery,
        answer=PathDetails,
    ),
    _reading(
        "timeseries",
        "look-at-traffic-timeseries",
        "One figure, step by step",
        look_at_timeseries,
        query=TimeseriesQuery,
        answer=Timeseries,
    ),
    _reading("alerts", "list-traffic-alerts", "What is or was out of its bounds", list_alerts, answer=AlertsAnswer),
    _reading("health", "look-at-traffic-health", "How the statistics fare", look_at_health, answer=TrafficHealth),
)
