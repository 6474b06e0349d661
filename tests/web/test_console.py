"""What the console makes of what it sees: how long a wait is, who is next, and when nobody seems to come."""

import pytest

from dawr.domain import Desk, DeskId, Queue, Ticket
from dawr.domain.desk import closed
from dawr.operations.console import AtDesk, Console
from dawr.web.pages.console import GRACE_SECONDS, _row, _turn
from tests.domain.builders import VENUE, a_desk, a_line, a_queue, a_ticket, a_venue

NOW = 10_000_000
MINUTE = 60_000


def a_console(
    *waiting: Ticket, here: tuple[AtDesk, ...] = (), queues: tuple[Queue, ...] = (a_queue(),), people: int | None = None
) -> Console:
    desk: Desk = a_desk("desk-1", *(queue.id for queue in queues))
    number = len(waiting) if people is None else people
    return Console(
        a_venue(*queues),
        NOW,
        desk,
        closed(VENUE, DeskId("desk-1")),
        list(queues),
        [a_line(queue_id=queues[0].id, waiting=(number, 0, 0, 0))],
        list(here),
        [AtDesk(ticket, None) for ticket in waiting],
        [],
        [],
        [],
    )


@pytest.mark.parametrize(
    ("minutes", "word"), [(0, "fine"), (19, "fine"), (20, "long"), (34, "long"), (35, "too-long"), (500, "too-long")]
)
def test_a_wait_is_said_in_a_word_from_long_on(minutes: int, word: str) -> None:
    ticket = a_ticket(issued_at=NOW - minutes * MINUTE - MINUTE // 2)

    row = _row(a_console(), AtDesk(ticket, None), 1)

    assert (row.minutes, row.wait) == (minutes, word)


def test_only_the_first_nine_rows_have_a_key() -> None:
    keys = [_row(a_console(), AtDesk(a_ticket(number), None), number).key for number in range(1, 12)]

    assert keys == [1, 2, 3, 4, 5, 6, 7, 8, 9, None, None]


def test_whoever_came_back_waits_from_then_on() -> None:
    ticket = a_ticket(issued_at=NOW - 60 * MINUTE, called_at=NOW - 30 * MINUTE, rejoined_at=NOW - 5 * MINUTE)

    assert _row(a_console(), AtDesk(ticket, None)).minutes == 5


def test_whoever_was_called_last_is_shown_and_the_others_beside_them() -> None:
    here = tuple(AtDesk(a_ticket(number, state="called", called_at=NOW - number), None) for number in (3, 2, 1))

    turn = _turn(a_console(here=here))

    assert turn.state == "called"
    assert turn.row is not None
    assert turn.row.ticket.number == 1
    assert [other.ticket.number for other in turn.others] == [2, 3]


@pytest.mark.parametrize(("due_in", "is_over"), [(1, False), (0, True), (-MINUTE, True)])
def test_the_queues_own_time_to_come_is_counted(due_in: int, is_over: bool) -> None:  # noqa: FBT001 - as expected
    called = AtDesk(a_ticket(state="called", called_at=NOW - MINUTE), None, NOW + due_in)

    grace = _turn(a_console(here=(called,))).grace

    assert grace is not None
    assert (grace.since, grace.until, grace.is_over) == (NOW - MINUTE, NOW + due_in, is_over)


def test_where_the_queue_has_none_staff_are_asked_after_three_minutes_since_the_last_call() -> None:
    called = AtDesk(a_ticket(state="called", called_at=NOW - 9 * MINUTE, recalled_at=NOW - MINUTE), None)

    grace = _turn(a_console(here=(called,))).grace

    assert grace is not None
    assert grace.until == NOW - MINUTE + GRACE_SECONDS * 1000
    assert not grace.is_over


def test_nobody_is_next_in_a_queue_that_is_paused() -> None:
    paused = (a_queue(state="paused"),)

    assert _turn(a_console(a_ticket(), queues=paused)).state == "paused"
    assert _turn(a_console(queues=paused)).state == "paused"
    assert _turn(a_console()).state == "empty"


def test_somebody_who_is_not_listed_can_be_called_all_the_same() -> None:
    turn = _turn(a_console(people=1))

    assert (turn.state, turn.row) == ("next", None)
