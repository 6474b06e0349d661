"""The service day: the date a number belongs to.

It is the local date of (now − day start) in the venue's IANA zone, so a bar that
closes at 02:00 stays on yesterday's numbers. It never goes back: `later_of` keeps the
day a venue has already reached, whatever a clock or a change of zone says.
"""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NewType
from zoneinfo import ZoneInfo

Day = NewType("Day", str)
"""An ISO date. Text, because it orders and stores the same everywhere."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def service_day(now: int, *, zone: str, day_start: int) -> Day:
    """The day of the instant `now` (milliseconds); `day_start` is in minutes after midnight."""
    started = EPOCH + timedelta(milliseconds=now) - timedelta(minutes=day_start)
    return Day(started.astimezone(_zone(zone)).date().isoformat())


def is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def later_of(reached: Day, computed: Day) -> Day:
    return max(reached, computed)


def local_time(now: int, *, zone: str) -> datetime:
    return (EPOCH + timedelta(milliseconds=now)).astimezone(_zone(zone))


def moment_of(day: date, minute: int, *, zone: str) -> int:
    """Milliseconds of a minute of a local day; 1440 is the midnight that ends it."""
    local = datetime.combine(day, time(), tzinfo=_zone(zone)) + timedelta(minutes=minute)
    return round(local.timestamp() * 1000)


def end_of_day(day: Day, *, zone: str, day_start: int) -> int:
    """When the service day after this one begins, in milliseconds."""
    midnight = datetime.combine(date.fromisoformat(day) + timedelta(days=1), time(), tzinfo=_zone(zone))
    return round(midnight.timestamp() * 1000) + day_start * 60_000


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)
