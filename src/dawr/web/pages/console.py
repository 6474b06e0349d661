"""The console: what whoever works at a desk sees and presses; and which desks there are to sit down at.

Every button is a form of its own to the API, so that all of it works without script. What takes a choice is a page of
its own (`console_sheets.py`), which the script shows in a dialog.
"""

from typing import Annotated, Final, Literal

import msgspec

from dawr.domain import Desk, DeskNow, Queue, Ticket, Venue
from dawr.domain.errors import UnknownDesk, UnknownVenue
from dawr.domain.visit import DONE_WITH
from dawr.operations.console import AtDesk, Console, LookAtConsole
from dawr.operations.desks import LookAtVenueNow, VenueSnapshot
from dawr.operations.reception import LONGEST_SEARCH
from dawr.web.pages.rendering import page
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route

MS_PER_MINUTE: Final = 60_000
LONG_MINUTES: Final = 20
TOO_LONG_MINUTES: Final = 35
"""A wait is said in a word from here on: a word in every row would hide the two that matter."""
GRACE_SECONDS: Final = 180
"""How long somebody who was called has, where the queue does not say, until staff are asked whether they came."""
MOST_ROWS: Final = 100
ROWS_WITH_KEYS: Final = 9


class ConsoleQuery(msgspec.Struct, frozen=True):
    find: Annotated[str, msgspec.Meta(max_length=LONGEST_SEARCH)] = ""


class Row(msgspec.Struct, frozen=True):
    """Somebody as they stand in the console."""

    seen: AtDesk
    queue: Queue
    minutes: int
    """How long they have waited; of somebody who was called, how long they had."""
    wait: Literal["fine", "long", "too-long"]
    key: int | None = None
    then: Queue | None = None
    """Where their journey leads next, if that is known."""

    @property
    def ticket(self) -> Ticket:
        return self.seen.ticket


class Grace(msgspec.Struct, frozen=True):
    """How long somebody who was called has had to come."""

    since: int
    until: int
    is_over: bool


class Turn(msgspec.Struct, frozen=True):
    """The one number that matters now, and what the big button does with it."""

    state: Literal["called", "serving", "next", "paused", "empty"]
    row: Row | None
    """None, too, if whoever is next stands behind a hundred of a queue that is paused."""
    grace: Grace | None
    others: list[Row]
    """Who else is at this desk: parties that were called and are on their way."""

    @property
    def is_here(self) -> bool:
        return self.state in {"called", "serving"}

    @property
    def since(self) -> int:
        """Of the timer below the number."""
        ticket = None if self.row is None else self.row.ticket
        return 0 if ticket is None else (ticket.started_at if self.state == "serving" else ticket.called_at) or 0


class Place(msgspec.Struct, frozen=True):
    """A desk to sit down at."""

    desk: Desk
    now: DeskNow
    queues: list[Queue]
    waiting: int


async def choose(parts: Parts, request: Request[None]) -> Response:
    seen = await parts.engine.read(request.venue_id, LookAtVenueNow())
    return page(
        parts,
        request.raw,
        "console_desks.html",
        venue=seen.venue,
        places=_places(seen),
        me=request.caller.actor,
        username=request.caller.username,
    )


async def show(parts: Parts, request: Request[ConsoleQuery]) -> Response:
    desk, find = request.params["desk"], request.given.find.strip()
    minutes = parts.settings.undo_minutes
    look = LookAtConsole(desk, most=MOST_ROWS, undo_minutes=minutes)
    seen = await parts.engine.read(request.venue_id, look)
    found = seen
    if find:
        found = await parts.engine.read(request.venue_id, msgspec.structs.replace(look, find=find))
    return page(
        parts,
        request.raw,
        "console.html",
        venue=seen.venue,
        seen=seen,
        here=address_of(seen.venue, seen.desk),
        turn=_turn(seen),
        rows=[_row(found, one, key) for key, one in enumerate(found.waiting, start=1)],
        aside=[_row(found, one) for one in (*found.held, *found.missed)],
        find=find,
        unlisted=0 if find else seen.people_waiting - len(seen.waiting),
        taken_by=taken_by(seen.desk_now, request.caller.actor),
        pins=queues_with_pins(seen.venue, seen.queues),
        username=request.caller.username,
        is_manager=request.caller.may("manager", request.venue_id),
    )


def address_of(venue: Venue, desk: Desk) -> str:
    return f"/staff/{venue.slug}/{desk.id}"


def taken_by(desk: DeskNow, actor: str) -> str | None:
    """Who sits there, if it is somebody else. Events name them with what they are."""
    if desk.occupant is None or desk.has(actor) or desk.state == "closed":
        return None
    return desk.occupant.partition(":")[2] or desk.occupant


def queues_with_pins(venue: Venue, queues: list[Queue]) -> list[Queue]:
    """Those that visitors leave by a PIN."""
    asked = {stage.queue for journey in venue.journeys for stage in journey.stages if stage.pin}
    return [queue for queue in queues if queue.id in asked]


def _places(seen: VenueSnapshot) -> list[Place]:
    waiting = {line.queue_id: line.people_waiting for line in seen.lines}
    return [
        Place(
            desk,
            now,
            [seen.venue.queue(code) for code in desk.queues],
            sum(waiting.get(code, 0) for code in desk.queues),
        )
        for desk, now in zip(seen.venue.desks, seen.desks, strict=True)
    ]


def _turn(seen: Console) -> Turn:
    """Who was called last comes first; nobody here, whoever would be called next."""
    if seen.here:
        *others, latest = seen.here
        state: Literal["called", "serving"] = "serving" if latest.ticket.state == "serving" else "called"
        grace = _grace(seen, latest) if state == "called" else None
        return Turn(state, _row(seen, latest), grace, [_row(seen, one) for one in reversed(others)])
    callable_from = {queue.id for queue in seen.queues if queue.state != "paused"}
    following = next((one for one in seen.waiting if one.ticket.queue_id in callable_from), None)
    if any(line.people_waiting for line in seen.lines if line.queue_id in callable_from):
        return Turn("next", None if following is None else _row(seen, following), None, [])
    return Turn("paused" if seen.people_waiting or (seen.queues and not callable_from) else "empty", None, None, [])


def _row(seen: Console, one: AtDesk, key: int | None = None) -> Row:
    ticket = one.ticket
    until = seen.now if ticket.called_at is None or ticket.state in {"waiting", "held"} else ticket.called_at
    minutes = max(0, until - ticket.waits_since) // MS_PER_MINUTE
    wait: Literal["fine", "long", "too-long"] = "fine"
    if minutes >= LONG_MINUTES:
        wait = "too-long" if minutes >= TOO_LONG_MINUTES else "long"
    shown_key = key if key is not None and key <= ROWS_WITH_KEYS else None
    return Row(one, seen.venue.queue(ticket.queue_id), minutes, wait, shown_key, _then(seen.venue, one))


def _then(venue: Venue, one: AtDesk) -> Queue | None:
    """Among stages that are free, the next one is chosen when this one is done."""
    plan = () if one.visit is None else one.visit.plan
    left = [stage for stage in plan if stage.state not in DONE_WITH and stage.ticket_id != one.ticket.ticket_id]
    following = next((stage for stage in left if stage.fixed), left[0] if len(left) == 1 else None)
    return None if following is None else venue.queue(following.queue)


def _grace(seen: Console, one: AtDesk) -> Grace:
    ticket = one.ticket
    since = max(ticket.called_at or 0, ticket.recalled_at or 0)
    until = one.due_at or since + GRACE_SECONDS * 1000
    return Grace(since, until, seen.now >= until)


ROUTES = (
    Route(
        method="GET",
        path="/staff/{venue}",
        name="desks-page",
        summary="Which desks there are, and who sits where",
        tag="pages",
        handler=choose,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue,),
        kind="text/html",
    ),
    Route(
        method="GET",
        path="/staff/{venue}/{desk}",
        name="console-page",
        summary="The console at a desk",
        tag="pages",
        handler=show,
        query=ConsoleQuery,
        who="staff",
        venue="venue",
        refusals=(UnknownVenue, UnknownDesk),
        kind="text/html",
    ),
)
