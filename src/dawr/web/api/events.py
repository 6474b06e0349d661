"""The live stream: `GET /v1/events` of a queue, a venue, or the visit behind a visitor's link."""

import re
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Annotated, Any
from urllib.parse import unquote

import msgspec

from dawr.domain import Event, LineFacts, Link, QueueId, State, VenueId
from dawr.domain.errors import UnknownQueue, UnknownVenue, UnknownVisit
from dawr.live.feed import Unresumable
from dawr.live.forms import Notices, PersonalForm, Placed, Published
from dawr.live.frames import EventId, event_id, frame, mark
from dawr.live.hub import HubClosed, TooManyStreams
from dawr.live.joining import FollowVisit, Wish
from dawr.live.visits import VisitNow
from dawr.operations.desks import LookAtVenueNow
from dawr.operations.snapshots import AtMoment, LookAtQueue, LookAtVenue, Moment
from dawr.operations.visits import LookAtVisit, Whereabouts
from dawr.ports.faults import Stopping
from dawr.reliability.client_address import limit_key
from dawr.web.api.answers import place_answer, queue_answer, venue_answer
from dawr.web.event_stream import Stream
from dawr.web.known_links import link_in_query
from dawr.web.problems import BadRequest
from dawr.web.raw_request import RawRequest
from dawr.web.routes import Parts, Request, Route

SHOWN_KINDS = ("ticket.", "queue.", "venue.", "desk.")
"""Who works here, and with which tokens, is in the audit trail only."""
STAFFS_KINDS = ("visit.", "pin.")
"""Shown to staff too. No PIN is in an event."""
BEGINS_A_PLACE = frozenset({"ticket.issued", "ticket.adopted"})

WATCHED = re.compile(rb"(?:^|&)(venue|queue|ticket)=([^&]*)")
NOT_OURS = EventId(-1, -1)

_encode = msgspec.json.Encoder().encode
_decode_facts = msgspec.json.Decoder(dict[str, str | int | None]).decode


class EventsQuery(msgspec.Struct, forbid_unknown_fields=True):
    queue: Annotated[str, msgspec.Meta(max_length=200, description="`venue:code`")] | None = None
    venue: Annotated[str, msgspec.Meta(max_length=200, description="A venue's slug.")] | None = None
    ticket: (
        Annotated[str, msgspec.Meta(max_length=200, description="What stands behind /t/ in a visitor's link.")] | None
    ) = None
    last_event_id: Annotated[str, msgspec.Meta(max_length=100, description="Resume after this id.")] | None = None


class ChangeAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change. Which ticket it was, who did it and why is for staff."""

    kind: str
    at: int
    queue: str | None = None
    number: int | None = None
    label: str | None = None
    state: str | None = None
    before: State | None = None
    desk: str | None = None
    day: str | None = None
    round: int | None = None
    line: LineFacts | None = None
    unannounced: bool = False
    """Of a call: nobody is called out, for whoever waits is finished in one step."""
    ticket: str | None = None
    actor: str | None = None
    reason: str | None = None
    visit: str | None = None
    journey: str | None = None
    opens_at: int | None = None
    tries_left: int | None = None


class Changes(msgspec.Struct, frozen=True):
    """The changes of a venue, or of one of its queues."""

    venue: str
    queue: QueueId | None
    is_staffs: bool

    @property
    def queue_id(self) -> QueueId | None:
        return None

    def frame(self, published: Published) -> bytes | None:
        event = published.event
        if not self._shows(event):
            return mark(published.at)
        if self.queue is not None and event.queue_id is not None and event.queue_id != self.queue:
            return None
        return frame(event.kind, _encode(self._change(published)), at=published.at)

    def present(self, line: LineFacts, at: bytes) -> bytes:  # noqa: ARG002 - a snapshot went before
        return b""

    def _shows(self, event: Event) -> bool:
        """What happens to a visit as a whole is for staff, in the stream of the venue."""
        if event.kind.startswith(STAFFS_KINDS):
            return self.is_staffs and (self.queue is None or event.queue_id is not None)
        return event.kind.startswith(SHOWN_KINDS)

    def _change(self, published: Published) -> ChangeAnswer:
        event, facts = published.event, published.facts
        told = ChangeAnswer(
            kind=event.kind,
            at=event.at,
            queue=None if event.queue_id is None else f"{self.venue}:{event.queue_id}",
            ticket=event.ticket_id if self.is_staffs else None,
            actor=event.actor if self.is_staffs else None,
            reason=event.reason if self.is_staffs else None,
        )
        if facts is None:
            return msgspec.structs.replace(told, **self._plain_facts(event))
        return msgspec.structs.replace(
            told,
            number=facts.number,
            label=facts.label,
            state=facts.state,
            before=facts.before,
            desk=None if facts.desk is None else f"{self.venue}:{facts.desk}",
            day=facts.day,
            round=facts.round,
            line=facts.line,
            unannounced=facts.unannounced,
        )

    def _plain_facts(self, event: Event) -> dict[str, str | int | None]:
        """Of who sits at a desk, nothing."""
        shown = PLAIN_FACTS + (STAFFS_FACTS if event.kind.startswith(STAFFS_KINDS) else ())
        facts = _decode_facts(event.data)
        known = {name: facts[name] for name in shown if name in facts}
        for name in ("desk", "queue"):
            if name in known:
                known[name] = f"{self.venue}:{known[name]}"
        return known


PLAIN_FACTS = ("state", "day", "round", "desk")
STAFFS_FACTS = ("queue", "visit", "journey", "opens_at", "tries_left")


class Onward(msgspec.Struct, frozen=True):
    """Where a visitor goes next."""

    queue: str
    floor: str | None
    room: str | None


class Step(msgspec.Struct, frozen=True):
    """A stage that is over."""

    queue: str
    next: Onward | None


class OwnPlace(msgspec.Struct, frozen=True):
    """Where the holder of a link stands."""

    venue: str

    def present(self, standing: Placed, at: bytes) -> bytes:
        return frame("snapshot", self._answer(standing), at=at)

    def happened(self, kind: str, standing: Placed, at: bytes) -> bytes:
        """Another number begins with a snapshot. The end of a stage is said too; the last frame has the id."""
        if kind in BEGINS_A_PLACE:
            return self.present(standing, at)
        if kind == "ticket.finished" or standing.next is not None:
            return self.moved(standing, b"") + frame("step", self._step(standing), at=at)
        return self.moved(standing, at)

    def moved(self, standing: Placed, at: bytes) -> bytes:
        return frame("update", self._answer(standing), at=at)

    def near(self, standing: Placed) -> bytes:  # noqa: ARG002 - an update says so with the rest
        return b""

    def _answer(self, standing: Placed) -> bytes:
        return _encode(place_answer(self.venue, standing, reserve_mode=standing.reserve_mode))

    def _step(self, standing: Placed) -> bytes:
        queue, onward = standing.next, None
        if queue is not None:
            onward = Onward(f"{self.venue}:{queue.id}", queue.floor, queue.room)
        return _encode(Step(f"{self.venue}:{standing.queue.id}", onward))


NOTICES = Notices(stale=frame("stale", b"{}"), fresh=frame("fresh", b"{}"))


async def stream(parts: Parts, request: Request[EventsQuery]) -> Stream:
    given = request.given
    if sum(asked is not None for asked in (given.queue, given.venue, given.ticket)) != 1:
        raise BadRequest(422, "invalid-query", why="watch")
    if given.ticket is not None:
        return await _watch_place(parts, request, given.ticket)
    return await _watch_changes(parts, request, given.venue or given.queue or "")


async def _watch_changes(parts: Parts, request: Request[EventsQuery], asked_for: str) -> Stream:
    slug, _, code = asked_for.partition(":")
    if request.given.queue is not None and not code:
        raise UnknownQueue(asked_for, why="form")
    venue_id = await parts.engine.find_venue(slug)
    queue = None
    if request.given.queue is not None:
        venue, _ = await parts.engine.read(venue_id, LookAtVenue())
        queue = venue.queue(code).id
    elif code:
        raise UnknownVenue(asked_for)
    form = Changes(slug, queue, request.caller.may("viewer", venue_id))
    since = last_seen(request.raw, request.given.last_event_id)
    if since is not None:
        with suppress(Unresumable):
            return await _as_staff(parts, request, venue_id, Wish(mark, NOTICES, form, since))
    name = "snapshot" if since is None else "reset"
    at, picture = await _picture(parts, venue_id, queue)
    wish = Wish(lambda begin: frame(name, picture, at=begin), NOTICES, form, at)
    return await _as_staff(parts, request, venue_id, wish)


async def _picture(parts: Parts, venue_id: VenueId, queue: QueueId | None) -> tuple[EventId, bytes]:
    """What `GET /v1/queues/…` or `GET /v1/venues/…` answers, and the id of that moment."""
    if queue is None:
        now = await parts.engine.read(venue_id, AtMoment(LookAtVenueNow()))
        return EventId(now.epoch, now.version), _encode(venue_answer(now.seen))
    seen = await parts.engine.read(venue_id, AtMoment(LookAtQueue(queue)))
    return EventId(seen.epoch, seen.version), _encode(queue_answer(seen.venue, seen.seen))


async def _as_staff(parts: Parts, request: Request[EventsQuery], venue_id: VenueId, wish: Wish) -> Stream:
    """Whoever lost their membership while they joined is not left watching; who loses it later is asked again."""
    is_staffs = wish.form is not None and wish.form.is_staffs
    if is_staffs:
        wish = msgspec.structs.replace(wish, still_may=lambda: _still_may(parts, request.raw, venue_id))
    stream = await watch(parts, request, venue_id, wish)
    with ExitStack() as otherwise:
        otherwise.callback(stream.give_up)
        if is_staffs and not (await parts.auth.caller_now(request.raw)).may("viewer", venue_id):
            raise UnknownVenue(request.given.venue or request.given.queue or "")
        otherwise.pop_all()
    return stream


async def _still_may(parts: Parts, raw: RawRequest, venue_id: VenueId) -> bool:
    try:
        return (await parts.auth.caller_now(raw)).may("viewer", venue_id)
    except BadRequest:
        return False


async def _watch_place(parts: Parts, request: Request[EventsQuery], token: str) -> Stream:
    venue_id = VenueId(token.partition("-")[0])
    moment = await look_behind(parts, venue_id, Link.read(token))
    follow = follow_visit(parts, moment, Link.read(token), OwnPlace(moment.venue.slug))
    return await resume_or_begin(
        parts,
        request,
        venue_id,
        lambda since: Wish(mark, NOTICES, since=since, resumes=since is not None, follow=follow),
    )


async def look_behind(parts: Parts, venue_id: VenueId, link: Link) -> Moment[Whereabouts]:
    """Where the visit behind a link is. A link to no venue leads nowhere."""
    try:
        return await parts.engine.read(venue_id, AtMoment(LookAtVisit(link)))
    except UnknownVenue:
        raise UnknownVisit from None


def follow_visit(parts: Parts, moment: Moment[Whereabouts], link: Link, form: PersonalForm) -> FollowVisit:
    async def look() -> VisitNow:
        return visit_now(await look_behind(parts, moment.venue.id, link))

    return FollowVisit(form, link.visit_id, visit_now(moment), look)


def visit_now(moment: Moment[Whereabouts]) -> VisitNow:
    seen = moment.seen
    return VisitNow(
        EventId(moment.epoch, moment.version),
        seen.ticket,
        reserve_mode=seen.joined is not None and seen.joined.reserve_mode,
        others=tuple(stage.ticket_id for stage in seen.visit.plan if stage.ticket_id is not None),
    )


def last_seen(raw: RawRequest, given: str | None) -> EventId | None:
    """Where the client stopped: the header if there is one, for a browser keeps that up to date, else the query.

    Something that is no id of ours is one that nobody can resume from.
    """
    header = raw.headers.get(b"last-event-id")
    text = given if header is None else header.decode("latin-1")
    return None if text is None else event_id(text) or NOT_OURS


async def resume_or_begin(
    parts: Parts, request: Request[Any], venue_id: VenueId, wish: Callable[[EventId | None], Wish]
) -> Stream:
    """From where the client stopped; if nobody can resume from there, from now on."""
    since = last_seen(request.raw, request.given.last_event_id)
    if since is not None:
        with suppress(Unresumable):
            return await watch(parts, request, venue_id, wish(since))
    return await watch(parts, request, venue_id, wish(None))


async def watch(parts: Parts, request: Request[Any], venue_id: VenueId, wish: Wish) -> Stream:
    """From a wish to a stream, or what is said when there can be none."""
    address = limit_key(parts.clients.client_of(request.raw.scope))
    try:
        return Stream(await parts.hub.join(venue_id, wish, address=address))
    except HubClosed:
        raise Stopping from None
    except TooManyStreams:
        raise BadRequest(429, "too-many-streams", (b"retry-after", b"10")) from None


def venue_watched(raw: RawRequest) -> str:
    """By slug or id; empty if none is to be seen at once. A query that names two is refused later."""
    found = WATCHED.search(raw.scope["query_string"])
    if found is None:
        return ""
    return unquote(found[2].decode("latin-1")).partition("-" if found[1] == b"ticket" else ":")[0]


ROUTES = (
    Route(
        method="GET",
        path="/v1/events",
        name="events",
        summary="Every change as it happens, as server-sent events",
        tag="events",
        handler=stream,
        query=EventsQuery,
        limit="stream",
        link=link_in_query,
        watched=venue_watched,
        refusals=(UnknownVenue, UnknownQueue, UnknownVisit),
        kind="text/event-stream",
    ),
)
