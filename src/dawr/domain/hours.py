"""When a queue gives numbers: a week of opening spans, and dates that differ.

Spans are minutes of the local day, so 08:00–16:00 stays 08:00–16:00 when the clocks
change. A span that ends after midnight is written as two.
"""

from datetime import date, datetime, timedelta

import msgspec

from dawr.domain.day import local_time, moment_of
from dawr.domain.errors import InvalidValue

Span = tuple[int, int]
"""Opening and closing, in minutes after local midnight; the end is outside."""

MINUTES_OF_A_DAY = 24 * 60
DAYS_LOOKED_AHEAD = 14


class Hours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    week: tuple[tuple[Span, ...], ...]
    """Seven days, Monday first; a day without spans is closed."""
    exceptions: dict[str, tuple[Span, ...]] = {}
    """ISO date → its spans instead of the weekday's."""

    def are_open(self, local: datetime) -> bool:
        minute = local.hour * 60 + local.minute
        return any(start <= minute < end for start, end in self._spans(local))

    def next_opening(self, local: datetime) -> str | None:
        """The next local opening time as text, if there is one within two weeks."""
        minute = local.hour * 60 + local.minute
        for ahead in range(DAYS_LOOKED_AHEAD):
            day = local + timedelta(days=ahead)
            starts = [start for start, _ in self._spans(day) if ahead or start > minute]
            if starts:
                return f"{day.date().isoformat()} {min(starts) // 60:02}:{min(starts) % 60:02}"
        return None

    def next_change(self, now: int, *, zone: str, opening: bool | None = None) -> int | None:
        """When they begin or end next, in milliseconds; `opening` asks for one of the two. None within two weeks.

        A moment that the clocks leave out when they change is the one that they show instead.
        """
        local = local_time(now, zone=zone)
        for ahead in range(DAYS_LOOKED_AHEAD):
            day = local + timedelta(days=ahead)
            minutes = {
                m
                for start, end in self._spans(day)
                for m, begins in ((start, True), (end, False))
                if opening in {None, begins}
            }
            later = [at for minute in sorted(minutes) if (at := moment_of(day.date(), minute, zone=zone)) > now]
            if later:
                return min(later)
        return None

    def _spans(self, local: datetime) -> tuple[Span, ...]:
        exception = self.exceptions.get(local.date().isoformat())
        return self.week[local.weekday()] if exception is None else exception


def checked(hours: Hours) -> Hours:
    """The hours themselves, or a sentence about what is wrong with them."""
    if len(hours.week) != 7:  # noqa: PLR2004 - a week has seven days
        raise InvalidValue("hours", "Hours need seven days, Monday first.")
    for spans in (*hours.week, *hours.exceptions.values()):
        for start, end in spans:
            if not 0 <= start < end <= MINUTES_OF_A_DAY:
                raise InvalidValue("hours", f"Opening hours {start}–{end} are not within one day.")
    for exception in hours.exceptions:
        if not _is_iso_date(exception):
            raise InvalidValue("hours", f"{exception!r} is no date: write it as 2025-12-31.")
    return hours


def _is_iso_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
