"""What a visitor's link shows: the number, how many are ahead, and what to do now. It works without script.

The page's script follows the visit's stream. Counts are changed in place; a change of anything else that `shown_as`
names fetches the page again. So of a hall full of phones only those that a call concerns ask for anything.
"""

import re
from collections.abc import Iterator
from typing import Literal
from unicodedata import east_asian_width

import msgspec
from markupsafe import Markup

from dawr.domain import Candidate, Desk, Link, Queue, Ticket, Venue
from dawr.domain.choice import best
from dawr.domain.digits import LONGEST_PIN
from dawr.domain.errors import UnknownVisit
from dawr.domain.standing import told_minutes
from dawr.domain.visit import LEAVING_UNDONE_WITHIN_SECONDS
from dawr.operations.phone import LookAtStay, Stay
from dawr.operations.snapshots import LookAtVenue
from dawr.operations.visits import Whereabouts
from dawr.web.forms import is_for_a_person
from dawr.web.known_links import link_in_path
from dawr.web.pages.rendering import page
from dawr.web.response import Header, Response
from dawr.web.routes import Parts, Request, Route

NOT_INDEXED: Header = (b"x-robots-tag", b"noindex")
MOST_DOTS = 10
"""Above that the figure says it alone."""
WIDTHS = ((4, ""), (7, "long"), (10, "longer"))
"""So many letters, and the class of their size; wide ones count twice."""
FIGURE = re.compile(r"([0-9٠-٩]+)\s*(.*)")
DAY_MS = 24 * 60 * 60 * 1000

LOOKED_AT_AGAIN = {"between": 20, "locked": 20}
USUALLY_AGAIN = 120
"""Seconds after which the script looks although it heard nothing: a new plan is not in the stream."""


class Step(msgspec.Struct, frozen=True):
    """One stage of the visit, as it is drawn."""

    queue: Queue
    state: Literal["done", "skipped", "here", "next"]
    at: int | None


class Next(msgspec.Struct, frozen=True):
    """What somebody waits for who stands in no queue."""

    why: Literal["enter", "opens", "closed"]
    queue: Queue | None
    """None: one of several."""
    opens_at: int | None


async def show(parts: Parts, request: Request[None]) -> Response:
    """Whatever else stands in the address is ignored: messengers add to links that are sent by them."""
    try:
        stay = await parts.engine.read(request.venue_id, LookAtStay(Link.read(request.code)))
    except UnknownVisit:
        if not is_for_a_person(request.raw):
            raise
        return await _leads_nowhere(parts, request)
    seen = stay.seen
    ticket = seen.ticket
    state = _state(seen)
    return page(
        parts,
        request.raw,
        "phone.html",
        headers=(NOT_INDEXED,),
        venue=seen.venue,
        link=request.code,
        state=state,
        visit=seen.visit,
        joined=seen.joined,
        ticket=ticket,
        desk=_desk(seen.venue, ticket),
        shown_as=_shown_as(seen),
        again=LOOKED_AT_AGAIN.get("locked" if seen.visit.locked_at else state, USUALLY_AGAIN),
        size_of=_size_of,
        most_dots=MOST_DOTS,
        figure=_figure,
        told_minutes=told_minutes,
        steps=_steps(stay),
        next=_next(stay),
        pin=_pin_of(seen),
        longest_pin=LONGEST_PIN,
        undo_ms=None if seen.undo_until is None else seen.undo_until - stay.now,
        undo_seconds=LEAVING_UNDONE_WITHIN_SECONDS,
    )


async def _leads_nowhere(parts: Parts, request: Request[None]) -> Response:
    """As a page of the venue that the link names, where one can take a new number."""
    venue, _ = await parts.engine.read(request.venue_id, LookAtVenue())
    shown = page(
        parts,
        request.raw,
        "phone.html",
        status=404,
        headers=(NOT_INDEXED,),
        venue=venue,
        link=None,
        state="unknown",
        shown_as="",
        ticket=None,
        steps=[],
        undo_ms=None,
    )
    return msgspec.structs.replace(shown, by_rule=True)


def _state(seen: Whereabouts) -> str:
    """The visit's if it has ended, else that of the ticket where the visitor stands."""
    if not seen.visit.is_open:
        return seen.visit.state
    if seen.place is None:
        return "between"
    state = seen.place.ticket.state
    if seen.place.is_paused:
        return "paused"
    return "near" if state == "waiting" and seen.place.is_near else state


def _shown_as(seen: Whereabouts) -> str:
    """What the page shows besides counts. The script makes the same of what the stream says."""
    joined = seen.joined
    if joined is None:
        return ""
    ticket, near, paused = joined.ticket, "near" if joined.is_near else "", "paused" if joined.is_paused else ""
    desk = "" if ticket.desk_id is None else f"{seen.venue.slug}:{ticket.desk_id}"
    return " ".join([f"{seen.venue.slug}:{ticket.queue_id}", ticket.label, ticket.state, near, paused, desk])


def _desk(venue: Venue, ticket: Ticket | None) -> Desk | None:
    desk_id = None if ticket is None else ticket.desk_id
    return next((desk for desk in venue.desks if desk.id == desk_id), None)


def _size_of(text: str) -> str:
    letters = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return next((size for most, size in WIDTHS if letters <= most), "longest")


def _figure(text: str) -> Markup:
    """A count stands large, and small beside it what is counted. Some languages have one word for both."""
    found = FIGURE.fullmatch(text)
    if found is None:
        return Markup('<span class="words">{}</span>').format(text)
    return Markup("{} <small>{}</small>").format(*found.groups())


def _steps(stay: Stay) -> list[Step]:
    """Done with, in the order in which that happened; here; and what is left."""
    return sorted(_in_order_of_plan(stay), key=lambda step: (ORDER.index(step.state), step.at or 0))


ORDER = ("done", "skipped", "here", "next")


def _in_order_of_plan(stay: Stay) -> Iterator[Step]:
    for stage in stay.seen.visit.plan:
        queue = stay.seen.venue.queue(stage.queue)
        match stage.state:
            case "completed":
                yield Step(queue, "done", stay.finished_at.get(stage.ticket_id) if stage.ticket_id else None)
            case "skipped":
                yield Step(queue, "skipped", None)
            case "in_queue":
                yield Step(queue, "here", None)
            case _:
                yield Step(queue, "next", None)


def _next(stay: Stay) -> Next | None:
    """Where they could go now; else what opens first today; else what they wait for."""
    seen = stay.seen
    could = [candidate for candidate in seen.awaited if candidate.left_out != "audience"]
    if not could:
        return None
    enter = best(could)
    if enter is not None:
        return Next("enter", seen.venue.queue(enter.queue_id), None)
    opens = [one for one in could if one.opens_at is not None and one.opens_at < stay.now + DAY_MS]
    if opens:
        first = min(opens, key=_opens_at)
        return Next("opens", seen.venue.queue(first.queue_id), first.opens_at)
    return Next("closed", seen.venue.queue(could[0].queue_id) if len(could) == 1 else None, None)


def _opens_at(candidate: Candidate) -> int:
    return candidate.opens_at or 0


def _pin_of(seen: Whereabouts) -> Literal["pin", "no-pin"] | None:
    """Whether a PIN leads on from where the visitor is; None: they are at no stage of a plan."""
    at = seen.visit.current
    if at is None or seen.place is None:
        return None
    return "pin" if seen.visit.plan[at].pin else "no-pin"


ROUTES = (
    Route(
        method="GET",
        path="/t/{visit}",
        name="visit-page",
        summary="Where the visitor with this link stands, as a page",
        tag="pages",
        handler=show,
        venue="visit",
        link=link_in_path,
        refusals=(UnknownVisit,),
        kind="text/html",
    ),
)
