"""This machine's clock and chance: what everything else is handed as an argument."""

import ctypes
import gc
import os
import secrets
import string
import threading
import time
from binascii import b2a_base64
from zoneinfo import available_timezones

from dawr.domain import VenueId

TIME_ERROR = 5
"""What adjtimex(2) says of a clock that nobody synchronises."""


def now() -> int:
    """Milliseconds since 1970 UTC."""
    return time.time_ns() // 1_000_000


def ticks() -> int:
    """Milliseconds that never go back, since some moment."""
    return time.monotonic_ns() // 1_000_000


def is_synchronised(system: object | None = None) -> bool:
    """Whether the system says so of its clock. One that cannot be asked does not."""
    ask = getattr(ctypes.CDLL(None) if system is None else system, "adjtimex", None)
    # A larger piece of memory than any system's struct of this name; all nought, so that nothing is changed.
    return ask is not None and 0 <= ask(ctypes.create_string_buffer(512)) < TIME_ERROR


def local_zone() -> str:
    """Where this machine's clock is; UTC, if it does not say."""
    zones = available_timezones()
    linked = os.path.realpath("/etc/localtime").rpartition("zoneinfo/")[2]
    return next((zone for zone in (os.environ.get("TZ", "").lstrip(":"), linked) if zone in zones), "Etc/UTC")


class Chance(threading.local):
    """Random bytes from the system, fetched by the thousand: asking for a few at a time costs more than they do.

    Each thread has its own, so none is given twice.
    """

    _fetched = b""
    _used = 0

    def take(self, count: int) -> bytes:
        fetched, start = self._fetched, self._used
        if start + count > len(fetched):
            fetched, start = os.urandom(4096), 0
            self._fetched = fetched
        self._used = start + count
        return fetched[start : start + count]

    def forget(self) -> None:
        self._fetched = b""


_chance = Chance()
# A child that went on with what its parent had fetched would give the same ids.
os.register_at_fork(after_in_child=_chance.forget)


def correlation_id() -> str:
    return _chance.take(16).hex()


FOR_URLS = bytes.maketrans(b"+/", b"-_")
IN_ORDER = bytes.maketrans(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~",
)
"""From base64 to letters that fit a URL and sort as their bytes do."""


class SystemIds:
    def token(self) -> str:
        return b2a_base64(_chance.take(16), newline=False).translate(FOR_URLS, b"=").decode()

    def new(self, venue_id: VenueId) -> str:
        """Ids made one after the other stand side by side in an index, so that a batch touches few of its pages."""
        raw = now().to_bytes(6, "big") + _chance.take(18)
        return f"{venue_id}-{b2a_base64(raw, newline=False).translate(IN_ORDER).decode()}"

    def venue_code(self) -> str:
        return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(6))

    def epoch(self) -> int:
        return secrets.randbits(48)


def collect_garbage_seldom() -> None:
    """What is made by now lives as long as the process, and a request leaves nothing in circles behind it.

    Looking for garbage after every 700 things, as is usual, took a tenth of the time of a busy server.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
