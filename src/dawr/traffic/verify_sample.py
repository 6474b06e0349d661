"""A share of the details, looked up one by one in the aggregates of their hour.

Which ones is decided by their hash, so it is the same ones every time. A detail is found again if its hour has at
least as many requests of its path, method and class as the sample has, and as many in its bucket, and knows its
visitor. The aggregates of an hour can be right in number and wrong in kind: this is how that is noticed.
"""

from collections import Counter

import msgspec

from dawr.traffic.buckets import bucket_of
from dawr.traffic.counting import ALL_PATHS, STREAM
from dawr.traffic.database import Transaction
from dawr.traffic.event import hour_of
from dawr.traffic.visitors import KEPT

MOST_MISSING = 0.05
MOST_LOOKED_UP = 100_000
HASH_DIGITS = 8

Key = tuple[int, str, str] | tuple[int, str, str, str] | tuple[int, str, str, int]


class Sample(msgspec.Struct, frozen=True):
    looked_up: int
    missing: int
    first_missing: int = 0
    """The hour of one that is missing."""


class Detail(msgspec.Struct, frozen=True):
    """Where a detail must be found again."""

    in_hours: Key
    in_buckets: Key | None
    """None for a stream, whose time is in no histogram."""
    visitors: tuple[Key, ...]


async def compare_sample(transaction: Transaction, since: int, until: int, share: float) -> Sample:
    below = f"{min(int(share * 16**HASH_DIGITS), 16**HASH_DIGITS - 1):0{HASH_DIGITS}x}"
    rows = await transaction.select_rows("sampled_events", f"{since:013}", f"{until:013}", below, MOST_LOOKED_UP)
    details = [_detail(row) for row in rows]
    hours = await _requests(transaction, "requests_in_hour", {detail.in_hours for detail in details})
    buckets = await _requests(
        transaction, "requests_in_bucket", {detail.in_buckets for detail in details if detail.in_buckets}
    )
    visitors = {(*key, KEPT) for detail in details for key in detail.visitors}
    known = {tuple(row) for row in await transaction.select_each("visitors_in_hour", sorted(visitors))}
    missing = []
    for detail in details:
        hours[detail.in_hours] -= 1
        is_there = hours[detail.in_hours] >= 0
        if detail.in_buckets is not None:
            buckets[detail.in_buckets] -= 1
            is_there = is_there and buckets[detail.in_buckets] >= 0
        if not is_there or not known.issuperset(detail.visitors):
            missing.append(detail.in_hours[0])
    return Sample(len(details), len(missing), missing[0] if missing else 0)


def _detail(row: tuple[int, str, str, int, str, float, str]) -> Detail:
    at, path, method, status, outcome, ms, visitor = row
    hour = hour_of(at)
    bucket = bucket_of(round(ms * 1000))
    paths = (path, ALL_PATHS) if visitor else ()
    return Detail(
        (hour, path, method, f"{status // 100}xx"),
        None if outcome == STREAM else (hour, path, method, bucket),
        tuple((hour, known, visitor) for known in paths),
    )


async def _requests(transaction: Transaction, name: str, keys: set[Key]) -> Counter[Key]:
    """How many there are of each."""
    return Counter({tuple(key): requests for *key, requests in await transaction.select_each(name, sorted(keys))})
