"""Desks and the clock, told in the plainest way: who sits where, what is due, and what is done when it is."""

from dawr.domain.venue import Venue
from dawr.operations.alarms import Ring, WindUp
from dawr.operations.desks import BreakDesk, CloseDesk, OpenDesk
from tests.operations.line_model import No, Plain, Row, line_of
from tests.operations.pin_model import PinModel

MOST_MISSES = 3
LONGEST_BREAK_MS = 12 * 60 * 60_000


class DeskModel(PinModel):
    def __init__(self, venue: Venue, now: int) -> None:
        super().__init__(venue, now)
        self.pins: dict[str, Row] = {}
        self.desks: dict[str, Row] = {}

    def open_desk(self, operation: OpenDesk) -> Plain:
        desk = operation.desk
        for queue in self.served_at[desk]:
            self._ensure_pin(queue, f"{operation.chance}:{queue}")
        before = self._desk(desk)
        if (before["state"], before["occupant"], before["misses"]) != ("open", self.actor, 0):
            self._open_desk(desk, self.actor)
        return self._desk(desk)

    def break_desk(self, operation: BreakDesk) -> Plain:
        desk, until = operation.desk, operation.until
        if not self.now < until <= self.now + LONGEST_BREAK_MS:
            raise No("invalid-value")
        before = self._desk(desk)
        occupant = self.actor if before["state"] == "closed" else before["occupant"]
        self._put_desk(desk, "break", occupant, until)
        self._alarm("break", desk, until)
        self._alarm("close", desk, self._end_of_day())
        self._happened("desk.on_break", None)
        return self._desk(desk)

    def close_desk(self, operation: CloseDesk) -> Plain:
        if self._desk(operation.desk)["state"] != "closed":
            self._close_desk(operation.desk)
        return self._desk(operation.desk)

    # What is due

    def wind_up(self, _: WindUp) -> bool:
        unwound = [
            queue for queue in self.queues if self.queues[queue]["hours"] and self.alarms.get(("hours", queue)) is None
        ]
        for queue in unwound:
            self._alarm("hours", queue, self._next_hour(queue, which=(0, 1)))
        return bool(unwound)

    def ring(self, operation: Ring) -> bool:
        kind, subject = operation.kind, operation.subject
        due_at = self.alarms.get((kind, subject))
        if due_at is None or due_at > self.now:
            return False
        self._alarm(kind, subject, None)
        rings = {
            "miss": self._ring_miss,
            "hold": self._ring_hold,
            "break": self._ring_break,
            "close": self._ring_close,
            "call": self._ring_call,
            "enter": self._ring_enter,
            "hours": self._ring_hours,
        }
        rings[kind](subject)
        return True

    def _ring_miss(self, ticket_id: str) -> None:
        """Nobody is missed while the desk is on its break."""
        ticket = self.tickets[ticket_id]
        if ticket["state"] != "called":
            return
        desk = self._desk(ticket["desk_id"])
        if desk["state"] == "break" and desk["until"] > self.now:
            self._alarm("miss", ticket_id, desk["until"] + self.queues[ticket["queue_id"]]["miss_after"] * 1000)
        else:
            self._verb(ticket, "miss")

    def _ring_hold(self, ticket_id: str) -> None:
        ticket = self.tickets[ticket_id]
        if ticket["state"] == "held" and line_of(ticket) == self.current(ticket["queue_id"]):
            self._verb(ticket, "resume")

    def _ring_break(self, desk: str) -> None:
        """Whoever sat there sits there again, if it is still their day."""
        row = self._desk(desk)
        if row["state"] != "break" or row["until"] > self.now:
            return
        if self._day_is_over(self._date(row["since"])):
            self._close_desk(desk)
        else:
            self._open_desk(desk, row["occupant"])

    def _ring_close(self, desk: str) -> None:
        if self._desk(desk)["state"] != "closed":
            self._close_desk(desk)

    def _ring_call(self, desk: str) -> None:
        """To an open desk with nobody at it, unless three in a row did not come."""
        row = self._desk(desk)
        there = [t for t in self.tickets.values() if t["desk_id"] == desk and t["state"] in {"called", "serving"}]
        if row["state"] != "open" or row["misses"] >= MOST_MISSES or there:
            return
        by_itself = [self.queues[queue] for queue in self.served_at[desk] if self.queues[queue]["auto_call"]]
        calling = [queue["id"] for queue in by_itself if queue["state"] != "paused"]
        first = self.first(calling)
        if first is None:
            self._call_after(desk)
        else:
            self._verb(first, "call", desk_id=desk)

    def _is_parked(self, visit_id: str) -> bool:
        visit = self.visits[visit_id]
        return visit["state"] == "open" and self._stage_in_queue(visit) is None

    def _ring_enter(self, visit_id: str) -> None:
        visit = self.visits[visit_id]
        if not self._is_parked(visit_id):
            return
        if self._is_over(visit):
            self._expire_visit(visit)
        else:
            self._go_on(visit, *self._choice(visit))

    def _ring_hours(self, queue: str) -> None:
        self._happened("queue.hours_began" if self._is_within_hours(queue) else "queue.hours_ended", queue)
        self._alarm("hours", queue, self._next_hour(queue, which=(0, 1)))

    def _set_timers(self, ticket: Row, verb: str) -> None:
        queue, desk = self.queues[ticket["queue_id"]], ticket["desk_id"]
        if verb in {"call", "recall"} and queue["miss_after"]:
            self._alarm("miss", ticket["ticket_id"], self.now + queue["miss_after"] * 1000)
        if verb == "hold" and queue["hold_limit"]:
            self._alarm("hold", ticket["ticket_id"], self.now + queue["hold_limit"] * 1000)
        if desk is None or not self._calls_by_itself(desk):
            return
        if verb in {"finish", "miss", "leave", "expire"}:
            self._call_after(desk)
        if desk in self.desks and verb in {"start", "finish", "miss"}:
            self.desks[desk]["misses"] = self.desks[desk]["misses"] + 1 if verb == "miss" else 0

    def _did_not_miss(self, desk: str) -> None:
        if desk in self.desks and self._calls_by_itself(desk):
            self.desks[desk]["misses"] = max(0, self.desks[desk]["misses"] - 1)

    def _calls_by_itself(self, desk: str) -> bool:
        return any(self.queues[queue]["auto_call"] for queue in self.served_at[desk])

    # What it is made of

    def _desk(self, desk: str | None) -> Row:
        """One that nobody has opened yet is closed."""
        never = {"state": "closed", "occupant": None, "since": 0, "until": None, "misses": 0}
        return {"venue_id": self.venue_id, "desk_id": desk, **self.desks.get(desk or "", never)}

    def _open_desk(self, desk: str, occupant: str | None) -> None:
        self._put_desk(desk, "open", occupant)
        self._alarm("close", desk, self._end_of_day())
        self._call_after(desk)
        self._happened("desk.opened", None)

    def _close_desk(self, desk: str) -> None:
        self._put_desk(desk, "closed", None)
        self._happened("desk.closed", None)

    def _put_desk(self, desk: str, state: str, occupant: str | None, until: int | None = None) -> None:
        self.desks[desk] = {"state": state, "occupant": occupant, "since": self.now, "until": until, "misses": 0}

    def _call_after(self, desk: str) -> None:
        """By itself, after the shortest time that one of its queues says."""
        seconds = [self.queues[queue]["auto_call"] for queue in self.served_at[desk] if self.queues[queue]["auto_call"]]
        if seconds:
            self._alarm("call", desk, self.now + min(seconds) * 1000)
