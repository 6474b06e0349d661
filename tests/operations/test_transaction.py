"""One venue's rows while its head is held: what is loaded, what changed, and how it is taken back."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.domain.errors import Refused, UnknownTicket
from dawr.domain.events import NOBODY, Origin
from dawr.domain.ticket import LineKey, Ticket, TicketId, VisitId
from dawr.domain.visit import Visit
from dawr.operations.admin import ChangeQueue
from dawr.operations.operation import Operation
from dawr.operations.rows import ANSWERS, VISITS
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Resume
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Leave, Rejoin
from dawr.ports import Changes, Kind, Rows, Wants
from dawr.reliability.idempotency import Answer, AnswerKey, Reply
from tests.builders import a_claim, issue
from tests.domain.builders import LAB, a_line, a_ticket
from tests.operations.clinic import (
    CLINIC,
    CURRENT,
    HEAD,
    NOW,
    RAN_MS,
    SINGLE,
    TODAY,
    YESTERDAY,
    AheadOf,
    a_transaction,
    ahead_in,
    decided,
    everything,
    found,
    of,
    state_of,
)
from tests.operations.test_taking_back import EXAMPLES, name_of


@pytest.mark.parametrize("operation", EXAMPLES, ids=name_of)
def test_an_operation_that_had_to_wait_for_rows_decides_as_if_they_had_been_there(operation: Operation[Any]) -> None:
    with_all, with_nothing = a_transaction(everything()), a_transaction()

    assert said(decided(with_nothing, operation)) == said(decided(with_all, operation))
    assert in_order(with_nothing.changes()) == in_order(with_all.changes())


@given(picks=st.lists(st.tuples(st.sampled_from(EXAMPLES), st.booleans()), max_size=25), depth=st.integers(2, 50))
def test_whatever_is_taken_back_what_was_kept_comes_out_the_same(
    picks: list[tuple[Operation[Any], bool]], depth: int
) -> None:
    mixed, only_kept = a_transaction(), a_transaction()

    for operation, kept in picks:
        outcome = outcome_of(mixed, operation, depth=depth)
        if not kept:
            mixed.take_back()
        else:
            assert said(outcome_of(only_kept, operation, depth=50)) == said(outcome)

    assert in_order(mixed.changes()) == in_order(only_kept.changes())


def said(outcome: object) -> object:
    """An answer, or what a refusal says."""
    return (type(outcome), outcome.facts) if isinstance(outcome, Refused) else outcome


def in_order(changes: Changes) -> Changes:
    """The order of rows that are saved together is nobody's business."""
    return msgspec.structs.replace(
        changes,
        new_tickets=sorted(changes.new_tickets, key=lambda ticket: ticket.ticket_id),
        changed_tickets=sorted(changes.changed_tickets, key=lambda ticket: ticket.ticket_id),
        lines=sorted(changes.lines, key=lambda line: line.key),
        rows={kind: sorted(rows, key=kind.key) for kind, rows in changes.rows.items()},
    )


def outcome_of(tx: Transaction, operation: Operation[Any], *, depth: int) -> Any:  # noqa: ANN401 - an answer or a refusal
    try:
        return decided(tx, operation, depth=depth)
    except Refused as refusal:
        tx.take_back()
        return refusal


def test_who_was_asked_for_and_not_found_does_not_exist() -> None:
    missing = Wants(
        tickets={of(99)}, open_keys={"lab:nobody"}, rows={ANSWERS: {a_claim().key}}, lines={LineKey(LAB, TODAY, 9)}
    )
    tx = a_transaction(missing)

    with pytest.raises(UnknownTicket):
        tx.ticket(of(99))
    assert tx.open_ticket("lab:nobody") is None
    assert tx.answer(a_claim().key) is None
    with pytest.raises(LookupError, match="no row"):
        tx.line_at(LineKey(LAB, TODAY, 9))


def test_a_queue_without_a_line_today_begins_one_at_number_one() -> None:
    stored = (a_ticket(31, day=YESTERDAY, number=17),)
    tx = a_transaction(everything(stored), stored=stored)

    assert tx.line(LAB) == a_line(day=TODAY)
    assert tx.first_waiting(LAB) is None
    assert decided(tx, issue("lab", "new"), stored=stored).ticket.number == 1


def test_an_answer_that_has_expired_was_never_given() -> None:
    key = a_claim().key
    answer = msgspec.structs.replace(Reply(200, b"old").kept(a_claim(), 0), expires_at=RAN_MS)
    tx = a_transaction()

    tx.absorb(Wants(rows={ANSWERS: {key}}), Rows(rows={ANSWERS: [answer]}), depth=3)

    assert tx.answer(key) is None


def test_a_clock_that_is_not_trusted_begins_no_day() -> None:
    tomorrow = NOW + 24 * 60 * 60 * 1000

    assert Transaction(CLINIC, HEAD, ran_ms=1, now=tomorrow).day == "2026-03-03"
    assert Transaction(CLINIC, HEAD, ran_ms=1, now=tomorrow, clock_trusted=False).day == TODAY
    assert Transaction(CLINIC, HEAD, ran_ms=1, now=NOW - 24 * 60 * 60 * 1000).day == TODAY


def test_rows_that_arrive_late_do_not_undo_what_was_changed_meanwhile() -> None:
    tx = a_transaction(everything())
    for operation in (Leave(of(5)), issue("lab", "new"), CallNext(queue="lab"), Rejoin(of(3), "first")):
        decided(tx, operation)
    tx.begin(NOBODY)
    tx.put(ANSWERS, Reply(201, b"new").kept(a_claim(), NOW))
    before = state_of(tx)
    late = found(everything(), depth=50)
    late.rows[ANSWERS] = [Reply(200, b"old").kept(a_claim(), NOW - 1)]

    tx.absorb(everything(), late, depth=50)

    assert state_of(tx) == before


def test_a_line_that_ended_is_never_taken_for_the_line_of_today() -> None:
    tx = a_transaction(Wants(tickets={of(22), of(5)}, lines={LineKey(LAB, TODAY, 1)}))

    decided(tx, Leave(of(22)))

    assert decided(tx, Hold(of(5))).state == "held"
    assert decided(tx, Resume(of(5))).state == "waiting"


def test_a_line_of_yesterday_is_never_taken_for_the_line_of_today() -> None:
    tx = a_transaction(Wants(tickets={of(31), of(5)}, lines={LineKey(LAB, YESTERDAY, 1)}))

    decided(tx, Leave(of(31)))

    assert decided(tx, CallNext(queue="lab")).ticket.ticket_id == of(7)


def test_a_longer_line_than_was_loaded_is_called_to_its_end() -> None:
    stored = tuple(a_ticket(number, day=TODAY, round=2) for number in range(1, 31))
    tx = a_transaction(Wants(waiting={LAB}), depth=2, stored=stored)

    called = [decided(tx, CallNext(queue="lab"), depth=2, stored=stored).ticket.number for _ in stored]

    assert called == list(range(1, 31))
    assert decided(tx, CallNext(queue="lab"), depth=2, stored=stored).ticket is None


def test_changes_tell_new_tickets_from_changed_ones() -> None:
    tx = a_transaction(everything())

    newcomer = decided(tx, issue("lab", "new")).ticket
    decided(tx, Hold(newcomer.ticket_id))
    decided(tx, Leave(of(5)))

    changes = tx.changes()
    assert [(ticket.ticket_id, ticket.state) for ticket in changes.new_tickets] == [(newcomer.ticket_id, "held")]
    assert [(ticket.ticket_id, ticket.state) for ticket in changes.changed_tickets] == [(of(5), "left")]
    assert [visit.visit_id for visit in changes.of(VISITS)] == [newcomer.visit_id]
    assert [line.key for line in changes.lines] == [CURRENT]
    assert [event.kind for event in changes.events] == ["ticket.issued", "ticket.held", "ticket.left"]
    assert [event.version for event in changes.events] == [101, 102, 103]
    assert changes.head == msgspec.structs.replace(HEAD, version=103)
    assert changes.venue is None


def test_a_changed_set_up_moves_its_own_version_too() -> None:
    tx = a_transaction(everything())

    decided(tx, ChangeQueue("lab", "pause"))
    decided(tx, ChangeQueue("xray", "close"))

    changes = tx.changes()
    assert changes.venue is not None
    assert [queue.state for queue in changes.venue.queues[:2]] == ["paused", "closed"]
    assert changes.head == msgspec.structs.replace(HEAD, version=102, config_version=8)
    assert (changes.new_tickets, changes.changed_tickets, changes.lines) == ([], [], [])


def test_a_transaction_that_only_looked_has_nothing_to_save() -> None:
    tx = a_transaction(everything())

    tx.first_waiting(LAB)
    tx.ahead_of(tx.ticket(of(6)))

    changes = tx.changes()
    assert tx.changes().is_empty
    assert changes.head == HEAD
    assert (changes.new_tickets, changes.changed_tickets, changes.lines, changes.events) == ([], [], [], [])


def test_an_event_says_who_asked() -> None:
    tx = a_transaction(everything())
    tx.begin(Origin(actor="noor", correlation_id="c-1", reason="went home"))

    Leave(of(5)).decide(tx, NOW)

    (event,) = tx.changes().events
    assert (event.actor, event.correlation_id, event.reason) == ("noor", "c-1", "went home")
    assert (event.kind, event.queue_id, event.ticket_id, event.at) == ("ticket.left", "lab", "t5", NOW)


def test_a_ticket_carries_the_version_of_its_latest_event() -> None:
    tx = a_transaction(everything())

    assert decided(tx, Hold(of(5))).version == 101
    assert decided(tx, Resume(of(5))).version == 102
    assert tx.next_version == 103


def test_whoever_has_no_place_in_the_line_has_nobody_ahead() -> None:
    tx = a_transaction(everything())

    assert [tx.ahead_of(tx.ticket(of(number))) for number in (1, 2, 3, 8)] == [0] * 4


def test_whoever_is_held_is_told_how_many_would_be_called_before_them() -> None:
    tx = a_transaction(everything())

    assert tx.ahead_of(tx.ticket(of(4))) == 2
    decided(tx, CallNext(queue="lab"))
    assert tx.ahead_of(tx.ticket(of(4))) == 1


def test_a_kept_answer_is_given_again_in_the_same_batch() -> None:
    tx = a_transaction(everything())
    answer: Answer = Reply(200, b"first").kept(a_claim(), NOW)

    tx.put(ANSWERS, answer)

    assert tx.answer(AnswerKey(answer.scope, answer.principal, answer.key)) == answer
    assert tx.changes().of(ANSWERS) == [answer]


VERBS: list[Callable[[TicketId], Operation[Any]]] = [
    Call,
    Miss,
    Hold,
    Resume,
    Leave,
    Finish,
    lambda ticket: Rejoin(ticket, "first"),
    lambda ticket: Rejoin(ticket, "last"),
]
walks = st.lists(st.tuples(st.integers(0, len(VERBS)), st.integers(0, 40), st.integers(0, 3)), max_size=40)


@given(walk=walks, depth=st.integers(2, 20))
def test_however_a_batch_goes_on_everybody_has_as_many_ahead_as_counting_gives(
    walk: list[tuple[int, int, int]], depth: int
) -> None:
    tx = a_transaction()
    known = {ticket.ticket_id: ticket for ticket in SINGLE}

    for verb, pick, priority in walk:
        operation = (
            issue("lab", None, priority=priority)
            if verb == len(VERBS)
            else VERBS[verb](sorted(known)[pick % len(known)])
        )
        outcome = outcome_of(tx, operation, depth=depth)
        if not isinstance(outcome, Refused):
            ticket = outcome if isinstance(outcome, Ticket) else outcome.ticket
            known[ticket.ticket_id] = ticket
            if not isinstance(outcome, Ticket):
                assert outcome.ahead == ahead_in(list(known.values()), ticket)

    for ticket in known.values():
        expected = ahead_in(list(known.values()), ticket) if ticket.state in {"waiting", "held"} else 0
        assert decided(tx, AheadOf(ticket), depth=depth) == expected
    assert {ticket.ticket_id: ticket for ticket in SINGLE} | {
        ticket.ticket_id: ticket for ticket in tx.changes().new_tickets + tx.changes().changed_tickets
    } == known


def test_a_kind_that_is_not_declared_is_refused_and_not_lost() -> None:
    forgotten: Kind[str, Visit] = Kind(name="forgotten", row=Visit, key=lambda visit: visit.visit_id)

    with pytest.raises(LookupError, match="not in KINDS"):
        a_transaction().put(forgotten, Visit(CLINIC.id, VisitId("v"), "hash", "Amna", "open", NOW))
