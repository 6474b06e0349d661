"""How long a newcomer will wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.estimate import mean_service_ms, mean_wait_minutes, wait_minutes
from tests.domain.builders import a_line, a_queue

MINUTE = 60_000


def test_the_first_visitor_of_the_day_gets_what_staff_expect() -> None:
    queue = a_queue(mean_service_seconds=300)

    assert mean_service_ms(queue, a_line()) == 5 * MINUTE
    assert wait_minutes(queue, a_line(), ahead=4) == 20


def test_nobody_ahead_is_no_wait() -> None:
    assert wait_minutes(a_queue(), a_line(called=1, serving=2), ahead=0) == 0


def test_measured_services_outweigh_what_staff_typed_in_as_they_become_many() -> None:
    queue = a_queue(mean_service_seconds=300)

    after_five = mean_service_ms(queue, a_line(finished=5, services_ms=5 * 15 * MINUTE))
    after_many = mean_service_ms(queue, a_line(finished=995, services_ms=995 * 15 * MINUTE))

    assert after_five == 10 * MINUTE
    assert after_many == pytest.approx(15 * MINUTE, rel=0.01)


@pytest.mark.parametrize(("called", "serving", "minutes"), [(0, 0, 30), (1, 0, 30), (1, 1, 15), (0, 3, 10)])
def test_more_desks_at_work_shorten_the_wait(called: int, serving: int, minutes: int) -> None:
    assert wait_minutes(a_queue(), a_line(called=called, serving=serving), ahead=6) == minutes


def test_the_mean_wait_is_of_those_who_were_called() -> None:
    assert mean_wait_minutes(a_line()) == 0.0
    assert mean_wait_minutes(a_line(calls=3, waits_ms=10 * MINUTE)) == 3.3


@given(ahead=st.integers(0, 1000), finished=st.integers(0, 500), mean_minutes=st.integers(0, 60))
def test_who_has_more_people_ahead_is_never_promised_a_shorter_wait(
    ahead: int, finished: int, mean_minutes: int
) -> None:
    queue, line = a_queue(), a_line(finished=finished, services_ms=finished * mean_minutes * MINUTE, serving=2)

    assert 0 <= wait_minutes(queue, line, ahead) <= wait_minutes(queue, line, ahead + 1)
