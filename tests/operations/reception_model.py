"""What staff do for a visitor in front of them, told in the plainest way."""

from collections.abc import Callable
from typing import Any

from dawr.operations.reception import (
    AddStage,
    ChangePath,
    CompleteStage,
    EndVisit,
    EnterStage,
    MoveTo,
    NewLink,
    OfVisit,
    RemoveFromQueue,
    ResetPath,
    SkipStage,
    Transfer,
    Unlock,
)
from tests.operations.line_model import No, Plain, Row
from tests.operations.visit_model import DONE, VisitModel


class ReceptionModel(VisitModel):
    def transfer(self, operation: Transfer) -> Plain:
        ticket, queue = self._ticket(operation.ticket_id), operation.queue
        is_done = ticket["state"] == "serving"
        self._must_be("waiting called serving held missed", ticket)
        visit = self.visits[ticket["visit_id"]]
        self._must_take(queue)
        if self._has_ended(ticket):
            raise No("line-ended")
        if self._open(f"{queue}:{ticket['visitor']}"):
            raise No("place-taken")
        before = dict(visit)
        verb = "finish" if is_done else "leave"
        self._change(ticket, verb, more={"next": queue})
        self._set_timers(ticket, verb)
        at = None
        if visit["stages"] is not None:
            self._set_stage(visit, self._stage_with(visit, ticket), state="completed" if is_done else "locked")
            at = self._pending(visit, queue)
            if at is None:
                at = self._append_stage(visit, queue, pin=True)
        following = self._next_ticket(visit, queue, at, came_from=ticket)
        visit["ticket_id"] = following["ticket_id"]
        if at is not None:
            self._set_stage(visit, at, state="in_queue", ticket_id=following["ticket_id"], number=following["number"])
        self._remember(ticket, visit, before)
        return following

    def of_visit(self, operation: OfVisit) -> Plain:
        visit = self._visit(operation.visit_id)
        self._must_be_under_way(visit)
        doing: dict[type[OfVisit], Callable[[Row, Any], object]] = {
            NewLink: self._new_link,
            Unlock: self._unlock,
            EnterStage: lambda visit, _: self._enter_next(visit),
            RemoveFromQueue: self._remove,
            EndVisit: self._go_home,
            MoveTo: self._move,
            AddStage: self._add_stage,
            SkipStage: self._skip_stage,
            CompleteStage: self._complete_stage,
            ResetPath: self._reset_path,
            ChangePath: self._change_path,
        }
        doing[type(operation)](visit, operation)
        return self._whereabouts(visit)

    def _new_link(self, visit: Row, operation: NewLink) -> None:
        visit["secret_hash"] = operation.secret_hash
        self._tell("visit.link_renewed", visit)

    def _unlock(self, visit: Row, _: Unlock) -> None:
        if visit["failures"] or visit["locked_at"] is not None:
            visit |= {"failures": [], "locked_at": None}
            self._tell("visit.unlocked", visit)

    def _remove(self, visit: Row, _: RemoveFromQueue) -> None:
        if visit["ticket_id"] is not None:
            self._verb(self.tickets[visit["ticket_id"]], "leave")

    def _go_home(self, visit: Row, _: EndVisit) -> None:
        ticket = self.tickets.get(visit["ticket_id"] or "")
        if ticket is not None and ticket["open_key"]:
            self._verb(ticket, "leave", for_good=True)
        else:
            self._end_visit(visit, "left")

    def _move(self, visit: Row, operation: MoveTo) -> None:
        self._must_have_path(visit)
        if self._stage_in_queue(visit) is None:
            raise No("stage-in-wrong-state")
        self.transfer(Transfer(visit["ticket_id"], operation.queue))

    def _add_stage(self, visit: Row, operation: AddStage) -> None:
        if visit["stages"] is None or self._pending(visit, operation.queue) is not None:
            raise No("stage-in-wrong-state")
        self._append_stage(visit, operation.queue, pin=operation.pin)
        self._tell("visit.stage_added", visit)

    def _skip_stage(self, visit: Row, operation: SkipStage) -> None:
        self._end_stage(visit, operation.queue, "skipped")

    def _complete_stage(self, visit: Row, operation: CompleteStage) -> None:
        stage = visit["stages"][self._stage_for(visit, operation.queue)]
        if stage["state"] != "in_queue":
            self._end_stage(visit, operation.queue, "completed")
            return
        ticket = self.tickets[stage["ticket_id"]]
        if ticket["state"] == "held":
            self._verb(ticket, "resume")
        self._finish_examined(ticket, operation.why)

    def _reset_path(self, visit: Row, _: ResetPath) -> None:
        self._must_have_path(visit)
        self._out_of_queue(visit)
        fresh = {"state": "locked", "ticket_id": None, "number": None}
        self._tell("visit.path_reset", visit)
        self._carry_on(visit, [stage | fresh for stage in visit["stages"]])

    def _change_path(self, visit: Row, operation: ChangePath) -> None:
        """What was done stays done, and who stands in one of its queues stays there."""
        self._must_have_path(visit)
        audience = operation.audience or visit["audience"] or "any"
        journey = self._journey(operation.journey, audience)
        known = {s["queue"]: s for s in visit["stages"] if s["state"] in {*DONE, "in_queue"}}
        stages = [
            {**known.get(stage["queue"], stage), "pin": stage["pin"], "fixed": stage["fixed"]}
            for stage in self._plan(journey, audience)
        ]
        planned = {stage["queue"] for stage in stages}
        stages += [stage for stage in known.values() if stage["state"] in DONE and stage["queue"] not in planned]
        if not any(stage["state"] == "in_queue" for stage in stages):
            self._out_of_queue(visit)
        visit |= {"journey": journey["id"], "audience": audience}
        self._tell("visit.path_changed", visit)
        self._carry_on(visit, stages)

    # What they share

    def _finish_examined(self, ticket: Row, why: str) -> None:
        """Whoever was examined is done here; who waits is called and started too, and may overtake others."""
        if ticket["state"] == "waiting":
            more = {**self._overtaking(why, self.ahead(ticket)), "unannounced": True}
            self._verb(ticket, "call", more=more)
            self._verb(ticket, "start")
        self._verb(ticket, "finish")

    def _end_stage(self, visit: Row, queue: str, state: str) -> None:
        at = self._stage_for(visit, queue)
        stage = visit["stages"][at]
        if stage["state"] in DONE:
            raise No("stage-in-wrong-state")
        if stage["state"] == "in_queue":
            self._verb(self.tickets[stage["ticket_id"]], "leave")
        self._set_stage(visit, at, state=state)
        self._tell(f"visit.stage_{state}", visit)
        self._carry_on(visit, visit["stages"])

    def _carry_on(self, visit: Row, stages: list[Row]) -> None:
        """Into the next queue, for whoever stands in none."""
        visit |= {"stages": stages, "changed_by": None}
        if self._stage_in_queue(visit) is None:
            self._go_on(visit, *self._choice(visit))

    def _must_have_path(self, visit: Row) -> None:
        if visit["stages"] is None:
            raise No("visit-in-wrong-state")

    def _out_of_queue(self, visit: Row) -> None:
        at = self._stage_in_queue(visit)
        if at is not None:
            self._verb(self.tickets[visit["stages"][at]["ticket_id"]], "leave")

    def _stage_for(self, visit: Row, queue: str) -> int:
        """The queue's stage; of several, the first that is not done, else the last."""
        theirs = [at for at, stage in enumerate(visit["stages"] or ()) if stage["queue"] == queue]
        if not theirs:
            raise No("not-in-plan")
        pending = self._pending(visit, queue)
        return theirs[-1] if pending is None else pending

    def _pending(self, visit: Row, queue: str) -> int | None:
        stages = enumerate(visit["stages"])
        return next((at for at, stage in stages if stage["queue"] == queue and stage["state"] not in DONE), None)

    def _append_stage(self, visit: Row, queue: str, *, pin: bool) -> int:
        new = {"queue": queue, "pin": pin, "fixed": False, "state": "locked", "ticket_id": None, "number": None}
        visit |= {"stages": [*visit["stages"], new], "changed_by": None}
        return len(visit["stages"]) - 1
