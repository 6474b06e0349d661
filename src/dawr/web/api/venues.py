"""Venues: what anybody may know, and the whole set-up for those who run them."""

import msgspec

from dawr.domain import Desk, Journey, Queue, Venue, VenueId
from dawr.domain.errors import InvalidValue, TooManyVenues, UnknownVenue
from dawr.domain.venue import Digits, DisplayAccess, Language, VenueKind
from dawr.operations import admin, snapshots
from dawr.operations.desks import VenueSnapshot
from dawr.ports.faults import Unstorable
from dawr.reliability.idempotency import Answer, Reply
from dawr.web.api.answers import VenueAnswer, venue_answer
from dawr.web.api.queues import NoInput
from dawr.web.auth import must_be_allowed
from dawr.web.response import Response, answered, encoded
from dawr.web.routes import Parts, Request, Route

TAG = "venues"


class SetUpInput(msgspec.Struct, forbid_unknown_fields=True):
    """A venue's set-up, as it is looked at. Its id and slug may stand there; those of the address count."""

    name: dict[str, str]
    zone: str
    kind: VenueKind = "clinic"
    active: bool = True
    day_start: int = 5 * 60
    queues: tuple[Queue, ...] = ()
    desks: tuple[Desk, ...] = ()
    journeys: tuple[Journey, ...] = ()
    walking_minutes: dict[str, dict[str, int]] = {}
    pin_digits: int | None = None
    code_prefix: str = ""
    language: Language = "en"
    digits: Digits = "latin"
    hue: int | None = None
    display: DisplayAccess = "open"
    id: str | None = None
    slug: str | None = None

    def venue(self, slug: str) -> Venue:
        return Venue(
            VenueId(""),
            slug,
            self.name,
            self.zone,
            self.kind,
            self.active,
            self.day_start,
            self.queues,
            self.desks,
            self.journeys,
            self.walking_minutes,
            self.pin_digits,
            self.code_prefix,
            self.language,
            self.digits,
            self.hue,
            self.display,
        )


async def look(parts: Parts, request: Request[NoInput]) -> Response:
    return Response(200, await parts.status_cache.at_venue(parts.engine, request.venue_id, "venue", _anybodys))


async def look_at_set_up(parts: Parts, request: Request[NoInput]) -> Response:
    venue, _ = await parts.engine.read(request.venue_id, snapshots.LookAtVenue())
    return answered(venue.as_written())


async def set_up(parts: Parts, request: Request[SetUpInput]) -> Reply:
    """Change the venue with this slug or id, or make one with this slug: then whoever made it owns it."""
    venue_id, wanted = request.venue_id, request.given.venue(request.venue)
    if not venue_id:
        try:
            return await _create(parts, request, wanted)
        except (Unstorable, TooManyVenues) as fault:
            venue_id = await _made_meanwhile(parts, request, wanted.slug, fault)
    return await request.at(venue_id).do(admin.SetUp(wanted, parts.accounts.venue_limits), Venue.as_written)


async def _create(parts: Parts, request: Request[SetUpInput], wanted: Venue) -> Reply:
    """The answer is kept with the venue, so that a retry under the same key is told the same."""
    if request.caller.account_id is None or "owner" not in request.caller.roles.values():
        raise UnknownVenue(wanted.slug)

    def kept(made: Venue, ran_ms: int) -> Answer | None:
        claim = request.at(made.id).claim
        return None if claim is None else Reply(201, encoded(made.as_written())).kept(claim, ran_ms)

    made = await parts.accounts.create_venue(wanted, request.caller.account_id, request.origin(), kept)
    return Reply(201, encoded(made.as_written()))


async def _made_meanwhile(parts: Parts, request: Request[SetUpInput], slug: str, fault: Exception) -> VenueId:
    """Somebody was quicker with this slug; or else it was for another reason that it could not be made.

    It may have been the caller, with another request: who owns the venue was not known when they were judged.
    """
    try:
        venue_id = await parts.engine.find_venue_now(slug)
    except UnknownVenue:
        raise fault from None
    must_be_allowed(await parts.auth.caller_now(request.raw), "owner", venue_id, slug, by="venue")
    return venue_id


def _anybodys(seen: VenueSnapshot) -> bytes:
    return encoded(venue_answer(seen))


ROUTES = (
    Route(
        method="GET",
        path="/v1/venues/{venue}",
        name="look-at-venue",
        summary="A venue, its queues and desks",
        tag=TAG,
        handler=look,
        query=NoInput,
        answer=VenueAnswer,
        venue="venue",
        refusals=(UnknownVenue,),
    ),
    Route(
        method="GET",
        path="/v1/venues/{venue}/set-up",
        name="look-at-set-up",
        summary="The venue's whole set-up",
        tag=TAG,
        handler=look_at_set_up,
        query=NoInput,
        answer=Venue,
        who="manager",
        venue="venue",
        refusals=(UnknownVenue,),
    ),
    Route(
        method="PUT",
        path="/v1/venues/{venue}/set-up",
        name="set-up-venue",
        summary="Make a venue, or replace its set-up",
        tag=TAG,
        handler=set_up,
        body=SetUpInput,
        answer=Venue,
        also_status=201,
        who="signed-in",
        venue="venue",
        makes_venue=True,
        refusals=(UnknownVenue, InvalidValue, TooManyVenues),
    ),
)
