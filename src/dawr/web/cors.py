"""Which other sites' pages may call us: those on the list, with a bearer token and never with a cookie."""

from dawr.settings import Settings
from dawr.web.raw_request import RawRequest
from dawr.web.response import Header, Response
from dawr.web.router import Router

ALLOWED_HEADERS = b"authorization, content-type, idempotency-key, last-event-id, x-correlation-id"
EXPOSED_HEADERS = b"idempotency-replayed, x-correlation-id, ratelimit, ratelimit-policy, retry-after"
MAX_AGE = b"600"
VARY: Header = (b"vary", b"origin")


class Cors:
    def __init__(self, router: Router, settings: Settings) -> None:
        self._router = router
        self._origins = frozenset(part.strip().encode() for part in settings.cors_origins.split(",") if part.strip())

    def preflight(self, raw: RawRequest) -> Response | None:
        """The answer to a browser that asks before it sends; None: this is no such question."""
        if raw.scope["method"] != "OPTIONS" or b"access-control-request-method" not in raw.headers:
            return None
        methods, _ = self._router.methods(raw.scope["path"])
        if raw.headers.get(b"origin") not in self._origins:
            return Response(200, b"")
        return Response(
            200,
            b"",
            (
                (b"access-control-allow-methods", ", ".join(sorted(methods)).encode()),
                (b"access-control-allow-headers", ALLOWED_HEADERS),
                (b"access-control-max-age", MAX_AGE),
            ),
        )

    def headers(self, origin: bytes) -> tuple[Header, ...]:
        if origin not in self._origins:
            return (VARY,)
        return ((b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED_HEADERS), VARY)
