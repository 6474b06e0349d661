"""The service day, in every zone and over every change of clocks from 2024 to 2030."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dawr.domain.day import EPOCH, Day, later_of, local_time, service_day

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FIRST = datetime(2024, 1, 1, tzinfo=UTC)
LAST = datetime(2031, 1, 1, tzinfo=UTC)
ZONES = sorted(available_timezones())
DAY_STARTS = (0, 5 * 60, 12 * 60)


def at(zone: str, text: str, *, fold: int = 0) -> int:
    """The instant of a local time, in milliseconds."""
    local = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return millis(local)


def millis(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


@cache
def transitions(zone: str) -> tuple[int, ...]:
    """Every second at which the zone's clocks change, found by looking and not by trusting a table."""
    found = []
    info, step, moment = ZoneInfo(zone), timedelta(days=1), FIRST
    offset = moment.astimezone(info).utcoffset()
    while moment < LAST:
        following = moment + step
        later = following.astimezone(info).utcoffset()
        if later != offset:
            found.append(_bisected(info, moment, following))
        moment, offset = following, later
    return tuple(found)


def _bisected(info: ZoneInfo, low: datetime, high: datetime) -> int:
    before = low.astimezone(info).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        if middle.astimezone(info).utcoffset() == before:
            low = middle
        else:
            high = middle
    return millis(high)


def around(transition: int, *, day_start: int) -> list[int]:
    """Instants from a day before to a day after, and the very moments of the change."""
    hours = range(transition - 26 * HOUR, transition + 26 * HOUR + 1, 30 * MINUTE)
    begun = transition + day_start * MINUTE
    close = [parts + near for parts in (transition, begun) for near in (-SECOND, -1, 0, 1, SECOND)]
    return sorted({*hours, *close})


def kept(instants: Iterable[int], *, zone: str, day_start: int) -> Iterator[Day]:
    """The day as a venue keeps it: the latest it has reached."""
    reached = Day("")
    for now in instants:
        reached = later_of(reached, service_day(now, zone=zone, day_start=day_start))
        yield reached


def days_between(earlier: Day, later: Day) -> int:
    return (date.fromisoformat(later) - date.fromisoformat(earlier)).days


@pytest.mark.parametrize(
    ("local", "day"),
    [
        ("2025-03-10T04:59:59.999", "2025-03-09"),
        ("2025-03-10T05:00:00", "2025-03-10"),
        ("2025-03-10T23:59:59", "2025-03-10"),
        ("2025-03-11T00:00:00", "2025-03-10"),
        ("2025-03-11T05:00:00", "2025-03-11"),
        ("2025-01-01T04:00:00", "2024-12-31"),
        ("2024-03-01T02:00:00", "2024-02-29"),
    ],
)
def test_a_day_in_qatar_begins_at_five(local: str, day: str) -> None:
    assert service_day(at("Asia/Qatar", local), zone="Asia/Qatar", day_start=5 * 60) == day


@pytest.mark.parametrize(
    ("local", "day"), [("2025-03-09T23:59:59.999", "2025-03-09"), ("2025-03-10T00:00:00", "2025-03-10")]
)
def test_a_day_that_starts_at_midnight_is_the_local_date(local: str, day: str) -> None:
    assert service_day(at("Asia/Qatar", local), zone="Asia/Qatar", day_start=0) == day


def test_a_bar_that_closes_at_two_stays_on_the_numbers_of_the_evening() -> None:
    evening = service_day(at("Europe/Madrid", "2025-06-20T22:00"), zone="Europe/Madrid", day_start=5 * 60)
    closing = service_day(at("Europe/Madrid", "2025-06-21T02:00"), zone="Europe/Madrid", day_start=5 * 60)

    assert evening == closing == "2025-06-20"


def test_two_venues_have_their_own_day_at_the_same_instant() -> None:
    now = at("UTC", "2025-06-20T12:00")

    days = [service_day(now, zone=zone, day_start=0) for zone in ("Pacific/Kiritimati", "UTC", "Etc/GMT+12")]

    assert days == ["2025-06-21", "2025-06-20", "2025-06-20"]


@pytest.mark.parametrize(
    ("local", "day"),
    [
        ("2025-03-30T05:59:59", "2025-03-29"),  # five hours after midnight have not passed: one was skipped
        ("2025-03-30T06:00:00", "2025-03-30"),
        ("2025-10-26T03:59:59", "2025-10-25"),  # and here one came twice
        ("2025-10-26T04:00:00", "2025-10-26"),
    ],
)
def test_the_day_starts_as_many_hours_after_midnight_as_really_pass(local: str, day: str) -> None:
    assert service_day(at("Europe/Berlin", local), zone="Europe/Berlin", day_start=5 * 60) == day


def test_apia_goes_from_the_29th_to_the_31st_because_its_30th_of_december_2011_never_was() -> None:
    zone = "Pacific/Apia"
    midnight = at(zone, "2011-12-29T23:59:59") + SECOND

    days = list(kept(range(midnight - 26 * HOUR, midnight + 26 * HOUR, 15 * MINUTE), zone=zone, day_start=0))

    assert sorted(set(days)) == ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01"]
    assert service_day(midnight - 1, zone=zone, day_start=0) == "2011-12-29"
    assert service_day(midnight, zone=zone, day_start=0) == "2011-12-31"


@pytest.mark.parametrize(
    ("zone", "last_second", "day"),
    [
        ("Africa/Cairo", "2024-04-25T23:59:59", "2024-04-26"),
        ("Asia/Beirut", "2024-03-30T23:59:59", "2024-03-31"),
        ("America/Havana", "2024-03-09T23:59:59", "2024-03-10"),
        ("America/Asuncion", "2023-09-30T23:59:59", "2023-10-01"),
    ],
)
def test_a_day_whose_midnight_is_skipped_begins_with_its_first_second(zone: str, last_second: str, day: str) -> None:
    before = at(zone, last_second)
    first = before + SECOND

    assert local_time(first, zone=zone).hour == 1
    assert service_day(first - 1, zone=zone, day_start=0) < day
    assert service_day(first, zone=zone, day_start=0) == day


@pytest.mark.parametrize(
    ("zone", "midnight"),
    [
        ("Africa/Cairo", "2024-10-31T23:59:59"),
        ("Asia/Beirut", "2024-10-26T23:59:59"),
        ("America/Asuncion", "2024-03-23T23:59:59"),
    ],
)
def test_a_midnight_that_is_taken_back_does_not_take_the_day_back(zone: str, midnight: str) -> None:
    second_midnight = at(zone, midnight, fold=1) + SECOND
    walked = range(second_midnight - 3 * HOUR, second_midnight + 3 * HOUR, 5 * MINUTE)

    days = list(kept(walked, zone=zone, day_start=0))

    assert days == sorted(days)
    assert days_between(days[0], days[-1]) == 1


def test_havana_lives_its_first_hour_twice_on_one_day() -> None:
    zone = "America/Havana"

    first = service_day(at(zone, "2024-11-03T00:30", fold=0), zone=zone, day_start=0)
    second = service_day(at(zone, "2024-11-03T00:30", fold=1), zone=zone, day_start=0)

    assert first == second == "2024-11-03"


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2025-10-26", 25.0),
        ("Europe/Berlin", "2025-03-30", 23.0),
        ("Australia/Lord_Howe", "2025-04-06", 24.5),
        ("Australia/Lord_Howe", "2025-10-05", 23.5),
        ("Asia/Qatar", "2025-10-26", 24.0),
        ("Antarctica/Troll", "2025-10-26", 26.0),
    ],
)
def test_a_day_is_as_long_as_its_clocks_say(zone: str, day: str, hours: float) -> None:
    noon = at(zone, f"{day}T12:00")

    minutes = [
        now
        for now in range(noon - 20 * HOUR, noon + 20 * HOUR, MINUTE)
        if service_day(now, zone=zone, day_start=0) == day
    ]

    assert len(minutes) == hours * 60
    assert minutes[-1] - minutes[0] == (len(minutes) - 1) * MINUTE


def test_the_clocks_of_the_world_change_often_enough_for_this_to_mean_something() -> None:
    changing = [zone for zone in ZONES if transitions(zone)]

    assert len(changing) > 150
    assert sum(len(transitions(zone)) for zone in changing) > 2500
    assert at("Europe/Berlin", "2025-03-30T03:00:00") in transitions("Europe/Berlin")
    assert len(transitions("Europe/Berlin")) == 14


@pytest.mark.parametrize(
    "day_start", [DAY_STARTS[0], *(pytest.param(at, marks=pytest.mark.slow) for at in DAY_STARTS[1:])]
)
def test_over_every_change_of_clocks_until_2030_no_day_goes_back_or_is_skipped_or_comes_twice(day_start: int) -> None:
    for zone in ZONES:
        for transition in transitions(zone):
            days = list(kept(around(transition, day_start=day_start), zone=zone, day_start=day_start))

            steps = {days_between(earlier, later) for earlier, later in pairwise(days)}

            assert steps <= {0, 1}, f"{zone} around {EPOCH + timedelta(milliseconds=transition)}: steps {steps}"


def test_over_every_change_of_clocks_until_2030_a_clock_that_steps_back_does_not_move_the_day_back() -> None:
    for zone in ZONES:
        for transition in transitions(zone):
            for now in (transition - HOUR, transition, transition + 5 * HOUR):
                reached = service_day(now, zone=zone, day_start=5 * 60)
                for back in (1, SECOND, HOUR, DAY):
                    computed = service_day(now - back, zone=zone, day_start=5 * 60)

                    assert later_of(reached, computed) == reached, zone


instants = st.integers(millis(datetime(1971, 1, 1, tzinfo=UTC)), millis(datetime(2037, 1, 1, tzinfo=UTC)))
zones = st.sampled_from(ZONES)
day_starts = st.integers(0, 12 * 60)


@given(now=instants, zone=zones, day_start=day_starts)
def test_the_day_is_never_far_from_the_date_in_utc(now: int, zone: str, day_start: int) -> None:
    day = service_day(now, zone=zone, day_start=day_start)

    utc_date = (EPOCH + timedelta(milliseconds=now)).date()
    assert date.fromisoformat(day).isoformat() == day
    assert -2 <= (date.fromisoformat(day) - utc_date).days <= 1


@given(now=instants, zone=zones, day_start=day_starts, steps=st.lists(st.integers(-2 * DAY, 2 * DAY), max_size=20))
@example(now=at("Pacific/Apia", "2011-12-29T23:00"), zone="Pacific/Apia", day_start=0, steps=[2 * HOUR, -DAY, DAY])
def test_whatever_a_clock_does_the_day_of_a_venue_never_goes_back(
    now: int, zone: str, day_start: int, steps: list[int]
) -> None:
    walked = [now]
    for step in steps:
        walked.append(walked[-1] + step)

    days = list(kept(walked, zone=zone, day_start=day_start))

    assert days == sorted(days)
    assert days[-1] == max(service_day(moment, zone=zone, day_start=day_start) for moment in walked)


@given(now=instants, zone=zones, day_start=day_starts)
def test_the_day_is_the_local_date_that_many_minutes_ago(now: int, zone: str, day_start: int) -> None:
    earlier = local_time(now - day_start * MINUTE, zone=zone)

    assert service_day(now, zone=zone, day_start=day_start) == earlier.date().isoformat()


@given(now=instants, before=zones, after=zones, day_start=day_starts)
def test_a_venue_that_moves_to_another_zone_keeps_the_day_it_has_reached(
    now: int, before: str, after: str, day_start: int
) -> None:
    reached = service_day(now, zone=before, day_start=day_start)

    assert later_of(reached, service_day(now, zone=after, day_start=day_start)) >= reached
