"""A venue as it was set up: its zone, its queues, its desks.

Read whole, cached by its version, and never half-changed: a change is a new Venue.
"""

from enum import Enum
from typing import Literal, NewType
from zoneinfo import available_timezones

import msgspec

from dawr.domain import journey
from dawr.domain import queue as queues
from dawr.domain.day import Day, end_of_day, later_of, service_day
from dawr.domain.digits import LONGEST_PIN, digits_for
from dawr.domain.errors import InvalidValue, UnknownDesk, UnknownQueue, VenueInactive
from dawr.domain.journey import Journey
from dawr.domain.queue import Audience, Queue, QueueId

VenueId = NewType("VenueId", str)
"""A short code that every public id and secret of the venue begins with."""

DeskId = NewType("DeskId", str)


class Unnamed(Enum):
    """A queue that is asked for without its code."""

    WAITLIST = "waitlist"
    """Where there is one list, it is the venue's first queue."""


QueueCode = str | Unnamed


class Desk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a visitor is called to. It may serve several queues."""

    id: DeskId
    name: dict[str, str]
    queues: tuple[QueueId, ...]


class Head(msgspec.Struct, frozen=True):
    """A venue's lock row: who holds it decides alone. Its version counts every change and is never reset."""

    venue_id: VenueId
    epoch: int
    day: Day
    version: int
    config_version: int


class Venue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: VenueId
    slug: str
    name: dict[str, str]
    zone: str
    kind: Literal["clinic", "restaurant", "office"] = "clinic"
    active: bool = True
    """An inactive venue takes nobody; who waits there is still served."""
    day_start: int = 5 * 60
    """When the service day begins, in minutes after local midnight."""
    queues: tuple[Queue, ...] = ()
    desks: tuple[Desk, ...] = ()
    journeys: tuple[Journey, ...] = ()
    walking_minutes: dict[str, dict[str, int]] = {}
    """Floor → floor → minutes. Said for one direction, it holds for both."""
    pin_digits: int | None = None
    """How long exit PINs are; None is as long as so many queues need, at least 2."""
    code_prefix: str = ""
    """What session codes begin with; empty is the slug."""

    @property
    def pin_length(self) -> int:
        return self.pin_digits or digits_for(len(self.queues))

    def queue(self, code: QueueCode) -> Queue:
        """By its code or an alias, in any case; or the one that needs no name."""
        if code is Unnamed.WAITLIST:
            return self._waitlist()
        wanted = code.lower()
        for queue in self.queues:
            if queue.id == wanted or wanted in queue.aliases:
                return queue
        raise UnknownQueue(code[: queues.LONGEST_CODE])

    def _waitlist(self) -> Queue:
        if not self.queues:
            raise UnknownQueue(Unnamed.WAITLIST.value)
        return self.queues[0]

    def desk(self, code: str) -> Desk:
        for desk in self.desks:
            if desk.id == code.lower():
                return desk
        raise UnknownDesk(code[: queues.LONGEST_CODE])

    def journey(self, word: str, visitor: Audience) -> Journey:
        """By its code or an alias, for whoever the visitor is."""
        return journey.journey_called(self.journeys, word, visitor)

    def must_be_active(self) -> None:
        if not self.active:
            raise VenueInactive(self.slug)

    def day_at(self, now: int, *, reached: Day) -> Day:
        return later_of(reached, service_day(now, zone=self.zone, day_start=self.day_start))

    def end_of(self, day: Day) -> int:
        """When the next service day begins."""
        return end_of_day(day, zone=self.zone, day_start=self.day_start)

    def with_queue(self, changed: Queue) -> "Venue":
        return msgspec.structs.replace(
            self, queues=tuple(changed if queue.id == changed.id else queue for queue in self.queues)
        )


LATEST_DAY_START = 12 * 60
LONGEST_CODE_PREFIX = 12
ZONES_OF_NO_PLACE = frozenset({"localtime", "Factory"})
"""Listed with the others, but they mean another place on every machine, or none."""


def checked(venue: Venue) -> Venue:
    """The venue itself, or a sentence about what is wrong with it."""
    queues.must_be_code("venue", venue.slug)
    queues.must_have_name("Venue", venue.slug, venue.name)
    if venue.zone not in available_timezones() - ZONES_OF_NO_PLACE:
        raise InvalidValue("zone", f"{venue.zone!r} is not an IANA time zone.")
    if not 0 <= venue.day_start <= LATEST_DAY_START:
        raise InvalidValue("day_start", "The service day begins between 00:00 and 12:00.")
    codes: set[str] = set()
    for queue in venue.queues:
        queues.checked(queue)
        for code in (queue.id, *queue.aliases):
            if code in codes:
                raise InvalidValue("queues", f"Two queues answer to {code!r}.")
            codes.add(code)
    _check_desks(venue)
    journey.check(venue.journeys, {queue.id: queue for queue in venue.queues})
    journey.check_walks(venue.walking_minutes)
    _check_codes(venue)
    return venue


def _check_codes(venue: Venue) -> None:
    digits, needed = venue.pin_digits, digits_for(len(venue.queues))
    if digits is not None and not needed <= digits <= LONGEST_PIN:
        raise InvalidValue("pin_digits", f"PINs of {len(venue.queues)} queues have {needed} to {LONGEST_PIN} digits.")
    prefix = venue.code_prefix.replace("-", "")
    if len(venue.code_prefix) > LONGEST_CODE_PREFIX or (prefix and not (prefix.isascii() and prefix.isalnum())):
        raise InvalidValue("code_prefix", f"Session codes begin with at most {LONGEST_CODE_PREFIX} letters and digits.")


def _check_desks(venue: Venue) -> None:
    known = {queue.id for queue in venue.queues}
    for number, desk in enumerate(venue.desks):
        queues.must_be_code("desk", desk.id)
        queues.must_have_name("Desk", desk.id, desk.name)
        if any(desk.id == other.id for other in venue.desks[:number]):
            raise InvalidValue("desks", f"Two desks are called {desk.id!r}.")
        for place, queue in enumerate(desk.queues):
            if queue not in known:
                raise InvalidValue("desks", f"Desk {desk.id} serves {queue!r}, which is no queue of this venue.")
            if queue in desk.queues[:place]:
                raise InvalidValue("desks", f"Desk {desk.id} serves {queue!r} twice.")
