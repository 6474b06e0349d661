"""A venue as it was set up: its zone, its queues, its desks.

Read whole, cached by its version, and never half-changed: a change is a new Venue.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Final, Literal, NewType
from zoneinfo import available_timezones

import msgspec

from dawr.domain import hours as opening_hours
from dawr.domain import journey
from dawr.domain import queue as queues
from dawr.domain.day import Day, end_of_day, later_of, service_day
from dawr.domain.digits import LONGEST_PIN, digits_for
from dawr.domain.errors import InvalidValue, UnknownDesk, UnknownQueue, UnknownVenue, VenueInactive
from dawr.domain.hours import LONGEST_SHOWN
from dawr.domain.journey import Journey
from dawr.domain.queue import Audience, Queue, QueueId

VenueId = NewType("VenueId", str)
"""A short code that every public id and secret of the venue begins with."""

DeskId = NewType("DeskId", str)
VenueKind = Literal["clinic", "restaurant", "office"]
Language = Literal["en", "ar", "zh"]
Digits = Literal["latin", "arabic"]
DisplayAccess = Literal["open", "staff"]


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
    kind: VenueKind = "clinic"
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
    language: Language = "en"
    """In which pages speak to whoever chose none, and whose browser names none of ours."""
    digits: Digits = "latin"
    """How Arabic pages write counts and times. Labels, PINs and codes are always Latin, as on paper."""
    hue: int | None = None
    """The colour of what can be pressed, 0 to 359 in OKLCH; None is our teal."""
    display: DisplayAccess = "open"
    """Who may open the display: anybody, or staff and displays with a token."""

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

    def asks_for_pin(self, queue_id: QueueId) -> bool:
        """Return whether any journey asks for the queue's exit PIN."""
        return any(stage.pin for journey in self.journeys for stage in journey.stages if stage.queue == queue_id)

    def must_be_active(self) -> None:
        if not self.active:
            raise VenueInactive(self.slug)

    def day_at(self, now: int, *, reached: Day) -> Day:
        return later_of(reached, self.today(now))

    def today(self, now: int) -> Day:
        """By the clock alone, whatever day was reached."""
        return service_day(now, zone=self.zone, day_start=self.day_start)

    def end_of(self, day: Day) -> int:
        """When the next service day begins."""
        return end_of_day(day, zone=self.zone, day_start=self.day_start)

    def as_written(self) -> dict[str, Any]:
        """As a document that people read and change: with hours like `08:00-16:00`."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        for queue, said in zip(self.queues, document["queues"], strict=True):
            if queue.hours is not None:
                said["hours"] = queue.hours.as_written()
        return document

    def with_queue(self, changed: Queue) -> "Venue":
        return msgspec.structs.replace(
            self, queues=tuple(changed if queue.id == changed.id else queue for queue in self.queues)
        )


def clinic_among(venues: Iterable[Venue], *, called: str) -> Venue:
    """Which one the clinic door opens to: the one that is called so, by slug or id; the only clinic, if none is.

    A clinic that is not active takes nobody, so it is meant only where none is.
    """
    if called:
        for venue in venues:
            if called in {venue.slug, venue.id}:
                return venue
        raise UnknownVenue(called[: queues.LONGEST_CODE], why="setting")
    clinics = [venue for venue in venues if venue.kind == "clinic"]
    meant = {clinic.slug: clinic for clinic in [one for one in clinics if one.active] or clinics}
    return meant[only_one(sorted(meant), kind="clinic")]


def only_one(slugs: Sequence[str], *, kind: Literal["clinic", "venue"]) -> str:
    """Whoever does not say which means the only one there is."""
    if len(slugs) == 1:
        return slugs[0]
    if not slugs:
        raise UnknownVenue(why=f"no-{kind}")
    shown = ", ".join(slugs[:MOST_SHOWN]) + (", …" if len(slugs) > MOST_SHOWN else "")
    raise UnknownVenue(why=f"several-{kind}s", count=len(slugs), venues=shown)


MOST_SHOWN = 5
LATEST_DAY_START = 12 * 60
LONGEST_CODE_PREFIX = 12
LARGEST_HUE = 359
ZONES_OF_NO_PLACE = frozenset({"localtime", "Factory"})
"""Listed with the others, but they mean another place on every machine, or none."""


class VenueLimits(msgspec.Struct, frozen=True):
    """How many queues, desks and journeys a venue may have. Every request for the venue costs time for each of them."""

    queues: int = 200
    desks: int = 200
    journeys: int = 50

    def check(self, venue: Venue, before: Venue | None) -> None:
        """Refuse a venue that is too large. One that was larger before may stay as large."""
        for field in self.__struct_fields__:
            count, limit = len(getattr(venue, field)), getattr(self, field)
            if count > limit and (before is None or count > len(getattr(before, field))):
                raise InvalidValue(field, "too-many", count=count, most=limit)


DEFAULT_LIMITS: Final = VenueLimits()
MAX_SERVED_QUEUES = 2_000
"""The queues that desks serve, of all desks together."""


def checked(venue: Venue, *, before: Venue | None = None, limits: VenueLimits = DEFAULT_LIMITS) -> Venue:
    """The venue itself, or a sentence about what is wrong with it. A code that it had before stays good."""
    limits.check(venue, before)
    known = set() if before is None else set(_codes(before))
    for kind, code in _codes(venue):
        if (kind, code) not in known:
            queues.must_be_code(kind, code)
    queues.must_have_name("venue", venue.slug, venue.name)
    if venue.zone not in available_timezones() - ZONES_OF_NO_PLACE:
        raise InvalidValue("zone", "zone", zone=venue.zone[:LONGEST_SHOWN])
    if not 0 <= venue.day_start <= LATEST_DAY_START:
        raise InvalidValue("day_start", "day-start")
    if venue.hue is not None and not 0 <= venue.hue <= LARGEST_HUE:
        raise InvalidValue("hue", "range", least=0, most=LARGEST_HUE)
    _limit_served(venue, before)
    _limit_hours(venue, before)
    codes: set[str] = set()
    for queue in venue.queues:
        queues.checked(queue)
        for code in (queue.id, *queue.aliases):
            if code in codes:
                raise InvalidValue("queues", "two-queues", queue=code)
            codes.add(code)
    _check_desks(venue)
    journey.check(venue.journeys, {queue.id: queue for queue in venue.queues})
    journey.check_walks(venue.walking_minutes)
    _check_codes(venue)
    return venue


def _limit_served(venue: Venue, before: Venue | None) -> None:
    count = _count_served(venue)
    if count > max(MAX_SERVED_QUEUES, _count_served(before)):
        raise InvalidValue("desks", "too-many-served", count=count, most=MAX_SERVED_QUEUES)


def _count_served(venue: Venue | None) -> int:
    return 0 if venue is None else sum(len(desk.queues) for desk in venue.desks)


def _limit_hours(venue: Venue, before: Venue | None) -> None:
    hours_before = {} if before is None else {queue.id: queue.hours for queue in before.queues}
    for queue in venue.queues:
        if queue.hours is not None:
            opening_hours.limit_size(queue.hours, hours_before.get(queue.id), queue=queue.id)


def _codes(venue: Venue) -> Iterator[tuple[str, str]]:
    yield "venue", venue.slug
    for queue in venue.queues:
        yield from (("queue", code) for code in (queue.id, *queue.aliases))
    yield from (("desk", desk.id) for desk in venue.desks)
    yield from (("journey", way.id) for way in venue.journeys)


def _check_codes(venue: Venue) -> None:
    digits, needed = venue.pin_digits, digits_for(len(venue.queues))
    if digits is not None and not needed <= digits <= LONGEST_PIN:
        raise InvalidValue("pin_digits", "pin-digits", queues=len(venue.queues), least=needed, most=LONGEST_PIN)
    prefix = venue.code_prefix.replace("-", "")
    if len(venue.code_prefix) > LONGEST_CODE_PREFIX or (prefix and not (prefix.isascii() and prefix.isalnum())):
        raise InvalidValue("code_prefix", "code-prefix", most=LONGEST_CODE_PREFIX)


def _check_desks(venue: Venue) -> None:
    known = {queue.id for queue in venue.queues}
    for number, desk in enumerate(venue.desks):
        queues.must_have_name("desk", desk.id, desk.name)
        if any(desk.id == other.id for other in venue.desks[:number]):
            raise InvalidValue("desks", "two-desks", desk=desk.id)
        for place, queue in enumerate(desk.queues):
            if queue not in known:
                raise InvalidValue("desks", "desk-serves-nothing", desk=desk.id, queue=queue[:LONGEST_SHOWN])
            if queue in desk.queues[:place]:
                raise InvalidValue("desks", "desk-serves-twice", desk=desk.id, queue=queue)
