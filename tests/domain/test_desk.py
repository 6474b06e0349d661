"""A desk while people work."""

import pytest

from dawr.domain.desk import LONGEST_BREAK_MS, DeskNow, DeskState, checked_break, closed
from dawr.domain.errors import InvalidValue
from dawr.domain.venue import DeskId
from tests.domain.builders import VENUE

DESK = DeskId("desk-1")
NOW = 1_000_000


@pytest.mark.parametrize(
    ("state", "actor", "sits"),
    [
        ("open", "noor", True),
        ("break", "noor", True),
        ("closed", "noor", False),
        ("open", "amna", False),
        ("open", None, False),
    ],
)
def test_whoever_opened_a_desk_sits_there_until_it_is_closed(
    state: DeskState, actor: str | None, *, sits: bool
) -> None:
    assert DeskNow(VENUE, DESK, state, "noor", NOW).has(actor) is sits


def test_at_a_desk_that_was_opened_by_nobody_in_particular_nobody_sits() -> None:
    assert not DeskNow(VENUE, DESK, "open", None, NOW).has(None)


def test_a_desk_that_nobody_opened_is_closed() -> None:
    assert closed(VENUE, DESK) == DeskNow(VENUE, DESK, "closed", None, 0)


@pytest.mark.parametrize("until", [NOW + 1, NOW + LONGEST_BREAK_MS])
def test_a_break_ends_within_half_a_day(until: int) -> None:
    assert checked_break(until, NOW) == until


@pytest.mark.parametrize("until", [NOW, NOW - 1, 0, -1, NOW + LONGEST_BREAK_MS + 1])
def test_a_break_into_the_past_or_into_another_day_is_refused(until: int) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked_break(until, NOW)

    assert refusal.value.facts["field"] == "until"
