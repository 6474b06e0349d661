"""The clinic's stream, `GET /api/v1/events/stream`: how a queue stands, and where one visitor stands.

Who gives a name is told of their single ticket in that queue. Who gives their link is told of their whole visit.
"""

from typing import Annotated

import msgspec

from dawr.domain import LineFacts, Link, QueueId
from dawr.domain.errors import InvalidValue, UnknownQueue, UnknownVenue, UnknownVisit
from dawr.domain.ticket import checked_visitor, open_key
from dawr.live.forms import Notices, Placed, Published
from dawr.live.frames import EventId, frame
from dawr.live.joining import FollowName, FollowVisit, Wish
from dawr.operations.snapshots import LookAtVenue
from dawr.web.api.events import follow_visit, look_behind, resume_or_begin
from dawr.web.doors.clinic import TAG, WORDS, status_word
from dawr.web.event_stream import Stream
from dawr.web.known_links import link_in_query
from dawr.web.problems import BadRequest
from dawr.web.routes import Parts, Request, Route

_encode = msgspec.json.Encoder().encode


class StreamQuery(msgspec.Struct):
    clinic: Annotated[str, msgspec.Meta(description="Needed where there is no ticket.")] | None = None
    user: Annotated[str, msgspec.Meta(description="Follow this visitor's ticket too.")] | None = None
    ticket: (
        Annotated[str, msgspec.Meta(max_length=200, description="Follow the visit behind this link, and nothing else.")]
        | None
    ) = None
    last_event_id: Annotated[str, msgspec.Meta(max_length=100, description="Resume after this id.")] | None = None


class Update(msgspec.Struct, frozen=True):
    type: str
    clinic: str


class Connected(msgspec.Struct, frozen=True):
    type: str
    clinic: str | None
    """Null for a visit that stands in no queue yet."""
    resumed: bool
    """Whether everything since the last id follows; otherwise this is a fresh start."""


class QueueUpdate(Update, frozen=True):
    current: int | None
    length: int
    waiting: int


class TicketUpdate(Update, frozen=True):
    status: str
    number: int
    display_number: str


class VisitorUpdate(TicketUpdate, frozen=True):
    ahead: int
    position: int
    estimated_wait_minutes: int
    desk: str | None


class StepDone(TicketUpdate, frozen=True):
    next_clinic: str | None
    """Where the visitor goes next, for who follows by a link. Null: nowhere, or nowhere yet."""
    next_floor: str | None
    next_room: str | None


class QueueUpdates(msgspec.Struct, frozen=True):
    """How a queue stands, after every change of its line."""

    queue_id: QueueId
    is_staffs: bool = False

    def frame(self, published: Published) -> bytes | None:
        if published.event.queue_id != self.queue_id or published.shown is None:
            return None
        return self.present(published.shown, published.at)

    def present(self, line: LineFacts, at: bytes) -> bytes:
        update = QueueUpdate("QUEUE_UPDATE", self.queue_id, line.current, line.people, line.waiting)
        return frame(update.type, _encode(update), at=at)


class VisitorUpdates(msgspec.Struct, frozen=True):
    """Where a visitor stands, in the clinic's words."""

    def present(self, standing: Placed, at: bytes) -> bytes:
        first = self.near(standing) if standing.is_near else b""
        state = standing.ticket.state
        if state in {"called", "serving"}:
            first = _update("YOUR_TURN" if state == "called" else "IN_SERVICE", standing)
        return first + _update("POSITION_UPDATE", standing, at)

    def happened(self, kind: str, standing: Placed, at: bytes) -> bytes:
        if kind == "ticket.finished" or standing.next is not None:
            return _step_done(standing, at)
        return _update(WORD_OF.get(kind, "POSITION_UPDATE"), standing, at)

    def moved(self, standing: Placed, at: bytes) -> bytes:
        return _update("POSITION_UPDATE", standing, at)

    def near(self, standing: Placed) -> bytes:
        return _update("NEAR_TURN", standing)


WORD_OF = {"ticket.called": "YOUR_TURN", "ticket.recalled": "YOUR_TURN", "ticket.started": "IN_SERVICE"}
VISITOR_UPDATES = VisitorUpdates()
NOTICES = Notices(stale=frame("STALE", b'{"type":"STALE"}'), fresh=frame("FRESH", b'{"type":"FRESH"}'))


async def stream(parts: Parts, request: Request[StreamQuery]) -> Stream:
    given = request.given
    if given.ticket is not None:
        return await _watch_visit(parts, request, given.ticket.removeprefix("/t/"))
    if given.clinic is None:
        raise BadRequest(422, "invalid-query", why="watch-clinic")
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    queue_id = venue.queue(given.clinic).id
    follow = None
    if given.user is not None:
        follow = FollowName(VISITOR_UPDATES, queue_id, open_key(queue_id, checked_visitor(given.user)))
    return await resume_or_begin(parts, request, request.venue_id, lambda since: _wish(queue_id, since, follow))


async def _watch_visit(parts: Parts, request: Request[StreamQuery], token: str) -> Stream:
    """A link of another venue leads nowhere here."""
    link = Link.read(token)
    moment = await look_behind(parts, request.venue_id, link)
    ticket = moment.seen.ticket
    queue_id = None if ticket is None else ticket.queue_id
    follow = follow_visit(parts, moment, link, VISITOR_UPDATES)
    return await resume_or_begin(parts, request, request.venue_id, lambda since: _wish(queue_id, since, follow))


def _wish(queue_id: QueueId | None, since: EventId | None, follow: FollowName | FollowVisit | None) -> Wish:
    """Who follows a visit is shown no queue but theirs."""
    resumed = since is not None
    hello = _encode(Connected("CONNECTED", queue_id, resumed))
    return Wish(
        greeting=lambda at: frame("CONNECTED", hello, at=at),
        notices=NOTICES,
        form=None if queue_id is None or isinstance(follow, FollowVisit) else QueueUpdates(queue_id),
        since=since,
        resumes=resumed,
        follow=follow,
    )


def _step_done(standing: Placed, at: bytes) -> bytes:
    ticket, onward = standing.ticket, standing.next
    done = StepDone(
        type="STEP_DONE_NEXT",
        clinic=standing.queue.id,
        status=status_word(ticket.state, near=False),
        number=ticket.number,
        display_number=ticket.label,
        next_clinic=None if onward is None else onward.id,
        next_floor=None if onward is None else onward.floor,
        next_room=None if onward is None else onward.room,
    )
    return frame(done.type, _encode(done), at=at)


def _update(word: str, standing: Placed, at: bytes = b"") -> bytes:
    ticket = standing.ticket
    update = VisitorUpdate(
        type=word,
        clinic=standing.queue.id,
        status=status_word(ticket.state, near=standing.is_near),
        number=ticket.number,
        display_number=ticket.label,
        ahead=standing.ahead,
        position=standing.position,
        estimated_wait_minutes=standing.wait_minutes,
        desk=ticket.desk_id,
    )
    return frame(word, _encode(update), at=at)


ROUTES = (
    Route(
        method="GET",
        path="/api/v1/events/stream",
        name="clinic-stream",
        summary="How a clinic's queue and one of its visitors stand, as server-sent events",
        tag=TAG,
        handler=stream,
        query=StreamQuery,
        venue="clinic",
        limit="stream",
        link=link_in_query,
        refusals=(UnknownVenue, UnknownQueue, UnknownVisit, InvalidValue),
        words=WORDS,
        kind="text/event-stream",
    ),
)
