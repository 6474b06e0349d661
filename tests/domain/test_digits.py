"""Numbers that people type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.digits import LONGEST_PIN, SCRIPTS, digits_for, read_digits
from dawr.domain.errors import InvalidValue


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("07", "07"),
        ("٠٧", "07"),
        ("۰۷", "07"),
        (" 123456 ", "123456"),
        ("٠١٢٣٤٥", "012345"),
    ],
)
def test_a_number_is_read_in_any_script_and_keeps_its_leading_zeros(typed: str, read: str) -> None:
    assert read_digits(typed, field="pin", least=2, most=6) == read


@pytest.mark.parametrize(
    "typed", ["", " ", "7", "1234567", "1٢", "٠۷", "12a", "a2", "1 2", "-1", "+12", "1.5", "²³", "७८", "\x0012"]
)
def test_what_is_no_number_of_one_script_is_refused_without_being_repeated(typed: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        read_digits(typed, field="pin", least=2, most=6)

    assert refusal.value.facts["field"] == "pin"
    assert refusal.value.facts == {"field": "pin", "rule": "digits", "least": 2, "most": 6}


@given(number=st.integers(0, 999_999), script=st.sampled_from(SCRIPTS))
def test_every_number_reads_the_same_in_each_script(number: int, script: str) -> None:
    latin = f"{number:06}"

    assert read_digits("".join(script[int(digit)] for digit in latin), field="id", least=6, most=6) == latin


@pytest.mark.parametrize(
    ("queues", "digits"), [(0, 2), (1, 2), (50, 2), (51, 3), (500, 3), (501, 4), (50_000, 5), (50_001, LONGEST_PIN)]
)
def test_at_least_half_of_all_pins_are_nobodys(queues: int, digits: int) -> None:
    assert digits_for(queues) == digits
