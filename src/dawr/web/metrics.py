"""`/metrics`: on this address for whoever has its token, on a port of its own for whoever reaches it."""

from hmac import compare_digest
from socket import socket

from dawr.observe.instruments import Instruments
from dawr.observe.metrics.text import CONTENT_TYPE
from dawr.reliability.asgi import ASGIApp, Receive, Scope, Send
from dawr.web.auth import CHALLENGE
from dawr.web.endpoint import Endpoint
from dawr.web.problems import BadRequest
from dawr.web.raw_request import ANYBODY, RawRequest
from dawr.web.response import Header, Response
from dawr.web.routes import Parts, Request, Route

TEXT: Header = (b"content-type", CONTENT_TYPE)
ANY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared with, not bound to


class MetricsEndpoint(Endpoint):
    """No account and no API token opens it: what it shows is of all venues."""

    def __init__(self, parts: Parts, instruments: Instruments, *, token: str | None) -> None:
        """The route is not in the table: it is no part of the API, and has a token of its own."""
        route = Route(
            method="GET",
            path="/metrics",
            name="metrics",
            summary="Numbers for Prometheus",
            tag="health",
            handler=self._tell,
            limit=None,
        )
        super().__init__(route, parts)
        self._instruments = instruments
        self._bearer = None if token is None else f"Bearer {token}".encode()

    async def answer(self, raw: RawRequest) -> Response:
        if self._bearer is not None:
            await self._must_bear_token(raw, self._bearer)
        return await self._tell(self._parts, await self._parsed(raw, ANYBODY))

    async def _tell(self, _: Parts, __: Request[None]) -> Response:
        return Response(200, await self._instruments.scrape(), (), TEXT)

    async def _must_bear_token(self, raw: RawRequest, bearer: bytes) -> None:
        """A wrong one is charged to the address, like all credentials that are no good."""
        if compare_digest(raw.headers.get(b"authorization", b""), bearer):
            return
        await self._parts.limits.charge_stranger(raw)
        raise BadRequest(401, "credentials-invalid", CHALLENGE, why="metrics")


class ByPort:
    """What comes in at the other listener goes to the other app."""

    def __init__(self, app: ASGIApp, listener: socket, other: ASGIApp) -> None:
        self._app = app
        self._other = other
        self._host, self._port = listener.getsockname()[:2]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host, port = scope["server"]
        is_other = port == self._port and (host == self._host or self._host in ANY_ADDRESS)
        await (self._other if is_other else self._app)(scope, receive, send)
