"""A clinic in the middle of its morning, as rows: what a store would say when a transaction asks."""

from typing import Any

import msgspec

from dawr.domain.alarm import Alarm, AlarmKey
from dawr.domain.day import Day
from dawr.domain.desk import DeskNow
from dawr.domain.events import NOBODY
from dawr.domain.hours import Hours
from dawr.domain.journey import Journey, Stage
from dawr.domain.line import ENDED_BY_A_RESET, Line
from dawr.domain.pin import Pin
from dawr.domain.queue import QueueId
from dawr.domain.secret import hash_of
from dawr.domain.staff import AccountId, StaffMember
from dawr.domain.ticket import LineKey, State, Ticket, TicketId, VisitId, open_key
from dawr.domain.token import Token, TokenId
from dawr.domain.venue import DeskId, Head
from dawr.domain.visit import Link, PlannedStage, StageState, Visit
from dawr.operations.loaded import NotLoaded
from dawr.operations.operation import Operation
from dawr.operations.rows import ALARMS, ANSWERS, DESKS, OVERTAKINGS, PINS, STAFF, TOKENS, VISITS, Table
from dawr.operations.transaction import Transaction
from dawr.ports import Kind, Rows, Search, Wants
from tests.builders import MONDAY_AT_TEN, a_claim
from tests.domain.builders import LAB, VENUE, a_desk, a_line, a_queue, a_ticket, a_venue

RAN_MS = 1000
NOW = MONDAY_AT_TEN
TODAY, YESTERDAY = Day("2026-03-02"), Day("2026-03-01")
CURRENT: LineKey = LineKey(LAB, TODAY, 2)
XRAY, ECG, EYE = QueueId("xray"), QueueId("ecg"), QueueId("eye")
MINUTE = 60_000

CLINIC = a_venue(
    a_queue("lab"),
    a_queue("xray"),
    a_queue("ecg", auto_call=60, miss_after=60, hold_limit=600, floor="2"),
    a_queue("eye", hours=Hours(week=(((8 * 60, 16 * 60),),) * 7), floor="3"),
    desks=(
        a_desk("desk-1", "lab"),
        a_desk("desk-2", "lab", "xray"),
        a_desk("desk-3", "eye"),
        a_desk("desk-4", "ecg"),
        a_desk("desk-5", "ecg"),
    ),
    journeys=(
        Journey("army", {"en": "Army"}, ("تجنيد",), fixed=(Stage(LAB),), free=(Stage(ECG), Stage(XRAY))),
        Journey("eyes", {"en": "Eyes"}, free=(Stage(EYE, pin=False),)),
    ),
    walking_minutes={"2": {"3": 4}},
)
HEAD = Head(VENUE, epoch=1, day=TODAY, version=100, config_version=7)
SECRET = "a secret"

VISIT_OF_WAITING, VISIT_OF_MISSED = VisitId("v1-waiting"), VisitId("v1-missed")
VISIT_OF_CALLED, VISIT_OF_HELD, VISIT_IN_LINE = VisitId("v1-called"), VisitId("v1-held"), VisitId("v1-in-line")
VISIT_AT_ITS_END, VISIT_GONE_ON = VisitId("v1-at-its-end"), VisitId("v1-gone-on")
VISIT_READY, VISIT_OF_YESTERDAY, VISIT_LOCKED = VisitId("v1-ready"), VisitId("v1-of-yesterday"), VisitId("v1-locked")
VISIT_LEFT = VisitId("v1-left")


def planned(number: int, queue: QueueId, visit_id: VisitId, *, stage: int, state: State, **given: object) -> Ticket:
    """A ticket of a visit with a plan."""
    ticket = a_ticket(number, day=TODAY, queue=queue, number=number % 10, state=state, visit_id=visit_id, stage=stage)
    ticket = msgspec.structs.replace(ticket, **given)
    return msgspec.structs.replace(ticket, open_key=open_key(queue, ticket.visitor))


FINISHED = msgspec.structs.replace(
    planned(55, EYE, VISIT_GONE_ON, stage=0, state="serving", called_at=NOW - 9, started_at=NOW - 8).after(
        "finish", NOW - 1
    ),
    version=60,
)
CALLED = msgspec.structs.replace(a_ticket(14, day=TODAY, round=2).after("call", NOW - 1, current=2), version=50)

STORED = (
    a_ticket(1, day=TODAY, round=2, state="called", called_at=NOW - 1),
    a_ticket(2, day=TODAY, round=2, state="serving", called_at=NOW - 2, started_at=NOW - 1),
    a_ticket(3, day=TODAY, round=2, state="missed", called_at=NOW - 1),
    a_ticket(4, day=TODAY, round=2, state="held"),
    a_ticket(5, day=TODAY, round=2),
    a_ticket(6, day=TODAY, round=2),
    a_ticket(7, day=TODAY, round=2, priority=2),
    a_ticket(8, day=TODAY, round=2, state="left"),
    a_ticket(9, day=TODAY, round=2, sequence=-9),
    a_ticket(12, day=TODAY, round=2, visit_id=VISIT_OF_WAITING),
    a_ticket(13, day=TODAY, round=2, state="missed", called_at=NOW - 1, visit_id=VISIT_OF_MISSED),
    CALLED,
    a_ticket(21, day=TODAY, round=1, number=1, state="called", called_at=NOW - 1),
    a_ticket(22, day=TODAY, round=1, number=2),
    a_ticket(31, day=YESTERDAY, round=1, number=1, state="missed"),
    a_ticket(41, day=TODAY, round=1, number=1, queue="xray", sequence=3),
    planned(51, ECG, VISIT_OF_CALLED, stage=1, state="called", called_at=NOW - 1, desk_id="desk-5"),
    planned(52, ECG, VISIT_OF_HELD, stage=0, state="held"),
    planned(53, ECG, VISIT_IN_LINE, stage=0, state="waiting"),
    planned(54, EYE, VISIT_AT_ITS_END, stage=0, state="serving", called_at=NOW - 2, started_at=NOW - 1),
    FINISHED,
    planned(56, XRAY, VISIT_GONE_ON, stage=1, state="waiting", visitor="visitor-55", from_ticket_id="t55"),
)
SINGLE = tuple(ticket for ticket in STORED if ticket.stage is None)
PIN_OF = {LAB: "11", XRAY: "22", ECG: "07"}


def stage(
    queue: QueueId, state: StageState = "locked", number: int | None = None, *, fixed: bool = False
) -> PlannedStage:
    if number is None:
        return PlannedStage(queue, fixed=fixed, state=state)
    return PlannedStage(queue, fixed=fixed, state=state, ticket_id=of(number), number=number % 10)


def a_plan(visit_id: VisitId, number: int, *stages: PlannedStage, **given: object) -> Visit:
    visitor = f"visitor-{number}"
    visit = Visit(VENUE, visit_id, hash_of(SECRET), visitor, "open", NOW - MINUTE, open_key=visitor, journey="army")
    at = next((stage.ticket_id for stage in stages if stage.state == "in_queue"), None)
    return msgspec.structs.replace(visit.with_plan(stages), ticket_id=at, audience="any", **given)


def of(number: int) -> TicketId:
    return TicketId(f"t{number}")


PEOPLE = (
    StaffMember(VENUE, AccountId("account-of-owner"), "owner", "owner", 1),
    StaffMember(VENUE, AccountId("account-of-staff"), "staff", "staff", 1),
    StaffMember(VENUE, AccountId("account-of-gone"), "gone", "staff", 1, disabled_at=5),
)
BEFORE_IT_WENT_ON = a_plan(VISIT_GONE_ON, 55, stage(EYE, "in_queue", 55), stage(XRAY))
BEFORE_IT_LEFT = a_plan(VISIT_LEFT, 60, stage(ECG, "ready"))
PLANNED = (
    a_plan(VISIT_OF_CALLED, 51, stage(LAB, "completed", fixed=True), stage(ECG, "in_queue", 51), stage(XRAY)),
    a_plan(VISIT_OF_HELD, 52, stage(ECG, "in_queue", 52), stage(XRAY)),
    a_plan(VISIT_IN_LINE, 53, stage(ECG, "in_queue", 53), stage(EYE)),
    a_plan(VISIT_AT_ITS_END, 54, stage(EYE, "in_queue", 54)),
    a_plan(VISIT_GONE_ON, 55, stage(EYE, "completed", 55), stage(XRAY, "in_queue", 56)).remembering(
        BEFORE_IT_WENT_ON, FINISHED.version
    ),
    a_plan(VISIT_READY, 57, stage(ECG, "ready"), stage(XRAY)),
    a_plan(VISIT_OF_YESTERDAY, 58, stage(ECG, "ready"), started_at=NOW - 24 * 60 * MINUTE),
    a_plan(VISIT_LOCKED, 59, stage(ECG, "ready"), locked_at=NOW - 1),
    BEFORE_IT_LEFT.ended("left", NOW - 1).remembering(BEFORE_IT_LEFT, 61).leaving_by_link(),
)
STORED_ROWS: dict[Kind[Any, Any], list[Any]] = {
    VISITS: [
        Visit(VENUE, VISIT_OF_WAITING, hash_of(SECRET), "visitor-12", "open", 1, ticket_id=TicketId("t12")),
        Visit(VENUE, VISIT_OF_MISSED, hash_of(SECRET), "visitor-13", "open", 1, ticket_id=TicketId("t13")),
        *PLANNED,
    ],
    STAFF: list(PEOPLE),
    TOKENS: [Token(VENUE, TokenId("v1-1"), "hash", "api", "staff", "A program", "amna", 1)],
    ANSWERS: [],
    PINS: [Pin(VENUE, queue_id, TODAY, pin, NOW - 1) for queue_id, pin in PIN_OF.items()],
    DESKS: [
        DeskNow(VENUE, DeskId("desk-1"), "open", "staff", NOW - 1),
        DeskNow(VENUE, DeskId("desk-2"), "break", "staff", NOW - 2, NOW - 1),
        DeskNow(VENUE, DeskId("desk-4"), "open", "staff", NOW - 1),
        DeskNow(VENUE, DeskId("desk-5"), "open", "staff", NOW - 1),
    ],
    ALARMS: [
        Alarm(VENUE, "miss", of(51), NOW - 1),
        Alarm(VENUE, "hold", of(52), NOW - 1),
        Alarm(VENUE, "break", "desk-2", NOW - 1),
        Alarm(VENUE, "close", "desk-1", NOW - 1),
        Alarm(VENUE, "call", "desk-4", NOW - 1),
        Alarm(VENUE, "enter", VISIT_READY, NOW - 1),
        Alarm(VENUE, "enter", VISIT_OF_YESTERDAY, NOW - 1),
    ],
    OVERTAKINGS: [],
}


def link_of(visit_id: VisitId) -> Link:
    return Link(visit_id, hash_of(SECRET))


def lines_of(tickets: tuple[Ticket, ...]) -> list[Line]:
    """The lines as counting their tickets gives them."""
    lines: dict[LineKey, Line] = {}
    for ticket in tickets:
        queue_id, day, number = ticket.line_key
        line = lines.get(ticket.line_key, a_line(queue_id=queue_id, day=day, round=number))
        counted = line.counting(None, ticket)
        lines[ticket.line_key] = msgspec.structs.replace(counted, last_number=max(line.last_number, ticket.number))
    return list(lines.values())


def ahead_in(tickets: tuple[Ticket, ...] | list[Ticket], ticket: Ticket) -> int:
    """How many of these are called before that one, counted one by one."""
    return sum(
        other.state == "waiting" and other.line_key == ticket.line_key and other.place < ticket.place
        for other in tickets
    )


def found(wants: Wants, *, depth: int, stored: tuple[Ticket, ...] = STORED) -> Rows:
    """What any store says when it is asked for these rows."""
    lines = lines_of(stored)
    newest = {line.queue_id: line for line in sorted(lines, key=lambda line: (line.day, line.round))}
    rows = Rows(
        tickets=[ticket for ticket in stored if ticket.ticket_id in wants.tickets],
        open=[ticket for ticket in stored if ticket.open_key in wants.open_keys],
        planned=[visit for visit in PLANNED if visit.open_key in wants.visitors],
        searches={search: [ticket for ticket in stored if is_found(search, ticket)] for search in wants.searches},
        places={
            key: sorted(ticket.place for ticket in stored if ticket.line_key == key and ticket.state == "waiting")
            for key in wants.places
        },
        lines=[line for line in lines if line.key in wants.lines],
        current_lines=[newest[queue] for queue in sorted(wants.current_lines | wants.waiting) if queue in newest],
        rows={
            kind: [row for row in STORED_ROWS[kind] if kind.whole or kind.key(row) in keys]
            for kind, keys in wants.rows.items()
        },
    )
    for queue in wants.waiting & newest.keys():
        waiting = [ticket for ticket in stored if ticket.line_key == newest[queue].key and ticket.state == "waiting"]
        rows.waiting += sorted(waiting, key=lambda ticket: ticket.place)[:depth]
    for queue, day, number in wants.ended:
        rows.ended += [
            ticket
            for ticket in stored
            if ticket.queue_id == queue and ticket.is_open and (ticket.day, ticket.round) < (day, number)
        ]
    return rows


def is_found(search: Search, ticket: Ticket) -> bool:
    """Who is at a desk, or waits in a line: nothing else is looked for by what changes something."""
    if search.how == "open":
        return search.key[:3] == ticket.line_key and ticket.is_open and ticket.state in ENDED_BY_A_RESET
    assert search.how == "at_desk"
    return search.key == (ticket.desk_id,) and ticket.state in {"called", "serving"}


def a_transaction(wants: Wants | None = None, *, depth: int = 50, stored: tuple[Ticket, ...] = STORED) -> Transaction:
    tx = Transaction(CLINIC, HEAD, now=NOW, ran_ms=RAN_MS)
    if wants is not None:
        tx.absorb(wants, found(wants, depth=depth, stored=stored), depth=depth)
    tx.begin(NOBODY)
    return tx


def everything(stored: tuple[Ticket, ...] = STORED) -> Wants:
    visitors = {"new", *(visit.visitor for visit in STORED_ROWS[VISITS])}
    queues = {queue.id for queue in CLINIC.queues}
    anywhere = {open_key(queue, visitor) for queue in queues for visitor in visitors}
    return Wants(
        tickets={ticket.ticket_id for ticket in stored},
        open_keys={ticket.open_key for ticket in stored if ticket.open_key} | anywhere,
        visitors=visitors,
        searches={Search("at_desk", ("desk-4",))},
        places={ticket.line_key for ticket in stored},
        lines={line.key for line in lines_of(stored)},
        waiting=queues,
        ended={CURRENT},
        rows={
            ANSWERS: {a_claim().key},
            VISITS: {ticket.visit_id for ticket in stored} | {visit.visit_id for visit in STORED_ROWS[VISITS]},
            ALARMS: {AlarmKey("miss", of(1)), AlarmKey("hours", EYE), *(alarm.key for alarm in STORED_ROWS[ALARMS])},
            OVERTAKINGS: {TODAY},
            **{kind: set() for kind in (STAFF, TOKENS, PINS, DESKS)},
        },
    )


def decided(tx: Transaction, operation: Operation[Any], *, depth: int = 50, stored: tuple[Ticket, ...] = STORED) -> Any:  # noqa: ANN401 - whatever the operation says
    """Decide as the engine does: what is missing is loaded, and the command decided again."""
    while True:
        tx.begin(NOBODY)
        try:
            return operation.decide(tx, tx.now)
        except NotLoaded as missing:
            tx.take_back()
            deeper = depth + tx.touched
            tx.absorb(missing.wants, found(missing.wants, depth=deeper, stored=stored), depth=deeper)


def state_of(tx: Transaction) -> dict[str, object]:
    """Everything a transaction holds, copied deep enough to be compared later."""
    state: dict[str, object] = {}
    for name, value in vars(tx).items():
        if name == "_waiting":
            state[name] = {key: (list(line._tickets), line._up_to) for key, line in value.items()}
        elif isinstance(value, Table):
            state[name] = (dict(value.rows), dict(value.stored), value.is_whole)
        elif name == "_tables":
            state[name] = {
                kind: (dict(table.rows), table.changed(), table.is_whole) for kind, table in value.items() if table.rows
            }
        elif name != "_undo":
            state[name] = value.copy() if isinstance(value, dict | list) else value
    return state


class AheadOf(Operation[int], frozen=True):
    ticket: Ticket

    def decide(self, tx: Transaction, now: int) -> int:  # noqa: ARG002 - an operation is asked like this
        return tx.ahead_of(tx.ticket(self.ticket.ticket_id))
