"""Where a visitor goes next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.choice import Candidate, LeftOut, best, candidate
from dawr.domain.hours import Hours
from dawr.domain.queue import Audience, Queue, QueueId
from tests.domain.builders import a_line, a_queue

NOON = 1_741_597_200_000  # 2025-03-10 12:00 in Qatar, a Monday
FIVE_MINUTES = 300
FROM_EIGHT_TO_TEN = Hours(week=(((8 * 60, 10 * 60),),) * 7)


def a_candidate(queue: Queue, waiting: int = 0, *, floor: str | None = "1", audience: Audience = "any") -> Candidate:
    return candidate(
        queue,
        a_line(waiting=(waiting, 0, 0, 0), last_number=waiting),
        NOON,
        zone="Asia/Qatar",
        walks={"1": {"2": 7}},
        floor=floor,
        audience=audience,
        priority=0,
    )


def test_the_walk_and_the_wait_go_on_together_so_the_longer_one_counts() -> None:
    upstairs = a_queue("eye", floor="2", mean_service_seconds=FIVE_MINUTES)

    assert [a_candidate(upstairs, waiting).score for waiting in (0, 1, 2, 3)] == [7, 7, 10, 15]
    assert a_candidate(upstairs, floor=None).score == 0


def test_only_those_who_would_be_called_first_count() -> None:
    line = a_line(waiting=(5, 2, 0, 1), last_number=8)
    queue = a_queue("eye", mean_service_seconds=FIVE_MINUTES)

    waits = [
        candidate(queue, line, NOON, zone="UTC", walks={}, floor=None, audience="any", priority=priority)
        for priority in range(4)
    ]

    assert [seen.wait_minutes for seen in waits] == [40, 15, 5, 5]
    assert {seen.waiting for seen in waits} == {8}


@pytest.mark.parametrize(
    ("queue", "why"),
    [
        (a_queue("eye"), None),
        (a_queue("eye", state="paused"), None),
        (a_queue("eye", state="closed"), "closed"),
        (a_queue("eye", capacity=2, reserve=1), "full"),
        (a_queue("eye", capacity=2, reserve=2), None),
        (a_queue("eye", hours=FROM_EIGHT_TO_TEN), "outside-hours"),
        (a_queue("eye", audience="women"), "audience"),
        (a_queue("eye", audience="women", state="closed", hours=FROM_EIGHT_TO_TEN), "audience"),
        (a_queue("eye", state="closed", hours=FROM_EIGHT_TO_TEN), "closed"),
    ],
)
def test_a_queue_that_takes_nobody_is_left_out_and_says_why(queue: Queue, why: LeftOut | None) -> None:
    assert a_candidate(queue, 3, audience="men").left_out == why


def test_a_queue_outside_its_hours_says_when_they_begin() -> None:
    outside = a_candidate(a_queue("eye", hours=FROM_EIGHT_TO_TEN))

    assert outside.opens_at == NOON + 20 * 60 * 60 * 1000
    assert a_candidate(a_queue("eye")).opens_at is None


def scored(queue: str, walk: int, wait: int, waiting: int, left_out: LeftOut | None = None) -> Candidate:
    return Candidate(QueueId(queue), walk, wait, waiting, left_out)


def test_the_soonest_call_is_best_then_the_shortest_line_then_the_order_of_the_plan() -> None:
    slow, long, first, second = scored("a", 9, 0, 0), scored("b", 0, 5, 3), scored("c", 5, 1, 2), scored("d", 5, 2, 2)

    assert best([slow, long, first, second]) == first
    assert best([slow, long, second, first]) == second
    assert best([slow, long]) == long
    assert best([slow]) == slow


def test_what_is_left_out_is_never_best() -> None:
    assert best([scored("a", 0, 0, 0, "closed"), scored("b", 60, 90, 50)]) == scored("b", 60, 90, 50)
    assert best([scored("a", 0, 0, 0, "full")]) is None
    assert best([]) is None


@given(
    st.lists(
        st.builds(
            Candidate,
            st.sampled_from([QueueId("a"), QueueId("b")]),
            st.integers(0, 5),
            st.integers(0, 5),
            st.integers(0, 5),
            st.sampled_from([None, "closed", "full"]),
        )
    )
)
def test_nobody_who_could_be_chosen_is_better_than_the_best(candidates: list[Candidate]) -> None:
    chosen = best(candidates)

    open_ones = [each for each in candidates if each.left_out is None]
    assert (chosen is None) == (not open_ones)
    for other in open_ones:
        assert chosen is not None
        assert (chosen.score, chosen.waiting) <= (other.score, other.waiting)
