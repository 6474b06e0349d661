"""Where a ticket stands: its position, whether its turn is near, and how long the wait will be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.events import line_facts
from dawr.domain.standing import Standing, mean_service_ms, told_minutes, wait_minutes
from dawr.domain.ticket import ENDED_STATES, OPEN_STATES, State
from tests.domain.builders import a_line, a_queue, a_ticket

MINUTE = 60_000


@pytest.mark.parametrize("ahead", [0, 1, 7])
def test_the_position_counts_from_whoever_is_next(ahead: int) -> None:
    assert Standing(a_queue(), a_ticket(), ahead, wait_minutes=0).position == ahead + 1


@pytest.mark.parametrize("state", sorted((OPEN_STATES | ENDED_STATES) - {"waiting"}))
def test_who_does_not_wait_has_no_position_and_no_turn_that_comes_near(state: State) -> None:
    standing = Standing(a_queue(), a_ticket(state=state), ahead=0, wait_minutes=0)

    assert (standing.position, standing.is_near) == (0, False)


@pytest.mark.parametrize(("near_turn", "ahead", "near"), [(3, 3, True), (3, 4, False), (0, 0, True), (0, 1, False)])
def test_how_near_is_near_is_the_queues_setting(near_turn: int, ahead: int, near: bool) -> None:  # noqa: FBT001
    assert Standing(a_queue(near_turn=near_turn), a_ticket(), ahead, wait_minutes=0).is_near is near


def test_the_first_visitor_of_the_day_gets_what_staff_expect() -> None:
    queue = a_queue(mean_service_seconds=300)

    assert mean_service_ms(queue, a_line()) == 5 * MINUTE
    assert wait_minutes(queue, a_line(), ahead=4) == 20


def test_nobody_ahead_is_no_wait() -> None:
    assert wait_minutes(a_queue(), a_line(called=1, serving=2), ahead=0) == 0


@pytest.mark.parametrize(("minutes", "told"), [(0, 0), (1, 1), (4, 4), (5, 5), (7, 5), (8, 10), (13, 15), (46, 45)])
def test_a_wait_is_told_to_five_minutes_unless_it_is_short(minutes: int, told: int) -> None:
    assert told_minutes(minutes) == told


def test_measured_services_outweigh_what_staff_typed_in_as_they_become_many() -> None:
    queue = a_queue(mean_service_seconds=300)

    after_five = mean_service_ms(queue, a_line(finished=5, services_ms=5 * 15 * MINUTE))
    after_many = mean_service_ms(queue, a_line(finished=995, services_ms=995 * 15 * MINUTE))

    assert after_five == 10 * MINUTE
    assert after_many == pytest.approx(15 * MINUTE, rel=0.01)


@pytest.mark.parametrize(("called", "serving", "minutes"), [(0, 0, 30), (1, 0, 30), (1, 1, 15), (0, 3, 10)])
def test_more_desks_at_work_shorten_the_wait(called: int, serving: int, minutes: int) -> None:
    assert wait_minutes(a_queue(), a_line(called=called, serving=serving), ahead=6) == minutes


@given(ahead=st.integers(0, 1000), finished=st.integers(0, 500), mean_minutes=st.integers(0, 60))
def test_who_has_more_people_ahead_is_never_promised_a_shorter_wait(
    ahead: int, finished: int, mean_minutes: int
) -> None:
    queue, line = a_queue(), a_line(finished=finished, services_ms=finished * mean_minutes * MINUTE, serving=2)

    assert 0 <= wait_minutes(queue, line, ahead) <= wait_minutes(queue, line, ahead + 1)


def test_an_events_facts_tell_the_same_wait_as_the_line_they_are_of() -> None:
    line = a_line(called=1, serving=2, finished=7, services_ms=7 * 11 * MINUTE)

    assert wait_minutes(a_queue(), line_facts(line), ahead=9) == wait_minutes(a_queue(), line, ahead=9)
