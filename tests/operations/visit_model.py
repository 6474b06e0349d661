"""Whole stays, told in the plainest way: a single ticket, or a plan whose stages are gone through one by one."""

import msgspec

from dawr.domain.alarm import AlarmKind
from dawr.domain.venue import Venue
from dawr.domain.visit import Link
from dawr.operations.visits import EnterByLink, LeaveByLink, RejoinByLink, StartVisit
from tests.operations.line_model import VERBS, LineModel, No, Plain, Row

DONE = {"completed", "skipped"}
LOOKED_AGAIN_MS = 20_000
LEAVING_MS = 10_000


class VisitModel(LineModel):
    def __init__(self, venue: Venue, now: int) -> None:
        super().__init__(venue, now)
        setup = msgspec.to_builtins(venue)
        self.journeys: dict[str, Row] = {journey["id"]: journey for journey in setup["journeys"]}
        self.walks: dict[str, dict[str, int]] = setup["walking_minutes"]
        self.visits: dict[str, Row] = {}
        self.alarms: dict[tuple[AlarmKind, str], int | None] = {}

    # What is asked of it

    def start_visit(self, operation: StartVisit) -> Plain:
        journey = self._journey(operation.journey, operation.audience)
        stages = self._plan(journey, operation.audience)
        mine = self._planned(operation.visitor)
        if mine is not None and not self._is_over(mine):
            return self._whereabouts(mine, already=True)
        if mine is not None:
            self._expire_visit(mine)
        visit = self._new_visit(
            operation.visit_id,
            operation.secret_hash,
            operation.visitor,
            journey=journey["id"],
            audience=operation.audience,
            priority=operation.priority,
            why=operation.why if operation.priority else None,
            stages=stages,
        )
        choice = self._choice(visit)
        self._tell("visit.started", visit)
        self._go_on(visit, *choice)
        return self._whereabouts(visit)

    def enter_by_link(self, operation: EnterByLink) -> Plain:
        return self._whereabouts(self._enter_next(self._behind(operation.link)))

    def leave_by_link(self, operation: LeaveByLink) -> Plain:
        visit = self._behind(operation.link)
        before = dict(visit)
        ticket = self.tickets.get(visit["ticket_id"] or "")
        if ticket is not None and (visit["stages"] is None or ticket["open_key"]):
            self._verb(ticket, "leave", for_good=True)
        else:
            self._must_be_open(visit)
            self._end_visit(visit, "left")
        visit["left"] = before
        return self._whereabouts(visit)

    def rejoin_by_link(self, operation: RejoinByLink) -> Plain:
        visit = self._behind(operation.link)
        if visit["ticket_id"] is None:
            raise No("unknown-visit")
        ticket = self.tickets[visit["ticket_id"]]
        self._verb(ticket, "rejoin", where="last", desk_id=None)
        return self._whereabouts(visit)

    # How a visit goes on

    def _end(self, ticket: Row, verb: str, *, for_good: bool = False) -> None:
        """A ticket ends; its visit ends, goes on, or can be gone on with."""
        visit = self.visits[ticket["visit_id"]]
        assert (visit["state"], visit["ticket_id"]) == ("open", ticket["ticket_id"])
        before = dict(visit)
        if visit["stages"] is not None and verb == "finish":
            self._advance(visit, ticket)
        else:
            self._change(ticket, verb)
            if visit["stages"] is None or for_good or self._day_is_over(ticket["day"]):
                self._end_visit(visit, VERBS[verb][1])
            else:
                self._alarm("enter", visit["visit_id"], self._end_of_day())
                self._set_stage(visit, self._stage_with(visit, ticket), state="ready")
        self._remember(ticket, visit, before)

    def _remember(self, ticket: Row, visit: Row, before: Row) -> None:
        """What an undo of the ticket's latest change brings back, as long as nothing else changes the visit."""
        replaced = self.replaced[ticket["ticket_id"]]
        assert replaced is not None
        replaced["visit"] = before
        visit["changed_by"] = ticket["version"]

    def _advance(self, visit: Row, ticket: Row) -> None:
        self._set_stage(visit, self._stage_with(visit, ticket), state="completed")
        ats = self._next_stages(visit)
        is_late = bool(ats) and self._day_is_over(ticket["day"])
        candidates = [] if is_late else self._candidates(visit, ats)
        best = best_of(candidates)
        self._change(ticket, "finish", more={} if best is None else {"next": best["queue_id"]})
        if is_late:
            self._end_visit(visit, "expired")
        else:
            self._go_on(visit, ats, candidates)

    def _go_on(self, visit: Row, ats: list[int], candidates: list[Row]) -> None:
        best = best_of(candidates)
        if not ats:
            self._end_visit(visit, "finished")
        elif best is None:
            self._park(visit, ats, candidates)
        else:
            self._enter(visit, ats[candidates.index(best)])

    def _enter_next(self, visit: Row) -> Row:
        self._must_be_under_way(visit)
        if visit["stages"] is None or self._stage_in_queue(visit) is not None:
            raise No("nothing-to-enter")
        self._go_on(visit, *self._choice(visit))
        return visit

    def _enter(self, visit: Row, at: int) -> None:
        queue, visitor = visit["stages"][at]["queue"], visit["visitor"]
        own = self._open(f"{queue}:{visitor}")
        if own is not None and self._has_ended(own):
            self._end(own, "expire")
            own = None
        if own is None:
            ticket = self._next_ticket(visit, queue, at)
        else:
            if own["state"] == "missed":
                self._change(own, "rejoin", where="last", desk_id=None)
            ticket = self._adopt(visit, own, at)
        stages = [dict(stage, state="locked") if stage["state"] == "ready" else stage for stage in visit["stages"]]
        stages[at] = stages[at] | {"state": "in_queue", "ticket_id": ticket["ticket_id"], "number": ticket["number"]}
        visit |= {"stages": stages, "ticket_id": ticket["ticket_id"], "changed_by": None}

    def _next_ticket(self, visit: Row, queue: str, stage: int | None, came_from: Row | None = None) -> Row:
        """At the end of that line. The priority goes along, and why it was given."""
        if self._is_full(queue):
            raise No("queue-full")
        priority = visit["priority"] if came_from is None else came_from["priority"]
        waiting = self.line(self.current(queue))["waiting"]
        more = self._overtaking(visit["why"] or "other", sum(waiting[:priority]))
        return self._give_number(
            queue,
            self._upcoming_id(),
            {"visit": visit["visit_id"]} | more,
            priority=priority,
            visitor=visit["visitor"],
            open_key=f"{queue}:{visit['visitor']}",
            visit_id=visit["visit_id"],
            from_ticket_id=visit["ticket_id"],
            stage=stage,
        )

    def _adopt(self, visit: Row, own: Row, at: int) -> Row:
        """The visitor stands there with a ticket of their own: it is the stage's now, and its link leads nowhere.

        It is called as early as the visit's priority says.
        """
        single = self.visits[own["visit_id"]]
        self._end_visit(single, "left")
        single["ticket_id"] = None
        own |= {"visit_id": visit["visit_id"], "stage": at}
        self.replaced[own["ticket_id"]] = None
        more: Row = {"visit": visit["visit_id"]}
        if own["state"] == "waiting" and visit["priority"] > own["priority"]:
            more |= self._overtaking(visit["why"] or "other", self._overtakes(own, visit["priority"]))
            own |= {"priority": visit["priority"], "sequence": self._sit_down(own["ticket_id"], "last")}
        self._happened("ticket.adopted", own["queue_id"], own["ticket_id"], **more)
        own["version"] = len(self.events)
        return own

    def _park(self, visit: Row, ats: list[int], candidates: list[Row]) -> None:
        """Looked at again when something opens, soon if nobody knows when that is, and when the day ends."""
        moments = [candidate["opens_at"] for candidate in candidates if candidate["opens_at"] is not None]
        if any(candidate["left_out"] in {"closed", "full"} for candidate in candidates):
            moments.append(self.now + LOOKED_AGAIN_MS)
        self._alarm("enter", visit["visit_id"], min([self._end_of_day(), *moments]))
        if any(visit["stages"][at]["state"] != "ready" for at in ats):
            self._tell("visit.parked", visit)
            for at in ats:
                self._set_stage(visit, at, state="ready")

    def _retry_parked(self) -> None:
        """Visits that would be looked at again soon, because a queue was closed or full, are looked at now."""
        for key, due_at in self.alarms.items():
            if key[0] == "enter" and due_at is not None and self.now < due_at <= self.now + LOOKED_AGAIN_MS:
                self.alarms[key] = self.now

    def _expire_visit(self, visit: Row) -> None:
        ticket = self.tickets.get(visit["ticket_id"] or "")
        if ticket is not None and ticket["open_key"]:
            self._verb(ticket, "expire")
        else:
            self._end_visit(visit, "expired")

    def _end_visit(self, visit: Row, state: str) -> None:
        if visit["stages"] is not None:
            stages = [stage if stage["state"] in DONE else dict(stage, state="locked") for stage in visit["stages"]]
            visit["stages"] = stages
        visit |= {"state": state, f"{state}_at": self.now, "changed_by": None}
        if visit["stages"] is not None:
            self._tell(f"visit.{state}", visit)

    # What could be next

    def _choice(self, visit: Row) -> tuple[list[int], list[Row]]:
        """Who waits to enter a stage keeps to it, as long as it takes them."""
        ready = [at for at, stage in enumerate(visit["stages"]) if stage["state"] == "ready"]
        ats = ready if best_of(self._candidates(visit, ready)) is not None else self._next_stages(visit)
        return ats, self._candidates(visit, ats)

    def _next_stages(self, visit: Row) -> list[int]:
        left = [at for at, stage in enumerate(visit["stages"]) if stage["state"] not in DONE]
        fixed = [at for at in left if visit["stages"][at]["fixed"]]
        return fixed[:1] or left

    def _candidates(self, visit: Row, ats: list[int]) -> list[Row]:
        return [self._candidate(visit, visit["stages"][at]["queue"]) for at in ats]

    def _candidate(self, visit: Row, queue: str) -> Row:
        key = self.current(queue)
        waiting = self.line(key)["waiting"]
        left_out = self._left_out(queue, visit["audience"])
        return {
            "queue_id": queue,
            "walk_minutes": self._walk(visit, queue),
            "wait_minutes": self._wait_minutes(queue, key, sum(waiting[visit["priority"] :])),
            "waiting": sum(waiting),
            "left_out": left_out,
            "opens_at": self._next_hour(queue, which=(0,)) if left_out == "outside-hours" else None,
        }

    def _left_out(self, queue: str, audience: str) -> str | None:
        if not suits(self.queues[queue]["audience"], audience):
            return "audience"
        if self.queues[queue]["state"] == "closed":
            return "closed"
        if not self._is_within_hours(queue):
            return "outside-hours"
        return "full" if self._is_full(queue) else None

    def _walk(self, visit: Row, queue: str) -> int:
        """From where the latest ticket was, in either direction."""
        if visit["ticket_id"] is None:
            return 0
        start, end = self.queues[self.tickets[visit["ticket_id"]]["queue_id"]]["floor"], self.queues[queue]["floor"]
        ways = {(one, other): minutes for one, others in self.walks.items() for other, minutes in others.items()}
        return ways.get((start, end), ways.get((end, start), 0))

    # What it is made of

    def _new_visit(self, visit_id: str, secret_hash: str, visitor: str, **facts: Plain) -> Row:
        visit: Row = {
            "visit_id": visit_id,
            "secret_hash": secret_hash,
            "visitor": visitor,
            "state": "open",
            "started_at": self.now,
            "finished_at": None,
            "left_at": None,
            "expired_at": None,
            "ticket_id": None,
            "journey": None,
            "audience": None,
            "priority": 0,
            "why": None,
            "stages": None,
            "failures": [],
            "locked_at": None,
            "changed_by": None,
            "left": None,
            **facts,
        }
        self.visits[visit_id] = visit
        return visit

    def _plan(self, journey: Row, audience: str) -> list[Row]:
        return [
            {"queue": s["queue"], "pin": s["pin"], "fixed": fixed, "state": "locked", "ticket_id": None, "number": None}
            for stages, fixed in ((journey["fixed"], True), (journey["free"], False))
            for s in stages
            if suits(self.queues[s["queue"]]["audience"], audience)
        ]

    def _journey(self, word: str, audience: str) -> Row:
        called = [j for j in self.journeys.values() if word in (j["id"], *j["aliases"])]
        theirs = [journey for journey in called if suits(journey["audience"], audience)]
        if not theirs:
            raise No("not-for-this-audience" if called else "unknown-journey")
        return theirs[0]

    def _whereabouts(self, visit: Row, *, already: bool = False) -> Plain:
        """Of a visit whose day has ended, as if the clock had expired it."""
        ticket = self.tickets.get(visit["ticket_id"] or "")
        if visit["state"] == "open" and self._is_over(visit):
            visit, ticket = self._as_expired(visit, ticket)
        is_under_way = visit["stages"] is not None and visit["state"] == "open"
        stands_nowhere = is_under_way and self._stage_in_queue(visit) is None
        return {
            "visit": shown(visit),
            "joined": None if ticket is None else self._place(ticket),
            "awaited": self._choice(visit)[1] if stands_nowhere else [],
            "already": already,
            "undo_until": self._undo_until(visit),
        }

    def _as_expired(self, visit: Row, ticket: Row | None) -> tuple[Row, Row | None]:
        stages = visit["stages"]
        if stages is not None:
            stages = [stage if stage["state"] in DONE else dict(stage, state="locked") for stage in stages]
        visit = visit | {"state": "expired", "expired_at": self.now, "stages": stages, "changed_by": None}
        if ticket is not None and ticket["open_key"]:
            ticket = ticket | {"state": "expired", "expired_at": self.now, "open_key": None}
        return visit, ticket

    def _undo_until(self, visit: Row) -> int | None:
        """Whoever left by their link has ten seconds to come back."""
        is_soon = visit["left"] is not None and self.now - visit["left_at"] <= LEAVING_MS
        return visit["left_at"] + LEAVING_MS if is_soon else None

    def _planned(self, visitor: str) -> Row | None:
        theirs = [v for v in self.visits.values() if v["visitor"] == visitor and v["stages"] is not None]
        opened = [visit for visit in theirs if visit["state"] == "open"]
        assert len(opened) <= 1
        return opened[0] if opened else None

    def _is_over(self, visit: Row) -> bool:
        """Its day is that of its tickets; of one without any, that of the moment when it began."""
        ticket = self.tickets.get(visit["ticket_id"] or "")
        return self._day_is_over(self._date(visit["started_at"]) if ticket is None else ticket["day"])

    def _behind(self, link: Link) -> Row:
        visit = self._visit(link.visit_id)
        if visit["secret_hash"] != link.secret_hash:
            raise No("unknown-visit")
        return visit

    def _visit(self, visit_id: str) -> Row:
        if visit_id not in self.visits:
            raise No("unknown-visit")
        return self.visits[visit_id]

    def _must_be_under_way(self, visit: Row) -> None:
        """Neither ended nor of an earlier day."""
        self._must_be_open(visit)
        if visit["stages"] is not None and self._is_over(visit):
            raise No("visit-in-wrong-state")

    def _must_be_open(self, visit: Row) -> None:
        if visit["state"] != "open":
            raise No("visit-in-wrong-state")

    def _stage_in_queue(self, visit: Row) -> int | None:
        return next((at for at, stage in enumerate(visit["stages"] or ()) if stage["state"] == "in_queue"), None)

    def _stage_with(self, visit: Row, ticket: Row) -> int:
        return next(at for at, stage in enumerate(visit["stages"]) if stage["ticket_id"] == ticket["ticket_id"])

    def _set_stage(self, visit: Row, at: int, **facts: Plain) -> None:
        stages = [dict(stage, **facts) if place == at else stage for place, stage in enumerate(visit["stages"])]
        visit |= {"stages": stages, "changed_by": None}

    def _tell(self, kind: str, visit: Row) -> None:
        self._happened(kind, None, visit=visit["visit_id"])

    def _alarm(self, kind: AlarmKind, subject: str, due_at: int | None) -> None:
        self.alarms[kind, subject] = due_at
        self._changed()


def suits(audience: str, visitor: str) -> bool:
    return audience in {"any", visitor} or visitor == "any"


def best_of(candidates: list[Row]) -> Row | None:
    """Of what is in the plan's order."""
    taking = [candidate for candidate in candidates if candidate["left_out"] is None]
    ranked = sorted(taking, key=lambda c: (max(c["walk_minutes"], c["wait_minutes"]), c["waiting"]))
    return ranked[0] if ranked else None


def shown(visit: Row) -> Row:
    """As it is compared: who failed first at one moment is nobody's business."""
    return {name: value for name, value in visit.items() if name not in {"changed_by", "left"}} | {
        "failures": sorted(visit["failures"])
    }
