"""The same figures as the tables have, counted in the plainest way from the events themselves."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from random import Random

from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, Event, day_of
from dawr.traffic.identity import whole_hash
from dawr.traffic.ranges import Range
from tests.traffic.builders import an_event

PATHS = ("/v1/queues/{queue}", "/v1/tickets/{ticket}", "/v1/Venues/{venue}", "/api/v1/queue/enter", "(other)", "-")
STATUSES = (*[200] * 12, 201, 204, 302, 404, 404, 422, 429, 500, 503)


def driven_days(start: int, days: int, each: int, chance: Random) -> Iterator[Event]:
    """Requests in the order of time: busy hours, quiet nights, visitors with another hash each day."""
    hours = [start + hour * MS_PER_HOUR for hour in range(24 * days) if hour % 24 not in {2, 3}]
    busy = [1 + 5 * (8 <= hour // MS_PER_HOUR % 24 < 18) for hour in hours]
    times = sorted(hour + chance.randrange(MS_PER_HOUR) for hour in chance.choices(hours, busy, k=each * days))
    for number, at in enumerate(times):
        yield an_event(
            number,
            at=at,
            path=chance.choice(PATHS),
            method=chance.choice(("GET", "GET", "POST")),
            status=(status := chance.choice(STATUSES)),
            ms=round(chance.lognormvariate(2, 1), 3),
            visitor=whole_hash(str(day_of(at)), "", str(chance.randrange(each // 4)))[:16],
            agent=chance.choice(("Chrome", "Firefox", "curl")),
            by_rule=status == 503,
        )


class PlainCount:
    """Of some events in the order of time: those in a range, of a path and a method or of all."""

    def __init__(self, events: Sequence[Event], range_: Range, path: str = "", method: str = "") -> None:
        first, last = (bisect_left(events, at, key=lambda e: e.timestamp) for at in (range_.start, range_.end))
        self.events = [e for e in events[first:last] if path in {"", e.path} and method in {"", e.method}]
        self.us = sorted(round(e.response_time * 1000) for e in self.events)

    @property
    def requests(self) -> int:
        return len(self.events)

    def outcome(self, outcome: str) -> int:
        return sum(e.outcome == outcome for e in self.events)

    @property
    def mean_ms(self) -> float | None:
        return round(sum(self.us) / len(self.us) / 1000, 3) if self.us else None

    @property
    def max_ms(self) -> float | None:
        return self.us[-1] / 1000 if self.us else None

    def quantile_ms(self, share: float) -> float | None:
        return self.us[max(1, ceil(share * len(self.us))) - 1] / 1000 if self.us else None

    @property
    def visitors(self) -> int:
        """Another hash each day: the sum of the days."""
        return len({(day_of(e.timestamp), e.client_ip_hash) for e in self.events})

    @property
    def peak(self) -> tuple[int, int] | None:
        """The busiest minute, the earliest of several."""
        by_minute = Counter(e.timestamp - e.timestamp % MS_PER_MINUTE for e in self.events)
        most = max(by_minute.values(), default=0)
        return (most, min(at for at, found in by_minute.items() if found == most)) if most else None

    def by(self, field: str) -> dict[str, int]:
        return dict(Counter(getattr(e, field) for e in self.events))


def some_ranges(start: int, days: int, chance: Random) -> list[Range]:
    """Whole days, parts of a day, over midnight, all of it, nothing in it; and a few by chance."""
    day, hour = MS_PER_DAY, MS_PER_HOUR
    end = start + days * day
    given = [
        (start, end),
        (start + day, start + 2 * day),
        (start + 5 * hour, start + 6 * hour),
        (start + 22 * hour, start + 26 * hour),
        (start + 2 * hour, start + 4 * hour),
        (start + 13 * hour + 1, start + 3 * day + 7 * hour + 59),
        (start - 3 * day, start - day),
        (start - day, end + day),
    ]
    chosen = [sorted(start + chance.randrange(days * day) for _ in range(2)) for _ in range(8)]
    return [Range(*pair) for pair in [*given, *chosen]]
