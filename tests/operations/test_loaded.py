"""What was loaded of a venue: a row that is not here is asked for, with all others that are missing too."""

from collections.abc import Callable

import pytest

from dawr.domain.ticket import LineKey, VisitId
from dawr.domain.venue import DeskId
from dawr.operations.loaded import NotLoaded
from dawr.operations.rows import ANSWERS, PINS, VISITS
from dawr.operations.staff import Call, Finish
from dawr.operations.transaction import Transaction
from dawr.ports import Search, Wants
from tests.builders import a_claim
from tests.domain.builders import LAB
from tests.operations.clinic import CURRENT, TODAY, XRAY, a_transaction, decided, everything, of

AT_DESK = Search("at_desk", ("desk-4",))


@pytest.mark.parametrize(
    ("ask", "wants"),
    [
        (lambda tx: tx.ticket(of(5)), Wants(tickets={of(5)})),
        (lambda tx: tx.open_ticket("lab:visitor-5"), Wants(open_keys={"lab:visitor-5"})),
        (lambda tx: tx.line(LAB), Wants(current_lines={LAB})),
        (lambda tx: tx.line_at(CURRENT), Wants(lines={CURRENT})),
        (lambda tx: tx.first_waiting(LAB), Wants(current_lines={LAB})),
        (lambda tx: tx.ended_before(CURRENT), Wants(ended={CURRENT})),
        (lambda tx: tx.answer(a_claim().key), Wants(rows={ANSWERS: {a_claim().key}})),
        (lambda tx: tx.planned_visit("Aisha"), Wants(visitors={"Aisha"})),
        (lambda tx: tx.search(AT_DESK), Wants(searches={AT_DESK})),
        (lambda tx: tx.at_desk(DeskId("desk-4")), Wants(searches={AT_DESK})),
        (lambda tx: tx.all(PINS), Wants(rows={PINS: set()})),
    ],
)
def test_a_row_that_is_not_here_is_asked_for(ask: Callable[[Transaction], object], wants: Wants) -> None:
    tx = a_transaction()

    with pytest.raises(NotLoaded) as missing:
        ask(tx)

    assert missing.value.wants == wants


def test_all_that_is_missing_is_asked_for_at_once_and_nothing_that_is_here() -> None:
    tx = a_transaction(Wants(tickets={of(5)}, current_lines={LAB}, rows={VISITS: {VisitId("one")}}))

    with pytest.raises(NotLoaded) as missing:
        tx.must_have(
            tickets=[of(5), of(6)],
            places=[CURRENT],
            lines=[CURRENT, LineKey(LAB, TODAY, 1)],
            rows={VISITS: {VisitId("one"), VisitId("two")}},
            current_lines=[LAB, XRAY],
            waiting=[LAB],
            open_keys=["lab:new"],
        )

    assert missing.value.wants == Wants(
        tickets={of(6)},
        places={CURRENT},
        lines={LineKey(LAB, TODAY, 1)},
        rows={VISITS: {VisitId("two")}},
        current_lines={XRAY},
        waiting={LAB},
        open_keys={"lab:new"},
    )


def test_of_what_is_all_here_nothing_is_asked_for() -> None:
    tx = a_transaction(everything())

    tx.must_have(tickets=[of(5)], places=[CURRENT], waiting=[LAB], rows={PINS: set()}, open_keys=["lab:new"])


def test_who_was_called_to_a_desk_in_this_batch_is_there_and_who_is_done_is_not() -> None:
    tx = a_transaction(everything())
    before = [ticket.ticket_id for ticket in tx.at_desk(DeskId("desk-4"))]
    decided(tx, Call(of(53), "desk-4"))
    called = [ticket.ticket_id for ticket in tx.at_desk(DeskId("desk-4"))]
    decided(tx, Finish(of(53)))

    assert (before, called, tx.at_desk(DeskId("desk-4"))) == ([], [of(53)], [])


def test_a_visit_that_ended_in_this_batch_is_its_visitors_no_more() -> None:
    tx = a_transaction(everything())
    before = tx.planned_visit("visitor-54")
    decided(tx, Finish(of(54)))

    assert before is not None
    assert tx.planned_visit("visitor-54") is None


def test_the_people_of_a_line_whose_counts_are_here_are_asked_for() -> None:
    tx = a_transaction(Wants(current_lines={LAB}))

    with pytest.raises(NotLoaded) as missing:
        tx.first_waiting(LAB)

    assert missing.value.wants == Wants(waiting={LAB})


def test_how_many_were_ahead_of_a_stored_ticket_is_asked_for() -> None:
    tx = a_transaction(Wants(tickets={of(6)}))

    with pytest.raises(NotLoaded) as missing:
        tx.ahead_of(tx.ticket(of(6)))

    assert missing.value.wants == Wants(places={CURRENT})
