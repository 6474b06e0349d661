"""Where the next page of a list begins. To clients it is a text without meaning; whatever comes back is checked."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Literal

import msgspec

from dawr.traffic.event import MS_PER_HOUR
from dawr.traffic.ranges import LONGEST_MS, Range, Unanswerable

Sort = Literal["requests", "errors", "mean", "p95", "path"]

LATEST = 2**53


class Listing(msgspec.Struct, frozen=True):
    """Which list it is: its pages are of one range and in one order."""

    range: Range
    """Whole hours."""
    sort: Sort = "requests"
    search: str = ""
    """A part of the path, in upper or lower case."""


class Place(msgspec.Struct, frozen=True):
    """Behind whatever has this value and path."""

    value: float
    path: str

    @property
    def key(self) -> tuple[float, str]:
        """The highest value first; of the same value, the paths in their order."""
        return -self.value, self.path


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    listing: Listing
    place: Place


_decode = msgspec.json.Decoder(Cursor).decode


def encoded(listing: Listing, place: Place) -> str:
    return urlsafe_b64encode(msgspec.json.encode(Cursor(listing, place))).decode().rstrip("=")


def decoded(text: str) -> Cursor:
    try:
        cursor = _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _foreign() from error
    range_ = cursor.listing.range
    is_possible = 0 <= range_.start < range_.end <= LATEST and range_.ms <= LONGEST_MS + 2 * MS_PER_HOUR
    if not is_possible or range_ != range_.widened(MS_PER_HOUR):
        raise _foreign()
    return cursor


def _foreign() -> Unanswerable:
    return Unanswerable("cursor", "It is not what the page before gave as `next`.")
