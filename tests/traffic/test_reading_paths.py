"""The list of paths: in any order, found by a part of their name, and walked page by page."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR
from dawr.traffic.ranges import LONGEST_MS, Range, Unanswerable, asked_range
from dawr.traffic.reading import cursor
from dawr.traffic.reading.cursor import Listing, Place, Sort
from dawr.traffic.reading.path import MOST_DETAILS, path_details
from dawr.traffic.reading.paths import paths
from dawr.traffic.view import TrafficView
from tests.traffic.builders import NOON, an_event, counted

HOUR = Range(NOON, NOON + MS_PER_HOUR)
SORTS: tuple[Sort, ...] = ("requests", "errors", "mean", "p95", "path")


def a_view(database: Database, now: int = NOON + MS_PER_HOUR) -> TrafficView:
    async def refresh() -> None:
        raise AssertionError("nobody asked for a snapshot")

    return TrafficView(database, lambda: now, refresh)


async def some_paths(database: Database) -> None:
    """Five with the same figures, and three that lead a list each."""
    alike = [an_event(n, path=f"/same/{n % 5}") for n in range(10)]
    often = [an_event(n, path="/often", ms=1.0) for n in range(20)]
    wrong = [an_event(n, path="/Wrong", status=500, ms=2.0) for n in range(3)]
    slow = [an_event(1, path="/slow", ms=900.0)]
    await counted(database, [*alike, *often, *wrong, *slow])


async def walk(view: TrafficView, sort: Sort, limit: int) -> list[str]:
    found: list[str] = []
    behind: str | None = None
    while True:
        page = await view.paths(None, None, sort=sort, search=None, limit=limit, behind=behind)
        assert len(page.items) <= limit
        found += [item.path for item in page.items]
        if page.next is None:
            return found
        behind = page.next


@pytest.mark.parametrize(
    ("sort", "first"),
    [("requests", "/often"), ("errors", "/Wrong"), ("mean", "/slow"), ("p95", "/slow"), ("path", "/Wrong")],
)
async def test_every_path_is_met_once_in_every_order_and_size_of_page(
    database: Database, sort: Sort, first: str
) -> None:
    await some_paths(database)
    view = a_view(database)

    whole = await walk(view, sort, 100)

    assert whole[0] == first
    assert len(whole) == len(set(whole)) == 8
    assert [path for path in whole if path.startswith("/same")] == [f"/same/{n}" for n in range(5)]
    for limit in (1, 3, 8):
        assert await walk(view, sort, limit) == whole


async def test_a_path_is_found_by_a_part_of_its_name_in_any_case(database: Database) -> None:
    await some_paths(database)

    found = await paths(database, Listing(HOUR, search="wRoNg"), limit=10)

    assert [item.path for item in found.items] == ["/Wrong"]
    assert found.next is None


async def test_a_list_stays_in_its_range_while_it_is_walked(database: Database) -> None:
    await some_paths(database)
    first = await a_view(database).paths(None, None, sort="path", search=None, limit=2, behind=None)

    a_day_later = a_view(database, NOON + MS_PER_DAY + 3 * MS_PER_HOUR)
    second = await a_day_later.paths(None, None, sort=None, search=None, limit=2, behind=first.next)

    assert second.range == first.range
    assert [item.path for item in second.items] == ["/same/0", "/same/1"]


async def test_a_cursor_of_another_list_is_refused(database: Database) -> None:
    await some_paths(database)
    view, start, end = a_view(database), NOON, NOON + MS_PER_HOUR
    page = await view.paths(start, end, sort="errors", search="/", limit=2, behind=None)

    again = await view.paths(start, end, sort="errors", search="/", limit=2, behind=page.next)
    assert len(again.items) == 2
    others: list[tuple[int | None, int | None, Sort | None, str | None]] = [
        (start - MS_PER_HOUR, end, "errors", "/"),
        (start, NOON, "errors", "/"),
        (None, None, "mean", None),
        (None, None, None, "same"),
    ]
    for other_start, other_end, sort, search in others:
        with pytest.raises(Unanswerable) as refused:
            await view.paths(other_start, other_end, sort=sort, search=search, limit=2, behind=page.next)
        assert refused.value.field == "cursor"


GOOD = msgspec.json.decode(urlsafe_b64decode(cursor.encoded(Listing(HOUR), Place(3.0, "/a")) + "=="))


def packed(*changes: tuple[tuple[object, ...], object]) -> str:
    document = msgspec.json.decode(msgspec.json.encode(GOOD))
    for place, value in changes:
        inner = document
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = value
    return urlsafe_b64encode(msgspec.json.encode(document)).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "nonsense!",
        "bnVsbA",
        "W10",
        "é",
        packed(((0, "sort"), "size")),
        packed(((0, "range", "from"), NOON + 1)),
        packed(((0, "range", "from"), NOON + MS_PER_HOUR)),
        packed(((0, "range", "from"), NOON - LONGEST_MS - 9 * MS_PER_HOUR)),
        packed(((0, "range", "to"), 2**70)),
        packed(((0, "range", "from"), -MS_PER_HOUR), ((0, "range", "to"), MS_PER_HOUR)),
        packed(((1, "value"), "three")),
        packed(((1, "path"), None)),
    ],
)
def test_a_cursor_that_no_page_gave_is_refused(text: str) -> None:
    with pytest.raises(Unanswerable) as refused:
        cursor.decoded(text)

    assert refused.value.field == "cursor"


@given(st.floats(min_value=0, allow_infinity=False), st.text(), st.text(), st.sampled_from(SORTS))
def test_a_cursor_says_what_was_put_into_it(value: float, path: str, search: str, sort: Sort) -> None:
    listing, place = Listing(HOUR, sort, search), Place(value, path)

    found = cursor.decoded(cursor.encoded(listing, place))

    assert (found.listing, found.place) == (listing, place)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, Range(NOON - MS_PER_DAY, NOON)),
        (NOON - 5, None, Range(NOON - 5, NOON)),
        (NOON - 5, NOON + MS_PER_DAY, Range(NOON - 5, NOON)),
        (None, NOON - 1000, Range(NOON - 1000 - MS_PER_DAY, NOON - 1000)),
        (NOON - LONGEST_MS, NOON, Range(NOON - LONGEST_MS, NOON)),
        (NOON, None, None),
        (NOON + 5, NOON + 10, None),
        (NOON - 5, NOON - 5, None),
        (NOON - LONGEST_MS - MS_PER_HOUR - 1, NOON, None),
    ],
)
def test_a_range_is_a_day_unless_another_is_asked_for_and_ninety_at_most(
    start: int | None, end: int | None, expected: Range | None
) -> None:
    if expected is not None:
        assert asked_range(start, end, NOON) == expected
        return

    with pytest.raises(Unanswerable) as refused:
        asked_range(start, end, NOON)
    assert refused.value.field == "from"


async def test_agents_are_of_the_latest_details_and_say_of_how_many(database: Database) -> None:
    kept = [an_event(n, at=NOON + n, agent="curl" if n % 4 else "Chrome") for n in range(40)]
    sampled_away = [an_event(n, at=NOON + n, counted_only=True) for n in range(100, 130)]
    another_hour = [an_event(n, at=NOON + MS_PER_HOUR + n, agent="Edge") for n in range(5)]
    await counted(database, [*kept, *sampled_away, *another_hour])

    found = await path_details(database, kept[0].path, None, HOUR)

    assert found.requests == 70
    assert (found.agents.requests, found.agents.families) == (40, {"curl": 30, "Chrome": 10})
    assert [detail.at - NOON for detail in found.latest] == list(range(39, 19, -1))
    assert MOST_DETAILS == 10_000


async def test_a_path_that_nobody_asked_for_has_nothing(database: Database) -> None:
    found = await path_details(database, "/nobody", None, HOUR)

    assert (found.requests, found.hours, found.statuses, found.agents.requests, found.latest) == (0, [], {}, 0, [])


async def test_a_path_with_characters_that_no_path_has_is_refused(database: Database) -> None:
    with pytest.raises(Unanswerable) as refused:
        await path_details(database, "/a\0b", None, HOUR)

    assert refused.value.field == "path"
