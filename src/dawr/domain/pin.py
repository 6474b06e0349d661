"""The exit PIN: one per queue and service day, typed by whoever leaves, because only there it can be read.

It proves presence and is no credential. What guards it is the lock on a visit, not its length.
"""

from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from dawr.domain.day import Day
from dawr.domain.digits import LONGEST_PIN, SHORTEST_PIN, read_digits
from dawr.domain.queue import QueueId
from dawr.domain.venue import VenueId

ROTATED_MS: Final = 10 * 60 * 1000
"""So long a PIN that was changed is told apart from a wrong one."""
WINDOW_MS: Final = 15 * 60 * 1000
MOST_FAILURES: Final = 5
"""Of one visit within the window; then it is locked until staff unlock it."""
WARNED_AT: Final = 30
"""Failures at one queue within the window."""
MOST_AHEAD_MS: Final = 24 * 60 * 60 * 1000
MOST_OF_ADDRESS: Final = 100
MOST_TRIES: Final = 500
"""To make one: at least half of all PINs are nobody's."""


def is_recent(at: int, now: int, within_ms: int) -> bool:
    """What is stamped more than a day from now was stamped while a clock was ahead."""
    return -MOST_AHEAD_MS <= now - at < within_ms


class Pin(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    queue_id: QueueId
    day: Day
    """The one it is good for."""
    pin: str
    made_at: int
    rotated: str = "[]"
    """What it was before and when that ended, as JSON; not longer ago than ten minutes."""
    failures: str = "[]"
    """When somebody failed here within the window, as JSON."""

    def was(self, pin: str, now: int) -> bool:
        """Whether it was this one until a moment ago."""
        return any(earlier == pin and is_recent(ended, now, ROTATED_MS) for earlier, ended in _rotated(self.rotated))

    def earlier(self, now: int) -> list[str]:
        """What it was until a moment ago."""
        return [pin for pin, ended in _rotated(self.rotated) if is_recent(ended, now, ROTATED_MS)]

    def changed_to(self, pin: str, now: int) -> "Pin":
        recent = [(earlier, ended) for earlier, ended in _rotated(self.rotated) if is_recent(ended, now, ROTATED_MS)]
        rotated = msgspec.json.encode([*recent, (self.pin, now)]).decode()
        return msgspec.structs.replace(self, pin=pin, made_at=now, rotated=rotated)

    def with_failure(self, now: int) -> tuple["Pin", bool]:
        """One more failure, and whether it is the one that staff are warned by."""
        recent = [at for at in _failures(self.failures) if is_recent(at, now, WINDOW_MS)]
        failures = [*recent, now][-WARNED_AT:]
        kept = msgspec.json.encode(failures).decode()
        return msgspec.structs.replace(self, failures=kept), len(recent) == WARNED_AT - 1


_rotated = msgspec.json.Decoder(list[tuple[str, int]]).decode
_failures = msgspec.json.Decoder(list[int]).decode


def read_pin(text: str) -> str:
    return read_digits(text, field="pin", least=SHORTEST_PIN, most=LONGEST_PIN)


def new_pin(chance: str, digits: int, taken: Iterable[str], avoided: Iterable[str] = ()) -> str:
    """One that nobody else has, and none of those to avoid if there is another. `chance` is random, and makes it."""
    used, unwanted = set(taken), set(avoided)
    tries = (sha256(f"{chance}:{attempt}".encode()).digest() for attempt in range(MOST_TRIES))
    pins = (f"{int.from_bytes(digest) % 10**digits:0{digits}}" for digest in tries)
    second_best: list[str] = []
    for pin in pins:
        if pin not in used and pin not in unwanted:
            return pin
        if pin not in used:
            second_best.append(pin)
    return second_best[0]
