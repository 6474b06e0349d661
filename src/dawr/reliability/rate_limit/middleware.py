"""A limit in front of any ASGI application: Starlette's, FastAPI's, or a plain one."""

import json
from collections.abc import Callable

from dawr.reliability.asgi import ASGIApp, Message, Receive, Scope, Send
from dawr.reliability.rate_limit.policy import Limiter, Policy, Verdict, headers

QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"


class RateLimited:
    """`whose` names whom a request is charged to; None is nobody, and is not limited."""

    def __init__(self, app: ASGIApp, *, limiter: Limiter, policy: Policy, whose: Callable[[Scope], str | None]) -> None:
        self._app = app
        self._limiter = limiter
        self._policy = policy
        self._whose = whose

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = self._whose(scope) if scope["type"] == "http" else None
        if key is None:
            await self._app(scope, receive, send)
            return
        verdict = await self._limiter.charge(self._policy, key)
        told = headers(verdict)

        async def send_told(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *told]}
            await send(message)

        if verdict.allowed:
            await self._app(scope, receive, send_told)
        else:
            await _refuse(send_told, verdict)


async def _refuse(send: Send, verdict: Verdict) -> None:
    """With a 429, as problem details."""
    problem = {
        "type": QUOTA_EXCEEDED,
        "title": "Too many requests.",
        "status": 429,
        "violated-policies": [verdict.policy.name],
    }
    body = json.dumps(problem).encode()
    kind = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 429, "headers": kind})
    await send({"type": "http.response.body", "body": body})
