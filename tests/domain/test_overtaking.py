"""Who let whom be overtaken, summed."""

from typing import get_args

from dawr.domain.overtaking import Overtakings, Why
from tests.domain.builders import TODAY, VENUE


def test_each_actor_and_reason_is_summed_for_itself() -> None:
    sums = Overtakings(VENUE, TODAY)
    for actor, why, people in (("noor", "urgent", 3), ("noor", "urgent", 4), ("noor", "pin", 1), ("amna", "urgent", 2)):
        sums = sums.with_one_more(actor, why, people)  # type: ignore[arg-type]

    assert sums.read() == {"noor": {"urgent": (2, 7), "pin": (1, 1)}, "amna": {"urgent": (1, 2)}}


def test_nothing_is_summed_before_anybody_was_overtaken() -> None:
    assert Overtakings(VENUE, TODAY).read() == {}


def test_a_name_in_any_script_is_kept_as_it_is() -> None:
    sums = Overtakings(VENUE, TODAY).with_one_more('نورة "N"', "elderly", 1)

    assert sums.read() == {'نورة "N"': {"elderly": (1, 1)}}


def test_the_reasons_are_coded() -> None:
    assert get_args(Why) == (
        "urgent",
        "elderly",
        "disabled",
        "pregnant",
        "appointment",
        "returned",
        "mistake",
        "pin",
        "other",
    )
