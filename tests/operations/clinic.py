"""A clinic in the middle of its morning, as rows: what a store would say when a transaction asks."""

from typing import Any

import msgspec

from dawr.domain.day import Day
from dawr.domain.events import NOBODY
from dawr.domain.line import Line
from dawr.domain.queue import QueueId
from dawr.domain.secret import hash_of
from dawr.domain.staff import AccountId, StaffMember
from dawr.domain.ticket import LineKey, Ticket, TicketId, VisitId
from dawr.domain.token import Token, TokenId
from dawr.domain.venue import Head
from dawr.domain.visit import Link, Visit
from dawr.operations.loaded import NotLoaded
from dawr.operations.operation import Operation
from dawr.operations.rows import ANSWERS, STAFF, TOKENS, VISITS, Table
from dawr.operations.transaction import Transaction
from dawr.ports import Kind, Rows, Wants
from tests.builders import MONDAY_AT_TEN, a_claim
from tests.domain.builders import LAB, VENUE, a_desk, a_line, a_queue, a_ticket, a_venue

NOW = MONDAY_AT_TEN
TODAY, YESTERDAY = Day("2026-03-02"), Day("2026-03-01")
CURRENT: LineKey = LineKey(LAB, TODAY, 2)
XRAY = QueueId("xray")

CLINIC = a_venue(a_queue("lab"), a_queue("xray"), desks=(a_desk("desk-1", "lab"), a_desk("desk-2", "lab", "xray")))
HEAD = Head(VENUE, epoch=1, day=TODAY, version=100, config_version=7)

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
    a_ticket(21, day=TODAY, round=1, number=1, state="called", called_at=NOW - 1),
    a_ticket(22, day=TODAY, round=1, number=2),
    a_ticket(31, day=YESTERDAY, round=1, number=1, state="missed"),
    a_ticket(41, day=TODAY, round=1, number=1, queue="xray", sequence=3),
)


VISIT_OF_WAITING, VISIT_OF_MISSED = VisitId("v1-waiting"), VisitId("v1-missed")
SECRET = "a secret"
PEOPLE = (
    StaffMember(VENUE, AccountId("account-of-owner"), "owner", "owner", 1),
    StaffMember(VENUE, AccountId("account-of-staff"), "staff", "staff", 1),
    StaffMember(VENUE, AccountId("account-of-gone"), "gone", "staff", 1, disabled_at=5),
)
STORED_ROWS: dict[Kind[Any, Any], list[Any]] = {
    VISITS: [
        Visit(VENUE, VISIT_OF_WAITING, hash_of(SECRET), "visitor-5", "open", 1, ticket_id=TicketId("t5")),
        Visit(VENUE, VISIT_OF_MISSED, hash_of(SECRET), "visitor-3", "open", 1, ticket_id=TicketId("t3")),
    ],
    STAFF: list(PEOPLE),
    TOKENS: [Token(VENUE, TokenId("v1-1"), "hash", "api", "staff", "A program", "amna", 1)],
    ANSWERS: [],
}


def link_of(visit_id: VisitId) -> Link:
    return Link(visit_id, hash_of(SECRET))


def of(number: int) -> TicketId:
    return TicketId(f"t{number}")


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


def a_transaction(wants: Wants | None = None, *, depth: int = 50, stored: tuple[Ticket, ...] = STORED) -> Transaction:
    tx = Transaction(CLINIC, HEAD, now=NOW)
    if wants is not None:
        tx.absorb(wants, found(wants, depth=depth, stored=stored), depth=depth)
    tx.begin(NOBODY)
    return tx


def everything(stored: tuple[Ticket, ...] = STORED) -> Wants:
    return Wants(
        tickets={ticket.ticket_id for ticket in stored},
        open_keys={ticket.open_key for ticket in stored if ticket.open_key} | {"lab:new", "xray:new"},
        places={ticket.line_key for ticket in stored},
        lines={line.key for line in lines_of(stored)},
        waiting={LAB, XRAY},
        ended={CURRENT},
        rows={ANSWERS: {a_claim().key}, VISITS: {VISIT_OF_WAITING, VISIT_OF_MISSED}, STAFF: set(), TOKENS: set()},
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
