"""A request in, an answer out: correlation, route, problem, headers, access line. In one place, once each."""

import asyncio
from collections.abc import Callable, Iterable

import msgspec
import structlog

from dawr.domain import Venue
from dawr.domain.errors import Refused, UnknownTicket, UnknownVenue, UnknownVisit
from dawr.observe.access_log import NO_ROUTE, AccessLog
from dawr.observe.instruments import Instruments
from dawr.observe.tracing import RequestSpan
from dawr.ports.faults import Busy, OutcomeUnknown, Stopping, StoreFault
from dawr.reliability import correlation
from dawr.reliability.asgi import Receive, Scope, Send, known_method
from dawr.traffic.requests import RequestCollector
from dawr.web.cors import Cors
from dawr.web.endpoint import REPLAYED, Endpoint
from dawr.web.event_stream import Stream
from dawr.web.forms import is_for_a_person, is_form, sign_in_first
from dawr.web.pages.rendering import BY_LANGUAGE, language_of, problem_page
from dawr.web.problems import NO_NAMES, NO_STATUSES, OUR_FAULT, BadRequest, Problem, problem_of
from dawr.web.raw_request import RawRequest
from dawr.web.response import (
    FRAMED_HTML,
    HSTS,
    HSTS_WITH_SUBDOMAINS,
    HTML,
    JSON,
    PROBLEM_JSON,
    Header,
    Response,
    head_of,
    headers_of_kind,
    headers_of_one,
    packed,
)
from dawr.web.router import NOTHING, Router
from dawr.web.routes import Parts, Route
from dawr.web.server.answering import count_if_unanswered, cycle_of, respond
from dawr.web.wording import LATIN, names_at

log = structlog.get_logger("dawr.web")

NOTHING_THERE = UnknownVenue | UnknownVisit | UnknownTicket
NO_LOOK = frozenset({401, 429})
"""Whoever is sent to sign in, and whoever asks too often, costs none."""
OUTCOME_OF_KEY = {"idempotency-key-reused": "conflict", "idempotency-in-progress": "in_progress"}


class App:
    def __init__(
        self,
        routes: Iterable[Route],
        parts: Parts,
        access_log: AccessLog,
        instruments: Instruments,
        *,
        new_id: Callable[[], str],
        others: Iterable[Endpoint] = (),
        collecting: RequestCollector | None = None,
    ) -> None:
        self._parts = parts
        self._router = Router([*(Endpoint(route, parts) for route in routes), *others])
        self._instruments = instruments
        self._tracing = instruments.tracing
        self._cors = Cors(self._router, parts.settings)
        self._hsts = HSTS_WITH_SUBDOMAINS if parts.settings.hsts_subdomains == "on" else HSTS
        self._access_log = access_log
        self._new_id = new_id
        self._collecting = collecting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        began = self._access_log.begin()
        correlation_id = correlation.begin(scope["headers"], self._new_id)
        span = None if self._tracing is None else self._tracing.begin()
        raw = RawRequest(scope, receive, dict(scope["headers"]), NOTHING, correlation_id)
        endpoint: Endpoint | None = None
        response: Response | Stream
        try:
            preflight = self._cors.preflight(raw)
            if preflight is None:
                endpoint, params = self._router.find(scope["path"], scope["method"])
                if params:
                    raw = RawRequest(scope, receive, raw.headers, params, correlation_id)
                response = await endpoint.answer(raw)
            else:
                response = preflight
        except asyncio.CancelledError:
            response = self._unfinished(endpoint, raw)
        except Exception as error:  # noqa: BLE001 - the one place where an error becomes an answer
            response = self._problem(error, endpoint, raw, await _told_at(error, endpoint, raw))
        route = NO_ROUTE if endpoint is None else endpoint.route.path
        if self._collecting is not None:
            self._collect(self._collecting, response, raw, route, began)
        if isinstance(response, Response):
            # Before it leaves: whoever has an answer finds it counted, whichever process they ask.
            self._record(scope["method"], route, response, began, correlation_id, span)
            await self._send(response, raw, send)
            return
        try:
            await self._stream(response, raw, send)
        finally:
            self._record(scope["method"], route, response, began, correlation_id, span)

    def _record(  # noqa: PLR0917 - called for every request
        self,
        method: str,
        route: str,
        response: Response | Stream,
        began: int,
        correlation_id: str,
        span: RequestSpan | None,
    ) -> None:
        if response.headers and REPLAYED in response.headers:
            self._replayed(route, correlation_id)
        self._access_log.record(method, route, response.status, began, correlation_id)
        if span is not None:
            failed = response.status >= OUR_FAULT and not (isinstance(response, Response) and response.by_rule)
            span.answered(known_method(method), route, response.status, correlation_id, failed=failed)

    def _collect(
        self,
        collecting: RequestCollector,
        response: Response | Stream,
        raw: RawRequest,
        route: str,
        began: int,
    ) -> None:
        """Count it in the statistics before its last bytes leave; a stream when it ends."""
        if isinstance(response, Stream):
            response.ending = lambda: collecting.collect(
                raw.scope,
                raw.headers,
                route,
                response.status,
                self._access_log.begin() - began,
                raw.correlation_id,
                is_stream=True,
            )
            return
        took, by_rule = self._access_log.begin() - began, response.by_rule
        soon = cycle_of(raw.scope) is not None
        collecting.collect(raw.scope, raw.headers, route, response.status, took, raw.correlation_id, by_rule, soon)

    def _unfinished(self, endpoint: Endpoint | None, raw: RawRequest) -> Response:
        """The server stops and waits no longer: what it accepted is still finished, but nobody is left to say so."""
        if endpoint is None or not endpoint.route.is_write:
            return self._problem(Stopping(), endpoint, raw)
        unknown = OutcomeUnknown()
        unknown.has_key = b"idempotency-key" in raw.headers or is_form(raw)  # a form of ours has its key in it
        return self._problem(unknown, endpoint, raw)

    def _problem(
        self, error: Exception, endpoint: Endpoint | None, raw: RawRequest, venue: Venue | None = None
    ) -> Response:
        path, words, statuses = NO_ROUTE, NOTHING, NO_STATUSES
        if endpoint is not None:
            path, words, statuses = endpoint.route.path, endpoint.route.words, endpoint.route.statuses
        language = language_of(raw, venue)
        names, digits = NO_NAMES, LATIN
        if venue is not None:
            names, digits = names_at(venue, language), venue.digits
        problem = problem_of(error, language, words=words, statuses=statuses, names=names, digits=digits)
        self._tell(problem, path, raw.correlation_id, error)
        by_rule = isinstance(error, Refused)
        if _wants_a_page(endpoint, raw):
            if problem.code == "not-signed-in":
                return sign_in_first(raw)
            return problem_page(self._parts, raw, problem, by_rule=by_rule, venue=venue)
        headers = (*problem.headers_of_response(), BY_LANGUAGE)
        body = problem.body(raw.correlation_id)
        return Response(problem.status, body, headers, PROBLEM_JSON, by_rule=by_rule)

    def _tell(self, problem: Problem, route: str, correlation_id: str, error: Exception) -> None:
        """Whoever keeps the service running. A fault that nobody expected comes with where it was.

        What the rules refuse is no fault, also where a contract has a status of 5xx for it.
        """
        if isinstance(error, Refused) or problem.status < OUR_FAULT:
            self._access_log.count_refusal(problem.code)
        else:
            self._access_log.count_error(problem.code)
        if problem.code in OUTCOME_OF_KEY:
            self._instruments.metrics.idempotency(OUTCOME_OF_KEY[problem.code])
        if problem.code == "internal-error":
            log.error("api.error", route=route, status=problem.status, code=problem.code, exc_info=error)
        elif problem.status >= OUR_FAULT and not isinstance(error, Refused):
            self._instruments.failed(error)
            self._access_log.failed(route, problem.status, problem.code, correlation_id)

    def _replayed(self, route: str, correlation_id: str) -> None:
        self._instruments.metrics.idempotency("replay")
        self._access_log.replayed(route, correlation_id)

    async def _stream(self, stream: Stream, raw: RawRequest, send: Send) -> None:
        headers = [*headers_of_kind(stream.kind), *self._headers(stream, raw, None)]
        try:
            await stream.send_to(raw.scope, raw.receive, send, headers)
        finally:
            count_if_unanswered(raw.scope)
            # As with an answer: the scope and its cycle hold each other, and would wait for the garbage collector.
            raw.scope.pop("extensions", None)

    async def _send(self, response: Response, raw: RawRequest, send: Send) -> None:
        if response.kind is not JSON:
            response = self._dressed(response, raw)
        own = self._headers(response, raw, response.body)
        cycle = cycle_of(raw.scope)
        if cycle is not None:
            await respond(cycle, head_of(response.status, response.kind, own), response.body)
            return
        headers = [*headers_of_kind(response.kind), *own]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    def _dressed(self, response: Response, raw: RawRequest) -> Response:
        """As small as the browser takes it; the demo's pages may be framed by one of them."""
        if b"gzip" in raw.headers.get(b"accept-encoding", b""):
            response = packed(response)
        if response.kind == HTML and self._parts.is_demo:
            response = msgspec.structs.replace(response, kind=FRAMED_HTML)
        return response

    def _headers(self, response: Response | Stream, raw: RawRequest, body: bytes | None) -> list[Header]:
        """What this answer says to this caller, besides what every answer of its kind does."""
        headers = [*headers_of_one(raw.correlation_id, body), *response.headers]
        if b"origin" in raw.headers:
            headers += self._cors.headers(raw.headers[b"origin"])
        if self._parts.clients.is_secure(raw.scope):
            headers.append(self._hsts)
        return headers


async def _told_at(error: Exception, endpoint: Endpoint | None, raw: RawRequest) -> Venue | None:
    """Where somebody on a page was refused: there queues and desks have names, and the place has a language.

    Whoever was told that there is nothing learns nothing of it by that.
    """
    if endpoint is None or not (is_form(raw) or _wants_a_page(endpoint, raw)):
        return None
    if isinstance(error, NOTHING_THERE) or not isinstance(error, Refused | BadRequest):
        return None
    if isinstance(error, BadRequest) and error.status in NO_LOOK:
        return None
    try:
        return await endpoint.venue_of(raw)
    except (Refused, BadRequest, StoreFault, Busy):
        return None


def _wants_a_page(endpoint: Endpoint | None, raw: RawRequest) -> bool:
    """A browser that asked for a page, that sent a form, or that asked for nothing that is there."""
    is_page = endpoint is None or endpoint.route.kind == "text/html" or is_form(raw)
    return is_page and is_for_a_person(raw)
