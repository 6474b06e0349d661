"""When a queue gives numbers: a week of opening spans, and dates that differ.

Spans are minutes of the local day, so 08:00–16:00 stays 08:00–16:00 when the clocks
change. A span that ends after midnight is written as two. People write and read them
as `08:00-16:00`; stored and computed with they are minutes.
"""

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from dawr.domain.day import local_time, moment_of
from dawr.domain.errors import InvalidValue

Span = tuple[int, int]
"""Opening and closing, in minutes after local midnight; the end is outside."""

WrittenSpan = str | Annotated[tuple[int, ...], Meta(min_length=2, max_length=2)]
"""As a document may have it: `08:00-16:00`, or its two minutes."""

WRITTEN = re.compile(r"(\d{1,2}):([0-5]\d) ?[-–] ?(\d{1,2}):([0-5]\d)", re.ASCII)
LONGEST_SHOWN = 40
MINUTES_OF_A_DAY = 24 * 60
DAYS_LOOKED_AHEAD = 14
MAX_SPANS_PER_DAY = 24
MAX_DATES = 400
"""Every look at the queue costs time for each of its spans and dates."""


class Hours(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    week: tuple[tuple[WrittenSpan, ...], ...]
    """Seven days, Monday first; a day without spans is closed."""
    exceptions: dict[str, tuple[WrittenSpan, ...]] = {}
    """ISO date → its spans instead of the weekday's."""

    def __post_init__(self) -> None:
        """However they were written, spans are minutes from here on."""
        force = msgspec.structs.force_setattr
        force(self, "week", tuple(_in_minutes(spans) for spans in self.week))
        force(self, "exceptions", {day: _in_minutes(spans) for day, spans in self.exceptions.items()})

    def as_written(self) -> dict[str, Any]:
        """For a document that people read."""
        return {
            "week": [_as_text(spans) for spans in self._week],
            "exceptions": {day: _as_text(spans) for day, spans in self._exceptions.items()},
        }

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
        exception = self._exceptions.get(local.date().isoformat())
        return self._week[local.weekday()] if exception is None else exception

    @property
    def _week(self) -> tuple[tuple[Span, ...], ...]:
        return cast("tuple[tuple[Span, ...], ...]", self.week)

    @property
    def _exceptions(self) -> dict[str, tuple[Span, ...]]:
        return cast("dict[str, tuple[Span, ...]]", self.exceptions)

    @property
    def every_day(self) -> tuple[tuple[Span, ...], ...]:
        """The spans of each weekday and of each date that differs."""
        return (*self._week, *self._exceptions.values())


def checked(hours: Hours) -> Hours:
    """The hours themselves, or a sentence about what is wrong with them."""
    if len(hours.week) != 7:  # noqa: PLR2004 - a week has seven days
        raise InvalidValue("hours", "week")
    for spans in hours.every_day:
        for span in spans:
            if not 0 <= span[0] < span[1] <= MINUTES_OF_A_DAY:
                raise InvalidValue("hours", "span", span=written(span))
        for earlier, later in pairwise(sorted(spans)):
            if later[0] < earlier[1]:
                raise InvalidValue("hours", "spans-overlap", span=written(earlier), other=written(later))
    for exception in hours.exceptions:
        if not _is_iso_date(exception):
            raise InvalidValue("hours", "date", date=exception[:LONGEST_SHOWN])
    return hours


def limit_size(hours: Hours, before: Hours | None, *, queue: str) -> None:
    """Refuse too many dates, or too many spans of one day. A queue that had more before may keep as many."""
    if (dates := _count_dates(hours)) > max(MAX_DATES, _count_dates(before)):
        raise InvalidValue("hours", "too-many-dates", queue=queue, count=dates, most=MAX_DATES)
    if (spans := _count_spans(hours)) > max(MAX_SPANS_PER_DAY, _count_spans(before)):
        raise InvalidValue("hours", "too-many-spans", queue=queue, count=spans, most=MAX_SPANS_PER_DAY)


def _count_dates(hours: Hours | None) -> int:
    return 0 if hours is None else len(hours.exceptions)


def _count_spans(hours: Hours | None) -> int:
    """Count the spans of the day that has the most."""
    return 0 if hours is None else max(map(len, hours.every_day), default=0)


def written(span: Span) -> str:
    """`(480, 960)` is `08:00-16:00`. What is no time of a day stays a number of minutes."""
    return "-".join(f"{minute // 60:02}:{minute % 60:02}" if minute >= 0 else str(minute) for minute in span)


def _in_minutes(spans: Iterable[WrittenSpan]) -> tuple[Span, ...]:
    return tuple(_read(span) if isinstance(span, str) else (span[0], span[1]) for span in spans)


def _read(text: str) -> Span:
    found = WRITTEN.fullmatch(text.strip())
    if found is None:
        raise InvalidValue("hours", "span-form", span=text[:LONGEST_SHOWN])
    from_hour, from_minute, to_hour, to_minute = map(int, found.groups())
    return from_hour * 60 + from_minute, to_hour * 60 + to_minute


def _as_text(spans: Iterable[Span]) -> list[str]:
    return [written(span) for span in spans]


def _is_iso_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
