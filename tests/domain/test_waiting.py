"""The first people of a line: what is in memory never answers for what is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.ticket import Ticket
from dawr.domain.waiting import Exhausted, Waiting, overlaid
from tests.domain.builders import a_ticket

places = st.tuples(st.integers(0, 3), st.integers(-50, 50).filter(bool))


def in_order(tickets: list[Ticket]) -> list[Ticket]:
    return sorted(tickets, key=lambda ticket: (-ticket.priority, ticket.sequence))


def standing(places_in_line: list[tuple[int, int]]) -> list[Ticket]:
    """One ticket for each place, in the order of calling."""
    return in_order(
        [
            a_ticket(number, priority=priority, sequence=sequence)
            for number, (priority, sequence) in enumerate(places_in_line, start=1)
        ]
    )


def drained(waiting: Waiting) -> list[Ticket]:
    """Everybody, one after the other, until nobody is left or more would have to be loaded."""
    taken = []
    try:
        while (ticket := waiting.first()) is not None:
            taken.append(ticket)
            waiting.remove(ticket)
    except Exhausted:
        pass
    return taken


def test_an_empty_line_has_nobody_first() -> None:
    assert Waiting([], up_to=None).first() is None
    assert overlaid([], depth=3, touched=(), unsaved=()).first() is None


def test_everybody_taken_from_the_head_of_a_long_line_is_not_nobody_waiting() -> None:
    line = standing([(0, 1), (0, 2), (0, 3)])
    waiting = overlaid(line[:2], depth=2, touched=(), unsaved=())

    for ticket in line[:2]:
        waiting.remove(ticket)

    with pytest.raises(Exhausted):
        waiting.first()


def test_fewer_than_were_asked_for_are_all_there_are() -> None:
    line = standing([(0, 1), (0, 2)])

    assert drained(overlaid(line, depth=3, touched=(), unsaved=())) == line


def test_a_newcomer_behind_the_part_in_memory_waits_behind_it() -> None:
    first, second, newcomer = standing([(0, 1), (0, 2), (0, 9)])
    waiting = overlaid([first, second], depth=2, touched=(), unsaved=())

    waiting.add(newcomer)
    waiting.remove(first)
    waiting.remove(second)

    with pytest.raises(Exhausted):
        waiting.first()


def test_removing_somebody_who_is_not_there_removes_nobody() -> None:
    first, second = standing([(0, 1), (0, 2)])
    waiting = Waiting([first], up_to=None)

    waiting.remove(second)
    waiting.remove(a_ticket(7, sequence=1))

    assert waiting.first() == first


def test_what_was_changed_and_not_saved_lies_over_what_the_store_holds() -> None:
    first, second, third = standing([(0, 1), (0, 2), (0, 3)])
    back_in_front = a_ticket(8, sequence=-4)

    waiting = overlaid([first, second, third], depth=9, touched={first.ticket_id}, unsaved=[back_in_front])

    assert drained(waiting) == [back_in_front, second, third]


moves = st.lists(st.tuples(st.sampled_from(["add", "remove", "take first"]), st.integers(0, 80)), max_size=60)


@given(
    everybody=st.lists(places, unique=True, max_size=40).map(standing),
    stored_share=st.integers(0, 100),
    depth=st.integers(1, 12),
    moves=moves,
)
def test_the_head_of_a_line_agrees_with_the_whole_line_or_says_that_it_does_not_know(
    everybody: list[Ticket], stored_share: int, depth: int, moves: list[tuple[str, int]]
) -> None:
    stored = [ticket for ticket in everybody if ticket.number * 37 % 100 < stored_share]
    outside = [ticket for ticket in everybody if ticket not in stored]
    whole, waiting = list(stored), overlaid(stored[:depth], depth=depth, touched=(), unsaved=())

    for move, pick in moves:
        if move == "add" and outside:
            ticket = outside.pop(pick % len(outside))
            whole = in_order([*whole, ticket])
            waiting.add(ticket)
        elif move == "remove" and whole:
            ticket = whole.pop(pick % len(whole))
            outside.append(ticket)
            waiting.remove(ticket)
        else:
            try:
                first = waiting.first()
            except Exhausted:
                assert len(stored) >= depth
                continue
            assert first == (whole[0] if whole else None)
            if first is not None:
                outside.append(whole.pop(0))
                waiting.remove(first)

    known = drained(waiting)
    assert known == whole[: len(known)]
    assert len(known) == len(whole) or len(stored) >= depth


@given(
    everybody=st.lists(places, unique=True, min_size=1, max_size=30).map(standing),
    depth=st.integers(1, 30),
    left=st.sets(st.integers(0, 29)),
    moved=st.sets(st.integers(0, 29)),
)
def test_a_load_in_the_middle_of_a_batch_sees_the_changes_of_the_batch(
    everybody: list[Ticket], depth: int, left: set[int], moved: set[int]
) -> None:
    gone = {ticket.ticket_id for at, ticket in enumerate(everybody) if at in left}
    rejoined = [
        a_ticket(ticket.number, priority=ticket.priority, sequence=-100 - at)
        for at, ticket in enumerate(everybody)
        if at in moved and at not in left
    ]
    touched = gone | {ticket.ticket_id for ticket in rejoined}
    whole = in_order([*(ticket for ticket in everybody if ticket.ticket_id not in touched), *rejoined])

    known = drained(overlaid(everybody[:depth], depth=depth, touched=touched, unsaved=rejoined))

    assert known == whole[: len(known)]
    assert len(known) == len(whole) or len(everybody) >= depth
