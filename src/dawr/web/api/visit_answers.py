"""What the native API says of visits: to whoever holds the link, and to staff."""

import msgspec

from dawr.domain import Candidate, PlannedStage, StageState, Venue, VisitState
from dawr.domain.choice import LeftOut
from dawr.domain.session_code import SessionCodes
from dawr.operations.visits import Whereabouts
from dawr.web.api.answers import PlaceAnswer, place_answer


class StageAnswer(msgspec.Struct, frozen=True):
    queue: str
    name: dict[str, str]
    state: StageState
    pin: bool
    """Whether the exit PIN is typed to go on."""
    number: int | None
    label: str | None
    floor: str | None
    room: str | None


class CandidateAnswer(msgspec.Struct, frozen=True):
    """A queue that could be next: how long it would take, or why it cannot be."""

    queue: str
    score: int
    """The longer of the two, in minutes: the ticket is taken before the walk."""
    walk_minutes: int
    wait_minutes: int
    waiting: int
    left_out: LeftOut | None
    opens_at: int | None


class VisitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    visit: str
    venue: str
    state: VisitState
    journey: str | None
    """Null: a single ticket."""
    tickets: list[PlaceAnswer]
    """The one that the visit has come to; none, if nothing took the visitor yet."""
    session_code: str | None
    """The ticket's, as text or QR on a slip."""
    stages: list[StageAnswer]
    awaited: list[CandidateAnswer]
    """What could be entered, while the visitor stands in no queue."""
    locked: bool
    """Too many PINs were wrong: staff unlock it."""
    undo_until: int | None
    """Until when leaving can be undone by the link; null: nothing can be undone."""


class StaffVisitAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The same as staff see it."""

    visit: VisitAnswer
    visitor: str
    name: str | None
    note: str | None
    priority: int
    ticket: str | None
    started_at: int


class StartedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A visit, its first number, and the secret link that goes with it."""

    visit: str | None
    """Null, if the visitor had a visit before: a name can be guessed, so no more of it is told."""
    ticket: str | None
    place: PlaceAnswer | None
    already: bool
    link: str | None
    """`/t/` and what `GET /v1/visits/{visit}` takes."""
    session_code: str | None = None
    stages: list[StageAnswer] = []
    awaited: list[CandidateAnswer] = []


def visit_answer(codes: SessionCodes, slug: str, seen: Whereabouts) -> VisitAnswer:
    visit, joined = seen.visit, seen.joined
    return VisitAnswer(
        visit=visit.visit_id,
        venue=slug,
        state=visit.state,
        journey=visit.journey,
        tickets=[] if joined is None else [place_answer(slug, joined, reserve_mode=joined.reserve_mode)],
        session_code=None if joined is None else codes.code_of(seen.venue, joined.ticket),
        stages=[_stage(slug, seen.venue, stage) for stage in visit.plan],
        awaited=[candidate_answer(slug, candidate) for candidate in seen.awaited],
        locked=visit.locked_at is not None,
        undo_until=seen.undo_until,
    )


def staff_visit_answer(codes: SessionCodes, slug: str, seen: Whereabouts) -> StaffVisitAnswer:
    visit = seen.visit
    return StaffVisitAnswer(
        visit=visit_answer(codes, slug, seen),
        visitor=visit.visitor,
        name=visit.name,
        note=visit.note,
        priority=visit.priority,
        ticket=visit.ticket_id,
        started_at=visit.started_at,
    )


def started_answer(codes: SessionCodes, slug: str, seen: Whereabouts, link: str, *, by_staff: bool) -> StartedAnswer:
    """Whoever asks again is told only that there is one: staff are told which."""
    if seen.already:
        visit = seen.visit.visit_id if by_staff else None
        return StartedAnswer(visit=visit, ticket=None, place=None, already=True, link=None)
    told = visit_answer(codes, slug, seen)
    return StartedAnswer(
        visit=told.visit,
        ticket=seen.visit.ticket_id,
        place=told.tickets[0] if told.tickets else None,
        already=False,
        link=link,
        session_code=told.session_code,
        stages=told.stages,
        awaited=told.awaited,
    )


def candidate_answer(slug: str, candidate: Candidate) -> CandidateAnswer:
    return CandidateAnswer(
        f"{slug}:{candidate.queue_id}",
        candidate.score,
        candidate.walk_minutes,
        candidate.wait_minutes,
        candidate.waiting,
        candidate.left_out,
        candidate.opens_at,
    )


def _stage(slug: str, venue: Venue, stage: PlannedStage) -> StageAnswer:
    queue = venue.queue(stage.queue)
    return StageAnswer(
        f"{slug}:{queue.id}",
        queue.name,
        stage.state,
        stage.pin,
        stage.number,
        None if stage.number is None else queue.label(stage.number),
        queue.floor,
        queue.room,
    )
