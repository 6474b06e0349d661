"""Joining, by what a QR code at the door leads to: people and wait before the choice, then the number.

It needs no script: every step is a page of its own, and a form takes the number. A form that is sent twice takes one.
Whoever is in line already is told so and nothing else, for an ID or a mobile number can be guessed.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlencode

import msgspec

from dawr.domain import Queue, QueueCode, Venue
from dawr.domain.errors import Closed, Full, InvalidValue, TooOften, UnknownQueue, UnknownVenue
from dawr.operations.desks import LookAtVenueNow, VenueSnapshot
from dawr.operations.snapshots import LookAtVenue
from dawr.reliability.idempotency import KeyReused, Reply
from dawr.web.api.tickets import TakeInput, give_number
from dawr.web.api.visits import start_journey
from dawr.web.doors.clinic_patient_shapes import AUDIENCE_OF
from dawr.web.doors.restaurant import joining
from dawr.web.links import new_link
from dawr.web.pages.join_form import LIMITS, DoesNotFit, Fault, JoinForm, asks_gender, read_journey, read_party, refused
from dawr.web.pages.offers import closes_at, offers_at, on_journeys
from dawr.web.pages.rendering import language_of, page
from dawr.web.problems import problem_of
from dawr.web.response import Header, Response
from dawr.web.routes import Parts, Request, Route

MINUTE_SECONDS = 60
FIGURE: Final = re.compile("([0-9٠-٩]+)")

Step = Literal["choices", "queue", "journey", "message"]
NO_FAULTS: Mapping[str, Fault] = {}
SHOWN_REFUSALS = (DoesNotFit, InvalidValue, UnknownQueue, Closed, Full, KeyReused, TooOften)


class JoinQuery(msgspec.Struct):
    """What else stands in the address is ignored: messengers add to links that are sent by them."""

    queue: str | None = None
    journey: str | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is on the page besides how the venue stands."""

    step: Step
    queue: QueueCode = ""
    typed: JoinForm = JoinForm()
    faults: Mapping[str, Fault] = NO_FAULTS
    said: str | None = None
    """The name of a sentence about what went wrong."""
    status: int = 200
    headers: tuple[Header, ...] = ()


class TakenByPage(msgspec.Struct, frozen=True):
    """All that the page tells of who joined. Of the answers of the API it reads the same."""

    link: str | None
    """None: they were in line already."""


async def show(parts: Parts, request: Request[JoinQuery]) -> Response:
    seen = await parts.engine.read(request.venue_id, LookAtVenueNow())
    asked, venue = request.given, seen.venue
    if asked.journey is not None and venue.journeys:
        shown = Shown(step="journey", typed=JoinForm(examType=asked.journey))
    elif asked.queue:
        shown = _of_queue(venue, asked.queue)
    elif _has_one_line(venue):
        shown = Shown(step="queue", queue=venue.queues[0].id)
    else:
        shown = Shown(step="choices")
    return _page(parts, request, seen, shown)


async def show_in_line(parts: Parts, request: Request[None]) -> Response:
    """The same for everybody: it tells nothing of who is in line."""
    seen = await parts.engine.read(request.venue_id, LookAtVenueNow())
    return _page(parts, request, seen, Shown(step="message", said="in-line"))


async def take(parts: Parts, request: Request[JoinForm]) -> Reply | Response:
    """What is wrong is said beside its field, and the form keeps what was typed."""
    try:
        return await _take(parts, request)
    except SHOWN_REFUSALS as refusal:
        if isinstance(refusal, TooOften):
            parts.limits.hits.note(refusal.policy, refusal.whose)
        seen = await parts.engine.read(request.venue_id, LookAtVenueNow())
        again = _page(parts, request, seen, _refused(request.given, refusal))
        return msgspec.structs.replace(again, refusal=refusal)


def _refused(
    typed: JoinForm, refusal: DoesNotFit | InvalidValue | UnknownQueue | Closed | Full | KeyReused | TooOften
) -> Shown:
    if isinstance(refusal, UnknownQueue):
        return Shown(step="choices", said="unknown-queue", status=404)
    if isinstance(refusal, Closed | Full):
        return _form_again(typed, said="not-taken", status=409)
    if isinstance(refusal, KeyReused):
        return _form_again(typed, said="sent-before", status=409)
    if isinstance(refusal, TooOften):
        faults: Mapping[str, Fault] = {
            "mobileNumber": {"what": "often", "minutes": -(-refusal.again_seconds // MINUTE_SECONDS)}
        }
        headers = problem_of(refusal).headers_of_response()
        return _form_again(typed, faults=faults, said="to-change", status=429, headers=headers)
    faults = refusal.faults if isinstance(refusal, DoesNotFit) else refused(refusal)
    return _form_again(typed, faults=faults, said="to-change", status=422)


async def _take(parts: Parts, request: Request[JoinForm]) -> Reply:
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    form = request.given
    if not form.queue and venue.journeys:
        return await start_journey(parts, msgspec.structs.replace(request, given=read_journey(venue, form)))  # type: ignore[arg-type]
    queue = venue.queue(form.queue)
    if venue.kind != "restaurant":
        return await give_number(parts, request, queue.id, TakeInput())
    link = new_link(parts.ids, request.venue_id)
    operation = joining(parts, request, read_party(form), queue.id, link)
    return await request.do(operation, lambda joined: TakenByPage(None if joined.already else link.path), status=201)


def leads_to(request: Request[JoinForm], answer: bytes) -> str:
    """To the number; to what to do instead, if they were in line already."""
    link = msgspec.json.decode(answer, type=TakenByPage).link
    return _in_line(request.venue) if link is None else link


def _in_line(venue: str) -> str:
    return f"/v/{venue}/in-line"


def _of_queue(venue: Venue, code: str) -> Shown:
    """A queue that is gone may still be on paper."""
    try:
        return Shown(step="queue", queue=venue.queue(code).id)
    except UnknownQueue:
        return Shown(step="choices", said="unknown-queue", status=404)


def _form_again(typed: JoinForm, **changes: object) -> Shown:
    shown = Shown(step="queue" if typed.queue else "journey", queue=typed.queue, typed=typed)
    return msgspec.structs.replace(shown, **changes)


def _has_one_line(venue: Venue) -> bool:
    return len(venue.queues) == 1 and not venue.journeys


def _page(parts: Parts, request: Request[object], seen: VenueSnapshot, shown: Shown) -> Response:
    venue, language = seen.venue, language_of(request.raw, seen.venue)
    offers = offers_at(seen, language)
    offer = next((offer for offer in offers if offer.queue is _asked_for(venue, shown)), None)
    kept = {"queue": offer.queue.id} if offer else {"journey": shown.typed.examType} if shown.step == "journey" else {}
    return page(
        parts,
        request.raw,
        "join.html",
        venue=venue,
        status=shown.status,
        headers=shown.headers,
        shown=shown,
        offers=offers,
        offer=offer,
        on_journeys=on_journeys(venue, offers),
        has_one_line=_has_one_line(venue),
        closes_at=closes_at(offers),
        asks_gender=asks_gender(venue),
        genders=AUDIENCE_OF,
        limits=LIMITS,
        kept=kept,
        address=f"/v/{venue.slug}",
        action=f"/v/{venue.slug}?{urlencode(kept)}",
        in_line=_in_line(venue.slug),
        with_figure=FIGURE.split,
    )


def _asked_for(venue: Venue, shown: Shown) -> Queue | None:
    return venue.queue(shown.queue) if shown.step == "queue" else None


ROUTES = (
    Route(
        method="GET",
        path="/v/{venue}",
        name="join-page",
        summary="Where one can join, how many wait and how long, as a page",
        tag="pages",
        handler=show,
        query=JoinQuery,
        venue="venue",
        refusals=(UnknownVenue,),
        kind="text/html",
    ),
    Route(
        method="POST",
        path="/v/{venue}",
        name="join",
        summary="Take a number by the form of the page",
        tag="pages",
        handler=take,
        body=JoinForm,
        venue="venue",
        joins=True,
        limit="join",
        refusals=(UnknownVenue,),
        kind="text/html",
        leads_to=leads_to,
    ),
    Route(
        method="GET",
        path="/v/{venue}/in-line",
        name="in-line-page",
        summary="What to do for whoever is in line already",
        tag="pages",
        handler=show_in_line,
        venue="venue",
        refusals=(UnknownVenue,),
        kind="text/html",
    ),
)
