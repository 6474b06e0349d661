"""Is it alive, is it ready, how is it."""

import msgspec
from starlette.types import Receive, Scope, Send

from dawr import __version__
from dawr.engine import Engine
from dawr.web.http import send_json


class Live:
    """GET /health/live: the process answers."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        await send_json(send, 200, b'{"status":"live"}')


class Ready:
    """GET /health/ready: a command could be stored now; otherwise the problem that is in the way."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        await self._engine.ready()
        await send_json(send, 200, b'{"status":"ready"}')


class HealthStatus:
    """GET /api/v1/health/status: the same in the clinic's words."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        await self._engine.ready()
        await send_json(send, 200, msgspec.json.encode({"success": True, "status": "HEALTHY", "version": __version__}))
