"""Whether a queue takes people at a moment, until when, and from when on.

Found by the same checks that a join goes through, so what is shown and what happens agree.
"""

from functools import lru_cache

import msgspec

from dawr.domain.day import local_time
from dawr.domain.errors import Closed, Full, QueueClosed, Refused, VenueInactive
from dawr.domain.hours import Hours, WrittenSpan
from dawr.domain.line import Line
from dawr.domain.queue import Queue
from dawr.domain.venue import Venue

MINUTE_MS = 60_000
MOST_AHEAD_MS = 14 * 24 * 60 * MINUTE_MS

Week = tuple[tuple[WrittenSpan, ...], ...]
Exceptions = tuple[tuple[str, tuple[WrittenSpan, ...]], ...]


class Availability(msgspec.Struct, frozen=True):
    why_not: str | None
    """The code of the refusal that a join would get; None: it would get a number."""
    opens_at: int | None
    """When it takes people again, if nobody changes anything; None: it does now, or that is not known."""
    closes_at: int | None
    """When its hours end; None: it takes nobody now, or has no hours."""
    places_left: int | None
    """Numbers that are left today, the reserve included; None is no limit."""

    @property
    def joinable(self) -> bool:
        return self.why_not is None


def availability(venue: Venue, queue: Queue, line: Line, now: int) -> Availability:
    places = None
    if queue.capacity is not None:
        places = max(0, queue.capacity + queue.reserve - line.used)
    refusal = _refusal(venue, queue, line, now)
    if refusal is None:
        return Availability(None, None, _change(queue.hours, now, venue.zone, opening=False), places)
    return Availability(refusal.code, _opens_at(venue, queue, line, now, refusal), None, places)


def _refusal(venue: Venue, queue: Queue, line: Line, now: int) -> Refused | None:
    try:
        venue.must_be_active()
        queue.must_take_people(now, zone=venue.zone)
        line.with_next_number(queue)
    except (Closed, Full) as refusal:
        return refusal
    return None


def _opens_at(venue: Venue, queue: Queue, line: Line, now: int, refusal: Refused) -> int | None:
    """What people closed, people open: nobody knows when. A full queue has numbers again on the next day."""
    if isinstance(refusal, VenueInactive | QueueClosed):
        return None
    if not line.is_full(queue):
        return _change(queue.hours, now, venue.zone, opening=True)
    if not (queue.capacity or queue.reserve):
        return None
    tomorrow = venue.end_of(line.day)
    if queue.is_within_hours(tomorrow, zone=venue.zone):
        return tomorrow
    return _change(queue.hours, tomorrow, venue.zone, opening=True)


def _change(hours: Hours | None, now: int, zone: str, *, opening: bool) -> int | None:
    """When they begin or end next, if that is within two weeks."""
    if hours is None:
        return None
    return _change_after(hours.week, tuple(hours.exceptions.items()), now // MINUTE_MS * MINUTE_MS, zone, opening)


@lru_cache(maxsize=1024)
def _change_after(week: Week, exceptions: Exceptions, minute: int, zone: str, opening: bool) -> int | None:  # noqa: FBT001 - a cache's key
    """Where a span goes on in another, or the clocks leave one out, nothing changes. Of one minute, all is the same."""
    hours = Hours(week, dict(exceptions))
    at = hours.next_change(minute, zone=zone, opening=opening)
    while at is not None and hours.are_open(local_time(at, zone=zone)) is not opening:
        at = hours.next_change(at, zone=zone, opening=opening) if at - minute < MOST_AHEAD_MS else None
    return at
