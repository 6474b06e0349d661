"""What a number of requests comes to: how many failed, and how long they took."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from dawr.traffic.buckets import quantile

US_PER_MS = 1000
P50, P95, P99 = 0.5, 0.95, 0.99


class Counts(NamedTuple):
    """As rows have them; of several rows, their sum."""

    requests: int = 0
    errors: int = 0
    refused: int = 0
    sum_us: int = 0
    max_us: int = 0
    streams: int = 0

    @property
    def timed(self) -> int:
        """Requests that have a response time: all but streams."""
        return self.requests - self.streams

    @property
    def mean_ms(self) -> float | None:
        return in_ms(self.sum_us / self.timed) if self.timed else None


def sum_of(rows: Iterable[Counts]) -> Counts:
    requests = errors = refused = sum_us = max_us = streams = 0
    for row in rows:
        requests += row.requests
        errors += row.errors
        refused += row.refused
        sum_us += row.sum_us
        max_us = max(max_us, row.max_us)
        streams += row.streams
    return Counts(requests, errors, refused, sum_us, max_us, streams)


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Rates are shares of all requests. Whatever says nothing without a request is null then."""

    requests: int
    streams: int = 0
    """Streams among the requests. They have no part in the times below."""
    errors: int
    refused: int
    error_rate: float | None
    refused_rate: float | None
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None


def figures(counts: Counts, histogram: Mapping[int, int]) -> Figures:
    return Figures(
        requests=counts.requests,
        streams=counts.streams,
        errors=counts.errors,
        refused=counts.refused,
        error_rate=share(counts.errors, counts.requests),
        refused_rate=share(counts.refused, counts.requests),
        mean_ms=counts.mean_ms,
        p50_ms=quantile_ms(histogram, P50, counts.max_us),
        p95_ms=quantile_ms(histogram, P95, counts.max_us),
        p99_ms=quantile_ms(histogram, P99, counts.max_us),
        max_ms=in_ms(counts.max_us) if counts.timed else None,
    )


def quantile_us(histogram: Mapping[int, int], part: float, max_us: int) -> float | None:
    """No longer than the longest, which is known exactly."""
    found = quantile(histogram, part)
    return None if found is None else min(found, max_us)


def quantile_ms(histogram: Mapping[int, int], part: float, max_us: int) -> float | None:
    found = quantile_us(histogram, part, max_us)
    return None if found is None else in_ms(found)


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def change(now: float | None, before: float | None) -> float | None:
    """In per cent of what was before; null if there was nothing."""
    return None if now is None or not before else round(100 * (now - before) / before, 1)


def in_ms(us: float) -> float:
    return round(us / US_PER_MS, 3)
