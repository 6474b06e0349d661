"""When a queue gives numbers."""

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.errors import InvalidValue
from dawr.domain.hours import MINUTES_OF_A_DAY, Hours, Span, checked

MORNING: Span = (8 * 60, 12 * 60)
AFTERNOON: Span = (13 * 60, 16 * 60)
CLOSED: tuple[Span, ...] = ()
WORKDAYS = Hours(week=((MORNING, AFTERNOON),) * 5 + (CLOSED, CLOSED))


def local(text: str, zone: str = "Asia/Qatar") -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))


@pytest.mark.parametrize(
    ("monday", "is_open"),
    [
        ("2025-03-10T07:59:59", False),
        ("2025-03-10T08:00:00", True),
        ("2025-03-10T11:59:59", True),
        ("2025-03-10T12:00:00", False),
        ("2025-03-10T13:00:00", True),
        ("2025-03-10T16:00:00", False),
    ],
)
def test_the_opening_minute_is_inside_and_the_closing_minute_is_outside(monday: str, *, is_open: bool) -> None:
    assert WORKDAYS.are_open(local(monday)) is is_open


def test_a_day_without_spans_is_closed() -> None:
    assert not WORKDAYS.are_open(local("2025-03-15T10:00"))


def test_a_span_may_last_until_midnight() -> None:
    evening = Hours(week=(((18 * 60, MINUTES_OF_A_DAY),),) * 7)

    assert evening.are_open(local("2025-03-10T23:59:59"))
    assert not evening.are_open(local("2025-03-11T00:00"))


def test_an_exception_replaces_the_hours_of_its_date() -> None:
    hours = Hours(week=WORKDAYS.week, exceptions={"2025-03-10": (), "2025-03-15": (MORNING,)})

    assert not hours.are_open(local("2025-03-10T10:00"))
    assert hours.are_open(local("2025-03-15T10:00"))
    assert hours.are_open(local("2025-03-11T10:00"))


def test_opening_hours_stay_where_they_are_when_the_clocks_change() -> None:
    always_eight = Hours(week=((MORNING,),) * 7)

    for date in ("2025-03-29", "2025-03-30", "2025-10-25", "2025-10-26"):
        assert always_eight.are_open(local(f"{date}T08:00", "Europe/Berlin"))
        assert not always_eight.are_open(local(f"{date}T07:59", "Europe/Berlin"))


@pytest.mark.parametrize(
    ("now", "opening"),
    [
        ("2025-03-10T07:00", "2025-03-10 08:00"),
        ("2025-03-10T12:30", "2025-03-10 13:00"),
        ("2025-03-10T17:00", "2025-03-11 08:00"),
        ("2025-03-14T17:00", "2025-03-17 08:00"),
    ],
)
def test_who_comes_too_early_is_told_when_it_opens(now: str, opening: str) -> None:
    assert WORKDAYS.next_opening(local(now)) == opening


def test_the_next_opening_looks_past_dates_that_are_closed_by_exception() -> None:
    hours = Hours(week=WORKDAYS.week, exceptions={"2025-03-11": (), "2025-03-12": ((9 * 60 + 30, 11 * 60),)})

    assert hours.next_opening(local("2025-03-10T17:00")) == "2025-03-12 09:30"


def test_a_queue_that_stays_closed_for_two_weeks_names_no_opening() -> None:
    assert Hours(week=(CLOSED,) * 7).next_opening(local("2025-03-10T17:00")) is None


@pytest.mark.parametrize("days", [0, 6, 8])
def test_a_week_has_seven_days(days: int) -> None:
    with pytest.raises(InvalidValue, match="week"):
        checked(Hours(week=(CLOSED,) * days))


@pytest.mark.parametrize("span", [(60, 60), (120, 60), (-1, 60), (0, MINUTES_OF_A_DAY + 1)])
def test_a_span_outside_its_day_is_refused_on_weekdays_and_dates(span: Span) -> None:
    with pytest.raises(InvalidValue, match="span"):
        checked(Hours(week=((span,),) + (CLOSED,) * 6))
    with pytest.raises(InvalidValue, match="span"):
        checked(Hours(week=(CLOSED,) * 7, exceptions={"2025-03-10": (span,)}))


@pytest.mark.parametrize("date", ["10.3.2025", "2025-3-10", "2025-02-30", "20250310", "tomorrow"])
def test_an_exception_that_could_never_be_met_is_refused(date: str) -> None:
    with pytest.raises(InvalidValue, match="rule=date"):
        checked(Hours(week=WORKDAYS.week, exceptions={date: ()}))


def test_hours_that_make_sense_are_taken_as_they_are() -> None:
    hours = Hours(week=WORKDAYS.week, exceptions={"2025-12-18": ()})

    assert checked(hours) is hours


def test_hours_may_be_written_as_people_do_and_are_the_same() -> None:
    day = ("08:00-12:00", "13:00 – 16:00")
    written = Hours(week=(day,) * 5 + (CLOSED, CLOSED), exceptions={"2025-12-18": ("9:00-24:00",)})

    assert written == Hours(week=WORKDAYS.week, exceptions={"2025-12-18": ((9 * 60, 24 * 60),)})
    assert written.as_written()["week"][0] == ["08:00-12:00", "13:00-16:00"]
    assert written.as_written()["exceptions"] == {"2025-12-18": ["09:00-24:00"]}


@pytest.mark.parametrize(
    "text", ["", "8-4", "08:00", "08:00-", "08:00-16:60", "0800-1600", "08:00-16:00 h", "٠٨:٠٠-١٦:٠٠"]
)
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="span-form"):
        Hours(week=((text,),) + (CLOSED,) * 6)


def test_spans_of_one_day_do_not_overlap_but_may_touch() -> None:
    checked(Hours(week=(("12:00-16:00", "08:00-12:00"),) * 7))

    with pytest.raises(InvalidValue, match="spans-overlap span=08:00-12:01 other=12:00-16:00"):
        checked(Hours(week=(("12:00-16:00", "08:00-12:01"),) * 7))


@st.composite
def days(draw: st.DrawFn) -> tuple[Span, ...]:
    """Draw up to three spans in any order. They may touch and never overlap."""
    ends = sorted(draw(st.sets(st.integers(0, MINUTES_OF_A_DAY), max_size=6)))
    return tuple(draw(st.permutations(list(pairwise(ends))))[:3])


weeks = st.tuples(*[days()] * 7)


@given(week=weeks)
def test_whatever_hours_are_they_read_back_the_same(week: tuple[tuple[Span, ...], ...]) -> None:
    hours = checked(Hours(week=week))

    assert msgspec.convert(hours.as_written(), Hours) == hours
    assert msgspec.json.decode(msgspec.json.encode(hours), type=Hours) == hours


@given(week=weeks, start=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001 - local times
def test_the_next_opening_is_open_and_nothing_opens_before_it(
    week: tuple[tuple[Span, ...], ...], start: datetime
) -> None:
    hours, now = checked(Hours(week=week)), start.replace(second=0, microsecond=0)

    opening = hours.next_opening(now)

    if opening is None:
        assert not any(week[(now + timedelta(days=ahead)).weekday()] for ahead in range(1, 8))
        return
    found = datetime.fromisoformat(opening)
    assert found > now
    assert hours.are_open(found)
    assert not any(
        any(start == minute.hour * 60 + minute.minute for start, _ in week[minute.weekday()])
        for minute in (now + timedelta(minutes=passed) for passed in range(1, (found - now) // timedelta(minutes=1)))
    )


def moment(text: str, zone: str = "Asia/Qatar") -> int:
    return round(local(text, zone).timestamp() * 1000)


@pytest.mark.parametrize(
    ("now", "change", "opening"),
    [
        ("2025-03-10T07:00", "2025-03-10T08:00", "2025-03-10T08:00"),
        ("2025-03-10T08:00", "2025-03-10T12:00", "2025-03-10T13:00"),
        ("2025-03-10T12:00", "2025-03-10T13:00", "2025-03-10T13:00"),
        ("2025-03-10T15:59:59", "2025-03-10T16:00", "2025-03-11T08:00"),
        ("2025-03-14T16:00", "2025-03-17T08:00", "2025-03-17T08:00"),
    ],
)
def test_hours_begin_and_end_next_when_their_spans_say(now: str, change: str, opening: str) -> None:
    at = moment(now)

    assert WORKDAYS.next_change(at, zone="Asia/Qatar") == moment(change)
    assert WORKDAYS.next_change(at, zone="Asia/Qatar", opening=True) == moment(opening)


def test_hours_that_never_begin_change_never() -> None:
    assert Hours(week=(CLOSED,) * 7).next_change(moment("2025-03-10T10:00"), zone="Asia/Qatar") is None


def test_a_date_that_differs_is_looked_at_for_the_next_change() -> None:
    hours = Hours(week=WORKDAYS.week, exceptions={"2025-03-10": (), "2025-03-11": ((9 * 60, 10 * 60),)})

    assert hours.next_change(moment("2025-03-10T07:00"), zone="Asia/Qatar") == moment("2025-03-11T09:00")


@pytest.mark.parametrize(
    ("date", "hours_apart"),
    [("2025-03-29", 24), ("2025-03-30", 23), ("2025-10-26", 25)],
)
def test_eight_stays_eight_when_the_clocks_change(date: str, hours_apart: int) -> None:
    daily = Hours(week=((MORNING,),) * 7)
    eight = local(f"{date}T08:00", "Europe/Berlin")
    yesterday = (eight - timedelta(days=1)).timestamp() * 1000

    opens = daily.next_change(round(yesterday), zone="Europe/Berlin", opening=True)

    assert opens == round(eight.timestamp() * 1000)
    assert opens - yesterday == hours_apart * 60 * 60 * 1000


def test_a_moment_that_the_clocks_leave_out_is_the_one_that_they_show_instead() -> None:
    night = Hours(week=(((2 * 60 + 30, 5 * 60),),) * 7)
    midnight = moment("2025-03-30T00:00", "Europe/Berlin")

    assert night.next_change(midnight, zone="Europe/Berlin") == moment("2025-03-30T03:30", "Europe/Berlin")


@given(now=st.datetimes(min_value=datetime(2025, 1, 1), max_value=datetime(2026, 1, 1)))  # noqa: DTZ001 - local
def test_nothing_opens_or_closes_before_the_next_change(now: datetime) -> None:
    at = round(now.replace(tzinfo=ZoneInfo("Asia/Qatar")).timestamp() * 1000)

    change = WORKDAYS.next_change(at, zone="Asia/Qatar")

    assert change is not None
    assert change > at
    just_before = datetime.fromtimestamp(change / 1000 - 1, tz=ZoneInfo("Asia/Qatar"))
    afterwards = datetime.fromtimestamp(change / 1000, tz=ZoneInfo("Asia/Qatar"))
    assert WORKDAYS.are_open(just_before) != WORKDAYS.are_open(afterwards)
