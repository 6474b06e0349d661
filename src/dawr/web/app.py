"""The routes, and the one place where an error becomes an answer."""

import asyncio

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from dawr.engine import Engine
from dawr.ports import Ids, OutcomeUnknown
from dawr.settings import Settings
from dawr.web.doors import clinic
from dawr.web.health import HealthStatus, Live, Ready
from dawr.web.http import header, send_problem
from dawr.web.problems import BadRequest, problem_of

log = structlog.get_logger("dawr.web")

MS_PER_HOUR = 60 * 60 * 1000


class App:
    """Exact paths to plain ASGI endpoints."""

    def __init__(self, engine: Engine, ids: Ids, settings: Settings) -> None:
        venue = settings.clinic_venue
        self._routes: dict[str, tuple[str, ASGIApp]] = {
            "/api/v1/queue/enter": (
                "POST",
                clinic.Enter(engine, ids, venue=venue, keep_ms=settings.answers_kept_hours * MS_PER_HOUR),
            ),
            "/api/v1/queue/status": ("GET", clinic.Status(engine, venue=venue)),
            "/api/v1/health/status": ("GET", HealthStatus(engine)),
            "/health/live": ("GET", Live()),
            "/health/ready": ("GET", Ready(engine)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        keyed = header(scope, b"idempotency-key") is not None
        try:
            await self._endpoint(scope)(scope, receive, send)
        except asyncio.CancelledError:
            # The server stops and waits no longer: what it accepted is still finished, but nobody is left to say so.
            await send_problem(send, problem_of(OutcomeUnknown(), keyed=keyed))
        except Exception as error:
            problem = problem_of(error, keyed=keyed)
            if problem.code == "internal-error":
                log.exception("api.error", path=scope["path"])
            await send_problem(send, problem)

    def _endpoint(self, scope: Scope) -> ASGIApp:
        route = self._routes.get(scope["path"])
        if route is None:
            raise BadRequest(404, "no-such-path", "There is nothing at this address.")
        method, endpoint = route
        allowed = ("GET", "HEAD") if method == "GET" else (method,)
        if scope["method"] not in allowed:
            allow = (b"allow", ", ".join(allowed).encode())
            raise BadRequest(405, "method-not-allowed", f"This address takes {method}.", allow)
        return endpoint
