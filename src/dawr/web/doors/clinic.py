"""The clinic's contract under `/api/v1/queue`. Its words for states appear here only."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec
from starlette.types import Receive, Scope, Send

from dawr.domain.events import Origin
from dawr.domain.ticket import State, TicketId, VisitId
from dawr.engine import Engine
from dawr.operations.snapshots import LookAtQueue
from dawr.operations.ticket import Place
from dawr.operations.visitor import Issue
from dawr.ports import Ids
from dawr.reliability.fingerprint import fingerprint
from dawr.reliability.idempotency import ANONYMOUS, AnswerKey, Claim, Reply
from dawr.web.http import query, read_json, send_json
from dawr.web.problems import BadRequest

STATUS_WORDS: Mapping[State, str] = {
    "waiting": "WAITING",
    "held": "WAITING",
    "called": "CALLED",
    "serving": "IN_SERVICE",
    "finished": "DONE",
    "missed": "MISSED",
    "left": "LEFT",
    "expired": "LEFT",
}

LONGEST_KEY = 255


class EnterInput(msgspec.Struct, forbid_unknown_fields=True):
    clinic: str
    user: str


class Entered(msgspec.Struct, omit_defaults=True):
    success: bool
    number: int
    status: str
    user: str
    clinic: str
    ahead: int
    position: int
    estimated_wait_minutes: int
    display_number: str
    ticket: str | None = None
    message: str | None = None
    reserve_mode: bool = False


class QueueStatus(msgspec.Struct):
    success: bool
    clinic: str
    current: int | None
    length: int
    waiting: int
    next: int | None
    state: str
    avg_wait_minutes: float


_encode = msgspec.json.Encoder().encode


class Enter:
    """POST /api/v1/queue/enter: take a number."""

    def __init__(self, engine: Engine, ids: Ids, *, venue: str, keep_ms: int) -> None:
        self._engine = engine
        self._ids = ids
        self._venue = venue
        self._keep_ms = keep_ms
        self._decoder = msgspec.json.Decoder(EnterInput)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = await read_json(scope, receive, self._decoder)
        venue_id = await self._engine.find_venue(self._venue)
        secret, visit_id = self._ids.token(), self._ids.new(venue_id)
        issue = Issue(
            queue=given.clinic,
            visitor=given.user,
            ticket_id=TicketId(self._ids.new(venue_id)),
            visit_id=VisitId(visit_id),
            secret_hash=sha256(secret.encode()).hexdigest(),
        )
        reply = await self._engine.answer(
            venue_id,
            issue,
            lambda place: _entered(place, link=f"/t/{visit_id}.{secret}"),
            claim=self._claim(scope, venue_id, given),
            origin=Origin(actor="visitor"),
        )
        replayed = [(b"idempotency-replayed", b"true")] if reply.replayed else []
        await send_json(send, reply.status, reply.body, *replayed)

    def _claim(self, scope: Scope, venue_id: str, given: EnterInput) -> Claim | None:
        key = idempotency_key(scope)
        if key is None:
            return None
        answer_key = AnswerKey(f"{venue_id}:queue/enter", ANONYMOUS, key)
        return Claim(answer_key, fingerprint(given.clinic.lower(), given.user), self._keep_ms)


class Status:
    """GET /api/v1/queue/status: how a queue stands."""

    def __init__(self, engine: Engine, *, venue: str) -> None:
        self._engine = engine
        self._venue = venue

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        clinic = query(scope, "clinic")
        seen = await self._engine.read(await self._engine.find_venue(self._venue), LookAtQueue(clinic))
        status = QueueStatus(
            success=True,
            clinic=seen.queue.id,
            current=seen.line.current_number,
            length=seen.line.people,
            waiting=seen.line.people_waiting,
            next=None if seen.next is None else seen.next.number,
            state=seen.queue.state.upper(),
            avg_wait_minutes=seen.mean_wait_minutes,
        )
        await send_json(send, 200, _encode(status))


def idempotency_key(scope: Scope) -> str | None:
    """The `Idempotency-Key` header, quoted as the standard has it or bare."""
    keys = [value.decode("latin-1") for name, value in scope["headers"] if name == b"idempotency-key"]
    if not keys:
        return None
    if len(keys) > 1:
        raise BadRequest(400, "invalid-idempotency-key", "Give one idempotency key, not several.")
    key: str = keys[0]
    if len(key) > 1 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable() and " " not in key):
        raise BadRequest(400, "invalid-idempotency-key", "An idempotency key has 1 to 255 visible ASCII characters.")
    return key


def _entered(place: Place, *, link: str) -> Reply:
    """The secret link goes out with the number it was made for, and never again: a user's name can be guessed."""
    ticket = place.ticket
    entered = Entered(
        success=True,
        number=ticket.number,
        status=STATUS_WORDS[ticket.state],
        user=ticket.visitor,
        clinic=ticket.queue_id,
        ahead=place.ahead,
        position=place.ahead + 1 if ticket.state == "waiting" else 0,
        estimated_wait_minutes=place.wait_minutes,
        display_number=ticket.label,
        ticket=None if place.already else link,
        message="already in queue" if place.already else None,
        reserve_mode=place.reserve_mode,
    )
    return Reply(200, _encode(entered))
