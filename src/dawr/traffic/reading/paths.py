"""Which paths were asked for: in any order, a page at a time."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from dawr.traffic.database import Database, Transaction
from dawr.traffic.event import MS_PER_HOUR
from dawr.traffic.ranges import LONGEST_MS, Range, Unanswerable
from dawr.traffic.reading.figures import Counts, Figures, figures, quantile_ms
from dawr.traffic.visitors import KEPT, Visitors, count_visitors

Sort = Literal["requests", "errors", "mean", "p95", "path"]
Histogram = Mapping[int, int]
EMPTY: Histogram = {}

MOST_HASHES = 2**20
"""Of a page, so many hashes of visitors are looked at: the more paths and days it has, the fewer of each."""
LEAST_HASHES = 1024
LONGEST_CURSOR = 4000


class PathFigures(Figures, frozen=True, kw_only=True):
    path: str
    visitors: Visitors | None
    """Null when visitors are not counted."""


class PathsPage(msgspec.Struct, frozen=True):
    range: Range
    """What was really looked at: whole hours."""
    items: list[PathFigures]
    next: str | None
    """The cursor of the next page; null on the last."""


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """Which list it is: a cursor leads on in its own list only."""

    range: Range
    sort: Sort
    search: str


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Behind which path a page begins."""

    asked: Asked
    value: float
    path: str

    def encoded(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def decoded_cursor(text: str) -> Cursor:
    try:
        return _decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (msgspec.MsgspecError, binascii.Error, ValueError) as error:
        raise Unanswerable("cursor", "It is not what the page before gave as `next`.") from error
