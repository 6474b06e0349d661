"""What the native API says of queues, tickets and venues. Everything that leaves is one of these types.

Times are milliseconds since 1970 UTC. A queue or desk is named `venue:code`.
"""

from typing import Any

import msgspec

from dawr.domain import Audience, DeskState, Line, Queue, QueueState, Role, Standing, State, Ticket, Venue
from dawr.domain.availability import availability
from dawr.domain.standing import wait_minutes
from dawr.operations.desks import VenueSnapshot
from dawr.operations.snapshots import QueueSnapshot


class QueueInVenue(msgspec.Struct, frozen=True, kw_only=True):
    """How a queue stands, as anybody may know: in its venue."""

    queue: str
    name: dict[str, str]
    state: QueueState
    joinable: bool
    why_not: str | None
    opens_at: int | None
    closes_at: int | None
    places_left: int | None
    current: int | None
    current_label: str | None
    waiting: int
    called: int
    serving: int
    wait_minutes: int
    mean_wait_minutes: float
    near_turn: int
    audience: Audience
    floor: str | None
    room: str | None


class QueueAnswer(QueueInVenue, frozen=True, kw_only=True):
    """How a queue stands, as anybody may know."""

    day: str
    round: int
    next_label: str | None


class DeskAnswer(msgspec.Struct, frozen=True):
    desk: str
    name: dict[str, str]
    queues: list[str]
    state: DeskState
    until: int | None


class CallAnswer(msgspec.Struct, frozen=True):
    """A number that was called, and where to."""

    queue: str
    number: int
    label: str
    desk: str | None
    at: int
    state: State


class JourneyAnswer(msgspec.Struct, frozen=True):
    journey: str
    name: dict[str, str]
    audience: Audience
    queues: list[str]


class VenueAnswer(msgspec.Struct, frozen=True):
    """How a venue stands, as anybody may know: all that a kiosk or a display needs to begin with."""

    venue: str
    name: dict[str, str]
    kind: str
    zone: str
    day: str
    queues: list[QueueInVenue]
    desks: list[DeskAnswer]
    calls: list[CallAnswer]
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
    paused: bool
    """They keep their place, but nobody is called from the queue at present."""
    desk: str | None
    party_size: int
    reserve_mode: bool


class VenueRole(msgspec.Struct, frozen=True):
    venue: str
    role: Role


def queue_answer(venue: Venue, seen: QueueSnapshot) -> QueueAnswer:
    next_label = None if seen.next is None else seen.next.label
    shown = _shown(venue, seen.queue, seen.line, seen.now)
    return QueueAnswer(**shown, day=seen.line.day, round=seen.line.round, next_label=next_label)


def _shown(venue: Venue, queue: Queue, line: Line, now: int) -> dict[str, Any]:
    """What a queue shows, alone and in its venue."""
    available = availability(venue, queue, line, now)
    return {
        "queue": f"{venue.slug}:{queue.id}",
        "name": queue.name,
        "state": queue.state,
        "joinable": available.joinable,
        "why_not": available.why_not,
        "opens_at": available.opens_at,
        "closes_at": available.closes_at,
        "places_left": available.places_left,
        "current": line.current_number,
        "current_label": None if line.current_number is None else queue.label(line.current_number),
        "waiting": line.people_waiting,
        "called": line.called,
        "serving": line.serving,
        "wait_minutes": wait_minutes(queue, line, line.people_waiting),
        "mean_wait_minutes": line.mean_wait_minutes,
        "near_turn": queue.near_turn,
        "audience": queue.audience,
        "floor": queue.floor,
        "room": queue.room,
    }


def venue_answer(seen: VenueSnapshot) -> VenueAnswer:
    venue = seen.venue
    return VenueAnswer(
        venue=venue.slug,
        name=venue.name,
        kind=venue.kind,
        zone=venue.zone,
        day=seen.day,
        queues=[
            QueueInVenue(**_shown(venue, queue, line, seen.now))
            for queue, line in zip(venue.queues, seen.lines, strict=True)
        ],
        desks=[
            DeskAnswer(
                f"{venue.slug}:{desk.id}",
                desk.name,
                [f"{venue.slug}:{queue}" for queue in desk.queues],
                now.state,
                now.until,
            )
            for desk, now in zip(venue.desks, seen.desks, strict=True)
        ],
        calls=[_call(venue.slug, ticket) for ticket in seen.calls],
        journeys=[
            JourneyAnswer(
                journey.id, journey.name, journey.audience, [f"{venue.slug}:{stage.queue}" for stage in journey.stages]
            )
            for journey in venue.journeys
        ],
    )


def _call(venue: str, ticket: Ticket) -> CallAnswer:
    return CallAnswer(
        queue=f"{venue}:{ticket.queue_id}",
        number=ticket.number,
        label=ticket.label,
        desk=None if ticket.desk_id is None else f"{venue}:{ticket.desk_id}",
        at=max(ticket.called_at or 0, ticket.recalled_at or 0),
        state=ticket.state,
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
        paused=standing.is_paused,
        desk=None if ticket.desk_id is None else f"{venue}:{ticket.desk_id}",
        party_size=ticket.party_size,
        reserve_mode=reserve_mode,
    )
