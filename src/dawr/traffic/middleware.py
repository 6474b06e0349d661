"""ASGI middleware: counts each request of any app once, when its answer ends. It delays none."""

from collections.abc import Callable
from time import perf_counter_ns

from dawr.reliability import correlation
from dawr.reliability.asgi import ASGIApp, Message, Receive, Scope, Send
from dawr.reliability.client_address import Clients, networks
from dawr.traffic.collector import Collector
from dawr.traffic.requests import Headers, RequestCollector

NO_ROUTE = "-"
LOOPBACK = "127.0.0.0/8,::1/128"
EVENT_STREAM = b"text/event-stream"
FAILED = 500
"""What a server answers for an app that failed before it said anything."""


def template_of(scope: Scope) -> str:
    """The template of the route that answered, as FastAPI and Starlette leave it behind; never the path itself.

    A path that led nowhere is anybody's invention: all of them are `-`. For another framework, give the middleware
    a function of your own.
    """
    route = scope.get("route")
    template = getattr(route, "path_format", None) or getattr(route, "path", None)
    if not isinstance(template, str):
        return NO_ROUTE
    if hasattr(route, "routes"):  # what is mounted there found nothing, or has no routes
        return template
    return _mounted_at(scope) + template


def _mounted_at(scope: Scope) -> str:
    """Where the app of this route is mounted, with the names of its parameters in the place of their values."""
    prefix: str = scope.get("root_path", "").removeprefix(scope.get("app_root_path", ""))
    if "app_root_path" not in scope:
        return ""
    names = {str(value): f"{{{name}}}" for name, value in (scope.get("path_params") or {}).items()}
    return "/".join(names.get(part, part) for part in prefix.split("/"))


class TrafficMiddleware:
    """It goes around the whole app, so that it sees what other middleware answers."""

    def __init__(
        self,
        app: ASGIApp,
        collector: Collector,
        *,
        trusted_proxies: str = LOOPBACK,
        headers: Headers | None = None,
        template_of: Callable[[Scope], str] = template_of,
    ) -> None:
        self._app = app
        self._requests = RequestCollector(collector, Clients(networks(trusted_proxies)), headers)
        self._template_of = template_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self._requests, self._template_of, scope)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.starts(message)
            elif _is_last(message):
                answer.ends()
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            answer.ends()
            self._requests.count_answer()


class _Answer:
    """One answer while it is under way: counted once, however it ends."""

    def __init__(self, requests: RequestCollector, template: Callable[[Scope], str], scope: Scope) -> None:
        self._status = FAILED
        self._is_stream = False
        self._requests = requests
        self._template = template
        self._scope = scope
        self._began = perf_counter_ns()
        self._is_counted = False

    def starts(self, message: Message) -> None:
        self._status = message["status"]
        kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
        self._is_stream = any(kind.lower().startswith(EVENT_STREAM) for kind in kinds)

    def ends(self) -> None:
        if not self._is_counted:
            self._is_counted = True
            headers = dict(self._scope["headers"])
            took = perf_counter_ns() - self._began
            correlation_id = correlation.current() or correlation.accepted(list(headers.items())) or ""
            template = self._template(self._scope)
            self._requests.collect(
                self._scope, headers, template, self._status, took, correlation_id, is_stream=self._is_stream
            )


def _is_last(message: Message) -> bool:
    if message["type"] == "http.response.body":
        return not message.get("more_body", False)
    return bool(message["type"] == "http.response.pathsend")
