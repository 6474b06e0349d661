"""The bytes of server-sent events. Whatever is put into one cannot begin another."""

import re

import msgspec

_ID = re.compile(r"([0-9]{1,18})\.([0-9]{1,18})")

COMMENT = b":\n"
SILENT_BEAT = b":\n\n"
"""A heartbeat that leaves the client where it was."""


class EventId(msgspec.Struct, frozen=True):
    """Where a stream is: the epoch of the venue, and the version of the last change that was seen."""

    epoch: int
    version: int

    def __bytes__(self) -> bytes:
        return b"%d.%d" % (self.epoch, self.version)


def event_id(text: str) -> EventId | None:
    """As a client sends it back; None when it is none of ours."""
    found = _ID.fullmatch(text)
    return None if found is None else EventId(int(found[1]), int(found[2]))


def frame(event: str, data: bytes, *, at: bytes = b"") -> bytes:
    """One event. `at` is its id; without one, the client stays where it was."""
    if b"\n" in data or b"\r" in data:
        data = b"\ndata: ".join(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    place = b"id: %b\n" % at if at else b""
    return b"%bevent: %b\ndata: %b\n\n" % (place, event.encode(), data)


def mark(at: bytes) -> bytes:
    """No event, but the client remembers where it is."""
    return b"id: %b\n\n" % at


def retry(milliseconds: int) -> bytes:
    """How long the client waits before it comes again."""
    return b"retry: %d\n\n" % milliseconds
