"""A queue: a line of people that is called from, as its venue set it up.

Open, it takes people and calls them. Paused, people may still join and keep their
place, but nobody is called. Closed, nobody joins, and those who wait are still served.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NewType

import msgspec

from dawr.domain import hours as opening_hours
from dawr.domain.day import local_time
from dawr.domain.errors import InvalidValue, OutsideHours, QueueClosed, QueueInWrongState, QueuePaused
from dawr.domain.hours import Hours
from dawr.domain.text import LONGEST_LANGUAGE, LONGEST_NAME, MAX_TEXT_CHARS, can_be_shown

QueueId = NewType("QueueId", str)
"""The queue's code in lower case, `lab`: unique in its venue, and never changed."""

QueueState = Literal["open", "paused", "closed"]
QueueVerb = Literal["open", "pause", "resume", "close"]
Audience = Literal["any", "women", "men"]


class QueueChange(msgspec.Struct, frozen=True):
    sources: frozenset[QueueState]
    target: QueueState
    event: str


QUEUE_VERBS: Final[Mapping[QueueVerb, QueueChange]] = {
    "open": QueueChange(frozenset({"closed"}), "open", "queue.opened"),
    "pause": QueueChange(frozenset({"open"}), "paused", "queue.paused"),
    "resume": QueueChange(frozenset({"paused"}), "open", "queue.resumed"),
    "close": QueueChange(frozenset({"open", "paused"}), "closed", "queue.closed"),
}


class Queue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: QueueId
    name: dict[str, str]
    """Language → name."""
    prefix: str = ""
    """What stands before the number on a label: `A` gives `A042`."""
    aliases: tuple[str, ...] = ()
    state: QueueState = "open"
    hours: Hours | None = None
    """None is round the clock."""
    capacity: int | None = None
    """Numbers a day; None is no limit."""
    reserve: int = 0
    """Numbers beyond the capacity, given while the venue decides whether to go on."""
    audience: Audience = "any"
    floor: str | None = None
    room: str | None = None
    mean_service_seconds: int = 300
    """What staff expect one visitor to take, until measured services say better."""
    near_turn: int = 3
    """So many ahead, or fewer, and it is nearly your turn."""
    auto_call: int | None = None
    """Seconds after which an open desk with nobody at it calls by itself; None is never."""
    miss_after: int | None = None
    """Seconds after the last call at which somebody who did not come is missed; None is never."""
    hold_limit: int | None = None
    """Seconds after which somebody who is held may be called again; None is never."""

    def after(self, verb: QueueVerb) -> "Queue":
        change = QUEUE_VERBS[verb]
        if self.state not in change.sources:
            raise QueueInWrongState(self.id, self.state, verb)
        return msgspec.structs.replace(self, state=change.target)

    def must_take_people(self, now: int, *, zone: str) -> None:
        if self.state == "closed":
            raise QueueClosed(self.id)
        if self.hours is not None:
            local = local_time(now, zone=zone)
            if not self.hours.are_open(local):
                raise OutsideHours(self.id, self.hours.next_opening(local))

    def is_within_hours(self, now: int, *, zone: str) -> bool:
        return self.hours is None or self.hours.are_open(local_time(now, zone=zone))

    def opens_next(self, now: int, *, zone: str) -> int | None:
        """When its hours begin next, in milliseconds, if that is within two weeks."""
        return None if self.hours is None else self.hours.next_change(now, zone=zone, opening=True)

    def must_call_people(self) -> None:
        if self.state == "paused":
            raise QueuePaused(self.id)

    def label(self, number: int) -> str:
        return f"{self.prefix}{number:03}"


LONGEST_CODE = 32
CODE: Final = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST_CODE - 1}}}")
"""What begins with a hyphen would be an option to every command that it is given to."""
LONGEST_PREFIX = 4
LONGEST_PLACE = 64
"""Of a floor or a room."""
LARGEST_CAPACITY = 100_000
MOST_NEAR_TURN = 100
LONGEST_SERVICE_SECONDS = 8 * 60 * 60
TIMERS: Final[Mapping[str, tuple[int, int]]] = {
    "auto_call": (30, 300),
    "miss_after": (60, 600),
    "hold_limit": (60, 14_400),
}
"""Each with its least and most seconds."""


def checked(queue: Queue) -> Queue:
    """The queue itself, or a sentence about what is wrong with it. Its codes are the venue's to check."""
    _check_texts(queue)
    if queue.capacity is not None and not 0 <= queue.capacity <= LARGEST_CAPACITY:
        raise InvalidValue("capacity", "range-of-queue", queue=queue.id, least=0, most=LARGEST_CAPACITY)
    if not 0 <= queue.reserve <= LARGEST_CAPACITY:
        raise InvalidValue("reserve", "range-of-queue", queue=queue.id, least=0, most=LARGEST_CAPACITY)
    if not 1 <= queue.mean_service_seconds <= LONGEST_SERVICE_SECONDS:
        raise InvalidValue(
            "mean_service_seconds", "range-of-queue", queue=queue.id, least=1, most=LONGEST_SERVICE_SECONDS
        )
    if not 0 <= queue.near_turn <= MOST_NEAR_TURN:
        raise InvalidValue("near_turn", "range-of-queue", queue=queue.id, least=0, most=MOST_NEAR_TURN)
    for timer, (least, most) in TIMERS.items():
        seconds = getattr(queue, timer)
        if seconds is not None and not least <= seconds <= most:
            raise InvalidValue(timer, "range-of-queue", queue=queue.id, least=least, most=most)
    if queue.hours is not None:
        opening_hours.checked(queue.hours)
    return queue


def _check_texts(queue: Queue) -> None:
    must_have_name("queue", queue.id, queue.name)
    limit_texts("aliases", "queue", queue.id, queue.aliases)
    if queue.prefix and not can_be_shown(queue.prefix, most=LONGEST_PREFIX):
        raise InvalidValue("prefix", "queue-prefix", queue=queue.id, most=LONGEST_PREFIX)
    for place, text in (("floor", queue.floor), ("room", queue.room)):
        if text and not can_be_shown(text, most=LONGEST_PLACE):
            raise InvalidValue(place, "text-of-queue", queue=queue.id, most=LONGEST_PLACE)


def must_have_name(kind: str, code: str, name: Mapping[str, str]) -> None:
    """In at least one language, and in each something that can be shown."""
    if not name or not all(
        can_be_shown(language, most=LONGEST_LANGUAGE) and can_be_shown(text) for language, text in name.items()
    ):
        raise InvalidValue("name", "name-of", kind=kind, code=code, most=LONGEST_NAME)
    limit_texts("name", kind, code, (*name.keys(), *name.values()))


def limit_texts(field: str, kind: str, code: str, texts: Iterable[str]) -> None:
    """Refuse texts that are too long together: each of them is short, but their number is the owner's choice."""
    if sum(map(len, texts)) > MAX_TEXT_CHARS:
        raise InvalidValue(field, "texts-together", kind=kind, code=code, most=MAX_TEXT_CHARS)


def must_be_code(kind: str, code: str) -> None:
    if not CODE.fullmatch(code):
        raise InvalidValue(kind, "code", code=code[:LONGEST_CODE], kind=kind, most=LONGEST_CODE)
