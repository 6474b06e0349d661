"""The exit PIN: what opens, what is told apart, and when staff are warned."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.errors import InvalidValue
from dawr.domain.pin import ROTATED_MS, WARNED_AT, WINDOW_MS, Pin, new_pin, read_pin
from dawr.domain.venue import checked
from tests.domain.builders import LAB, TODAY, VENUE, a_queue, a_venue

NOW = 1_000_000_000


def a_pin(pin: str = "07") -> Pin:
    return Pin(VENUE, LAB, TODAY, pin, NOW)


@pytest.mark.parametrize("typed", ["", "7", "1234567", "0١", "ab"])
def test_what_cannot_be_a_pin_is_refused(typed: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        read_pin(typed)

    assert refusal.value.facts["field"] == "pin"


def test_a_pin_that_was_changed_is_known_for_ten_minutes() -> None:
    changed = a_pin("07").changed_to("42", NOW)

    assert (changed.pin, changed.made_at) == ("42", NOW)
    assert changed.was("07", NOW + ROTATED_MS - 1)
    assert not changed.was("07", NOW + ROTATED_MS)
    assert not changed.was("42", NOW)
    assert not changed.was("99", NOW)


def test_a_pin_that_was_changed_twice_is_known_by_both_and_forgotten_in_turn() -> None:
    later = NOW + ROTATED_MS // 2
    changed = a_pin("07").changed_to("42", NOW).changed_to("13", later)

    assert changed.was("07", later)
    assert changed.was("42", NOW + ROTATED_MS)
    assert not changed.was("07", NOW + ROTATED_MS)
    assert "07" not in changed.changed_to("55", NOW + ROTATED_MS).rotated


def test_the_thirtieth_failure_of_a_quarter_of_an_hour_warns_and_the_next_does_not() -> None:
    pin, warnings = a_pin(), []
    for number in range(1, WARNED_AT + 5):
        pin, is_warning = pin.with_failure(NOW + number)
        if is_warning:
            warnings.append(number)

    assert warnings == [WARNED_AT]


def test_failures_of_long_ago_warn_nobody() -> None:
    pin = a_pin()
    for number in range(WARNED_AT - 1):
        pin, _ = pin.with_failure(NOW + number)

    _, is_warning = pin.with_failure(NOW + WINDOW_MS)

    assert not is_warning


@given(chance=st.text(max_size=20), digits=st.integers(2, 6), taken=st.sets(st.integers(0, 99), max_size=90))
def test_a_new_pin_is_nobodys_and_as_long_as_it_should_be(chance: str, digits: int, taken: set[int]) -> None:
    used = {f"{number:0{digits}}" for number in taken}

    pin = new_pin(chance, digits, used)

    assert len(pin) == digits
    assert pin.isascii()
    assert pin.isdigit()
    assert pin not in used


def test_another_chance_makes_other_pins_and_every_pin_can_be_made() -> None:
    made = {new_pin(f"chance {number}", 2, ()) for number in range(2000)}

    assert made == {f"{number:02}" for number in range(100)}


@pytest.mark.parametrize(("queues", "length"), [(1, 2), (50, 2), (51, 3)])
def test_more_than_fifty_queues_need_three_digits(queues: int, length: int) -> None:
    venue = a_venue(*(a_queue(f"q{number}") for number in range(queues)))

    assert checked(venue).pin_length == length


@pytest.mark.parametrize(("queues", "digits"), [(1, 1), (1, 7), (1, 0), (51, 2)])
def test_pins_that_are_too_short_or_too_long_for_so_many_queues_are_refused(queues: int, digits: int) -> None:
    venue = a_venue(*(a_queue(f"q{number}") for number in range(queues)), pin_digits=digits)

    with pytest.raises(InvalidValue) as refusal:
        checked(venue)

    assert refusal.value.facts["field"] == "pin_digits"


def test_a_venue_may_have_longer_pins() -> None:
    assert checked(a_venue(pin_digits=6)).pin_length == 6
