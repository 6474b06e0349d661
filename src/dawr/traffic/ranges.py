"""A range of time as the tables can tell it: whole hours, and whole UTC days where there are any."""

import msgspec

from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, day_of

LONGEST_MS = 90 * MS_PER_DAY


class Unanswerable(Exception):
    """What was asked for does not fit."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class Range(msgspec.Struct, frozen=True, rename={"start": "from", "end": "to"}):
    """From its start on, up to its end and without it."""

    start: int
    end: int

    def widened(self, step: int) -> "Range":
        """Outwards, to whole steps."""
        return Range(self.start - self.start % step, self.end + -self.end % step)

    def earlier(self, ms: int) -> "Range":
        return Range(self.start - ms, self.end - ms)

    def steps(self, step: int) -> range:
        return range(self.start, self.end, step)

    @property
    def ms(self) -> int:
        return self.end - self.start

    @property
    def bounds(self) -> tuple[int, int, int, int]:
        """Where it begins, where its whole days begin and end, and where it ends. If it has none, all at its end."""
        whole, rest = self.start + -self.start % MS_PER_DAY, day_of(self.end)
        return (self.start, whole, rest, self.end) if whole < rest else (self.start, self.end, self.end, self.end)

    def parts_of_days(self) -> "list[Range]":
        """Its parts of those UTC days that it has not the whole of: one or two, or none."""
        start, whole, rest, end = self.bounds
        if whole < rest:
            parts = [Range(start, whole), Range(rest, end)]
        else:
            midnight = min(day_of(start) + MS_PER_DAY, end)
            parts = [Range(start, midnight), Range(midnight, end)]
        return [part for part in parts if part.ms]

    @property
    def days(self) -> int:
        """How many UTC days it touches."""
        return (day_of(self.end - 1) - day_of(self.start)) // MS_PER_DAY + 1


def asked_range(start: int | None, end: int | None, now: int) -> Range:
    """The latest 24 hours unless something else is asked for. Nothing ends later than now."""
    until = now if end is None else min(end, now)
    since = until - MS_PER_DAY if start is None else start
    if since >= until:
        raise Unanswerable("from", "It must be earlier than `to`, and than now.")
    if until - since > LONGEST_MS + MS_PER_HOUR:  # whoever asks for 90 days from now on is a moment late
        raise Unanswerable("from", "A range has at most 90 days.")
    return Range(since, until)


def minutes_until(range_: Range, now: int) -> float:
    """How many of its minutes have passed: at least one."""
    return max((min(range_.end, now) - range_.start) / MS_PER_MINUTE, 1.0)
