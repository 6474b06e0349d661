"""A venue told in the plainest way: lists and dicts, and everything counted anew each time.

It shares no rule with the code it is compared with. What a queue is, what a visit is, and so on is told in
`line_model.py`, `visit_model.py`, `reception_model.py`, `pin_model.py`, `desk_model.py` and `undo_model.py`, each of
which builds on the one before.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, cast

from dawr.domain.venue import Venue
from dawr.operations.admin import ChangeQueue, Reset
from dawr.operations.alarms import Ring, WindUp
from dawr.operations.clockwork import Expire, ExpireEnded
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk
from dawr.operations.operation import Operation
from dawr.operations.pins import Done, GivePin, RenewPins, RotatePin, VerifyPin
from dawr.operations.reception import OfVisit, Transfer
from dawr.operations.staff import (
    Call,
    CallNext,
    Extend,
    Finish,
    Hold,
    Miss,
    Prioritize,
    PutBack,
    Recall,
    Resume,
    Start,
)
from dawr.operations.undo import Undo, UndoLeave
from dawr.operations.visitor import Issue, Leave, Rejoin
from dawr.operations.visits import EnterByLink, LeaveByLink, RejoinByLink, StartVisit
from dawr.reliability.idempotency import Claim
from tests.operations.line_model import No, Plain, Seen
from tests.operations.undo_model import UndoModel

ONE_VERB: dict[type[Operation[Any]], str] = {
    Recall: "recall",
    Start: "start",
    Miss: "miss",
    Resume: "resume",
    Leave: "leave",
    Expire: "expire",
}


class Job(NamedTuple):
    """What somebody asks for."""

    operation: Operation[Any]
    claim: Claim | None
    actor: str


class Model(UndoModel):
    def __init__(self, venue: Venue, now: int) -> None:
        super().__init__(venue, now)
        self.answers: dict[str, tuple[Claim, Plain, int]] = {}

    def after(self, job: Job, upcoming: Sequence[Seen]) -> tuple[Plain, Self]:
        """What the venue says, and how it is then; this one stays as it is. A refusal by `No` changes nothing.

        `upcoming` decides only what is nobody's business.
        """
        other = self.copied()
        other.actor, other.upcoming = job.actor, upcoming
        try:
            return other._answer(job.operation, job.claim), other
        except No as refusal:
            return {"refused": str(refusal)}, self

    def _answer(self, operation: Operation[Any], claim: Claim | None) -> Plain:
        if claim is None:
            return copy.deepcopy(self._do(operation))
        first = self.answers.get(claim.key.key)
        if first is not None and first[2] > self.now:
            if first[0] != claim:
                raise No("idempotency-key-reused")
            return {"body": first[1], "replayed": True}
        changes = self.changes
        body = copy.deepcopy(self._do(operation))
        if isinstance(body, dict) and "refused" in body:
            return body
        if self.changes > changes:
            self.answers[claim.key.key] = (claim, body, self.now + claim.keep_ms)
        return {"body": body, "replayed": False}

    def _do(self, operation: Operation[Any]) -> Plain:
        if type(operation) in ONE_VERB:
            return self._one_verb(operation)
        if isinstance(operation, OfVisit):
            return self.of_visit(operation)
        answers: dict[type[Operation[Any]], Callable[[Any], Plain]] = {
            Issue: self._issue,
            CallNext: self._call_next,
            Call: self._call,
            Finish: self._finish,
            Extend: self._extend,
            Prioritize: self._prioritize,
            Rejoin: self._rejoin,
            PutBack: self._put_back,
            Hold: self._hold,
            ChangeQueue: self._change_queue,
            Reset: self._reset,
            ExpireEnded: self._expire_ended,
            StartVisit: self.start_visit,
            EnterByLink: self.enter_by_link,
            LeaveByLink: self.leave_by_link,
            RejoinByLink: self.rejoin_by_link,
            Transfer: self.transfer,
            VerifyPin: self.verify_pin,
            Done: self.done,
            GivePin: self.give_pin,
            RotatePin: self.rotate_pin,
            RenewPins: self.renew_pins,
            OpenDesk: self.open_desk,
            BreakDesk: self.break_desk,
            CloseDesk: self.close_desk,
            Ring: self.ring,
            WindUp: self.wind_up,
            Undo: self.undo,
            UndoLeave: self.undo_leave,
        }
        return answers[type(operation)](operation)

    def _issue(self, operation: Issue) -> Plain:
        queue, visitor = cast("str", operation.queue), operation.visitor or operation.visit_id
        own = self._open(f"{queue}:{visitor}")
        if own is not None and not self._has_ended(own):
            if own["stage"] is not None and not operation.by_staff:
                self._must_take(queue)
                if self._is_full(queue):
                    raise No("queue-full")
            if own["state"] == "missed":
                self._verb(own, "rejoin", where="last", desk_id=None)
            return self._place(own, already=True)
        self._must_take(queue)
        if self._is_full(queue):
            raise No("queue-full")
        if own is not None:
            self._end(own, "expire")
        waiting = self.line(self.current(queue))["waiting"]
        more = self._overtaking(operation.why, sum(waiting[: operation.priority]))
        ticket = self._give_number(
            queue,
            operation.ticket_id,
            more,
            priority=operation.priority,
            visitor=visitor,
            open_key=f"{queue}:{visitor}",
            visit_id=operation.visit_id,
        )
        given: dict[str, Any] = {"priority": operation.priority, "why": operation.why} if operation.priority else {}
        self._new_visit(operation.visit_id, operation.secret_hash, visitor, ticket_id=operation.ticket_id, **given)
        return self._place(ticket)

    def _call_next(self, operation: CallNext) -> Plain:
        queues = [cast("str", operation.queue)] if operation.queue else self.served_at[operation.desk or ""]
        calling = [queue for queue in queues if self.queues[queue]["state"] != "paused"]
        if queues and not calling:
            raise No("queue-paused")
        first = self.first(calling)
        if first is not None:
            self._verb(first, "call", desk_id=operation.desk)
        waiting = sum(sum(self.line(self.current(queue))["waiting"]) for queue in queues)
        return {
            "ticket": copy.deepcopy(first),
            "next": self.first(calling),
            "waiting": waiting,
            "queues": list(queues),
            "paused": [queue for queue in queues if queue not in calling],
        }

    def _call(self, operation: Call) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        if self.queues[ticket["queue_id"]]["state"] == "paused":
            raise No("queue-paused")
        more = self._overtaking(operation.why, self.ahead(ticket))
        return self._verb(ticket, "call", more=more, desk_id=operation.desk)

    def _finish(self, operation: Finish) -> Plain:
        """Who missed their call is finished by their PIN alone."""
        ticket = self._ticket(operation.ticket_id)
        self._must_be("called serving", ticket)
        return self._verb(ticket, "finish")

    def _extend(self, operation: Extend) -> Plain:
        ticket = self._verb(self._ticket(operation.ticket_id), "extend")
        due_at = self.alarms.get(("miss", operation.ticket_id))
        if due_at is not None:
            self._alarm("miss", operation.ticket_id, max(self.now, due_at) + operation.minutes * 60_000)
        return ticket

    def _prioritize(self, operation: Prioritize) -> Plain:
        """Behind everybody of that priority. It goes along with the visit."""
        ticket, priority = self._ticket(operation.ticket_id), operation.priority
        more = {}
        if priority > ticket["priority"] and ticket["state"] == "waiting":
            more = self._overtaking(operation.why, self._overtakes(ticket, priority))
        visit = self.visits[ticket["visit_id"]]
        before = dict(visit)
        self._verb(ticket, "prioritize", more=more, priority=priority, where="last")
        visit |= {"priority": priority, "why": operation.why}
        self._remember(ticket, visit, before)
        return ticket

    def _rejoin(self, operation: Rejoin) -> Plain:
        ticket = self._ticket(operation.ticket_id)
        more = {}
        if operation.where == "first":
            line = self.line(self.current(ticket["queue_id"]))
            more = self._overtaking(operation.why, line["waiting"][ticket["priority"]])
        return self._place(self._verb(ticket, "rejoin", more=more, where=operation.where, desk_id=None))

    def _put_back(self, operation: PutBack) -> Plain:
        """Missed and back: as if it were one change, when it is undone."""
        ticket = self._ticket(operation.ticket_id)
        if ticket["state"] == "missed":
            return self._rejoin(Rejoin(operation.ticket_id, operation.where, operation.why))
        self._verb(ticket, "miss")
        called = self.replaced[operation.ticket_id]
        placed = self._rejoin(Rejoin(operation.ticket_id, operation.where, operation.why))
        self.replaced[operation.ticket_id] = called
        return placed

    def _hold(self, operation: Hold) -> Plain:
        """Whoever was called gives the desk back."""
        ticket = self._ticket(operation.ticket_id)
        was_at = ticket["desk_id"]
        self._verb(ticket, "hold", desk_id=None)
        if was_at is not None:
            self._call_after(was_at)
        return ticket

    def _one_verb(self, operation: Any) -> Plain:  # noqa: ANN401 - one of those above
        ticket = self._ticket(operation.ticket_id)
        facts = {"recalls": ticket["recalls"] + 1} if isinstance(operation, Recall) else {}
        return self._verb(ticket, ONE_VERB[type(operation)], **facts)

    def _change_queue(self, operation: ChangeQueue) -> Plain:
        queue = self.queues[operation.queue]
        allowed = {"open": "closed", "pause": "open", "resume": "paused", "close": "open paused"}[operation.verb]
        if queue["state"] not in allowed.split():
            raise No("queue-in-wrong-state")
        queue["state"] = {"open": "open", "pause": "paused", "resume": "open", "close": "closed"}[operation.verb]
        participle = {"open": "opened", "pause": "paused", "resume": "resumed", "close": "closed"}[operation.verb]
        self._happened(f"queue.{participle}", operation.queue)
        if queue["state"] == "open":
            self._retry_parked()
        return {"queue": operation.queue, "state": queue["state"]}

    def _reset(self, operation: Reset) -> Plain:
        queue, day, number = self.current(operation.queue)
        ended = self.line((queue, day, number))
        used = ended["used_before"] + ended["last_number"] - sum(ended["waiting"]) - ended["held"] - ended["missed"]
        self.rounds[queue, day] = number + 1
        self.used_before[queue, day, number + 1] = used
        self._happened("queue.reset", queue)
        self._retry_parked()
        return [queue, day, number + 1]

    def _expire_ended(self, operation: ExpireEnded) -> Plain:
        if self._is_ahead():
            return 0
        theirs = [t for t in self.tickets.values() if t["queue_id"] == operation.queue_id and t["open_key"]]
        stale = [ticket["ticket_id"] for ticket in theirs if self._has_ended(ticket)]
        order = [event[3] for event in self.upcoming]
        for ticket_id in sorted(stale, key=lambda ticket: order.index(ticket) if ticket in order else -1):
            self._end(self.tickets[ticket_id], "expire")
        return len(stale)
