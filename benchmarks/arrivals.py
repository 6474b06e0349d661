"""Who comes, where to, and the answer they get: the same on every side of a comparison."""

import secrets
from hashlib import sha256

import msgspec

from dawr.bootstrap.system import SystemIds, now
from dawr.domain.day import Day
from dawr.domain.queue import Queue, QueueId
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import Desk, DeskId, Head, Venue, VenueId, checked
from dawr.operations.ticket import Joined
from dawr.operations.visitor import Issue
from dawr.ports import Store
from dawr.reliability.fingerprint import fingerprint
from dawr.reliability.idempotency import ANONYMOUS, AnswerKey, Claim, Reply

QUEUE = QueueId("lab")
DESKS = 32
IDS = SystemIds()
KEPT_MS = 48 * 60 * 60 * 1000

_encode = msgspec.json.Encoder().encode


class Arrival(msgspec.Struct, frozen=True):
    """Somebody who takes a number, once, under a key of their own."""

    issue: Issue
    claim: Claim


class Receipt(msgspec.Struct):
    """The answer to whoever took a number."""

    success: bool
    number: int
    label: str
    status: str
    user: str | None
    clinic: str
    ahead: int
    ticket: str


def receipt(*, number: int, label: str, visitor: str | None, ahead: int, ticket_id: str) -> Reply:
    return Reply(200, _encode(Receipt(True, number, label, "WAITING", visitor, QUEUE, ahead, ticket_id)))  # noqa: FBT003


def receipt_of(joined: Joined) -> Reply:
    ticket = joined.ticket
    return receipt(
        number=ticket.number,
        label=ticket.label,
        visitor=ticket.visitor,
        ahead=joined.ahead,
        ticket_id=ticket.ticket_id,
    )


def arrivals(venue: Venue, count: int) -> list[Arrival]:
    return [_arrival(venue, f"visitor-{secrets.token_hex(6)}") for _ in range(count)]


def _arrival(venue: Venue, visitor: str) -> Arrival:
    secret = IDS.token()
    return Arrival(
        Issue(
            queue=QUEUE,
            visitor=visitor,
            ticket_id=TicketId(IDS.new(venue.id)),
            visit_id=VisitId(IDS.new(venue.id)),
            secret_hash=sha256(secret.encode()).hexdigest(),
        ),
        Claim(
            AnswerKey(f"{venue.id}:queue/enter", ANONYMOUS, secrets.token_hex(16)),
            fingerprint(QUEUE, visitor),
            KEPT_MS,
        ),
    )


async def found_venue(store: Store) -> Venue:
    """A venue with one queue, which all desks serve."""
    code = IDS.venue_code()
    desks = tuple(Desk(DeskId(f"desk-{n}"), {"en": f"Desk {n}"}, (QUEUE,)) for n in range(1, DESKS + 1))
    queue = Queue(QUEUE, {"en": "Laboratory"}, prefix="A")
    venue = checked(
        Venue(VenueId(code), f"venue-{code}", {"en": "A venue"}, "Asia/Qatar", queues=(queue,), desks=desks)
    )
    today = venue.day_at(now(), reached=Day(""))
    await store.add_venue(venue, Head(venue.id, epoch=1, day=today, version=0, config_version=0))
    return venue
