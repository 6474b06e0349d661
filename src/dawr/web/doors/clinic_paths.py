"""Which clinic is next at the clinic's door, and why; and what staff change of a patient's path."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dawr.domain import Candidate, Venue, VisitId
from dawr.domain.choice import best
from dawr.domain.day import local_time
from dawr.domain.errors import (
    InvalidValue,
    LineEnded,
    NotForThisAudience,
    NothingToEnter,
    NotInPlan,
    OutsideHours,
    PlaceTaken,
    QueueClosed,
    QueueFull,
    StageInWrongState,
    TicketInWrongState,
    UnknownJourney,
    UnknownQueue,
    UnknownVenue,
    UnknownVisit,
    VisitInWrongState,
)
from dawr.domain.secret import hash_of
from dawr.operations import reception, visits
from dawr.reliability.idempotency import Reply
from dawr.web.doors.clinic import STATUSES, TAG
from dawr.web.doors.clinic_patient_shapes import (
    AUDIENCE_OF,
    Action,
    ChoiceQuery,
    Chosen,
    EditedPatient,
    EditInput,
    Named,
    ShownCandidate,
)
from dawr.web.doors.clinic_patients import WORDS, naming, status_of
from dawr.web.known_links import link_in_body
from dawr.web.response import Response, answered
from dawr.web.routes import Parts, Request, Route

NO_VISIT: Final = VisitId("")
"""Of what is yet to be found by the patient's id."""


async def look(parts: Parts, request: Request[ChoiceQuery]) -> Response:
    """Of a visit under way, or of somebody who would come now."""
    given = request.given
    if given.ticket is not None or given.patient_id is not None:
        async with naming(parts, request) as view:
            return answered(_chosen(await parts.engine.read(request.venue_id, visits.LookAtWay(view))))
    if given.exam_type is None:
        raise InvalidValue("examType", "journey-or-visit")
    audience = "any" if given.gender is None else AUDIENCE_OF[given.gender]
    venue, found = await parts.engine.read(request.venue_id, visits.LookAtChoice(given.exam_type, audience))
    return answered(Chosen(success=True, clinic=_best(found), candidates=_candidates(venue, found)))


async def enter(parts: Parts, request: Request[Named]) -> Reply:
    async with naming(parts, request) as view:
        return await request.do(visits.GoOn(view), _chosen)


async def edit(parts: Parts, request: Request[EditInput]) -> Reply:
    given = request.given
    secret = parts.ids.token() if given.action == "new-link" else None
    what = OPERATIONS[given.action](given) if secret is None else reception.NewLink(NO_VISIT, hash_of(secret))
    return await request.do(
        reception.OfVisitor(given.patient_id, what), lambda seen: _edited(seen, secret), reason=given.reason
    )


def _clinic(given: EditInput) -> str:
    if given.clinic is None:
        raise InvalidValue("clinic", "clinic-of-action", action=given.action)
    return given.clinic


def _exam_type(given: EditInput) -> str:
    if given.exam_type is None:
        raise InvalidValue("examType", "journey-instead")
    return given.exam_type


OPERATIONS: Final[Mapping[Action, Callable[[EditInput], reception.OfVisit]]] = {
    "reset-path": lambda _: reception.ResetPath(NO_VISIT),
    "remove-from-queue": lambda _: reception.RemoveFromQueue(NO_VISIT),
    "force-complete": lambda given: reception.CompleteStage(NO_VISIT, _clinic(given), given.why),
    "skip": lambda given: reception.SkipStage(NO_VISIT, _clinic(given)),
    "add": lambda given: reception.AddStage(NO_VISIT, _clinic(given)),
    "change-path": lambda given: reception.ChangePath(NO_VISIT, _exam_type(given)),
    "transfer": lambda given: reception.MoveTo(NO_VISIT, _clinic(given)),
    "unlock": lambda _: reception.Unlock(NO_VISIT),
    "end": lambda _: reception.EndVisit(NO_VISIT),
}


def _edited(seen: visits.Whereabouts, secret: str | None) -> EditedPatient:
    told = msgspec.structs.asdict(status_of(seen))
    return EditedPatient(**told, ticket=None if secret is None else f"/t/{seen.visit.visit_id}.{secret}")


def _chosen(way: visits.Way) -> Chosen:
    """Where the patient is they stay, whatever would be best now."""
    place = way.seen.place
    clinic = _best(way.candidates) if place is None else place.queue.id
    return Chosen(success=True, clinic=clinic, candidates=_candidates(way.seen.venue, way.candidates))


def _best(candidates: list[Candidate]) -> str | None:
    found = best(candidates)
    return None if found is None else found.queue_id


def _candidates(venue: Venue, candidates: list[Candidate]) -> list[ShownCandidate]:
    return [
        ShownCandidate(
            clinic=candidate.queue_id,
            score=candidate.score,
            walk_minutes=candidate.walk_minutes,
            wait_minutes=candidate.wait_minutes,
            waiting=candidate.waiting,
            left_out=candidate.left_out,
            opens_at=None
            if candidate.opens_at is None
            else f"{local_time(candidate.opens_at, zone=venue.zone):%Y-%m-%d %H:%M}",
        )
        for candidate in candidates
    ]


ROUTES = (
    Route(
        method="GET",
        path="/api/v1/path/choose",
        name="path/choose",
        summary="Which clinic is next, or would be first, and why",
        tag=TAG,
        handler=look,
        query=ChoiceQuery,
        answer=Chosen,
        venue="clinic",
        refusals=(UnknownVenue, UnknownVisit, UnknownJourney, NotForThisAudience, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/path/choose",
        name="path/enter",
        summary="Enter the next clinic, if one is ready for the patient",
        tag=TAG,
        handler=enter,
        body=Named,
        answer=Chosen,
        venue="clinic",
        joins=True,
        limit="clinic-join",
        body_link=link_in_body,
        refusals=(UnknownVenue, UnknownVisit, VisitInWrongState, NothingToEnter, InvalidValue),
        words=WORDS,
    ),
    Route(
        method="POST",
        path="/api/v1/admin/edit-patient",
        name="admin/edit-patient",
        summary="Change a patient's path, take them out of a queue, unlock them, or give them a new link",
        tag=TAG,
        handler=edit,
        body=EditInput,
        answer=EditedPatient,
        who="staff",
        venue="clinic",
        refusals=(
            UnknownVenue,
            UnknownQueue,
            UnknownVisit,
            UnknownJourney,
            NotInPlan,
            NotForThisAudience,
            VisitInWrongState,
            StageInWrongState,
            TicketInWrongState,
            LineEnded,
            PlaceTaken,
            QueueClosed,
            OutsideHours,
            QueueFull,
            InvalidValue,
        ),
        words=WORDS,
        statuses=STATUSES,
    ),
)
