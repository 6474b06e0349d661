"""The queues of a venue, as somebody sees them who has not joined yet: how many wait and how long, or when it opens."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Literal

import msgspec

from dawr.domain import Line, Queue, Venue
from dawr.domain.availability import Availability, availability
from dawr.domain.day import local_time
from dawr.domain.errors import QueueFull, VenueInactive
from dawr.domain.standing import told_minutes, wait_minutes
from dawr.operations.desks import VenueSnapshot
from dawr.web.pages.rendering import words_of
from dawr.web.wording import clock_time

WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
TODAY, TOMORROW, NEXT_WEEK = timedelta(0), timedelta(1), timedelta(7)

Offered = Literal["open", "paused", "closed", "full", "inactive"]


class Offer(msgspec.Struct, frozen=True):
    queue: Queue
    state: Offered
    waiting: int
    minutes: int
    """How long whoever joins now would wait; 0: nobody waits."""
    opens_at: int | None
    opens: str | None
    """When it takes people again, in words, if that is known."""
    closes_at: int | None
    is_served: bool
    """Somebody may be there to call: a desk is open, somebody was called and is not done, or it has no desks."""

    @property
    def takes_people(self) -> bool:
        return self.state in {"open", "paused"}


def offers_at(seen: VenueSnapshot, language: str) -> list[Offer]:
    return [_offer(seen, queue, line, language) for queue, line in zip(seen.venue.queues, seen.lines, strict=True)]


def on_journeys(venue: Venue, offers: Iterable[Offer]) -> Offer | None:
    """How those queues stand that a journey leads to: as the first that takes people, else as the first to open."""
    on_the_way = {stage.queue for journey in venue.journeys for stage in journey.stages}
    rooms = [offer for offer in offers if offer.queue.id in on_the_way]
    return min(rooms, key=lambda room: (not room.takes_people, room.opens_at is None, room.opens_at or 0), default=None)


def closes_at(offers: Iterable[Offer]) -> int | None:
    """When the last of them closes; None: one has no hours, or none takes people."""
    closing = [offer.closes_at for offer in offers if offer.takes_people]
    return None if None in closing else max((at for at in closing if at is not None), default=None)


def _offer(seen: VenueSnapshot, queue: Queue, line: Line, language: str) -> Offer:
    available, waiting = availability(seen.venue, queue, line, seen.now), line.people_waiting
    return Offer(
        queue,
        _state(queue, available),
        waiting,
        max(1, told_minutes(wait_minutes(queue, line, waiting))) if waiting else 0,
        available.opens_at,
        None if available.opens_at is None else _when(seen, available.opens_at, language),
        available.closes_at,
        _is_served(seen, queue, line),
    )


def _is_served(seen: VenueSnapshot, queue: Queue, line: Line) -> bool:
    desks = [now for desk, now in zip(seen.venue.desks, seen.desks, strict=True) if queue.id in desk.queues]
    return not desks or line.called + line.serving > 0 or any(desk.state == "open" for desk in desks)


def _state(queue: Queue, available: Availability) -> Offered:
    if available.joinable:
        return "paused" if queue.state == "paused" else "open"
    if available.why_not == VenueInactive.code:
        return "inactive"
    return "full" if available.why_not == QueueFull.code else "closed"


def _when(seen: VenueSnapshot, at: int, language: str) -> str:
    """As one says it today: at 13:00, tomorrow at 08:00, on Monday."""
    venue = seen.venue
    say = words_of("join", language, venue.digits)
    local = local_time(at, zone=venue.zone)
    ahead = local.date() - local_time(seen.now, zone=venue.zone).date()
    usual = WEEKDAYS[local.weekday()] if ahead < NEXT_WEEK else "date"
    day = {TODAY: "today", TOMORROW: "tomorrow"}.get(ahead, usual)
    date = say("date", month=local.month, day=local.day)
    return say("when", day=day, date=date, time=clock_time(at, venue.zone, language, venue.digits))
