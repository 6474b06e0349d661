"""What the console opens beside itself: somebody in the line, the desk, a walk-in, the PINs, what was done last.

Each is a page of its own, for browsers without script; the console's script shows it in a dialog.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from dawr.domain import Desk, QueueId, Ticket, TicketId, Venue, Why
from dawr.domain.errors import NotAtThisDesk, Refused, UnknownDesk, UnknownTicket, UnknownVenue
from dawr.domain.ticket import LARGEST_PARTY, PRIORITIES
from dawr.operations.console import LookAtConsole
from dawr.operations.desks import LookAtVenueNow
from dawr.operations.pins import GivePin
from dawr.operations.snapshots import LookAtTicket, LookAtVenue
from dawr.operations.visits import LookAtVisitById
from dawr.web.api.tickets import TAKE_REFUSALS, TakeInput, TakenAnswer, give_number
from dawr.web.forms import Form
from dawr.web.links import absolute
from dawr.web.pages.console import MS_PER_MINUTE, address_of, queues_with_pins, taken_by
from dawr.web.pages.join_form import in_latin, read_mobile
from dawr.web.pages.offers import offers_at
from dawr.web.pages.qr import qr_svg
from dawr.web.pages.rendering import language_of, page, words_of
from dawr.web.problems import BadRequest, Problem, problem_of
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route
from dawr.web.wording import names_at

BREAKS_MINUTES: Final = (5, 10, 15, 30, 45, 60)
REASONS: Final[tuple[Why, ...]] = tuple(why for why in get_args(Why) if why != "pin")
"""A PIN is no reason that somebody gives."""
NEW_WALK_IN: Final[Mapping[str, str]] = {"name": "", "visitor": "", "note": "", "party_size": "2", "priority": "0"}

Act = Literal["call", "transfer", "put-back"]
DONE_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "waiting": ("call", "hold", "priority", "transfer", "note", "leave"),
    "called": ("put-back", "transfer", "note", "leave"),
    "serving": ("transfer", "note"),
    "held": ("resume", "transfer", "note", "leave"),
    "missed": ("rejoin", "transfer", "note", "leave"),
}
"""What can be done with somebody from here, by their state. What the console has buttons for is not said again."""


class TicketQuery(msgspec.Struct, frozen=True):
    do: Act | None = None
    """Only this one."""


async def show_ticket(parts: Parts, request: Request[TicketQuery]) -> Response:
    seen = await parts.engine.read(request.venue_id, LookAtVenueNow(most_calls=1))
    venue, desk = seen.venue, seen.venue.desk(request.params["desk"])
    ticket_id = TicketId(request.params["ticket"])
    standing = await parts.engine.read(request.venue_id, LookAtTicket(ticket_id))
    ticket = standing.ticket
    visit = (await parts.engine.read(request.venue_id, LookAtVisitById(ticket.visit_id))).visit
    offers = offers_at(seen, language_of(request.raw, venue))
    return _sheet(
        parts,
        request,
        "console_ticket.html",
        venue,
        desk,
        ticket=ticket,
        ahead=standing.ahead,
        note=visit.note,
        acts=_acts(ticket, request.given.do),
        only=request.given.do,
        offers=[offer for offer in offers if offer.queue.id != ticket.queue_id],
        reasons=REASONS,
        priorities=range(PRIORITIES),
    )


async def show_desk(parts: Parts, request: Request[None]) -> Response:
    seen = await parts.engine.read(request.venue_id, LookAtConsole(request.params["desk"], most=1))
    whole_minute = -(-seen.now // MS_PER_MINUTE) * MS_PER_MINUTE
    return _sheet(
        parts,
        request,
        "console_desk.html",
        seen.venue,
        seen.desk,
        desk_now=seen.desk_now,
        taken_by=taken_by(seen.desk_now, request.caller.actor),
        breaks=[(minutes, whole_minute + minutes * MS_PER_MINUTE) for minutes in BREAKS_MINUTES],
        queues=seen.queues,
        username=request.caller.username,
        is_manager=request.caller.may("manager", request.venue_id),
    )


async def show_latest(parts: Parts, request: Request[None]) -> Response:
    look = LookAtConsole(request.params["desk"], most=1, undo_minutes=parts.settings.undo_minutes)
    seen = await parts.engine.read(request.venue_id, look)
    return _sheet(parts, request, "console_latest.html", seen.venue, seen.desk, latest=seen.latest)


async def show_pins(parts: Parts, request: Request[dict[str, str]]) -> Response:
    """A write, because a PIN that is not there yet is made."""
    venue, desk = await _where(parts, request)
    is_manager = request.caller.may("manager", request.venue_id)
    queues = queues_with_pins(venue, [venue.queue(code) for code in desk.queues])
    pins: list[tuple[QueueId, str]] = []
    for queue in queues:
        giving = GivePin(parts.ids.token(), is_manager, queue.id)
        given = await parts.engine.do(request.venue_id, giving, origin=request.origin())
        pins += [(pin.queue_id, pin.pin) for pin in given]
    named = {queue.id: queue.name for queue in queues}
    return _sheet(parts, request, "console_pins.html", venue, desk, pins=[(named[code], pin) for code, pin in pins])


async def show_walk_in(parts: Parts, request: Request[None]) -> Response:
    venue, desk = await _where(parts, request)
    return _walk_in(parts, request, venue, desk, given=NEW_WALK_IN)


async def take_walk_in(parts: Parts, request: Request[dict[str, str]]) -> Response:
    """The number, and the link to hand over with it. The form says what is wrong, and keeps what was typed."""
    venue, desk = await _where(parts, request)
    form = request.form or Form({}, None, None)
    try:
        reply = await give_number(parts, request, form.fields.get("queue", ""), _taken_from(venue, form))
    except (Refused, BadRequest) as refusal:
        language = language_of(request.raw, venue)
        wrong = problem_of(refusal, language, names=names_at(venue, language), digits=venue.digits)
        return _walk_in(parts, request, venue, desk, given={**NEW_WALK_IN, **form.fields}, wrong=wrong)
    taken = msgspec.json.decode(reply.body, type=TakenAnswer)
    address = None if taken.link is None else absolute(parts.settings, taken.link)
    label = words_of("console", language_of(request.raw, venue))("qr", label=taken.place.label)
    return _sheet(
        parts,
        request,
        "console_taken.html",
        venue,
        desk,
        taken=taken,
        queue=venue.queue(taken.place.queue.partition(":")[2]),
        qr=None if address is None else qr_svg(address, label),
    )


def _taken_from(venue: Venue, form: Form) -> TakeInput:
    """Without a priority there is nothing to give a reason for. A mobile number is the one that a visitor types."""
    fields = {name: value for name, value in form.fields.items() if name != "queue"}
    if venue.kind == "restaurant" and "visitor" in fields:
        fields["visitor"] = read_mobile(fields["visitor"])
    if "party_size" in fields:
        fields["party_size"] = in_latin(fields["party_size"])
    if fields.get("priority", "0") == "0":
        fields.pop("why", None)
    return msgspec.structs.replace(form, fields=fields).as_a(TakeInput)


def _walk_in(
    parts: Parts,
    request: Request[Any],
    venue: Venue,
    desk: Desk,
    *,
    given: Mapping[str, str],
    wrong: Problem | None = None,
) -> Response:
    mine = [venue.queue(code) for code in desk.queues]
    return _sheet(
        parts,
        request,
        "console_walk_in.html",
        venue,
        desk,
        status=200 if wrong is None else wrong.status,
        given=given,
        wrong=wrong,
        mine=mine,
        others=[queue for queue in venue.queues if queue not in mine],
        reasons=REASONS,
        priorities=range(PRIORITIES),
        largest_party=LARGEST_PARTY,
    )


def _acts(ticket: Ticket, only: Act | None) -> tuple[str, ...]:
    """Nothing, if it cannot be done any more: somebody else was quicker."""
    possible = DONE_BY.get(ticket.state, ())
    return possible if only is None else tuple(act for act in possible if act == only)


async def _where(parts: Parts, request: Request[Any]) -> tuple[Venue, Desk]:
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    return venue, venue.desk(request.params["desk"])


def _sheet(
    parts: Parts,
    request: Request[Any],
    template: str,
    venue: Venue,
    desk: Desk,
    *,
    status: int = 200,
    **facts: Any,  # noqa: ANN401 - whatever the template shows
) -> Response:
    here = address_of(venue, desk)
    return page(parts, request.raw, template, venue=venue, status=status, desk=desk, here=here, **facts)


def _page_of(path: str, name: str, summary: str, handler: object, *refusals: type[Exception]) -> Route:
    return Route(
        method="GET",
        path=f"/staff/{{venue}}/{{desk}}/{path}",
        name=name,
        summary=summary,
        tag="pages",
        handler=handler,  # type: ignore[arg-type] # each takes its own query
        query=TicketQuery if path.startswith("tickets/") else None,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownDesk, *refusals),
        kind="text/html",
    )


def _form_of(path: str, name: str, summary: str, handler: object, *refusals: type[Exception]) -> Route:
    return Route(
        method="POST",
        path=f"/staff/{{venue}}/{{desk}}/{path}",
        name=name,
        summary=summary,
        tag="pages",
        handler=handler,  # type: ignore[arg-type] # as above
        body=dict[str, str],
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownDesk, *refusals),
        kind="text/html",
    )


ROUTES = (
    _page_of("desk", "desk-page", "The desk: open, on a break until, closed", show_desk),
    _page_of("latest", "latest-page", "What was done at the desk, to be undone", show_latest),
    _page_of(
        "tickets/{ticket}", "ticket-page", "What can be done with somebody in the line", show_ticket, UnknownTicket
    ),
    _page_of("walk-in", "walk-in-page", "The form for somebody who walked in", show_walk_in),
    _form_of("walk-in", "walk-in", "Give somebody who walked in a number", take_walk_in, *TAKE_REFUSALS),
    _form_of("pins", "pins-page", "The exit PINs of the desk's queues", show_pins, NotAtThisDesk),
)
