"""Exit PINs, told in the plainest way: who knows the right one goes on, and who fails too often is locked out."""

from dawr.domain.pin import new_pin
from dawr.operations.pins import Done, GivePin, RenewPins, RotatePin, VerifyPin
from tests.operations.line_model import DAY_MS, No, Plain, Row
from tests.operations.reception_model import ReceptionModel

WINDOW_MS = 15 * 60_000
ROTATED_MS = 10 * 60_000
MOST_FAILURES = 5
WARNED_AT = 30


class PinModel(ReceptionModel):
    pins: dict[str, Row]
    desks: dict[str, Row]

    def give_pin(self, operation: GivePin) -> Plain:
        queue = str(operation.queue)
        self._must_sit_at(queue, is_manager=operation.is_manager)
        self._ensure_pin(queue, operation.chance)
        return [self._told(queue)]

    def rotate_pin(self, operation: RotatePin) -> Plain:
        queue = str(operation.queue)
        self._must_sit_at(queue, is_manager=operation.is_manager)
        if operation.pin is not None:
            known = [row for row in self._todays_pins().values() if row["pin"] == operation.pin]
            if known or self._was_a_moment_ago(queue, operation.pin):
                raise No("pin-taken")
        self._rotate(queue, operation.pin or self._made(queue, operation.chance))
        return [self._told(queue)]

    def renew_pins(self, operation: RenewPins) -> Plain:
        for queue in self.queues:
            self._rotate(queue, self._made(queue, f"{operation.chance}:{queue}"))
        return [self._told(queue) for queue in self.queues]

    def verify_pin(self, operation: VerifyPin) -> Plain:
        visit = self._leaving(operation)
        if visit is None:
            self._happened("pin.failed", operation.queue)
            self._count_at_queue(operation.queue)
            return {"refused": "number-wrong"}
        stage = visit["stages"][self._stage_for(visit, operation.queue)]
        if stage["state"] != "in_queue":
            raise No("not-entered" if stage["state"] == "ready" else "not-its-turn")
        ticket = self.tickets[stage["ticket_id"]]
        if not stage["pin"] and operation.link is not None:
            self._must_be("called serving", ticket)
            self._verb(ticket, "finish")
            return self._went(ticket)
        attempt = f"#{operation.attempt}" if operation.link is None else operation.attempt
        refusal = self._judge(visit, operation.queue, operation.pin, attempt)
        return {"refused": refusal} if refusal else self._examined(ticket, "pin")

    def _leaving(self, operation: VerifyPin) -> Row | None:
        """Whose visit it is. By name, the number of its latest ticket must be right too."""
        if operation.link is not None:
            visit = self._behind(operation.link)
            self._must_be_open(visit)
            return visit
        planned = self._planned(operation.visitor or "")
        ticket = None if planned is None else self.tickets.get(planned["ticket_id"] or "")
        if planned is None or ticket is None or self._is_over(planned):
            return None
        return planned if ticket["number"] == operation.number else None

    def done(self, operation: Done) -> Plain:
        """By name. Whether somebody has a plan is told to staff, and to who knows the PIN."""
        queue = operation.queue
        ticket = self._open(f"{queue}:{operation.visitor}")
        if operation.by_staff:
            return self._done_by_staff(queue, ticket)
        if operation.link is not None:
            own = self._behind(operation.link)
            if ticket is None or ticket["visit_id"] != own["visit_id"]:
                raise No("not-in-queue")
        if ticket is not None and (operation.link is not None or ticket["stage"] is None):
            return self._done_by_visitor(operation, ticket)
        if operation.pin is None:
            raise No("not-in-queue")
        visit = None if ticket is None else self.visits[ticket["visit_id"]]
        if ticket is None or visit is None or len(self._failures(visit, "~")) >= MOST_FAILURES:
            self._happened("pin.failed", queue)
            self._count_at_queue(queue)
            return {"refused": "pin-wrong"}
        refusal = self._judge(visit, queue, operation.pin, f"~{operation.attempt}")
        return {"refused": "pin-wrong"} if refusal else self._examined(ticket, "pin")

    def _done_by_staff(self, queue: str, ticket: Row | None) -> Plain:
        if ticket is None:
            raise No("not-in-queue")
        if ticket["state"] == "waiting" and self.queues[queue]["state"] == "paused":
            raise No("queue-paused")
        self._must_be("waiting called serving", ticket)
        return self._examined(ticket, "other")

    def _done_by_visitor(self, operation: Done, ticket: Row) -> Plain:
        """By the right PIN; where none is asked for, by the link."""
        if operation.link is not None and self._has_ended(ticket):
            raise No("line-ended")
        visit = self.visits[ticket["visit_id"]]
        is_called = ticket["state"] in {"called", "serving"}
        if is_called and operation.link is not None and not self._asks_for_pin(visit, ticket):
            self._verb(ticket, "finish")
            return self._went(ticket)
        if operation.pin is None:
            self._must_be("called serving", ticket)
        attempt = f"~{operation.attempt}" if operation.link is None else operation.attempt
        refusal = self._judge(visit, operation.queue, operation.pin, attempt)
        return {"refused": refusal} if refusal else self._examined(ticket, "pin")

    def _asks_for_pin(self, visit: Row, ticket: Row) -> bool:
        if ticket["stage"] is not None:
            return bool(visit["stages"][self._stage_with(visit, ticket)]["pin"])
        stages = [stage for journey in self.journeys.values() for stage in (*journey["fixed"], *journey["free"])]
        return any(stage["pin"] for stage in stages if stage["queue"] == ticket["queue_id"])

    def _examined(self, ticket: Row, why: str) -> Plain:
        self._finish_examined(ticket, why)
        return self._went(ticket)

    def _went(self, ticket: Row) -> Plain:
        return {"ticket": ticket, "now": self._whereabouts(self.visits[ticket["visit_id"]])}

    # What they share

    def _judge(self, visit: Row, queue: str, pin: str | None, attempt: str) -> str | None:
        if visit["locked_at"] is not None:
            return "visit-locked"
        if pin is None:
            return "pin-needed"
        if attempt[:1] in {"~", "#"} and len(self._failures(visit, attempt[0])) >= MOST_FAILURES:
            raise No("pin-tries-used-up")
        todays = {code: row["pin"] for code, row in self._todays_pins().items()}
        if todays.get(queue) == pin:
            return None
        if queue in todays and self._was_a_moment_ago(queue, pin):
            return "pin-rotated"
        if attempt not in {by for at, by in visit["failures"] if -DAY_MS <= self.now - at < WINDOW_MS}:
            self._count_failure(visit, queue, attempt)
        return "pin-of-another-clinic" if pin in todays.values() else "pin-wrong"

    def _count_failure(self, visit: Row, queue: str, attempt: str) -> None:
        recent = [[at, by] for at, by in visit["failures"] if -DAY_MS <= self.now - at < WINDOW_MS]
        visit["failures"] = [*recent, [self.now, attempt]]
        self._happened("pin.failed", queue, visit=visit["visit_id"])
        if len(self._failures(visit, "")) >= MOST_FAILURES:
            visit["locked_at"] = self.now
            self._tell("visit.locked", visit)
        self._count_at_queue(queue)

    def _count_at_queue(self, queue: str) -> None:
        row = self._todays_pins().get(queue)
        if row is not None:
            failures = [at for at in row["failures"] if -DAY_MS <= self.now - at < WINDOW_MS]
            row["failures"] = [*failures, self.now][-WARNED_AT:]
            if len(failures) == WARNED_AT - 1:
                self._happened("pin.warned", queue)

    def _failures(self, visit: Row, kind: str) -> list[str]:
        """Of those who knew the name alone (~), name and number (#), or had the link: each kind is counted apart."""
        recent = [by for at, by in visit["failures"] if -DAY_MS <= self.now - at < WINDOW_MS]
        return [by for by in recent if (by[0] if by[:1] in {"~", "#"} else "") == kind]

    def _must_sit_at(self, queue: str, *, is_manager: bool) -> None:
        taken = {desk: row["occupant"] for desk, row in self.desks.items() if row["state"] != "closed"}
        theirs = [desk for desk, occupant in taken.items() if occupant == self.actor]
        if not is_manager and not any(queue in self.served_at[desk] for desk in theirs):
            raise No("not-at-this-desk")

    def _ensure_pin(self, queue: str, chance: str) -> None:
        if queue not in self._todays_pins():
            self._new_pin(queue, self._made(queue, chance))
            self._happened("pin.made", queue)

    def _rotate(self, queue: str, pin: str) -> None:
        row = self._todays_pins().get(queue)
        if row is None:
            self._new_pin(queue, pin)
        else:
            recent = [[earlier, ended] for earlier, ended in row["rotated"] if -DAY_MS <= self.now - ended < ROTATED_MS]
            row |= {"rotated": [*recent, [row["pin"], self.now]], "pin": pin, "made_at": self.now}
        self._happened("pin.rotated", queue)

    def _new_pin(self, queue: str, pin: str) -> None:
        self.pins[queue] = {"day": self.day(), "pin": pin, "made_at": self.now, "rotated": [], "failures": []}

    def _made(self, queue: str, chance: str) -> str:
        """Made of chance, as the code makes it; that nobody else has it is looked at here."""
        todays = [row["pin"] for row in self._todays_pins().values()]
        mine = self.pins.get(queue, {"pin": "none", "rotated": []})
        earlier = [pin for pin, ended in mine["rotated"] if -DAY_MS <= self.now - ended < ROTATED_MS]
        pin = new_pin(chance, 2, todays, [mine["pin"], *earlier])
        assert pin not in todays
        assert pin not in earlier
        return pin

    def _was_a_moment_ago(self, queue: str, pin: str) -> bool:
        rotated = self.pins[queue]["rotated"] if queue in self._todays_pins() else []
        return any(earlier == pin and -DAY_MS <= self.now - ended < ROTATED_MS for earlier, ended in rotated)

    def _todays_pins(self) -> dict[str, Row]:
        return {queue: row for queue, row in self.pins.items() if row["day"] == self.day()}

    def _told(self, queue: str) -> Row:
        return {"queue_id": queue, "pin": self.pins[queue]["pin"]}
