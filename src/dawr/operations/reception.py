"""What staff do for a visitor in front of them: find them, move them, change their path, give them a new link."""

from typing import Final

import msgspec

from dawr.domain import (
    Audience,
    Day,
    LineKey,
    More,
    PlannedStage,
    Queue,
    QueueId,
    Ticket,
    TicketId,
    Venue,
    Verb,
    Visit,
    VisitId,
    Why,
)
from dawr.domain.digits import fold_digits
from dawr.domain.errors import (
    LineEnded,
    PlaceTaken,
    StageInWrongState,
    TicketInWrongState,
    UnknownVisit,
    VisitInWrongState,
)
from dawr.domain.session_code import SessionCodes, read_session_code
from dawr.domain.ticket import checked_visitor, open_key
from dawr.domain.visit import DONE_WITH, checked_note
from dawr.operations import journeys
from dawr.operations.operation import Operation, View
from dawr.operations.rows import OVERTAKINGS, VISITS
from dawr.operations.staff import finish
from dawr.operations.ticket import Joined, OfTicket, change, desk_named, standing_of
from dawr.operations.timers import set_timers
from dawr.operations.transaction import Transaction
from dawr.operations.visits import Whereabouts, enter, plan_for, whereabouts
from dawr.ports import Search, Wants

MOST_FOUND: Final = 20
LONGEST_SEARCH: Final = 128


class Transfer(OfTicket[Ticket], frozen=True):
    """Send a visitor to another queue, to the end of its line; their link goes along.

    Who was being served is done where they were; others come back to that stage later, if their visit has a plan.
    """

    queue: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        super().wants(venue, wants)
        wants.current_lines.add(venue.queue(self.queue).id)

    def decide(self, tx: Transaction, now: int) -> Ticket:
        before, queue = tx.ticket(self.ticket_id), tx.venue.queue(self.queue)
        verb: Verb = "finish" if before.state == "serving" else "leave"
        with desk_named(tx.venue):
            after = before.after(verb, now)
        visit = tx.get(VISITS, before.visit_id)
        if visit.ticket_id != before.ticket_id:
            raise TicketInWrongState(before.label, before.state, "transfer")
        _must_take(tx, queue, before, now)
        tx.must_have(lines=[before.line_key])
        ended = tx.record(verb, after, before=before, more=More(next=queue.id))
        set_timers(tx, verb, ended, now)
        moved = _replanned(visit, before, queue.id) if visit.is_planned else visit
        at = moved.stage_of(queue.id) if visit.is_planned else None
        ticket = journeys.issue_to(tx, moved, queue, now, stage=at, came_from=before)
        changed = (
            msgspec.structs.replace(moved, ticket_id=ticket.ticket_id) if at is None else moved.entered(at, ticket)
        )
        tx.put_visit(changed.remembering(visit, ended.version))
        return ticket


def _must_take(tx: Transaction, queue: Queue, ticket: Ticket, now: int) -> None:
    queue.must_take_people(now, zone=tx.venue.zone)
    if tx.has_ended(ticket):
        raise LineEnded(ticket.label, "transfer")
    if tx.open_ticket(open_key(queue.id, ticket.visitor)) is not None:
        raise PlaceTaken(ticket.label, "there-already", queue=queue.id)


def _replanned(visit: Visit, ticket: Ticket, queue_id: QueueId) -> Visit:
    """The stage that was left is done, or comes later; that of the other queue is there, at the end if it is new."""
    state = "completed" if ticket.state == "serving" else "locked"
    plan = [
        msgspec.structs.replace(stage, state=state) if stage.ticket_id == ticket.ticket_id else stage
        for stage in visit.plan
    ]
    if not any(stage.queue == queue_id and stage.state not in DONE_WITH for stage in plan):
        plan.append(PlannedStage(queue_id))
    return visit.with_plan(plan)


class OfVisit(Operation[Whereabouts], frozen=True):
    visit_id: VisitId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(VISITS, self.visit_id)

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        visit = tx.get(VISITS, self.visit_id)
        journeys.must_be_under_way(tx, visit, "change")
        self.change(tx, visit, now)
        return whereabouts(tx, tx.get(VISITS, self.visit_id), now)

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        raise NotImplementedError


class NewLink(OfVisit, frozen=True):
    """Another secret for the visit; the link that was given before leads nowhere any more."""

    secret_hash: str = ""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        tx.put_visit(msgspec.structs.replace(visit, secret_hash=self.secret_hash))
        journeys.tell(tx, visit, "visit.link_renewed")


class Unlock(OfVisit, frozen=True):
    """Let PINs be tried again."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        if visit.locked_at is not None or visit.pin_failures is not None:
            tx.put_visit(visit.unlocked())
            journeys.tell(tx, visit, "visit.unlocked")


class NoteVisit(OfVisit, frozen=True):
    """Write down what staff should know about the visitor, in the place of what was written before."""

    note: str = ""
    """Nothing removes it."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        note = checked_note(self.note)
        if note != visit.note:
            tx.put_visit(msgspec.structs.replace(visit, note=note))
            journeys.tell(tx, visit, "visit.noted")


class EnterStage(OfVisit, frozen=True):
    """Let the visitor into the next queue, if a stage is ready."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        enter(tx, visit, now)


class RemoveFromQueue(OfVisit, frozen=True):
    """Take the visitor out of the queue they are in; the stage can be entered again."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        if visit.ticket_id is not None:
            change(tx, visit.ticket_id, "leave", now)


class EndVisit(OfVisit, frozen=True):
    """The visitor has gone home."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        if visit.ticket_id is not None and tx.ticket(visit.ticket_id).is_open:
            change(tx, visit.ticket_id, "leave", now, for_good=True)
            return
        left = visit.ended("left", now)
        journeys.tell(tx, left)
        tx.put_visit(left)


class OfVisitor(Operation[Whereabouts], frozen=True):
    """What is done with the visit that somebody has open, whom staff know by name."""

    visitor: str
    what: OfVisit
    """Of no visit yet."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.visitors.add(checked_visitor(self.visitor))

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        visit = tx.planned_visit(checked_visitor(self.visitor))
        if visit is None:
            raise UnknownVisit
        return msgspec.structs.replace(self.what, visit_id=visit.visit_id).decide(tx, now)


class _OfStage(OfVisit, frozen=True):
    queue: str = ""


class MoveTo(_OfStage, frozen=True):
    """Send the visitor from the queue they are in to another one."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        _must_have_plan(visit)
        if visit.current is None or visit.ticket_id is None:
            awaited = visit.plan[visit.next_stages()[0]]
            raise StageInWrongState(awaited.queue, awaited.state, "leave")
        Transfer(visit.ticket_id, self.queue).decide(tx, now)


class AddStage(_OfStage, frozen=True):
    """One more stage, behind the others."""

    pin: bool = True

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        queue = tx.venue.queue(self.queue)
        if not visit.is_planned:
            raise StageInWrongState(queue.id, "none", "add")
        pending = [stage for stage in visit.plan if stage.queue == queue.id and stage.state not in DONE_WITH]
        if pending:
            raise StageInWrongState(queue.id, pending[0].state, "add")
        tx.put_visit(visit.with_plan([*visit.plan, PlannedStage(queue.id, pin=self.pin)]))
        journeys.tell(tx, visit, "visit.stage_added", queue=queue.id)


class SkipStage(_OfStage, frozen=True):
    """The visitor need not go there."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        _end_stage(tx, visit, tx.venue.queue(self.queue), "skipped", now)


class CompleteStage(_OfStage, frozen=True):
    """The visitor was examined there, whatever the queue says."""

    why: Why = "other"

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        queue = tx.venue.queue(self.queue)
        at = visit.stage_of(queue.id)
        stage = visit.plan[at]
        if stage.state == "in_queue" and stage.ticket_id is not None:
            ticket = tx.ticket(stage.ticket_id)
            if ticket.state == "held":
                ticket = change(tx, ticket.ticket_id, "resume", now)
            finish(tx, ticket, now, self.why)
        else:
            _end_stage(tx, visit, queue, "completed", now)


def _end_stage(tx: Transaction, visit: Visit, queue: Queue, state: str, now: int) -> None:
    """A stage is over without its ticket being finished; the visit goes on."""
    at = visit.stage_of(queue.id)
    stage = visit.plan[at]
    if stage.state in DONE_WITH:
        raise StageInWrongState(queue.id, stage.state, "end")
    if stage.state == "in_queue" and stage.ticket_id is not None:
        change(tx, stage.ticket_id, "leave", now)
        visit = tx.get(VISITS, visit.visit_id)
    changed = visit.with_stage(at, state=state)
    journeys.tell(tx, visit, f"visit.stage_{state}", queue=queue.id)
    _carry_on(tx, changed, now)


def _carry_on(tx: Transaction, visit: Visit, now: int) -> None:
    """Enter what is next, unless the visitor stands in a queue."""
    if visit.current is None:
        visit = journeys.go_on(tx, visit, now, journeys.choose(tx, visit, now))
    tx.put_visit(visit)


class ResetPath(OfVisit, frozen=True):
    """Begin the plan again: nothing of it counts as done."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        _must_have_plan(visit)
        visit = _out_of_queue(tx, visit, now)
        plan = [PlannedStage(stage.queue, pin=stage.pin, fixed=stage.fixed) for stage in visit.plan]
        journeys.tell(tx, visit, "visit.path_reset")
        _carry_on(tx, visit.with_plan(plan), now)


class ChangePath(OfVisit, frozen=True):
    """Another journey. What was done already stays done, and who stands in one of its queues stays there."""

    journey: str = ""
    audience: Audience | None = None
    """None: as the visit has it."""

    def change(self, tx: Transaction, visit: Visit, now: int) -> None:
        _must_have_plan(visit)
        audience = self.audience or visit.audience or "any"
        journey = tx.venue.journey(self.journey, audience)
        known = {stage.queue: stage for stage in visit.plan if stage.state in {*DONE_WITH, "in_queue"}}
        plan = [
            msgspec.structs.replace(known[stage.queue], pin=stage.pin, fixed=stage.fixed)
            if stage.queue in known
            else stage
            for stage in plan_for(tx.venue, journey, audience)
        ]
        planned = {stage.queue for stage in plan}
        plan += [stage for stage in known.values() if stage.state in DONE_WITH and stage.queue not in planned]
        if not any(stage.state == "in_queue" for stage in plan):
            visit = _out_of_queue(tx, visit, now)
        visit = msgspec.structs.replace(visit, journey=journey.id, audience=audience)
        journeys.tell(tx, visit, "visit.path_changed", journey=journey.id)
        _carry_on(tx, visit.with_plan(plan), now)


def _must_have_plan(visit: Visit) -> None:
    if not visit.is_planned:
        raise VisitInWrongState("a single ticket", "change the path of")


def _out_of_queue(tx: Transaction, visit: Visit, now: int) -> Visit:
    at = visit.current
    ticket_id = None if at is None else visit.plan[at].ticket_id
    if ticket_id is None:
        return visit
    change(tx, ticket_id, "leave", now)
    return tx.get(VISITS, visit.visit_id)


class LookForVisitors(View[list[Ticket]], frozen=True):
    """Today's tickets of whoever is meant: by the door's name for them, part of their own, label or session code."""

    text: str
    codes: SessionCodes

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.update(queue.id for queue in venue.queues)
        if self.text.isprintable():
            wants.visitors.add(fold_digits(self.text.strip()))

    def look(self, tx: Transaction, now: int) -> list[Ticket]:
        typed = self.text.strip()
        text = fold_digits(typed)
        if not text.isprintable():
            return []
        code = read_session_code(tx.venue, text)
        if code is not None:
            return [t for t in _with_number(tx, code.queue, code.day, code.number) if self.codes.is_of(code, t)]
        found: dict[TicketId, Ticket] = {}
        visit = tx.planned_visit(text)
        if visit is not None and visit.ticket_id is not None:
            found[visit.ticket_id] = tx.ticket(visit.ticket_id)
        for queue in tx.venue.queues:
            number = _number_on(queue, text)
            if number is not None:
                found |= {t.ticket_id: t for t in _with_number(tx, queue.id, tx.day, number)}
        for line in self._lines(tx):
            for name in {typed, text}:
                found |= {t.ticket_id: t for t in tx.search(Search("by_name", (*line, name, MOST_FOUND)))}
        return sorted(found.values(), key=lambda ticket: -ticket.issued_at)[:MOST_FOUND]

    def _lines(self, tx: Transaction) -> list[LineKey]:
        lines = [tx.line(queue.id) for queue in tx.venue.queues]
        return [line.key for line in lines if line.last_number > line.begins_behind]


def _with_number(tx: Transaction, queue: str, day: str, number: int) -> list[Ticket]:
    return tx.search(Search("by_number", (queue, day, number)))


def _number_on(queue: Queue, label: str) -> int | None:
    """The number, if it is how this queue writes one."""
    digits = label.upper().removeprefix(queue.prefix.upper())
    is_one = label.upper().startswith(queue.prefix.upper()) and digits.isascii() and digits.isdigit()
    number = int(digits) if is_one and len(digits) <= 9 else 0  # noqa: PLR2004 - beyond any number
    return number if number and queue.label(number).upper() == label.upper() else None


class LookAtSlip(View[tuple[Venue, Joined]], frozen=True):
    """Everything that is printed for somebody who stands at reception."""

    ticket_id: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.tickets.add(TicketId(self.ticket_id))

    def look(self, tx: Transaction, now: int) -> tuple[Venue, Joined]:
        return tx.venue, standing_of(tx, tx.ticket(TicketId(self.ticket_id)))


class LookAtOvertakings(View[dict[str, dict[Why, tuple[int, int]]]], frozen=True):
    """Who let others be overtaken on a day, why, how often, and how many."""

    day: str | None

    def look(self, tx: Transaction, now: int) -> dict[str, dict[Why, tuple[int, int]]]:
        found = tx.find(OVERTAKINGS, Day(self.day) if self.day else tx.day)
        return {} if found is None else found.read()
