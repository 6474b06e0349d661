"""What was done to a ticket last is undone in the middle of any history, and leaves no trace but a used number."""

from random import Random
from typing import Any

import pytest
from hypothesis.stateful import rule

from dawr.domain import Link, TicketId
from dawr.domain.ticket import VERBS as TICKET_VERBS
from dawr.operations.admin import ChangeQueue
from dawr.operations.operation import Operation
from dawr.operations.pins import VerifyPin
from dawr.operations.reception import CompleteStage, EndVisit, RemoveFromQueue, Transfer
from dawr.operations.undo import Undo, UndoLeave
from dawr.operations.visitor import Leave
from dawr.operations.visits import LeaveByLink
from tests.operations.line_model import Row, Seen
from tests.operations.machine import Venues, World, seeds, walk
from tests.operations.model import Job
from tests.operations.wishes import MINUTE, QUEUES, SECOND, VERBS, Wishes

UNDONE = {change.event for verb, change in TICKET_VERBS.items() if verb not in {"issue", "expire"}}
ADVANCES = {
    "ticket.finished of a single ticket",
    "ticket.finished and went on",
    "ticket.finished and waits for a queue",
    "ticket.finished and is done",
    "ticket.left and went on",
    "ticket.left and waits for a queue",
    "ticket.left and is done",
}
"""What becomes of a visit when one of its tickets ends."""

PUT_BACK = ["ticket.missed", "ticket.rejoined"]
"""Two changes that are undone as one."""
ALSO_UNDONE = {"PutBack", "LeaveByLink"}
ENOUGH = 20
"""Walks in which what is rare happens, too."""
OFTEN_UNDONE = {"ticket.called", "ticket.finished"}

LIVELY = [*(name for name in VERBS if name not in {"leave", "expire"}), "finish", "finish"]
"""Done more often than what ends a ticket before its time."""


class Regretting(Venues):
    """A venue where, now and then, somebody does something and takes it back at once."""

    @rule(seed=seeds)
    def do_it_undo_it_and_do_it_again(self, seed: int) -> None:
        wishes = self.wishes(self.luck(seed))
        for _ in range(4):
            self.clock.now += wishes.luck.choice([SECOND, MINUTE])
            self.model.now = self.clock.now
            job = Job(self.something(wishes), None, "amna")
            self.do_and_undo(job)
            self.happen([job])
        self.happen([Job(wishes.operation(wishes.luck.choice(["start visit", "issue"])), None, "amna")])
        self.shut_or_open(wishes.luck)

    def shut_or_open(self, luck: Random) -> None:
        """All queues at once, for a while: whoever is done then has nowhere to go."""
        is_shut = any(queue["state"] == "closed" for queue in self.model.queues.values())
        if luck.random() < (0.5 if is_shut else 0.25):
            for queue in QUEUES:
                self.happen([Job(ChangeQueue(queue, "open" if is_shut else "close"), None, "amna")])

    def do_and_undo(self, job: Job) -> None:
        before, version, known = self.picture(), len(self.model.events), set(self.model.tickets)
        self.happen([job])
        changed = [event for event in self.model.events[version:] if event[3] in known]
        is_one = len(changed) == 1 or [event[1] for event in changed] == PUT_BACK
        if not is_one or changed[-1][1] not in UNDONE:
            return  # refused, or a change of several steps
        ticket_id, what = changed[-1][3] or "", self.what_became_of(changed[-1])
        undo: Operation[Any] = Undo(TicketId(ticket_id), changed[-1][0])
        if isinstance(job.operation, LeaveByLink):
            undo = UndoLeave(job.operation.link)
            left_at = self.model.tickets[ticket_id]["left_at"]
            if self.model.others_there(before["tickets"][ticket_id], since=left_at):
                self.happen([Job(undo, None, "badr")])
                return  # whoever comes back to a desk that has called somebody else at this moment waits

        (said,) = self.happen([Job(undo, None, "badr")])

        assert "refused" not in said, f"{what}: {said}"
        assert_is_as_before(before, self.picture(), ticket_id, given_up=set(self.model.tickets) - known)
        self.world.undone |= {changed[-1][1], what, type(job.operation).__name__}

    def something(self, wishes: Wishes) -> Operation[Any]:
        """A verb that the state of somebody's ticket allows, or one of the other ways to end it."""
        model, luck = self.model, wishes.luck
        tickets = [ticket for ticket in model.tickets.values() if ticket["open_key"] and not model._has_ended(ticket)]
        if not tickets:
            return wishes.operation("start visit")
        state = luck.choice(sorted({ticket["state"] for ticket in tickets}))
        ticket = luck.choice([ticket for ticket in tickets if ticket["state"] == state])
        ticket_id, visit, queue = ticket["ticket_id"], model.visits[ticket["visit_id"]], ticket["queue_id"]
        fitting = [VERBS[name][1](ticket_id) for name in LIVELY if state in VERBS[name][0].split()]
        pin = model.pins[queue]["pin"] if queue in model.pins else "00"
        link = Link(visit["visit_id"], visit["secret_hash"])
        others: list[Operation[Any]] = [
            Transfer(ticket_id, luck.choice(QUEUES)),
            EndVisit(visit["visit_id"]),
            LeaveByLink(link),
            RemoveFromQueue(visit["visit_id"]),
            CompleteStage(visit["visit_id"], queue),
            VerifyPin(queue, pin, f"attempt-{next(self.ids)}", link=link),
        ]
        return luck.choice([*fitting, *fitting, *fitting, Leave(ticket_id), *others])

    def what_became_of(self, event: Seen) -> str:
        visit = self.model.visits[self.model.tickets[event[3] or ""]["visit_id"]]
        if visit["ticket_id"] != event[3]:
            return f"{event[1]} and went on"
        if visit["stages"] is None:
            return f"{event[1]} of a single ticket"
        if visit["state"] != "open":
            return f"{event[1]} and is done"
        is_nowhere = any(stage["state"] == "ready" for stage in visit["stages"])
        return f"{event[1]} and waits for a queue" if is_nowhere else event[1]


def assert_is_as_before(before: Row, after: Row, ticket_id: str, *, given_up: set[str]) -> None:
    """All of it, but for the ticket's version, and for numbers that were given on the way and are used now."""
    for other in given_up:
        used = after["tickets"].pop(other)
        assert used["state"] == "left"
        assert used["open_key"] is None
        del after["ahead"][other]
        for line in (line for line in before["lines"] + before["current"] if line["queue_id"] == used["queue_id"]):
            if (line["day"], line["round"]) == (used["day"], used["round"]):
                line["last_number"] += 1
    assert after["tickets"].pop(ticket_id) | {"version": 0} == before["tickets"].pop(ticket_id) | {"version": 0}
    assert after["tickets"] == before["tickets"]
    assert after["visits"] == before["visits"]
    assert after["ahead"] == before["ahead"]
    assert after["current"] == before["current"]
    assert by_key(before["lines"]).items() <= by_key(after["lines"]).items()


def by_key(lines: list[Row]) -> dict[tuple[str, str, int], str]:
    return {(line["queue_id"], line["day"], line["round"]): str(line) for line in lines}


@pytest.mark.parametrize(
    ("world", "examples"),
    [
        ("sqlite", 6),
        pytest.param("sqlite", 60, marks=pytest.mark.slow),
        pytest.param("postgres", 20, marks=pytest.mark.slow),
    ],
    indirect=["world"],
)
def test_whatever_is_undone_at_once_is_as_if_it_had_never_been(world: World, examples: int) -> None:
    walk(world, Regretting, examples=examples, steps=25)

    assert world.undone >= (UNDONE | ADVANCES | ALSO_UNDONE if examples >= ENOUGH else OFTEN_UNDONE)


@pytest.mark.prove
@pytest.mark.parametrize(("world", "examples"), [("sqlite", 200), ("postgres", 60)], indirect=["world"])
def test_a_long_history_of_regrets_leaves_no_trace(world: World, examples: int) -> None:
    walk(world, Regretting, examples=examples, steps=50)

    assert world.undone >= UNDONE | ADVANCES | ALSO_UNDONE
