"""Taking back, over every operation there is: what is refused late leaves nothing behind, whatever it did."""

import importlib
import pkgutil
from typing import Any

import msgspec
import pytest

import dawr.operations
from dawr.domain import QueueId
from dawr.domain.errors import QueueFull
from dawr.domain.staff import AccountId
from dawr.domain.ticket import PRIORITIES, TicketId, VisitId
from dawr.domain.token import TokenId
from dawr.operations.admin import ChangeQueue, Reset, ResetBehind, SetUp
from dawr.operations.alarms import Ring, WindUp
from dawr.operations.clockwork import Expire, ExpireEnded
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk
from dawr.operations.operation import Operation
from dawr.operations.people import AddStaff, ChangeRole, DisableStaff, EnableStaff
from dawr.operations.pins import Done, GivePin, RenewPins, RotatePin, VerifyPin
from dawr.operations.reception import (
    AddStage,
    ChangePath,
    CompleteStage,
    EndVisit,
    EnterStage,
    MoveTo,
    NewLink,
    NoteVisit,
    OfVisit,
    OfVisitor,
    RemoveFromQueue,
    ResetPath,
    SkipStage,
    Transfer,
    Unlock,
)
from dawr.operations.repair import MOST_CARRIED, WAITS, RepairDay
from dawr.operations.rows import ANSWERS, VISITS
from dawr.operations.staff import Call, CallNext, Extend, Finish, Hold, Miss, Prioritize, PutBack, Recall, Resume, Start
from dawr.operations.ticket import OfTicket, OneVerb
from dawr.operations.tokens import MakeToken, RevokeToken, TakeTokenOver
from dawr.operations.transaction import Transaction
from dawr.operations.undo import Undo, UndoLeave
from dawr.operations.visitor import Join, Leave, Rejoin
from dawr.operations.visits import EnterByLink, GoOn, LeaveByLink, LookAtVisit, RejoinByLink, StartVisit
from dawr.ports import Search
from dawr.reliability.idempotency import Reply
from tests.builders import a_claim, issue
from tests.domain.builders import LAB
from tests.operations.clinic import (
    CALLED,
    CLINIC,
    ECG,
    FINISHED,
    MINUTE,
    NOW,
    PIN_OF,
    STORED,
    VISIT_AT_ITS_END,
    VISIT_IN_LINE,
    VISIT_LEFT,
    VISIT_LOCKED,
    VISIT_OF_CALLED,
    VISIT_OF_HELD,
    VISIT_OF_MISSED,
    VISIT_OF_WAITING,
    VISIT_OF_YESTERDAY,
    VISIT_READY,
    YESTERDAY,
    a_transaction,
    everything,
    lines_of,
    link_of,
    of,
    state_of,
)


def start_visit(journey: str, visitor: str, *, priority: int = 0) -> StartVisit:
    return StartVisit(journey, visitor, "any", VisitId(f"v1-of-{visitor}"), "hash", priority=priority)


OWNER = AccountId("account-of-owner")

ABSTRACT = {Operation, OfTicket, OneVerb, OfVisit}

EXAMPLES: list[Operation[Any]] = [
    issue("lab", "new"),
    issue("lab", "new", priority=3),
    issue("xray", "new"),
    issue("lab", "visitor-22"),
    issue("lab", "visitor-31"),
    Join(queue="lab", visitor="new", ticket_id=TicketId("t-new"), visit_id=VisitId("v1-new"), secret_hash="hash"),
    CallNext(queue="lab"),
    CallNext(desk="desk-2"),
    Call(of(6), desk="desk-1"),
    Recall(of(1)),
    Start(of(1)),
    Finish(of(1)),
    Finish(of(2)),
    Finish(of(21)),
    Done("lab", None, "", visitor="visitor-12", by_staff=True),
    Done("lab", PIN_OF[LAB], "", visitor="visitor-12"),
    Done("ecg", None, "", visitor="visitor-53", by_staff=True),
    Done("ecg", PIN_OF[ECG], "", visitor="visitor-53"),
    Extend(of(1)),
    Extend(of(51), 10),
    Prioritize(of(5), 2, "elderly"),
    Prioritize(of(53), 1, "urgent"),
    Miss(of(1)),
    Rejoin(of(3), "first"),
    Rejoin(of(3), "last"),
    RejoinByLink(link_of(VISIT_OF_MISSED)),
    PutBack(of(1), "first"),
    PutBack(of(51), "last"),
    PutBack(of(3)),
    Hold(of(5)),
    Hold(of(51)),
    Resume(of(4)),
    Leave(of(5)),
    Leave(of(22)),
    Leave(of(31)),
    LeaveByLink(link_of(VISIT_OF_WAITING)),
    Expire(of(2)),
    ChangeQueue("lab", "pause"),
    Reset("lab"),
    Reset("xray"),
    ResetBehind(QueueId("lab"), None, 10_000),
    SetUp(msgspec.structs.replace(CLINIC, name={"en": "Another name"})),
    ExpireEnded(LAB),
    AddStaff(AccountId("account-of-new"), "new", "staff", OWNER),
    ChangeRole("staff", "viewer", OWNER),
    DisableStaff("staff", OWNER),
    EnableStaff("gone", OWNER),
    MakeToken(
        token_id=TokenId("v1-new"),
        secret_hash="hash",
        kind="api",
        name="A",
        role="staff",
        made_by="x",
        account_id=None,
    ),
    RevokeToken(TokenId("v1-1"), None),
    TakeTokenOver(TokenId("v1-1"), "owner", None),
    start_visit("army", "new"),
    start_visit("تجنيد", "new", priority=2),
    start_visit("eyes", "visitor-58"),
    EnterByLink(link_of(VISIT_READY)),
    GoOn(LookAtVisit(link_of(VISIT_READY))),
    LeaveByLink(link_of(VISIT_OF_CALLED)),
    LeaveByLink(link_of(VISIT_READY)),
    VerifyPin("ecg", PIN_OF[ECG], "", link=link_of(VISIT_OF_CALLED)),
    VerifyPin("ecg", PIN_OF[ECG], "", visitor="visitor-53", number=3),
    VerifyPin("ecg", PIN_OF[LAB], "", visitor="visitor-53", number=3),
    VerifyPin("ecg", "99", "", visitor="visitor-53", number=3),
    GivePin("chance", is_manager=True, queue="eye"),
    RotatePin("chance", is_manager=True, queue="lab"),
    RotatePin("chance", is_manager=True, queue="lab", pin="98"),
    RenewPins("chance", is_manager=True),
    OpenDesk("desk-3", "chance"),
    BreakDesk("desk-1", NOW + 10 * MINUTE),
    CloseDesk("desk-1"),
    Ring("miss", of(51)),
    Ring("hold", of(52)),
    Ring("break", "desk-2"),
    Ring("close", "desk-1"),
    Ring("call", "desk-4"),
    Ring("enter", VISIT_READY),
    Ring("enter", VISIT_OF_YESTERDAY),
    WindUp(),
    Transfer(of(12), "xray"),
    Transfer(of(53), "eye"),
    Transfer(of(54), "lab"),
    MoveTo(VISIT_IN_LINE, "eye"),
    OfVisitor("visitor-57", EnterStage(VisitId(""))),
    NewLink(VISIT_OF_HELD, "another hash"),
    Unlock(VISIT_LOCKED),
    EnterStage(VISIT_READY),
    RemoveFromQueue(VISIT_OF_CALLED),
    EndVisit(VISIT_OF_CALLED),
    EndVisit(VISIT_READY),
    AddStage(VISIT_OF_CALLED, "eye"),
    SkipStage(VISIT_OF_CALLED, "xray"),
    SkipStage(VISIT_OF_CALLED, "ecg"),
    CompleteStage(VISIT_AT_ITS_END, "eye"),
    CompleteStage(VISIT_OF_HELD, "ecg"),
    CompleteStage(VISIT_READY, "ecg"),
    ResetPath(VISIT_OF_CALLED),
    ChangePath(VISIT_IN_LINE, "eyes"),
    ChangePath(VISIT_OF_CALLED, "army"),
    Undo(CALLED.ticket_id, CALLED.version),
    Undo(FINISHED.ticket_id, FINISHED.version),
    UndoLeave(link_of(VISIT_LEFT)),
    NoteVisit(VISIT_OF_CALLED, "Wheelchair"),
]


class Regretted(Operation[None], frozen=True):
    """Does what another operation does, and more, and then refuses."""

    operation: Operation[Any]

    def decide(self, tx: Transaction, now: int) -> None:
        self.operation.decide(tx, now)
        tx.happened("queue.regretted", LAB, why="it was too late")
        tx.put(VISITS, msgspec.structs.replace(tx.get(VISITS, VISIT_OF_WAITING), state="left"))
        tx.put(ANSWERS, Reply(200, b"never said").kept(a_claim(), now))
        raise QueueFull("lab", 0, 0)


def name_of(operation: Operation[Any]) -> str:
    return repr(operation)[:80]


def every_operation() -> set[type[Operation[Any]]]:
    """All that the product has, found where they are."""
    for module in pkgutil.iter_modules(dawr.operations.__path__):
        importlib.import_module(f"dawr.operations.{module.name}")
    found: set[type[Operation[Any]]] = set()
    unseen: list[type[Operation[Any]]] = [Operation]
    while unseen:
        kind = unseen.pop()
        unseen += kind.__subclasses__()
        if kind.__module__.startswith("dawr.operations.") and not kind.__name__.startswith("_"):
            found.add(kind)
    return found - ABSTRACT - {RepairDay}


def test_every_operation_has_an_example_here() -> None:
    assert {type(operation) for operation in EXAMPLES} == every_operation()


@pytest.mark.parametrize("operation", EXAMPLES, ids=name_of)
def test_an_operation_that_is_refused_late_leaves_nothing_behind(operation: Operation[Any]) -> None:
    tx = a_transaction(everything())
    before = state_of(tx)

    with pytest.raises(QueueFull):
        Regretted(operation).decide(tx, NOW)
    assert state_of(tx) != before
    assert not tx.changes().is_empty
    tx.take_back()

    assert state_of(tx) == before
    assert tx.changes().is_empty


def test_a_repair_of_the_day_that_is_refused_late_leaves_nothing_behind() -> None:
    lines = tuple(line.key for line in lines_of(STORED))
    waiting = {Search("open", (*key, PRIORITIES, 0, WAITS, MOST_CARRIED + 1)) for key in lines}
    wants = msgspec.structs.replace(everything(), searches=waiting)
    tx = a_transaction(wants)
    before = (state_of(tx), tx.day, tx.epoch, tx.line(LAB))

    with pytest.raises(QueueFull):
        Regretted(RepairDay(77, lines)).decide(tx, NOW - 24 * 60 * MINUTE)
    assert (tx.day, tx.epoch) == (YESTERDAY, 77)
    assert tx.changes().redated is not None
    tx.take_back()

    assert (state_of(tx), tx.day, tx.epoch, tx.line(LAB)) == before
    assert tx.changes().redated is None


@pytest.mark.parametrize("operation", EXAMPLES, ids=name_of)
def test_every_example_changes_something(operation: Operation[Any]) -> None:
    tx = a_transaction(everything())
    before = state_of(tx)

    operation.decide(tx, NOW)

    assert tx.has_changed
    assert state_of(tx) != before
