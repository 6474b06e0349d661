"""The clinic's stream, `GET /api/v1/events/stream`: how a queue stands, and where one visitor stands in it."""

from typing import Annotated

import msgspec

from dawr.domain import LineFacts, QueueId, Standing
from dawr.domain.errors import InvalidValue, UnknownQueue, UnknownVenue
from dawr.domain.ticket import checked_visitor, open_key
from dawr.live.forms import Notices, Published
from dawr.live.frames import EventId, frame
from dawr.live.joining import Follow, Wish
from dawr.operations.snapshots import LookAtVenue
from dawr.web.api.events import resume_or_begin
from dawr.web.doors.clinic import TAG, WORDS, status_word
from dawr.web.event_stream import Stream
from dawr.web.routes import Parts, Request, Route

_encode = msgspec.json.Encoder().encode


class StreamQuery(msgspec.Struct, forbid_unknown_fields=True):
    clinic: str
    user: Annotated[str, msgspec.Meta(description="Follow this visitor's ticket too.")] | None = None
    last_event_id: Annotated[str, msgspec.Meta(max_length=100, description="Resume after this id.")] | None = None


class Update(msgspec.Struct, frozen=True):
    type: str
    clinic: str


class Connected(Update, frozen=True):
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
    """Where the visitor goes next, once there are journeys."""


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

    def present(self, standing: Standing, at: bytes) -> bytes:
        first = self.near(standing) if standing.is_near else b""
        state = standing.ticket.state
        if state in {"called", "serving"}:
            first = _update("YOUR_TURN" if state == "called" else "IN_SERVICE", standing)
        return first + _update("POSITION_UPDATE", standing, at)

    def happened(self, kind: str, standing: Standing, at: bytes) -> bytes:
        if kind == "ticket.finished":
            ticket = standing.ticket
            word = status_word(ticket.state, near=False)
            done = StepDone("STEP_DONE_NEXT", standing.queue.id, word, ticket.number, ticket.label, None)
            return frame(done.type, _encode(done), at=at)
        return _update(WORD_OF.get(kind, "POSITION_UPDATE"), standing, at)

    def moved(self, standing: Standing, at: bytes) -> bytes:
        return _update("POSITION_UPDATE", standing, at)

    def near(self, standing: Standing) -> bytes:
        return _update("NEAR_TURN", standing)


WORD_OF = {"ticket.called": "YOUR_TURN", "ticket.recalled": "YOUR_TURN", "ticket.started": "IN_SERVICE"}
VISITOR_UPDATES = VisitorUpdates()
NOTICES = Notices(stale=frame("STALE", b'{"type":"STALE"}'), fresh=frame("FRESH", b'{"type":"FRESH"}'))


async def stream(parts: Parts, request: Request[StreamQuery]) -> Stream:
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    queue_id = venue.queue(request.given.clinic).id
    follow = None
    if request.given.user is not None:
        key = open_key(queue_id, checked_visitor(request.given.user))
        follow = Follow(VISITOR_UPDATES, queue_id, open_key=key)
    return await resume_or_begin(parts, request, request.venue_id, lambda since: _wish(queue_id, since, follow))


def _wish(queue_id: QueueId, since: EventId | None, follow: Follow | None) -> Wish:
    resumed = since is not None
    hello = _encode(Connected("CONNECTED", queue_id, resumed))
    return Wish(
        greeting=lambda at: frame("CONNECTED", hello, at=at),
        notices=NOTICES,
        form=QueueUpdates(queue_id),
        since=since,
        resumes=resumed,
        follow=follow,
    )


def _update(word: str, standing: Standing, at: bytes = b"") -> bytes:
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
        refusals=(UnknownVenue, UnknownQueue, InvalidValue),
        words=WORDS,
        kind="text/event-stream",
    ),
)
