"""A queue as its venue set it up."""

from typing import Any, get_args

import pytest

from dawr.domain.errors import InvalidValue, OutsideHours, QueueClosed, QueueInWrongState, QueuePaused
from dawr.domain.hours import Hours
from dawr.domain.queue import QUEUE_VERBS, QueueState, QueueVerb, checked, must_be_code
from tests.domain.builders import a_queue

TABLE = {
    ("closed", "open"): ("open", "queue.opened"),
    ("open", "pause"): ("paused", "queue.paused"),
    ("paused", "resume"): ("open", "queue.resumed"),
    ("open", "close"): ("closed", "queue.closed"),
    ("paused", "close"): ("closed", "queue.closed"),
}
STATES: tuple[QueueState, ...] = get_args(QueueState)
VERBS: tuple[QueueVerb, ...] = get_args(QueueVerb)

NOON = 1_741_597_200_000  # 2025-03-10 12:00 in Qatar, a Monday


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("state", STATES)
def test_a_queue_opens_pauses_resumes_and_closes_as_the_table_says(state: QueueState, verb: QueueVerb) -> None:
    queue = a_queue(state=state)

    if (state, verb) in TABLE:
        target, event = TABLE[state, verb]
        assert queue.after(verb) == a_queue(state=target)
        assert QUEUE_VERBS[verb].event == event
    else:
        with pytest.raises(QueueInWrongState) as refusal:
            queue.after(verb)
        assert refusal.value.facts == {"queue": "lab", "state": state, "verb": verb}


def test_a_closed_queue_takes_nobody_and_still_calls_those_who_wait() -> None:
    queue = a_queue(state="closed")

    queue.must_call_people()
    with pytest.raises(QueueClosed):
        queue.must_take_people(NOON, zone="Asia/Qatar")


def test_a_paused_queue_takes_people_and_calls_nobody() -> None:
    queue = a_queue(state="paused")

    queue.must_take_people(NOON, zone="Asia/Qatar")
    with pytest.raises(QueuePaused):
        queue.must_call_people()


def test_a_queue_without_hours_is_open_round_the_clock() -> None:
    for hour in range(24):
        a_queue().must_take_people(NOON + hour * 3_600_000, zone="Asia/Qatar")


def test_outside_its_hours_a_queue_says_when_it_opens() -> None:
    queue = a_queue(hours=Hours(week=(((8 * 60, 12 * 60),),) * 7))

    queue.must_take_people(NOON - 1, zone="Asia/Qatar")
    with pytest.raises(OutsideHours, match="opens_at=2025-03-11 08:00") as refusal:
        queue.must_take_people(NOON, zone="Asia/Qatar")

    assert refusal.value.facts == {"queue": "lab", "opens_at": "2025-03-11 08:00"}


def test_a_queue_that_will_not_open_soon_names_no_time() -> None:
    queue = a_queue(hours=Hours(week=((),) * 7))

    with pytest.raises(OutsideHours) as refusal:
        queue.must_take_people(NOON, zone="Asia/Qatar")

    assert refusal.value.facts == {"queue": "lab", "opens_at": None}


def test_hours_are_of_the_zone_of_the_venue() -> None:
    queue = a_queue(hours=Hours(week=(((12 * 60, 13 * 60),),) * 7))

    queue.must_take_people(NOON, zone="Asia/Qatar")
    with pytest.raises(OutsideHours):
        queue.must_take_people(NOON, zone="Europe/Berlin")


@pytest.mark.parametrize(
    ("prefix", "number", "label"), [("A", 42, "A042"), ("", 1, "001"), ("LAB-", 999, "LAB-999"), ("A", 1000, "A1000")]
)
def test_a_label_is_the_prefix_and_at_least_three_digits(prefix: str, number: int, label: str) -> None:
    assert a_queue(prefix=prefix).label(number) == label


@pytest.mark.parametrize("code", ["lab", "x", "x-ray", "x_ray", "3rd-floor", "a" * 32])
def test_a_code_is_short_and_fits_a_link(code: str) -> None:
    must_be_code("queue", code)


@pytest.mark.parametrize(
    "code", ["", "Lab", "a b", "a/1", "a:1", "مختبر", "-", "-x", "--help", "_x", "a" * 33, "a\n", "İ"]
)
def test_a_code_that_does_not_fit_a_link_is_refused(code: str) -> None:
    with pytest.raises(InvalidValue, match="rule=code") as refusal:
        must_be_code("queue", code)

    assert refusal.value.facts["field"] == "queue"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": {}}, "name"),
        ({"prefix": "ABCDE"}, "prefix"),
        ({"capacity": -1}, "capacity"),
        ({"capacity": 100_001}, "capacity"),
        ({"reserve": -1}, "reserve"),
        ({"reserve": 100_001}, "reserve"),
        ({"mean_service_seconds": 0}, "mean_service_seconds"),
        ({"mean_service_seconds": 8 * 60 * 60 + 1}, "mean_service_seconds"),
        ({"near_turn": -1}, "near_turn"),
        ({"near_turn": 101}, "near_turn"),
        ({"hours": Hours(week=())}, "hours"),
    ],
)
def test_a_set_up_that_makes_no_sense_is_refused_by_the_name_of_its_field(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        checked(a_queue(**given))

    assert refusal.value.facts["field"] == field


def test_a_set_up_that_makes_sense_is_taken_as_it_is() -> None:
    queue = a_queue(aliases=("laboratory",), capacity=20, reserve=10, hours=Hours(week=((),) * 7))

    assert checked(queue) is queue
