"""What the native API says of queues, tickets and venues. Everything that leaves is one of these types.

Times are milliseconds since 1970 UTC. A queue or desk is named `venue:code`.
"""

from collections.abc import Sequence

import msgspec

from dawr.domain import Audience, DeskNow, DeskState, QueueState, Role, Standing, State, Ticket, Venue
from dawr.domain.standing import wait_minutes
from dawr.operations.snapshots import QueueSnapshot


class QueueAnswer(msgspec.Struct, frozen=True):
    """How a queue stands: what anybody may know."""

    queue: str
    name: dict[str, str]
    state: QueueState
    day: str
    round: int
    current: int | None
    """The number called last."""
    current_label: str | None
    next_label: str | None
    waiting: int
    called: int
    serving: int
    wait_minutes: int
    """For whoever joins now."""
    mean_wait_minutes: float
    """Of those called today."""
    near_turn: int
    audience: Audience
    floor: str | None
    room: str | None


class DeskAnswer(msgspec.Struct, frozen=True):
    desk: str
    name: dict[str, str]
    queues: list[str]
    state: DeskState
    until: int | None
    """When its break ends."""


class QueueInVenue(msgspec.Struct, frozen=True):
    queue: str
    name: dict[str, str]
    state: QueueState
    audience: Audience
    floor: str | None
    room: str | None


class JourneyAnswer(msgspec.Struct, frozen=True):
    journey: str
    name: dict[str, str]
    audience: Audience
    queues: list[str]
    """In the order of the plan: fixed ones first."""


class VenueAnswer(msgspec.Struct, frozen=True):
    """A venue as anybody may know it."""

    venue: str
    name: dict[str, str]
    kind: str
    zone: str
    day: str
    queues: list[QueueInVenue]
    desks: list[DeskAnswer]
    journeys: list[JourneyAnswer]


class TicketAnswer(msgspec.Struct, frozen=True):
    """A ticket as staff see it."""

    ticket: str
    queue: str
    number: int
    label: str
    state: State
    visitor: str
    name: str | None
    party_size: int
    area: str | None
    priority: int
    desk: str | None
    recalls: int
    day: str
    round: int
    version: int
    issued_at: int
    called_at: int | None
    started_at: int | None
    finished_at: int | None
    visit: str
    """Without the secret: staff's routes take it."""
    stage: int | None
    """Which one of the visit's plan this was when it was issued, from 0; null: the visit has no plan."""
    can_undo: bool
    """Whether what happened last is one that can be undone: `undo` with this `version`."""


class PlaceAnswer(msgspec.Struct, frozen=True):
    """Where a visitor stands: what the holder of the link sees."""

    queue: str
    number: int
    label: str
    state: State
    ahead: int
    position: int
    """1 is next; 0 is not waiting."""
    wait_minutes: int
    near_turn: bool
    desk: str | None
    party_size: int
    reserve_mode: bool


class VenueRole(msgspec.Struct, frozen=True):
    venue: str
    role: Role


def queue_answer(venue: Venue, seen: QueueSnapshot) -> QueueAnswer:
    queue, line = seen.queue, seen.line
    return QueueAnswer(
        queue=f"{venue.slug}:{queue.id}",
        name=queue.name,
        state=queue.state,
        day=line.day,
        round=line.round,
        current=line.current_number,
        current_label=None if line.current_number is None else queue.label(line.current_number),
        next_label=None if seen.next is None else seen.next.label,
        waiting=line.people_waiting,
        called=line.called,
        serving=line.serving,
        wait_minutes=wait_minutes(queue, line, line.people_waiting),
        mean_wait_minutes=line.mean_wait_minutes,
        near_turn=queue.near_turn,
        audience=queue.audience,
        floor=queue.floor,
        room=queue.room,
    )


def venue_answer(venue: Venue, day: str, desks: Sequence[DeskNow]) -> VenueAnswer:
    return VenueAnswer(
        venue=venue.slug,
        name=venue.name,
        kind=venue.kind,
        zone=venue.zone,
        day=day,
        queues=[
            QueueInVenue(f"{venue.slug}:{queue.id}", queue.name, queue.state, queue.audience, queue.floor, queue.room)
            for queue in venue.queues
        ],
        desks=[
            DeskAnswer(
                f"{venue.slug}:{desk.id}",
                desk.name,
                [f"{venue.slug}:{queue}" for queue in desk.queues],
                now.state,
                now.until,
            )
            for desk, now in zip(venue.desks, desks, strict=True)
        ],
        journeys=[
            JourneyAnswer(
                journey.id, journey.name, journey.audience, [f"{venue.slug}:{stage.queue}" for stage in journey.stages]
            )
            for journey in venue.journeys
        ],
    )


def ticket_answer(venue: str, ticket: Ticket) -> TicketAnswer:
    return TicketAnswer(
        ticket=ticket.ticket_id,
        queue=f"{venue}:{ticket.queue_id}",
        number=ticket.number,
        label=ticket.label,
        state=ticket.state,
        visitor=ticket.visitor,
        name=ticket.name,
        party_size=ticket.party_size,
        area=ticket.area,
        priority=ticket.priority,
        desk=None if ticket.desk_id is None else f"{venue}:{ticket.desk_id}",
        recalls=ticket.recalls,
        day=ticket.day,
        round=ticket.round,
        version=ticket.version,
        issued_at=ticket.issued_at,
        called_at=ticket.called_at,
        started_at=ticket.started_at,
        finished_at=ticket.finished_at,
        visit=ticket.visit_id,
        stage=ticket.stage,
        can_undo=ticket.previous is not None and ticket.state != "expired",
    )


def place_answer(venue: str, standing: Standing, *, reserve_mode: bool) -> PlaceAnswer:
    ticket = standing.ticket
    return PlaceAnswer(
        queue=f"{venue}:{ticket.queue_id}",
        number=ticket.number,
        label=ticket.label,
        state=ticket.state,
        ahead=standing.ahead,
        position=standing.position,
        wait_minutes=standing.wait_minutes,
        near_turn=standing.is_near,
        desk=None if ticket.desk_id is None else f"{venue}:{ticket.desk_id}",
        party_size=ticket.party_size,
        reserve_mode=reserve_mode,
    )
