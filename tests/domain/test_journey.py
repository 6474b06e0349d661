"""Journeys: found by any of their words, and refused when they lead nowhere."""

from typing import Any

import pytest
from msgspec.structs import replace

from dawr.domain.errors import InvalidValue, NotForThisAudience, UnknownJourney
from dawr.domain.journey import Journey, Stage, Walks, is_for, walking_minutes
from dawr.domain.queue import Audience, QueueId
from dawr.domain.venue import Venue, checked
from tests.domain.builders import a_queue, a_venue

LAB, EYE, WOMEN = Stage(QueueId("lab")), Stage(QueueId("eye")), Stage(QueueId("women-eye"), pin=False)
ARMY = Journey("army", {"en": "Army"}, ("تجنيد", "Recruit"), fixed=(LAB,), free=(EYE,))


def a_clinic(*journeys: Journey, **given: Any) -> Venue:  # noqa: ANN401 - any part of a venue
    queues = (a_queue("lab"), a_queue("eye"), a_queue("women-eye", audience="women"))
    return a_venue(*queues, journeys=journeys, **given)


@pytest.mark.parametrize("word", ["army", "ARMY", " تجنيد ", "recruit", "RECRUIT", "ａｒｍｙ"])
def test_a_journey_is_found_by_its_code_or_an_alias_in_any_script_and_case(word: str) -> None:
    assert a_clinic(ARMY).journey(word, "any") is ARMY


def test_a_journey_that_is_not_here_is_named_as_it_was_asked_for_but_not_at_any_length() -> None:
    with pytest.raises(UnknownJourney) as refusal:
        a_clinic(ARMY).journey("x" * 1000, "any")

    assert refusal.value.facts == {"journey": "x" * 64}


@pytest.mark.parametrize(
    ("audience", "visitor", "let_in"),
    [
        ("any", "women", True),
        ("women", "any", True),
        ("women", "women", True),
        ("women", "men", False),
        ("men", "women", False),
    ],
)
def test_who_did_not_say_is_let_in_everywhere(audience: Audience, visitor: Audience, *, let_in: bool) -> None:
    assert is_for(audience, visitor) is let_in


def test_two_journeys_of_one_word_are_told_apart_by_their_audience() -> None:
    of_women, of_men = replace(ARMY, id="w", audience="women"), replace(ARMY, id="m", audience="men")
    clinic = checked(a_clinic(of_women, of_men))

    assert clinic.journey("تجنيد", "men") is of_men
    assert clinic.journey("تجنيد", "women") is of_women


def test_a_journey_of_others_is_refused_with_whom_it_is_for() -> None:
    with pytest.raises(NotForThisAudience) as refusal:
        a_clinic(replace(ARMY, audience="women")).journey("army", "men")

    assert refusal.value.facts == {"journey": "army", "audience": "women"}


def test_fixed_stages_come_before_free_ones() -> None:
    assert ARMY.stages == (LAB, EYE)


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"fixed": (), "free": ()}, "journey-stages"),
        ({"free": (LAB,)}, "journey-leads-twice"),
        ({"fixed": (LAB, LAB)}, "journey-leads-twice"),
        ({"free": (Stage(QueueId("nowhere")),)}, "journey-leads-nowhere"),
        ({"free": (WOMEN,), "audience": "men"}, "journey-audience"),
        ({"id": "The Army"}, "rule=code"),
        ({"id": "-army"}, "rule=code"),
        ({"name": {}}, "rule=name-of"),
        ({"aliases": ("  ",)}, "journey-alias"),
        ({"aliases": ("x" * 65,)}, "journey-alias"),
        ({"aliases": ("a\x00b",)}, "journey-alias"),
    ],
)
def test_a_journey_that_leads_nowhere_is_refused(changed: dict[str, Any], rule: str) -> None:
    with pytest.raises(InvalidValue, match=rule):
        checked(a_clinic(replace(ARMY, **changed)))


@pytest.mark.parametrize(
    "other",
    [
        Journey("army", {"en": "Again"}, free=(LAB,)),
        Journey("other", {"en": "Other"}, ("ARMY",), free=(LAB,)),
        Journey("other", {"en": "Other"}, ("تجنيد",), free=(LAB,), audience="women"),
    ],
)
def test_two_journeys_that_somebody_could_take_for_each_other_are_refused(other: Journey) -> None:
    with pytest.raises(InvalidValue, match="two-journeys"):
        checked(a_clinic(ARMY, other))


def test_more_stages_than_anybody_could_walk_are_refused() -> None:
    queues = tuple(a_queue(f"q{number}") for number in range(51))
    long = Journey("long", {"en": "Long"}, free=tuple(Stage(queue.id) for queue in queues))

    with pytest.raises(InvalidValue, match="journey-stages"):
        checked(a_venue(*queues, journeys=(long,)))


def test_an_ordinary_clinic_is_accepted() -> None:
    women = Journey("women", {"ar": "نساء"}, free=(WOMEN, LAB), audience="women")
    venue = a_clinic(ARMY, women, walking_minutes={"1": {"2": 0, "3": 60}}, pin_digits=3, code_prefix="CLINIC-7")

    assert checked(venue) is venue


WALKS: Walks = {"1": {"2": 2, "3": 4}, "3": {"2": 5}}


@pytest.mark.parametrize(
    ("start", "end", "minutes"),
    [("1", "1", 0), ("1", "2", 2), ("2", "1", 2), ("2", "3", 5), ("1", "9", 0), (None, "3", 0), ("1", None, 0)],
)
def test_a_walk_is_as_long_in_either_direction(start: str | None, end: str | None, minutes: int) -> None:
    assert walking_minutes(WALKS, start, end) == minutes


@pytest.mark.parametrize("minutes", [-1, 61])
def test_a_walk_that_nobody_would_make_is_refused(minutes: int) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked(a_clinic(ARMY, walking_minutes={"1": {"2": minutes}}))

    assert refusal.value.facts["field"] == "walking_minutes"


@pytest.mark.parametrize("prefix", ["a b", "عيادة", "x" * 13, "a/b"])
def test_a_beginning_of_codes_that_cannot_be_typed_everywhere_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked(a_clinic(code_prefix=prefix))

    assert refusal.value.facts["field"] == "code_prefix"


@pytest.mark.parametrize(
    ("timer", "seconds"),
    [
        ("auto_call", 29),
        ("auto_call", 301),
        ("miss_after", 59),
        ("miss_after", 601),
        ("hold_limit", 59),
        ("hold_limit", 14_401),
        ("miss_after", 0),
        ("hold_limit", -1),
    ],
)
def test_a_timer_out_of_its_range_is_refused(timer: str, seconds: int) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked(a_venue(a_queue("lab", **{timer: seconds})))

    assert refusal.value.facts["field"] == timer


@pytest.mark.parametrize(
    ("timer", "seconds"), [("auto_call", 30), ("auto_call", 300), ("miss_after", 60), ("hold_limit", 14_400)]
)
def test_a_timer_at_the_end_of_its_range_is_accepted(timer: str, seconds: int) -> None:
    venue = a_venue(a_queue("lab", **{timer: seconds}))

    assert checked(venue) is venue
