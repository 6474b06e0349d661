"""The key that visitors' addresses are hashed with: another every day (UTC), and nobody has those of days gone by.

Tomorrow's key is made from today's and nothing leads back, so that hosts which began with the same file have the
same key every day. The file holds the key of ten minutes ago: until ten past midnight that is yesterday's, by which
a request is known that was sent before midnight and is repeated after it.
"""

import hmac
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EWOULDBLOCK
from pathlib import Path
from typing import NamedTuple

import msgspec

from dawr.reliability.disk import sync
from dawr.reliability.file_lock import lock_soon
from dawr.reliability.log import log
from dawr.traffic.event import MS_PER_DAY, REPEATED_MS, day_of

AGAIN_MS = 10_000
"""So long a process goes on with keys of its own before it tries the file again."""
LOCK_TRIES = 10
LOCK_SECONDS = 0.005
KEY_BYTES = 32
VISITOR_DIGITS = 16
"""Of a visitor's hash, those that are kept."""
MOST_DAYS = 3660
"""Whoever was away for longer begins anew."""


class DayKeys(NamedTuple):
    day: int
    today: bytes
    yesterday: bytes | None
    until: int
    """When other keys are due."""


class StoredKey(msgspec.Struct, frozen=True):
    """What is in the file."""

    day: int
    key: str


class VisitorKeys:
    """`new_key` makes 32 random bytes, once in the life of an installation."""

    def __init__(self, file: Path, new_key: Callable[[], bytes]) -> None:
        self._file = file
        self._new_key = new_key
        self._kept: tuple[int, bytes] | None = None

    def at(self, now: int) -> DayKeys:
        """Also when the file cannot be read or written: then by what is known of it, which is logged."""
        before, today = day_of(now - REPEATED_MS), day_of(now)
        again_at = today + MS_PER_DAY
        try:
            with _locked(self._file.with_name(f"{self._file.name}.lock")):
                found = self._read()
                self._kept = self._moved_on(found, before, today)
                if self._kept != found:
                    self._write(*self._kept)
        except OSError as error:
            log.warning("traffic.key-unusable", reason=error.strerror or str(error))
            self._kept = self._moved_on(self._kept or self._glimpsed(), before, today)
            again_at = now + AGAIN_MS
        day, key = self._kept
        until = min(today + MS_PER_DAY, day + MS_PER_DAY + REPEATED_MS, again_at)
        if day == today:
            return DayKeys(today, key, None, until)
        return DayKeys(today, _ratcheted(key, (today - day) // MS_PER_DAY), key, until)

    def _moved_on(self, kept: tuple[int, bytes] | None, before: int, today: int) -> tuple[int, bytes]:
        """A key of days to come was made while the clock was wrong: no way leads back from it."""
        if kept is not None and kept[0] in {before, today}:
            return kept
        if kept is None or kept[0] > today or today - kept[0] > MOST_DAYS * MS_PER_DAY:
            if kept is not None:
                log.warning("traffic.key-replaced", day=kept[0])
            return before, self._new_key()
        return before, _ratcheted(kept[1], (before - kept[0]) // MS_PER_DAY)

    def _glimpsed(self) -> tuple[int, bytes] | None:
        """The file without its lock: whoever writes it puts a whole one in its place."""
        with suppress(OSError):
            return self._read()
        return None

    def _read(self) -> tuple[int, bytes] | None:
        try:
            kept = msgspec.json.decode(self._file.read_bytes(), type=StoredKey)
            key = bytes.fromhex(kept.key)
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):  # msgspec's own errors among them
            log.warning("traffic.key-unreadable")
            return None
        return (kept.day, key) if len(key) == KEY_BYTES and kept.day % MS_PER_DAY == 0 else None

    def _write(self, day: int, key: bytes) -> None:
        """In the place of the one before, which is gone then."""
        partial = self._file.with_name(f"{self._file.name}.partial")
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, msgspec.json.encode(StoredKey(day, key.hex())))
            os.fsync(handle)
        finally:
            os.close(handle)
        partial.rename(self._file)
        sync(self._file.parent)


def visitor_hash(key: bytes, address: str) -> str:
    """Whole it is written down nowhere: what is hashed together with it cannot be found by trying."""
    return hmac.digest(key, address.encode(errors="surrogateescape"), "sha256").hex()


def check_of(key: bytes) -> str:
    """Tells whether two hosts have the same key, and nothing about it."""
    return hmac.digest(key, b"dawr traffic: which key", "sha256")[:8].hex()


def _ratcheted(key: bytes, days: int) -> bytes:
    for _ in range(days):
        key = hmac.digest(key, b"dawr traffic: the next day", "sha256")
    return key


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not lock_soon(handle, tries=LOCK_TRIES, seconds=LOCK_SECONDS):
            raise BlockingIOError(EWOULDBLOCK, "Another process has its lock.")
        yield
    finally:
        os.close(handle)
