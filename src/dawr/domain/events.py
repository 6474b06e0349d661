"""What happened, one row per change, numbered without holes in each venue."""

import msgspec

from dawr.domain.day import Day
from dawr.domain.queue import QueueId
from dawr.domain.ticket import State, Ticket, TicketId
from dawr.domain.venue import DeskId, VenueId


class Origin(msgspec.Struct, frozen=True):
    """Who asked for a change, and under which correlation id."""

    actor: str | None = None
    correlation_id: str | None = None
    reason: str | None = None


NOBODY = Origin()


class Event(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    version: int
    kind: str
    at: int
    queue_id: QueueId | None
    ticket_id: TicketId | None
    actor: str | None
    correlation_id: str | None
    reason: str | None
    data: str
    """The facts of the change as JSON."""


class TicketFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The data of a ticket's event: enough to follow a line without reading it again."""

    number: int
    label: str
    day: Day
    round: int
    priority: int
    sequence: int
    state: State
    before: State | None = None
    desk: DeskId | None = None


_encode = msgspec.json.Encoder().encode


def ticket_data(before: Ticket | None, after: Ticket) -> str:
    return _encode(
        TicketFacts(
            after.number,
            after.label,
            after.day,
            after.round,
            after.priority,
            after.sequence,
            after.state,
            None if before is None else before.state,
            after.desk_id,
        )
    ).decode()


def plain_data(**facts: str | int | None) -> str:
    return _encode(facts).decode()
