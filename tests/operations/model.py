"""A venue told in the plainest way: lists and dicts, and everything counted anew each time.

It shares no rule with the code it is compared with. Order is the order of a list: whoever
comes stands at its end, whoever may go to the front is put there, and who is held keeps
standing where they were.
"""

import copy
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.clockwork import Expire, ExpireEnded
from dawr.operations.operation import Operation
from dawr.operations.staff import Call, CallNext, Finish, Hold, Miss, Recall, Resume, Start
from dawr.operations.visitor import Issue, Leave, Rejoin
from dawr.reliability.idempotency import Claim

Plain = Any
"""Numbers, texts, lists and dicts."""
Seen = tuple[int, str, str | None, str | None, int]
"""An event: version, kind, queue, ticket, time."""

OFFSET_MS = 3 * 60 * 60 * 1000
DAY_START_MS = 5 * 60 * 60 * 1000
ENDED = {"finished", "left", "expired"}
NEAR_TURN = 3
TIMES = ("called", "recalled", "started", "finished", "missed", "rejoined", "held", "resumed", "left", "expired")
CHANGES = {
    Recall: ("called", "called", "recalled"),
    Start: ("called", "serving", "started"),
    Finish: ("called serving", "finished", "finished"),
    Miss: ("called", "missed", "missed"),
    Hold: ("waiting", "held", "held"),
    Resume: ("held", "waiting", "resumed"),
    Leave: ("waiting called held missed", "left", "left"),
    Expire: ("waiting called serving held missed", "expired", "expired"),
}
"""Verb → from, to, participle."""


class No(Exception):
    """The model refuses, under this code."""


class Model:
    def __init__(self, venue_id: str, queues: dict[str, dict[str, Any]], desks: dict[str, list[str]], now: int) -> None:
        self.venue_id = venue_id
        self.queues = queues
        self.desks = desks
        self.now = now
        self.reached = self._date()
        self.tickets: dict[str, dict[str, Any]] = {}
        self.standing: list[str] = []
        self.rounds: dict[tuple[str, str], int] = {}
        self.used_before: dict[tuple[str, str, int], int] = {}
        self.called: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
        self.served: dict[tuple[str, str, int], list[int]] = {}
        self.events: list[Seen] = []
        self.answers: dict[str, tuple[Claim, Plain, int]] = {}

    def copied(self) -> "Model":
        other = copy.copy(self)
        other.queues = {code: dict(queue) for code, queue in self.queues.items()}
        other.tickets = {ticket_id: dict(ticket) for ticket_id, ticket in self.tickets.items()}
        other.standing = list(self.standing)
        other.rounds = dict(self.rounds)
        other.used_before = dict(self.used_before)
        other.called = {key: list(calls) for key, calls in self.called.items()}
        other.served = {key: list(services) for key, services in self.served.items()}
        other.events = list(self.events)
        other.answers = dict(self.answers)
        return other

    # What is asked of it

    def answer(self, operation: Operation[Any], claim: Claim | None, upcoming: Sequence[Seen]) -> Plain:
        """What the venue says, and how it is afterwards. `upcoming` decides only what is nobody's business."""
        if claim is None:
            return self._outcome(operation, upcoming)
        first = self.answers.get(claim.key.key)
        if first is not None and first[2] > self.now:
            return {"body": first[1], "replayed": True} if first[0] == claim else {"refused": "idempotency-key-reused"}
        version = len(self.events)
        body = self._outcome(operation, upcoming)
        if isinstance(body, dict) and "refused" in body:
            return body
        if len(self.events) > version:
            self.answers[claim.key.key] = (claim, copy.deepcopy(body), self.now + claim.keep_ms)
        return {"body": body, "replayed": False}

    def lines(self) -> list[dict[str, Any]]:
        """Every line that has a ticket, and today's of every queue."""
        keys = {(t["queue_id"], t["day"], t["round"]) for t in self.tickets.values()}
        return [self.line(key) for key in sorted(keys | {self.current(queue) for queue in self.queues})]

    def line(self, key: tuple[str, str, int]) -> dict[str, Any]:
        tickets = self._of_line(key)
        states = [ticket["state"] for ticket in tickets]
        waiting = [ticket["priority"] for ticket in tickets if ticket["state"] == "waiting"]
        calls = self.called.get(key, [])
        return {
            "venue_id": self.venue_id,
            "queue_id": key[0],
            "day": key[1],
            "round": key[2],
            "last_number": len(tickets),
            "used_before": self.used_before.get(key, 0),
            "waiting": [waiting.count(priority) for priority in range(4)],
            **{state: states.count(state) for state in ("called", "serving", "held", "missed", "finished")},
            "current_number": calls[-1][0] if calls else None,
            "calls": len(calls),
            "waits_ms": sum(waited for _, waited in calls),
            "services_ms": sum(self.served.get(key, [])),
        }

    def ahead(self, ticket: dict[str, Any]) -> int:
        """Of those who wait; who is held keeps standing, and is told too."""
        if ticket["state"] not in {"waiting", "held"}:
            return 0
        key = (ticket["queue_id"], ticket["day"], ticket["round"])
        others = [other for other in self._of_line(key) if other["state"] == "waiting" and other is not ticket]
        return self._in_order([*others, ticket]).index(ticket)

    def first(self, queues: list[str]) -> dict[str, Any] | None:
        waiting = [t for queue in queues for t in self._of_line(self.current(queue)) if t["state"] == "waiting"]
        return next(iter(self._in_order(waiting)), None)

    def current(self, queue: str) -> tuple[str, str, int]:
        day = self.day()
        return (queue, day, self.rounds.get((queue, day), 1))

    def day(self) -> str:
        return max(self.reached, self._date())

    # How it answers

    def _outcome(self, operation: Operation[Any], upcoming: Sequence[Seen]) -> Plain:
        """Whatever is refused is refused before anything changed."""
        try:
            return copy.deepcopy(self._do(operation, upcoming))
        except No as refusal:
            return {"refused": str(refusal)}

    def _do(self, operation: Operation[Any], upcoming: Sequence[Seen]) -> Plain:
        if isinstance(operation, ExpireEnded):
            return self._expire_ended(operation, upcoming)
        answers: dict[type[Operation[Any]], Callable[[Any], Plain]] = {
            Issue: self._issue,
            CallNext: self._call_next,
            Call: self._call,
            Rejoin: self._rejoin,
            ChangeQueue: self._change_queue,
            Reset: self._reset,
        }
        return answers.get(type(operation), self._one_verb)(operation)

    def _issue(self, operation: Issue) -> Plain:
        queue, visitor = cast("str", operation.queue), operation.visitor or operation.visit_id
        key = self.current(queue)
        held = self._open(queue, visitor)
        if (
            held is not None
            and held["day"] == key[1]
            and (held["round"] == key[2] or held["state"] in {"called", "serving"})
        ):
            return self._place(held, already=True)
        if self.queues[queue]["state"] == "closed":
            raise No("queue-closed")
        number = len(self._of_line(key)) + 1
        capacity, used = self.queues[queue]["capacity"], self.used_before.get(key, 0) + number
        if capacity is not None and used > capacity + self.queues[queue]["reserve"]:
            raise No("queue-full")
        if held is not None:
            self._change(held, "expired", "expired")
        ticket: dict[str, Any] = {
            "venue_id": self.venue_id,
            "ticket_id": operation.ticket_id,
            "queue_id": queue,
            "day": key[1],
            "round": key[2],
            "number": number,
            "label": f"{queue[0].upper()}{number:03}",
            "priority": operation.priority,
            "sequence": len(self.events) + 1,
            "visitor": visitor,
            "open_key": f"{queue}:{visitor}",
            "visit_id": operation.visit_id,
            "desk_id": None,
            "recalls": 0,
            "from_ticket_id": None,
            "name": None,
            "party_size": 1,
            "area": None,
            **{f"{participle}_at": None for participle in TIMES},
        }
        self.tickets[operation.ticket_id] = ticket
        self.standing.append(operation.ticket_id)
        self._change(ticket, "waiting", "issued")
        return self._place(ticket)

    def _call_next(self, operation: CallNext) -> Plain:
        queues = [cast("str", operation.queue)] if operation.queue else self.desks[operation.desk or ""]
        calling = [queue for queue in queues if self.queues[queue]["state"] != "paused"]
        if queues and not calling:
            raise No("queue-paused")
        first = self.first(calling)
        if first is not None:
            first["desk_id"] = operation.desk
            self._change(first, "called", "called")
        waiting = sum(sum(self.line(self.current(queue))["waiting"]) for queue in calling)
        return {
            "ticket": copy.deepcopy(first),
            "next": self.first(calling),
            "waiting": waiting,
            "queues": list(queues),
        }

    def _call(self, operation: Call) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        if self.queues[ticket["queue_id"]]["state"] == "paused":
            raise No("queue-paused")
        self._must_be("waiting", ticket)
        self._must_be_in_current_line(ticket)
        ticket["desk_id"] = operation.desk
        return self._change(ticket, "called", "called")

    def _rejoin(self, operation: Rejoin) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        self._must_be("missed", ticket)
        self._must_be_in_current_line(ticket)
        self.standing.remove(operation.ticket_id)
        if operation.where == "first":
            self.standing.insert(0, operation.ticket_id)
            ticket["sequence"] = -len(self.events) - 1
        else:
            self.standing.append(operation.ticket_id)
            ticket["sequence"] = len(self.events) + 1
        ticket["desk_id"] = None
        return self._place(self._change(ticket, "waiting", "rejoined"))

    def _one_verb(self, operation: Recall | Start | Finish | Miss | Hold | Resume | Leave | Expire) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        sources, target, participle = CHANGES[type(operation)]
        self._must_be(sources, ticket)
        if isinstance(operation, Hold | Resume):
            self._must_be_in_current_line(ticket)
        if isinstance(operation, Recall):
            ticket["recalls"] += 1
        return self._change(ticket, target, participle)

    def _change_queue(self, operation: ChangeQueue) -> Plain:
        queue = self.queues[operation.queue]
        allowed = {"open": "closed", "pause": "open", "resume": "paused", "close": "open paused"}[operation.verb]
        if queue["state"] not in allowed.split():
            raise No("queue-in-wrong-state")
        queue["state"] = {"open": "open", "pause": "paused", "resume": "open", "close": "closed"}[operation.verb]
        participle = {"open": "opened", "pause": "paused", "resume": "resumed", "close": "closed"}[operation.verb]
        self._happened(f"queue.{participle}", operation.queue)
        return {"queue": operation.queue, "state": queue["state"]}

    def _reset(self, operation: Reset) -> Plain:
        queue, day, number = self.current(operation.queue)
        ended = self.line((queue, day, number))
        used = ended["used_before"] + ended["last_number"] - sum(ended["waiting"]) - ended["held"] - ended["missed"]
        self.rounds[queue, day] = number + 1
        self.used_before[queue, day, number + 1] = used
        self._happened("queue.reset", queue)
        return [queue, day, number + 1]

    def _expire_ended(self, operation: ExpireEnded, upcoming: Sequence[Seen]) -> Plain:
        _, day, number = self.current(operation.queue_id)
        stale = [
            ticket["ticket_id"]
            for ticket in self.tickets.values()
            if ticket["queue_id"] == operation.queue_id
            and ticket["state"] not in ENDED
            and (ticket["day"] < day or (ticket["round"] < number and ticket["state"] in {"waiting", "held", "missed"}))
        ]
        order = [ticket for _, _, _, ticket, _ in upcoming]
        for ticket_id in sorted(stale, key=lambda ticket: order.index(ticket) if ticket in order else -1):
            self._change(self.tickets[ticket_id], "expired", "expired")
        return len(stale)

    # What it is made of

    def _change(self, ticket: dict[str, Any], state: str, participle: str) -> dict[str, Any]:
        key = (ticket["queue_id"], ticket["day"], ticket["round"])
        ticket["state"] = state
        ticket[f"{participle}_at"] = self.now
        if state in ENDED:
            ticket["open_key"] = None
        if participle == "called":
            waited = max(0, self.now - (ticket["rejoined_at"] or ticket["issued_at"]))
            self.called.setdefault(key, []).append((ticket["number"], waited))
        if state == "finished":
            self.served.setdefault(key, []).append(max(0, self.now - (ticket["started_at"] or ticket["called_at"])))
        self._happened(f"ticket.{participle}", ticket["queue_id"], ticket["ticket_id"])
        ticket["version"] = len(self.events)
        return ticket

    def _happened(self, kind: str, queue: str, ticket: str | None = None) -> None:
        self.reached = self.day()
        self.events.append((len(self.events) + 1, kind, queue, ticket, self.now))

    def _place(self, ticket: dict[str, Any], *, already: bool = False) -> Plain:
        key = (ticket["queue_id"], ticket["day"], ticket["round"])
        line, queue = self.line(key), self.queues[ticket["queue_id"]]
        mean = (5 * queue["mean_service_seconds"] * 1000 + line["services_ms"]) / (5 + line["finished"])
        ahead, desks = self.ahead(ticket), max(1, line["called"] + line["serving"])
        return {
            "queue": ticket["queue_id"],
            "ticket": ticket,
            "ahead": ahead,
            "position": ahead + 1 if ticket["state"] == "waiting" else 0,
            "wait_minutes": round(ahead * mean / desks / 60_000),
            "already": already,
            "reserve_mode": queue["capacity"] is not None
            and line["used_before"] + ticket["number"] > queue["capacity"],
            "is_near": ticket["state"] == "waiting" and ahead <= NEAR_TURN,
        }

    def _ticket(self, ticket_id: str) -> dict[str, Any]:
        if ticket_id not in self.tickets:
            raise No("unknown-ticket")
        return self.tickets[ticket_id]

    def _open(self, queue: str, visitor: str) -> dict[str, Any] | None:
        theirs = [t for t in self.tickets.values() if t["open_key"] == f"{queue}:{visitor}"]
        assert len(theirs) <= 1
        return theirs[0] if theirs else None

    def _must_be(self, states: str, ticket: dict[str, Any]) -> None:
        if ticket["state"] not in states.split():
            raise No("ticket-in-wrong-state")

    def _must_be_in_current_line(self, ticket: dict[str, Any]) -> None:
        if self.current(ticket["queue_id"]) != (ticket["queue_id"], ticket["day"], ticket["round"]):
            raise No("line-ended")

    def _of_line(self, key: tuple[str, str, int]) -> list[dict[str, Any]]:
        return [t for t in self.tickets.values() if (t["queue_id"], t["day"], t["round"]) == key]

    def _in_order(self, tickets: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(tickets, key=lambda t: (-t["priority"], self.standing.index(t["ticket_id"])))

    def _date(self) -> str:
        moment = datetime.fromtimestamp((self.now + OFFSET_MS - DAY_START_MS) / 1000, UTC)
        return moment.strftime("%Y-%m-%d")
