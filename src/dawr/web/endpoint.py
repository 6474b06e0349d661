"""From a route to an answer: who asks, how often, where, with what; then its handler."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any

import msgspec

from dawr.domain import Venue, VenueId
from dawr.domain.errors import Refused, TooOften, UnknownDesk, UnknownQueue, UnknownTicket, UnknownVenue, UnknownVisit
from dawr.operations.snapshots import LookAtAnswer, LookAtVenue
from dawr.ports.faults import Busy, OutcomeUnknown, StoreFault
from dawr.reliability.fingerprint import fingerprint
from dawr.reliability.idempotency import AnswerKey, Claim, KeyConflict, Reply
from dawr.reliability.rate_limit import Verdict, headers
from dawr.web.auth import must_be_a_person, must_be_able_to_join, must_be_allowed, must_be_known
from dawr.web.event_stream import Stream
from dawr.web.forms import Form, is_for_a_person, is_form, read_form, see_other
from dawr.web.limits import TooMany
from dawr.web.pages.rendering import refusal_page
from dawr.web.problems import BadRequest
from dawr.web.raw_request import (
    ANYBODY,
    Caller,
    RawRequest,
    checked_key,
    idempotency_key,
    read_json,
    read_page_query,
    read_query,
)
from dawr.web.response import JSON, PROBLEM_JSON, Header, Response
from dawr.web.routes import LimitClass, Parts, Request, Route

REPLAYED: Header = (b"idempotency-replayed", b"true")
LONGEST_PARAMETER = 200
REFUSALS_FROM = 400
NAMED_BY_ID = frozenset({"ticket", "visit"})
REFUSALS = (Refused, BadRequest, KeyConflict, Busy, StoreFault)
MAX_BYTES_PAST_LIMIT = 1024
"""A longer body is not read past a limit, whatever link may be in it."""
AT_ONCE_SECONDS = 0.1
"""A body that takes longer came in pieces."""


class Endpoint:
    def __init__(self, route: Route, parts: Parts) -> None:
        self.route = route
        self._parts = parts
        self._decoder: msgspec.json.Decoder[Any] | None = None
        if route.body is not None and route.kind == "application/json":
            self._decoder = msgspec.json.Decoder(route.body)

    async def answer(self, raw: RawRequest) -> Response | Stream:
        route, parts = self.route, self._parts
        caller = ANYBODY
        if b"authorization" in raw.headers or b"cookie" in raw.headers:
            caller = await self._who_asks(raw, self._parts.auth.caller)
        verdict = None
        if route.limit is not None:
            charge = parts.limits.charge if route.link is None else self._charge_holder
            verdict = await (self._charge_known(caller, raw) if caller.is_known else charge(route.limit, raw))
        if verdict is not None and not verdict.allowed:
            return await self._answer_past_limit(raw, caller, verdict)
        return await self._answer_within_limit(raw, caller, verdict)

    async def _answer_within_limit(
        self, raw: RawRequest, caller: Caller, verdict: Verdict | None, request: Request[Any] | None = None
    ) -> Response | Stream:
        route, parts = self.route, self._parts
        try:
            if request is None:
                request = await self._parsed(raw, caller)
            outcome = await route.handler(parts, request)
        except REFUSALS as refusal:
            replay = await self._settle(refusal, raw, request, verdict)
            if replay is None:
                raise
            return replay
        if isinstance(outcome, Reply):
            return self._shown(request, await self._respond(outcome, verdict))
        if verdict is not None and isinstance(outcome, Response):
            if outcome.refusal is not None:
                await parts.limits.charge_refused(outcome.refusal, verdict, raw)
                return outcome
            return msgspec.structs.replace(outcome, headers=(*outcome.headers, *headers(verdict)))
        return outcome

    async def _settle(
        self, refusal: Exception, raw: RawRequest, request: Request[Any] | None, verdict: Verdict | None
    ) -> Response | None:
        """Charge for a refused request. Return the stored answer if a limit refused a retry."""
        limits = self._parts.limits
        if isinstance(refusal, TooOften):
            limits.hits.note(refusal.policy, refusal.whose)
        if isinstance(refusal, OutcomeUnknown) and request is not None:
            refusal.has_key = request.claim is not None
        if isinstance(refusal, TooMany) and request is not None and (stored := await self._stored(request)) is not None:
            if verdict is not None:
                await limits.give_back(verdict)
            return self._shown(request, stored)
        if verdict is not None:
            await limits.charge_refused(refusal, verdict, raw)
        return None

    async def venue_of(self, raw: RawRequest) -> Venue | None:
        """The one that the request names, if its route names one."""
        venue_id, *_ = await self._locate(raw.params)
        if not venue_id:
            return None
        venue, _ = await self._parts.engine.read(venue_id, LookAtVenue())
        return venue

    async def _charge_holder(self, limit: LimitClass, raw: RawRequest) -> Verdict | None:
        """Whoever holds a link that opens a visit is counted by it, anybody else by their address."""
        link = None if self.route.link is None else self.route.link(raw)
        if link is not None and await self._opens_visit(link, raw):
            return await self._parts.limits.charge_visit(link)
        return await self._parts.limits.charge(limit, raw)

    async def _opens_visit(self, link: str, raw: RawRequest) -> bool:
        links = self._parts.links
        return links.knows(link) or await self._parts.limits.guess(raw, partial(links.opens, link))

    async def _charge_known(self, caller: Caller, raw: RawRequest) -> Verdict | None:
        """By themselves where they have a role, or no venue is concerned; elsewhere they are anybody.

        A name that is not known here is looked up at their own cost.
        """
        route, engine, limits = self.route, self._parts.engine, self._parts.limits
        if not limits.are_on:
            return None
        if route.limit is None or (route.venue is None and route.watched is None):
            return await limits.charge_caller(caller)
        name = await self._venue_named(raw)
        own = None if engine.knows(name) else await limits.charge_caller(caller)
        if own is not None and not own.allowed:
            return own
        try:
            is_home = await engine.find_venue(name) in caller.roles
        except UnknownVenue:
            is_home = route.makes_venue
        if is_home:
            return await limits.charge_caller(caller) if own is None else own
        return await self._charge_holder(route.limit, raw)

    async def _venue_named(self, raw: RawRequest) -> str:
        """As the request has it: a slug, or the id that other ids begin with. Empty: it is open which."""
        named_by = self.route.venue
        if named_by is None:
            return "" if self.route.watched is None else self.route.watched(raw)
        if named_by == "clinic":
            with suppress(UnknownVenue):
                return (await self._clinic())[0]
            return ""
        return raw.params[named_by].partition("-" if named_by in NAMED_BY_ID else ":")[0]

    async def _parsed(self, raw: RawRequest, caller: Caller) -> Request[Any]:
        """Whether the caller may is judged before what they sent is read."""
        route = self.route
        if route.who != "anyone":
            must_be_known(caller)
        venue_id, venue, code = await self._locate(raw.params)
        needed = route.needed_role
        if caller.is_known and (route.for_people or (needed and venue_id and not caller.may(needed, venue_id))):
            caller = await self._who_asks_now(raw)  # since they were looked up they may have been let in, or shut out
        self._judge(raw, caller, venue_id, venue)
        given = form = None
        if route.body is not None:
            caller, given, form = await self._read(raw, caller, venue_id, venue)
        elif route.query is not None:
            read = read_page_query if route.kind == "text/html" else read_query
            given = read(raw, route.query)
        claim = self._claim(raw, caller, venue_id, given, form)
        return Request(
            self._parts.engine, raw, given, caller, venue_id, venue, code, claim, route.words, route.statuses, form
        )

    async def _who_asks_now(self, raw: RawRequest) -> Caller:
        """Asked of the store: the first look may be from a second ago."""
        return await self._who_asks(raw, self._parts.auth.caller_now)

    async def _who_asks(self, raw: RawRequest, look: Callable[[RawRequest], Awaitable[Caller]]) -> Caller:
        try:
            return await look(raw)
        except BadRequest:
            await self._parts.limits.charge_stranger(raw)
            raise

    async def _read(
        self, raw: RawRequest, caller: Caller, venue_id: VenueId, venue: str
    ) -> tuple[Caller, Any, Form | None]:
        """What they sent. It may take its time to come: whoever was shut out meanwhile is turned away."""
        if not caller.is_known:
            if self._decoder is not None and not is_form(raw):
                return caller, await read_json(raw, self._decoder), None
            return caller, *await self._body(raw)
        loop = asyncio.get_running_loop()
        began = loop.time()
        given, form = await self._body(raw)
        if loop.time() - began > AT_ONCE_SECONDS:
            caller = await self._who_asks_now(raw)
            self._judge(raw, caller, venue_id, venue)
        return caller, given, form

    async def _body(self, raw: RawRequest) -> tuple[Any, Form | None]:
        """As its type, whether it is JSON or a form. A page's own route takes forms only."""
        if is_form(raw):
            form = await read_form(raw, self._parts.clients)
            return form.as_a(self.route.body), form
        if self._decoder is None:
            raise BadRequest(415, "not-a-form")
        return await read_json(raw, self._decoder), None

    def _judge(self, raw: RawRequest, caller: Caller, venue_id: VenueId, venue: str) -> None:
        route = self.route
        if route.who != "anyone":
            must_be_known(caller)
        is_new = route.makes_venue and not venue_id
        if route.needed_role is not None and not is_new:
            must_be_allowed(caller, route.needed_role, venue_id, self._as_asked_for(raw, venue), by=route.venue)
        if route.for_people:
            must_be_a_person(caller)
        if route.joins:
            must_be_able_to_join(caller)

    async def _locate(self, params: Mapping[str, str]) -> tuple[VenueId, str, str]:
        """The venue, its slug, and the thing's own code in it: `clinic:lab` is queue `lab` of venue `clinic`."""
        named_by, engine = self.route.venue, self._parts.engine
        if named_by is None:
            return VenueId(""), "", ""
        if named_by == "clinic":
            at_hand = engine.clinic_at_hand(called=self._parts.settings.clinic_venue)
            clinic, slug = await self._clinic() if at_hand is None else at_hand
            return clinic, slug, ""
        asked_for = params[named_by]
        if any(len(param) > LONGEST_PARAMETER or not param.isprintable() for param in params.values()):
            raise BadRequest(404, "no-such-path")
        if named_by in NAMED_BY_ID:
            return await self._locate_by_id(asked_for)
        if ":" not in asked_for and named_by in {"queue", "desk"}:
            raise UnknownQueue(asked_for, why="form") if named_by == "queue" else UnknownDesk(asked_for, why="form")
        name, _, code = (asked_for, "", "") if named_by == "venue" else asked_for.partition(":")
        try:
            venue_id = await engine.find_venue(name)
        except UnknownVenue:
            if self.route.makes_venue:
                return VenueId(""), name, ""
            raise
        return venue_id, await engine.slug_of(venue_id), code

    async def _clinic(self) -> tuple[VenueId, str]:
        """Why the door is closed is for whoever runs it, in the log and by `dawr check`: it names venues."""
        engine = self._parts.engine
        try:
            clinic = await engine.clinic(called=self._parts.settings.clinic_venue)
        except UnknownVenue:
            raise UnknownVenue(why="not-set-up") from None
        return clinic, await engine.slug_of(clinic)

    def _as_asked_for(self, raw: RawRequest, slug: str) -> str:
        """A venue is refused by the name it was asked for by: its id tells a stranger no slug."""
        asked_for = raw.params.get(self.route.venue or "")
        return slug if asked_for is None else asked_for.partition(":")[0]

    async def _locate_by_id(self, asked_for: str) -> tuple[VenueId, str, str]:
        """An id begins with its venue's. One of no venue is an id of nothing."""
        venue_id = VenueId(asked_for.partition("-")[0])
        try:
            return venue_id, await self._parts.engine.slug_of(venue_id), asked_for
        except UnknownVenue:
            raise (UnknownTicket if self.route.venue == "ticket" else UnknownVisit) from None

    def _claim(
        self, raw: RawRequest, caller: Caller, venue_id: VenueId, given: object, form: Form | None
    ) -> Claim | None:
        route = self.route
        if not route.takes_key:
            return None
        key = idempotency_key(raw)
        if form is not None and form.key is not None:
            key = _one_key(key, form.key)
        asked = given
        if route.secret_fields:
            asked = msgspec.structs.replace(given, **dict.fromkeys(route.secret_fields))  # type: ignore[type-var]
        if route.key_field is not None:
            also: str | None = getattr(given, route.key_field)
            asked = msgspec.structs.replace(asked, **{route.key_field: None})  # type: ignore[type-var]
            if also is not None:
                key = _one_key(key, checked_key(also))
        if key is None:
            return None
        asked_for = fingerprint(dict(raw.params), asked)
        return Claim(AnswerKey(f"{venue_id}:{route.name}", caller.principal, key), asked_for, self._parts.keep_ms)

    async def _answer_past_limit(self, raw: RawRequest, caller: Caller, verdict: Verdict) -> Response | Stream:
        """Answer a holder of a visit's link, and a retry of what was done already. Refuse any other request."""
        if self.route.body_link is None or _length(raw) > MAX_BYTES_PAST_LIMIT:
            return await self._replay_or_refuse(raw, caller, verdict)
        try:
            request = await self._parsed(raw, caller)
        except REFUSALS:
            raise self._parts.limits.refusal(verdict) from None
        of_visit = None
        link = self.route.body_link(request.given)
        with suppress(TooMany):  # links that were guessed here before refuse no retry
            if link is not None and await self._opens_visit(link, raw):
                of_visit = await self._parts.limits.charge_visit(link)
        if of_visit is None or not of_visit.allowed:
            return await self._replay_or_refuse(raw, caller, verdict, request)
        return await self._answer_within_limit(raw, caller, of_visit, request)

    async def _replay_or_refuse(
        self, raw: RawRequest, caller: Caller, verdict: Verdict, request: Request[Any] | None = None
    ) -> Response:
        """Answer a retry of what was done already, a limited number of times. Read nothing for any other request."""
        limits = self._parts.limits
        if not self._may_have_key(raw):
            raise limits.refusal(verdict)
        retry = await limits.charge_retry(verdict)
        if not retry.allowed:
            raise limits.refusal(verdict)
        if request is None:
            request = await self._parsed(raw, caller)
        if request.claim is None:
            await limits.give_back(retry)
        stored = await self._stored(request)
        if stored is None:
            raise limits.refusal(verdict)
        return self._shown(request, stored)

    def _may_have_key(self, raw: RawRequest) -> bool:
        """In its header; or in its body, which is not read yet."""
        route = self.route
        return route.takes_key and (b"idempotency-key" in raw.headers or route.key_field is not None or is_form(raw))

    async def _stored(self, request: Request[Any]) -> Response | None:
        """Whoever retries what was done already is no burden, and is not turned away."""
        if request.claim is None or not request.venue_id:
            return None
        stored = await self._parts.engine.read(request.venue_id, LookAtAnswer(request.claim))
        return None if stored is None else _response(stored, (REPLAYED,))

    def _shown(self, request: Request[Any], response: Response) -> Response:
        """To a browser that sent a form: the page to go on to, or in words why not. To all others: as it is."""
        form = request.form
        if form is None or not is_for_a_person(request.raw):
            return response
        if response.status < REFUSALS_FROM:
            leads_to = self.route.leads_to
            then = form.then or "/" if leads_to is None else leads_to(request, response.body)
            return see_other(then, *response.headers)
        return refusal_page(self._parts, request.raw, response)

    async def _respond(self, reply: Reply, verdict: Verdict | None) -> Response:
        extra: tuple[Header, ...] = ()
        if reply.replayed:
            extra = (REPLAYED,)
            if verdict is not None:
                await self._parts.limits.give_back(verdict)
        elif verdict is not None:
            extra = tuple(headers(verdict))
        return _response(reply, extra)


def _response(reply: Reply, extra: tuple[Header, ...]) -> Response:
    """What was refused and kept is a problem to whoever asks again, too."""
    by_rule = reply.status >= REFUSALS_FROM
    return Response(reply.status, reply.body, extra, PROBLEM_JSON if by_rule else JSON, by_rule)


def _one_key(header: str | None, field: str) -> str:
    if header is not None and header != field:
        raise BadRequest(400, "invalid-idempotency-key", why="differ")
    return field


def _length(raw: RawRequest) -> float:
    """Return the stated length of the body. A body without one may be of any."""
    text = raw.headers.get(b"content-length", b"")
    return int(text) if text.isdigit() else inf
