"""One queue on one day and round: its numbers and its counts."""

from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.day import Day
from dawr.domain.errors import QueueFull
from dawr.domain.line import COUNTED_STATES, LONGEST_COUNTED_MS, Line
from dawr.domain.ticket import OPEN_STATES, PRIORITIES, VERBS, State, Ticket, Verb
from tests.domain.builders import a_line, a_queue, a_ticket

STATES: tuple[State, ...] = get_args(State)
VERBS_AFTER_ISSUE: list[Verb] = [verb for verb in VERBS if verb != "issue"]


def with_people(**by_state: int) -> Line:
    """A line in which so many tickets are in each state."""
    line, number = a_line(), 0
    for state in STATES:
        for _ in range(by_state.get(state, 0)):
            number += 1
            line = line.with_next_number(a_queue()).counting(None, a_ticket(number, state=state))
    return line


def test_numbers_are_given_one_after_the_other() -> None:
    line, given_numbers = a_line(), []

    for _ in range(5):
        line = line.with_next_number(a_queue())
        given_numbers.append(line.last_number)

    assert given_numbers == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("capacity", "reserve"), [(20, 10), (3, 0), (0, 2), (0, 0)])
def test_a_queue_gives_its_capacity_and_its_reserve_and_not_one_more(capacity: int, reserve: int) -> None:
    queue, line = a_queue(capacity=capacity, reserve=reserve), a_line()

    for _ in range(capacity + reserve):
        line = line.with_next_number(queue)

    with pytest.raises(QueueFull) as refusal:
        line.with_next_number(queue)
    assert refusal.value.facts == {"queue": "lab", "capacity": capacity, "reserve": reserve}


def test_a_queue_without_capacity_is_never_full() -> None:
    line = a_line(last_number=99_999)

    assert line.with_next_number(a_queue(reserve=5)).last_number == 100_000


def test_people_are_those_who_wait_were_called_or_are_served() -> None:
    line = with_people(waiting=4, called=2, serving=1, held=3, missed=2, finished=5, left=1, expired=1)

    assert line.people_waiting == 4
    assert line.people == 7
    assert (line.held, line.missed, line.finished) == (3, 2, 5)


def test_a_newcomer_stands_behind_their_own_priority_and_every_higher_one() -> None:
    line = a_line(waiting=(5, 3, 2, 1))

    assert [line.ahead_of_newcomer(priority) for priority in range(PRIORITIES)] == [11, 6, 3, 1]


def test_a_round_behind_other_numbers_uses_no_capacity_for_them() -> None:
    queue = a_queue(capacity=9)
    line = a_line(last_number=7, waiting=(1, 0, 0, 0), finished=6)

    fresh = line.next_round(behind=500)

    assert (fresh.last_number, fresh.begins_behind, fresh.used) == (500, 500, 6)
    for number in (501, 502, 503):
        fresh = fresh.with_next_number(queue)
        assert (fresh.last_number, fresh.used) == (number, number - 494)
    assert fresh.is_full(queue)
    assert fresh.next_round() == a_line(round=3, used_before=9)


def test_a_new_round_begins_at_number_one_with_nobody_in_it() -> None:
    line = a_line(last_number=7, waiting=(1, 0, 0, 0), called=2, finished=4, calls=6, waits_ms=99, current_number=6)

    fresh = line.next_round()

    assert fresh == a_line(round=2, used_before=6)
    assert fresh.with_next_number(a_queue()).last_number == 1


def test_a_new_round_gives_back_the_places_of_those_who_were_not_served() -> None:
    queue = a_queue(capacity=10)
    full = with_people(waiting=3, held=1, missed=1, called=1, serving=1, finished=2, left=1)

    fresh = full.next_round()
    for _ in range(5):
        fresh = fresh.with_next_number(queue)

    assert full.used == 10
    with pytest.raises(QueueFull):
        fresh.with_next_number(queue)


def test_rounds_of_one_day_share_the_capacity_of_the_day() -> None:
    line = with_people(finished=4)

    third = line.next_round().next_round()

    assert (third.round, third.used_before, third.used) == (3, 4, 4)


def test_a_call_moves_the_current_number_and_a_recall_does_not() -> None:
    line, first, second = with_people(waiting=2), a_ticket(1), a_ticket(2)
    called = second.after("call", 1_060_000)

    line = line.counting(second, called)
    again = line.counting(called, called.after("recall", 1_070_000))

    assert (line.current_number, line.calls, line.waits_ms) == (2, 1, 60_000)
    assert (again.current_number, again.calls, again.waits_ms, again.called) == (2, 1, 60_000, 1)
    assert line.counting(first, first.after("call", 1_080_000)).current_number == 1


def test_a_finished_service_adds_its_length() -> None:
    serving = a_ticket(1).after("call", 1_000_000).after("start", 1_010_000)

    line = a_line(serving=1).counting(serving, serving.after("finish", 1_070_000))

    assert (line.serving, line.finished, line.services_ms) == (0, 1, 60_000)


def test_a_wait_or_service_of_more_than_a_day_is_no_part_of_the_means_nor_of_what_is_undone() -> None:
    waiting = a_ticket(1)
    called = waiting.after("call", 1_000_000 + 365 * LONGEST_COUNTED_MS)
    finished = called.after("finish", 1_000_000 + 730 * LONGEST_COUNTED_MS)

    line = a_line(waiting=(1, 0, 0)).counting(waiting, called)
    served = line.counting(called, finished)

    assert (line.calls, line.waits_ms, served.finished, served.services_ms) == (1, 0, 1, 0)
    assert served.uncounting(finished, called, None).services_ms == 0
    assert line.uncounting(called, waiting, None).waits_ms == 0


steps = st.tuples(
    st.sampled_from(["issue", *VERBS_AFTER_ISSUE]),
    st.integers(0, 30),
    st.integers(0, PRIORITIES - 1),
    st.integers(0, 90_000),
)


@given(walk=st.lists(steps, max_size=120))
def test_the_counts_of_a_line_are_what_counting_its_tickets_would_give(walk: list[tuple[Verb, int, int, int]]) -> None:
    queue, line, now = a_queue(), a_line(), 1_000_000
    tickets: list[Ticket] = []
    waits: list[int] = []
    services: list[int] = []

    for verb, pick, priority, passed in walk:
        now += passed
        if verb == "issue":
            line = line.with_next_number(queue)
            tickets.append(a_ticket(line.last_number, priority=priority, issued_at=now))
            line = line.counting(None, tickets[-1])
        elif tickets and (before := tickets[pick % len(tickets)]).state in VERBS[verb].sources:
            after = before.after(verb, now)
            tickets[pick % len(tickets)] = after
            line = line.counting(before, after)
            waits += [after.waited_ms or 0] if verb == "call" else []
            services += [after.served_ms or 0] if verb == "finish" else []

    counted: Counter[str] = Counter(ticket.state for ticket in tickets)
    waiting = Counter(ticket.priority for ticket in tickets if ticket.state == "waiting")
    assert [getattr(line, state) for state in COUNTED_STATES] == [counted[state] for state in COUNTED_STATES]
    assert line.waiting == tuple(waiting[priority] for priority in range(PRIORITIES))
    assert (line.last_number, line.calls, line.finished) == (len(tickets), len(waits), len(services))
    assert (line.waits_ms, line.services_ms) == (sum(waits), sum(services))
    assert line.people <= sum(ticket.state in OPEN_STATES for ticket in tickets)


@pytest.mark.parametrize(
    ("day", "round_number", "ended"),
    [
        ("2026-03-01", 3, {"waiting", "called", "serving", "held", "missed"}),
        ("2026-03-02", 1, {"waiting", "held", "missed"}),
        ("2026-03-02", 2, set()),
    ],
)
def test_a_day_ends_everything_and_a_reset_only_who_was_not_called(
    day: str, round_number: int, ended: set[State]
) -> None:
    line = a_line(day=Day("2026-03-02"), round=2)

    ended_by_it = {
        state for state in OPEN_STATES if line.has_ended(a_ticket(state=state, day=Day(day), round=round_number))
    }

    assert ended_by_it == ended


def test_the_mean_wait_is_of_those_who_were_called() -> None:
    assert a_line().mean_wait_minutes == 0.0
    assert a_line(calls=3, waits_ms=10 * 60_000).mean_wait_minutes == 3.3


def allowed(ticket: Ticket) -> list[Verb]:
    return [verb for verb in VERBS_AFTER_ISSUE if ticket.state in VERBS[verb].sources]


@given(data=st.data(), people=st.integers(1, 5), steps=st.integers(0, 30))
def test_undoing_a_tickets_latest_change_counts_back_whatever_others_did_meanwhile(
    data: st.DataObject, people: int, steps: int
) -> None:
    """But for the number called last, which stays where a later call has put it."""
    line, tickets = a_line(), [a_ticket(number, issued_at=0) for number in range(1, people + 1)]
    for ticket in tickets:
        line = line.with_next_number(a_queue()).counting(None, ticket)
    for now in range(steps):
        at = data.draw(st.integers(0, people - 1))
        if verbs := allowed(tickets[at]):
            after = tickets[at].after(data.draw(st.sampled_from(verbs)), now, current=line.current_number)
            line, tickets[at] = line.counting(tickets[at], after), after
    open_ones = [ticket for ticket in tickets if allowed(ticket)]
    if not open_ones:
        return
    ticket = data.draw(st.sampled_from(open_ones))
    verb = data.draw(st.sampled_from(allowed(ticket)))

    after = ticket.after(verb, steps + 5, current=line.current_number)
    restored, current = after.before()
    undone = line.counting(ticket, after).uncounting(after, restored, current)

    assert undone == line


def test_an_undone_call_leaves_a_later_one_on_the_screen() -> None:
    first, second = a_ticket(1).after("call", 5, current=None), a_ticket(2).after("call", 6, current=1)
    line = with_people(waiting=2).counting(a_ticket(1), first).counting(a_ticket(2), second)

    undone = line.uncounting(first, *first.before())

    assert (line.current_number, undone.current_number, undone.calls) == (2, 2, 1)
    assert undone.uncounting(second, *second.before()).current_number == 1


def test_a_full_line_is_one_whose_capacity_and_reserve_are_used() -> None:
    queue = a_queue(capacity=2, reserve=1)

    assert [a_line(last_number=number, used_before=1).is_full(queue) for number in (0, 1, 2, 3)] == [
        False,
        False,
        True,
        True,
    ]
    assert not a_line(last_number=9).is_full(a_queue())
