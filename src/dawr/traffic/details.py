"""Limits on the requests that are kept in detail. All of them are counted, and a flood fills no disk."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from dawr.traffic.event import Event, hour_of
from dawr.traffic.ledger import Column

PER_HOUR = 1_000_000
MIN_FREE_MB = 1_000
BYTES_PER_MB = 1_000_000
LIMITED = 429


class DetailLimits(msgspec.Struct, frozen=True):
    per_hour: int = PER_HOUR
    counted_paths: frozenset[str] = frozenset()
    """Paths of which nothing but the count is kept, such as health checks."""
    is_disk_low: Callable[[], bool] = lambda: False

    def columns_of(self, events: Sequence[Event], detailed: Counter[int]) -> list[Column]:
        """Return where the ledger counts each event. `detailed` has the details so far by hour, and grows."""
        has_no_space = self.is_disk_low()
        return [self._column_of(event, detailed, has_no_space=has_no_space) for event in events]

    def _column_of(self, event: Event, detailed: Counter[int], *, has_no_space: bool) -> Column:
        if event.counted_only or event.status == LIMITED or event.path in self.counted_paths:
            return "counted_only"
        if has_no_space:
            return "no_space"
        hour = hour_of(event.timestamp)
        if detailed[hour] >= self.per_hour:
            return "over_limit"
        detailed[hour] += 1
        return "detailed"


NO_LIMITS = DetailLimits()


class FreeSpace:
    """Free space of the disk that holds a directory, compared with a minimum."""

    def __init__(self, directory: Path, min_mb: int = MIN_FREE_MB) -> None:
        self.min_mb = min_mb
        self._directory = directory

    def is_low(self) -> bool:
        """Return False if the disk does not tell."""
        try:
            return shutil.disk_usage(self._directory).free < self.min_mb * BYTES_PER_MB
        except OSError:
            return False
