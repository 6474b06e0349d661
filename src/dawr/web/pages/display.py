"""The screen in the hall: who is called now and to where, the latest calls, how many wait. Numbers only, no names.

The page is a whole picture of one moment, for a screen without script too. In it is the same for the script, with the
id of that moment: the live stream goes on from there. It speaks the venue's language, whatever the screen's own is.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from markupsafe import Markup, escape

from dawr import __version__
from dawr.domain import Desk, Line, Queue, Ticket, Venue
from dawr.domain.availability import Availability, availability
from dawr.domain.day import local_time
from dawr.domain.errors import OutsideHours, QueueFull, UnknownQueue, UnknownVenue
from dawr.domain.standing import told_minutes, wait_minutes
from dawr.live.frames import EventId
from dawr.operations.desks import LookAtVenueNow, VenueSnapshot
from dawr.operations.snapshots import AtMoment
from dawr.web.auth import must_be_allowed
from dawr.web.forms import is_for_a_person
from dawr.web.pages.display_token import to_the_form
from dawr.web.pages.rendering import page
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route
from dawr.web.wording import words_in

LATEST = 6
MOST_AT_ONCE = 6
LIVE_MS = 60_000
"""How long a call is shown as one, at most. The script has the same."""
LAST_CALL_MS = 15 * 60_000
"""How long the last call is shown large when nobody is called."""
MOST_CALLS = 120
"""That are looked at: a screen may show a few of many queues."""
MOST_TOLD = 24
"""Calls that the script is told. It knows how many."""
MOST_QUEUES = 50
FIGURES = re.compile(r"([0-9٠-٩]+)")
SIZES = {0: "one", 1: "one", 2: "two", 3: "four", 4: "four", 5: "six", 6: "six"}
COMES_IN = ("ar", "en", "zh")
"""The languages of "Please come", in the order in which they stand beside each other."""


class DisplayQuery(msgspec.Struct, frozen=True):
    queues: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    """Codes, separated by commas; empty is all."""


class Call(msgspec.Struct, frozen=True):
    ticket: Ticket
    queue: Queue
    desk: Desk | None

    @property
    def key(self) -> str:
        """By which the script knows it again in an event."""
        ticket = self.ticket
        return f"{ticket.queue_id} {ticket.day} {ticket.round} {ticket.number}"

    @property
    def place(self) -> str:
        return f"queue {self.queue.id}" if self.desk is None else f"desk {self.desk.id}"

    @property
    def at(self) -> int:
        return max(self.ticket.called_at or 0, self.ticket.recalled_at or 0)


class Notice(msgspec.Struct, frozen=True):
    kind: Literal["unknown", "none-known", "inactive", "paused", "opens", "full", "closed"]
    queue: Queue | None = None
    at: int | None = None
    codes: str = ""


class Hall(msgspec.Struct, frozen=True):
    """What the screen shows at a moment, all of the venue or some of its queues."""

    venue: Venue
    now: int
    queues: list[Queue]
    lines: dict[str, Line]
    """Of each of its queues."""
    calls: list[Call]
    """The last one first."""
    waiting: int
    wait_minutes: int
    """The longest of its queues: nobody is told too little."""
    notices: list[Notice]

    @property
    def live(self) -> list[Call]:
        """Those who are called now, in order."""
        recent = [call for call in self.calls if call.ticket.state == "called" and self.now - call.at < LIVE_MS]
        return recent[:MOST_AT_ONCE][::-1]

    @property
    def last(self) -> Call | None:
        """The last call, when nobody is called and it is not long ago."""
        is_recent = self.calls and not self.live and self.now - self.calls[0].at < LAST_CALL_MS
        return self.calls[0] if is_recent else None

    @property
    def latest(self) -> list[Call]:
        shown = [*self.live, self.last]
        return [call for call in self.calls if call not in shown][:LATEST]

    @property
    def size(self) -> str:
        return SIZES[len(self.live)]

    @property
    def minutes_from_utc(self) -> int:
        offset = local_time(self.now, zone=self.venue.zone).utcoffset()
        return 0 if offset is None else round(offset.total_seconds() / 60)


async def show(parts: Parts, request: Request[DisplayQuery]) -> Response:
    moment = await parts.engine.read(request.venue_id, AtMoment(LookAtVenueNow(MOST_CALLS)))
    venue = moment.venue
    if venue.display == "staff" and not request.caller.may_watch(venue.id):
        if is_for_a_person(request.raw):
            return to_the_form(request.raw, venue.slug)
        must_be_allowed(request.caller, "viewer", venue.id, venue.slug, by="venue")
    hall = hall_of(moment.seen, request.given.queues)
    return page(
        parts,
        request.raw,
        "display.html",
        venue=venue,
        language=request.raw.language_asked_for or venue.language,
        status=200 if hall.queues or not venue.queues else 404,
        hall=hall,
        event=bytes(EventId(moment.epoch, moment.version)).decode(),
        version=__version__,
        come=[(code, words_in(code).screens["display"]["come"]) for code in COMES_IN],
        english=words_in("en").screens["display"],
        figures=figures,
        most_told=MOST_TOLD,
    )


def hall_of(seen: VenueSnapshot, asked_for: str = "") -> Hall:
    venue = seen.venue
    queues, unknown = _asked_for(venue, asked_for)
    lines = {line.queue_id: line for line in seen.lines}
    at_work = [(queue, lines[queue.id]) for queue in queues]
    waits = [wait_minutes(queue, line, line.people_waiting) for queue, line in at_work if line.people_waiting]
    return Hall(
        venue=venue,
        now=seen.now,
        queues=queues,
        lines={queue.id: line for queue, line in at_work},
        calls=_calls(venue, queues, seen.calls),
        waiting=sum(line.people_waiting for _, line in at_work),
        wait_minutes=told_minutes(max(waits, default=0)),
        notices=_notices(seen, at_work, unknown),
    )


def figures(text: str) -> Markup:
    """A sentence with its figures large."""
    parts = FIGURES.split(text)
    return Markup("").join(
        Markup("<b>{}</b>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _asked_for(venue: Venue, asked_for: str) -> tuple[list[Queue], list[str]]:
    """The queues in the order of the set-up, and the codes that are none."""
    codes = [code.strip() for code in asked_for.split(",") if code.strip()][:MOST_QUEUES]
    if not codes:
        return list(venue.queues), []
    found, unknown = set(), []
    for code in codes:
        try:
            found.add(venue.queue(code).id)
        except UnknownQueue:
            unknown.append(code)
    return [queue for queue in venue.queues if queue.id in found], unknown


def _calls(venue: Venue, queues: Sequence[Queue], tickets: Sequence[Ticket]) -> list[Call]:
    """Without those who wait again, or gave up: nobody is expected at a desk."""
    by_id = {queue.id: queue for queue in queues}
    desks = {desk.id: desk for desk in venue.desks}
    return [
        Call(ticket, by_id[ticket.queue_id], None if ticket.desk_id is None else desks.get(ticket.desk_id))
        for ticket in tickets
        if ticket.queue_id in by_id and ticket.state in {"called", "serving", "finished", "missed"}
    ]


def _notices(seen: VenueSnapshot, at_work: Sequence[tuple[Queue, Line]], unknown: Sequence[str]) -> list[Notice]:
    venue = seen.venue
    notices = [Notice("unknown", codes=", ".join(unknown))] if unknown else []
    if not at_work:
        known = ", ".join(queue.id for queue in venue.queues[:MOST_QUEUES])
        return [*notices, Notice("none-known", codes=known)] if unknown else notices
    if not venue.active:
        return [*notices, Notice("inactive")]
    standing = [(queue, availability(venue, queue, line, seen.now)) for queue, line in at_work]
    each = [_notice(venue, seen, queue, available) for queue, available in standing]
    found = [notice for notice in each if notice is not None]
    if not any(available.joinable for _, available in standing) and not found:
        found = [Notice("closed")]
    return [*notices, *found]


def _notice(venue: Venue, seen: VenueSnapshot, queue: Queue, available: Availability) -> Notice | None:
    """What somebody in the hall should know of a queue today."""
    if available.why_not == OutsideHours.code:
        opens = available.opens_at
        is_today = opens is not None and opens < venue.end_of(seen.day)
        return Notice("opens", queue, opens) if is_today else None
    if queue.state == "paused":
        return Notice("paused", queue)
    return Notice("full", queue) if available.why_not == QueueFull.code else None


ROUTES = (
    Route(
        method="GET",
        path="/d/{venue}",
        name="display",
        summary="Who is called now, for a screen in the hall",
        tag="pages",
        handler=show,
        query=DisplayQuery,
        venue="venue",
        refusals=(UnknownVenue,),
        kind="text/html",
    ),
)
