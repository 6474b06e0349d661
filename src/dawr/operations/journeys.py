"""How a visit goes on when one of its tickets ends: finishing, choosing what is next and issuing it are one change.

No finish is refused because of what comes next: where no queue takes the visitor, the stage stays ready, and the
clock enters it once one does.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from dawr.domain import (
    Alarm,
    Candidate,
    More,
    Queue,
    Ticket,
    Verb,
    Visit,
)
from dawr.domain import choice as choices
from dawr.domain.day import service_day
from dawr.domain.errors import VisitInWrongState
from dawr.domain.events import NOTHING_MORE
from dawr.domain.ticket import open_key, successor
from dawr.operations.overtaking import overtaking
from dawr.operations.rows import ALARMS, VISITS
from dawr.operations.transaction import Transaction

EndState = Literal["finished", "left", "expired"]

STATE_AFTER: Final[Mapping[Verb, EndState]] = {"finish": "finished", "leave": "left", "expire": "expired"}
LOOKED_AGAIN_MS: Final = 20 * 1000
"""A queue that is full may have room at any moment: so often the clock looks whether it does."""


class Choice(msgspec.Struct, frozen=True):
    """What could be next, in the order of the plan, and what is."""

    stages: list[int]
    candidates: list[Candidate]

    @property
    def best(self) -> Candidate | None:
        return choices.best(self.candidates)

    @property
    def stage(self) -> int | None:
        best = self.best
        return None if best is None else self.stages[self.candidates.index(best)]


def end(
    tx: Transaction,
    verb: Verb,
    before: Ticket,
    after: Ticket,
    now: int,
    *,
    more: More = NOTHING_MORE,
    for_good: bool = False,
) -> Ticket:
    """A ticket ends, and its visit with it or goes on. `for_good`: the visitor leaves, not only this queue."""
    tx.must_have(lines=[before.line_key], rows={VISITS: {before.visit_id}})
    visit = tx.find(VISITS, before.visit_id)
    if visit is None or not visit.is_open or visit.ticket_id != before.ticket_id:
        return tx.record(verb, after, before=before, more=more)
    if visit.is_planned and verb == "finish":
        return _advance(tx, visit, before, after, more=more)
    ended = tx.record(verb, after, before=before, more=more)
    if not visit.is_planned or for_good or tx.is_over(before.day):
        changed = visit.ended(STATE_AFTER[verb], now)
        if visit.is_planned:
            tell(tx, changed)
    else:
        changed = made_ready(tx, visit, before)
    tx.put_visit(changed.remembering(visit, ended.version))
    return ended


def go_on(tx: Transaction, visit: Visit, now: int, choice: Choice) -> Visit:
    """Enter the best of what could be next, wait until something is, or be done."""
    if not choice.stages:
        done = visit.ended("finished", now)
        tell(tx, done)
        return done
    at = choice.stage
    return _parked(tx, visit, choice, now) if at is None else _entered(tx, visit, at, now)


def choose(tx: Transaction, visit: Visit, now: int, stages: list[int] | None = None) -> Choice:
    """Whoever waits to enter a stage keeps to what they wait for, as long as that takes anybody."""
    ready = [at for at, stage in enumerate(visit.plan) if stage.state == "ready"]
    if stages is None and ready and (kept := _weighed(tx, visit, now, ready)).best is not None:
        return kept
    return _weighed(tx, visit, now, visit.next_stages() if stages is None else stages)


def _weighed(tx: Transaction, visit: Visit, now: int, stages: list[int]) -> Choice:
    """All candidates' lines are asked for at once."""
    plan = visit.plan
    queues = [tx.venue.queue(plan[at].queue) for at in stages]
    tx.must_have(
        current_lines=[queue.id for queue in queues], open_keys=[open_key(queue.id, visit.visitor) for queue in queues]
    )
    floor = floor_of(tx, visit)
    candidates = [
        choices.candidate(
            queue,
            tx.line(queue.id),
            now,
            zone=tx.venue.zone,
            walks=tx.venue.walking_minutes,
            floor=floor,
            audience=visit.audience or "any",
            priority=visit.priority,
        )
        for queue in queues
    ]
    return Choice(stages, candidates)


def expect_advance(tx: Transaction, visit: Visit, at: int) -> None:
    """Ask at once for the ticket of a stage that may end now and for the lines that could be next."""
    plan = visit.plan
    following = visit.with_stage(at, state="completed").next_stages()
    queues = [tx.venue.queue(plan[stage].queue).id for stage in following]
    ticket_id = plan[at].ticket_id
    tx.must_have(
        tickets=[] if ticket_id is None else [ticket_id],
        current_lines=queues,
        open_keys=[open_key(queue_id, visit.visitor) for queue_id in queues],
    )


def floor_of(tx: Transaction, visit: Visit) -> str | None:
    """Where the visitor is: where their latest ticket was. Before the first one, nobody knows."""
    return None if visit.ticket_id is None else tx.venue.queue(tx.ticket(visit.ticket_id).queue_id).floor


def is_over(tx: Transaction, visit: Visit) -> bool:
    """Whether the visit's day has ended: that of its tickets, and before the first one, that of its beginning."""
    if visit.ticket_id is not None:
        return tx.is_over(tx.ticket(visit.ticket_id).day)
    return tx.is_over(service_day(visit.started_at, zone=tx.venue.zone, day_start=tx.venue.day_start))


def must_be_under_way(tx: Transaction, visit: Visit, verb: str) -> None:
    """Open, and not of an earlier day that the clock has yet to end."""
    visit.must_be_open(verb)
    if visit.is_planned and is_over(tx, visit):
        raise VisitInWrongState("expired", verb)


def tell(tx: Transaction, visit: Visit, kind: str | None = None, **facts: str | int | None) -> None:
    """Record what happened to a visit as a whole: by default, that it ended."""
    tx.happened(kind or f"visit.{visit.state}", None, visit=visit.visit_id, **facts)


def made_ready(tx: Transaction, visit: Visit, ticket: Ticket) -> Visit:
    """The stage can be entered again, until the day ends."""
    at = next((at for at, stage in enumerate(visit.plan) if stage.ticket_id == ticket.ticket_id), None)
    if at is None:
        return visit
    _look_at(tx, visit, tx.venue.end_of(tx.day))
    return visit.with_stage(at, state="ready")


def issue_to(
    tx: Transaction,
    visit: Visit,
    queue: Queue,
    now: int,
    *,
    stage: int | None,
    came_from: Ticket | None = None,
) -> Ticket:
    """A number in the next queue, at the end of its line, under the same visit."""
    line = tx.line(queue.id).with_next_number(queue)
    previous_id = came_from.ticket_id if came_from is not None else visit.ticket_id
    ticket = Ticket(
        venue_id=tx.venue.id,
        ticket_id=successor(previous_id or visit.visit_id, tx.venue.id, now, tx.next_version),
        queue_id=queue.id,
        day=line.day,
        round=line.round,
        number=line.last_number,
        label=queue.label(line.last_number),
        priority=visit.priority if came_from is None else came_from.priority,
        sequence=tx.next_version,
        version=tx.next_version,
        state="waiting",
        visitor=visit.visitor,
        open_key=open_key(queue.id, visit.visitor),
        visit_id=visit.visit_id,
        issued_at=now,
        from_ticket_id=previous_id,
        name=visit.name if came_from is None else came_from.name,
        party_size=1 if came_from is None else came_from.party_size,
        area=None if came_from is None else came_from.area,
        stage=stage,
    )
    overtaken = line.people_waiting - line.ahead_of_newcomer(ticket.priority)
    more = overtaking(tx, visit.why or "other", overtaken)
    return tx.record("issue", ticket, line=line, more=msgspec.structs.replace(more, visit=visit.visit_id))


def _advance(tx: Transaction, visit: Visit, before: Ticket, after: Ticket, *, more: More) -> Ticket:
    now = tx.now
    at = next((at for at, stage in enumerate(visit.plan) if stage.ticket_id == before.ticket_id), None)
    done = visit if at is None else visit.with_stage(at, state="completed")
    is_late = tx.is_over(before.day) and bool(done.next_stages())
    choice = Choice([], []) if is_late else choose(tx, done, now, done.next_stages())
    best = choice.best
    finished = tx.record(
        "finish", after, before=before, more=msgspec.structs.replace(more, next=None if best is None else best.queue_id)
    )
    if is_late:
        gone_on = done.ended("expired", now)
        tell(tx, gone_on)
    else:
        gone_on = go_on(tx, done, now, choice)
    tx.put_visit(gone_on.remembering(visit, finished.version))
    return finished


def _entered(tx: Transaction, visit: Visit, at: int, now: int) -> Visit:
    queue = tx.venue.queue(visit.plan[at].queue)
    held = tx.open_ticket(open_key(queue.id, visit.visitor))
    if held is not None and tx.has_ended(held):
        end(tx, "expire", held, held.after("expire", now), now)
        held = None
    if held is None:
        return visit.entered(at, issue_to(tx, visit, queue, now, stage=at))
    if held.state == "missed":
        held = _rejoined(tx, held, now)
    return visit.entered(at, _adopted(tx, visit, held, at, now))


def _rejoined(tx: Transaction, missed: Ticket, now: int) -> Ticket:
    """Put a visitor who missed their call back into the line, behind everybody who waits."""
    tx.must_have(lines=[missed.line_key])
    after = missed.after("rejoin", now, sequence=tx.next_version, desk_id=None)
    return tx.record("rejoin", after, before=missed)


def _adopted(tx: Transaction, visit: Visit, held: Ticket, at: int, now: int) -> Ticket:
    """The visitor stands there already: that ticket is the stage's now. The link that came with it leads nowhere."""
    tx.must_have(lines=[held.line_key], rows={VISITS: {held.visit_id}})
    single = tx.find(VISITS, held.visit_id)
    if single is not None:
        tx.put(VISITS, msgspec.structs.replace(single.ended("left", now), ticket_id=None))
    after = msgspec.structs.replace(held, visit_id=visit.visit_id, stage=at, previous=None)
    line, more = tx.line_at(held.line_key), More(visit=visit.visit_id)
    if held.state != "waiting" or visit.priority <= held.priority:
        return tx.rewrite("ticket.adopted", held, after, line, more=more)
    overtaken = tx.ahead_of(held) - line.ahead_of_newcomer(visit.priority)
    more = msgspec.structs.replace(overtaking(tx, visit.why or "other", overtaken), visit=visit.visit_id)
    raised = msgspec.structs.replace(after, priority=visit.priority, sequence=tx.next_version)
    return tx.rewrite("ticket.adopted", held, raised, line.counting(held, raised), more=more)


def _parked(tx: Transaction, visit: Visit, choice: Choice, now: int) -> Visit:
    """Nothing takes the visitor now. The clock looks again when something opens, or soon if nobody knows when."""
    day_ends = tx.venue.end_of(tx.day)
    opens = [c.opens_at for c in choice.candidates if c.opens_at is not None]
    unsure = [now + LOOKED_AGAIN_MS for c in choice.candidates if c.left_out in {"closed", "full"}]
    _look_at(tx, visit, min([day_ends, *opens, *unsure]))
    if all(visit.plan[at].state == "ready" for at in choice.stages):
        return visit
    plan = list(visit.plan)
    for at in choice.stages:
        plan[at] = msgspec.structs.replace(plan[at], state="ready")
    tell(tx, visit, "visit.parked", opens_at=min(opens, default=None))
    return visit.with_plan(plan)


def retry_parked(tx: Transaction) -> None:
    """Let visits that a closed or full queue did not take try again: after this change one may take them."""
    tx.retry_parked(LOOKED_AGAIN_MS)


def _look_at(tx: Transaction, visit: Visit, due_at: int) -> None:
    tx.put(ALARMS, Alarm(tx.venue.id, "enter", visit.visit_id, due_at))
