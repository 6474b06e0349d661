"""Histograms whose buckets grow by 2 %: whatever is added up, a quantile is within 1 % of the value itself.

A bucket is a whole number, so that a database can add histograms up. Times are whole microseconds.
"""

from collections.abc import Mapping
from math import ceil, log

GROWTH = 1.02
_LOG = log(GROWTH)


def bucket_of(us: int) -> int:
    """Bucket 0 has what took no time; bucket n > 0 what is above GROWTH ** (n - 2), up to GROWTH ** (n - 1)."""
    return 0 if us < 1 else 1 + ceil(log(us) / _LOG - 1e-9)


def value_of(bucket: int) -> float:
    """The time that is as close to both ends of the bucket, in microseconds."""
    return 0.0 if bucket == 0 else 2 * GROWTH ** (bucket - 1) / (1 + GROWTH)


def quantile(histogram: Mapping[int, int], share: float) -> float | None:
    """The time within which this share of all was done, in microseconds; None if there was nothing."""
    total = sum(histogram.values())
    if total == 0:
        return None
    rank, passed = max(1, ceil(share * total - 1e-9)), 0
    for bucket in sorted(histogram):
        passed += histogram[bucket]
        if passed >= rank:
            return value_of(bucket)
    raise AssertionError("the ranks of a histogram end at its total")
