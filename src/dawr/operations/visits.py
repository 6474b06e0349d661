"""A visit that has a plan: begun by what somebody came for, gone on with by whoever holds its link."""

import msgspec

from dawr.domain import (
    Audience,
    Candidate,
    Journey,
    Line,
    Link,
    PlannedStage,
    Ticket,
    Venue,
    Visit,
    VisitId,
    Why,
)
from dawr.domain.errors import InvalidValue, NotForThisAudience, NothingToEnter, UnknownVisit
from dawr.domain.journey import is_for
from dawr.domain.ticket import LONGEST_VISITOR, PRIORITIES, checked_text, checked_visitor
from dawr.domain.visit import checked_note
from dawr.operations import journeys
from dawr.operations.operation import Operation, View
from dawr.operations.rows import VISITS
from dawr.operations.ticket import Joined, change, standing_of, ticket_behind, visit_behind
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Rejoin
from dawr.ports import Search, Wants


class Whereabouts(msgspec.Struct, frozen=True):
    """A visit, where its visitor stands, and what they wait for if they stand nowhere."""

    venue: Venue
    visit: Visit
    joined: Joined | None
    """The ticket it has come to, ended or not."""
    awaited: list[Candidate]
    """What could be entered if it took people: why it does not, and when it will."""
    already: bool = False
    """The visit was there before; nothing was begun."""
    undo_until: int | None = None
    """Until when whoever left by the link may take that back."""

    @property
    def ticket(self) -> Ticket | None:
        return None if self.joined is None else self.joined.ticket

    @property
    def place(self) -> Joined | None:
        """Where the visitor stands; None: in no queue."""
        return self.joined if self.joined is not None and self.joined.ticket.is_open else None


def whereabouts(tx: Transaction, visit: Visit, now: int, *, already: bool = False) -> Whereabouts:
    """Return where a visit stands. One whose day has ended has expired, though the clock has yet to record it."""
    ticket = None if visit.ticket_id is None else tx.ticket(visit.ticket_id)
    if visit.is_open and journeys.is_over(tx, visit):
        visit = visit.ended("expired", now)
        ticket = ticket.after("expire", now) if ticket is not None and ticket.is_open else ticket
    joined = None if ticket is None else standing_of(tx, ticket)
    awaited: list[Candidate] = []
    if visit.is_planned and visit.is_open and visit.current is None:
        awaited = journeys.choose(tx, visit, now).candidates
    return Whereabouts(tx.venue, visit, joined, awaited, already, visit.undo_until(now))


class StartVisit(Operation[Whereabouts], frozen=True):
    """Begin a journey and enter its first queue. Whoever has one under way begins no other."""

    journey: str
    visitor: str
    audience: Audience
    visit_id: VisitId
    secret_hash: str
    name: str | None = None
    priority: int = 0
    why: Why = "other"
    note: str | None = None
    """What staff should know, in every queue that it leads to."""
    by_staff: bool = False
    """Staff find a visit under way also where nobody can begin one."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.visitors.add(checked_visitor(self.visitor))
        first = venue.journey(self.journey, self.audience).stages[0]
        wants.current_lines.add(first.queue)

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        visitor = checked_visitor(self.visitor)
        journey = tx.venue.journey(self.journey, self.audience)
        if not 0 <= self.priority < PRIORITIES:
            raise InvalidValue("priority", "range", least=0, most=PRIORITIES - 1)
        visit = Visit(
            tx.venue.id,
            self.visit_id,
            self.secret_hash,
            visitor,
            "open",
            now,
            open_key=visitor,
            journey=journey.id,
            audience=self.audience,
            name=None if self.name is None else checked_text(self.name, field="name", most=LONGEST_VISITOR),
            priority=self.priority,
            why=self.why if self.priority else None,
            note=checked_note(self.note),
        ).with_plan(plan_for(tx.venue, journey, self.audience))
        if not self.by_staff:
            # A refusal after the lookup would reveal whether the visitor is here.
            tx.venue.must_be_active()
        under_way = tx.planned_visit(visitor)
        if under_way is not None and not journeys.is_over(tx, under_way):
            return whereabouts(tx, under_way, now, already=True)
        tx.venue.must_be_active()
        if under_way is not None:
            expire_visit(tx, under_way, now)
        choice = journeys.choose(tx, visit, now)
        journeys.tell(tx, visit, "visit.started", journey=journey.id)
        visit = journeys.go_on(tx, visit, now, choice)
        tx.put_visit(visit)
        return whereabouts(tx, visit, now)


def plan_for(venue: Venue, journey: Journey, audience: Audience) -> list[PlannedStage]:
    """The journey's stages that are for this visitor, as they are today."""
    plan = [
        PlannedStage(stage.queue, pin=stage.pin, fixed=stage in journey.fixed)
        for stage in journey.stages
        if is_for(venue.queue(stage.queue).audience, audience)
    ]
    if not plan:
        raise NotForThisAudience(journey.id, venue.queue(journey.stages[0].queue).audience)
    return plan


def expire_visit(tx: Transaction, visit: Visit, now: int) -> None:
    """Its day has ended. So does its ticket, if it has one."""
    if visit.ticket_id is not None and tx.ticket(visit.ticket_id).is_open:
        change(tx, visit.ticket_id, "expire", now)
        return
    expired = visit.ended("expired", now)
    journeys.tell(tx, expired)
    tx.put_visit(expired)


def enter(tx: Transaction, visit: Visit, now: int) -> Visit:
    """Go into the next queue, if a stage is ready and a queue takes them."""
    journeys.must_be_under_way(tx, visit, "enter")
    if not visit.is_planned or visit.current is not None:
        raise NothingToEnter
    gone_on = journeys.go_on(tx, visit, now, journeys.choose(tx, visit, now))
    if gone_on is not visit:
        tx.put_visit(gone_on)
    return gone_on


class _ByLink(Operation[Whereabouts], frozen=True):
    link: Link

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(VISITS, self.link.visit_id)


class EnterByLink(_ByLink, frozen=True):
    """Go into the next queue, where the visitor was taken out of one or nothing took them before."""

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        return whereabouts(tx, enter(tx, visit_behind(tx, self.link), now), now)


class LeaveByLink(_ByLink, frozen=True):
    """Give the place up and go home, by whoever holds the visit's secret link. They have a moment to undo it."""

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        visit = visit_behind(tx, self.link)
        if visit.ticket_id is None or (visit.is_planned and not tx.ticket(visit.ticket_id).is_open):
            visit.must_be_open("leave")
            left = visit.ended("left", now)
            journeys.tell(tx, left)
            tx.put_visit(left.remembering(visit, tx.version))
        else:
            change(tx, ticket_behind(tx, self.link).ticket_id, "leave", now, for_good=True)
        left = tx.get(VISITS, visit.visit_id).leaving_by_link()
        tx.put_visit(left)
        return whereabouts(tx, left, now)


class RejoinByLink(_ByLink, frozen=True):
    """Come back after a missed call, to the end of the line."""

    def decide(self, tx: Transaction, now: int) -> Whereabouts:
        Rejoin(ticket_behind(tx, self.link).ticket_id).decide(tx, now)
        return whereabouts(tx, visit_behind(tx, self.link), now)


class LookAtVisit(View[Whereabouts], frozen=True):
    """Where the holder of a visit's link stands."""

    link: Link

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(VISITS, self.link.visit_id)

    def look(self, tx: Transaction, now: int) -> Whereabouts:
        visit = visit_behind(tx, self.link)
        if visit.ticket_id is None and not visit.is_planned:
            raise UnknownVisit
        return whereabouts(tx, visit, now)


class LookAtVisitById(View[Whereabouts], frozen=True):
    """The same, for staff."""

    visit_id: VisitId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(VISITS, self.visit_id)

    def look(self, tx: Transaction, now: int) -> Whereabouts:
        return whereabouts(tx, tx.get(VISITS, self.visit_id), now)


class LookAtPlanned(View[Whereabouts], frozen=True):
    """A visit with a plan that the caller knows by name, open or ended today. For staff, or with its number."""

    visitor: str
    number: int | None
    by_staff: bool

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.visitors.add(checked_visitor(self.visitor))

    def look(self, tx: Transaction, now: int) -> Whereabouts:
        visitor = checked_visitor(self.visitor)
        visit = tx.planned_visit(visitor) or _ended_visit(tx, visitor)
        if visit is None:
            raise UnknownVisit
        seen = whereabouts(tx, visit, now)
        is_theirs = seen.ticket is not None and self.number == seen.ticket.number
        if not (self.by_staff or is_theirs):
            raise UnknownVisit
        return seen


def _ended_visit(tx: Transaction, visitor: str) -> Visit | None:
    """Return the visitor's latest visit with a plan that has ended today."""
    stages = tx.search(Search("ended_stages", (visitor, tx.day)))
    return tx.get(VISITS, stages[0].visit_id) if stages else None


class LookAtChoice(View[tuple[Venue, list[Candidate]]], frozen=True):
    """What a journey would choose between for somebody who begins it now, those left out too."""

    journey: str
    audience: Audience

    def look(self, tx: Transaction, now: int) -> tuple[Venue, list[Candidate]]:
        journey = tx.venue.journey(self.journey, self.audience)
        plan = [PlannedStage(stage.queue, fixed=stage in journey.fixed) for stage in journey.stages]
        visit = Visit(tx.venue.id, VisitId(""), "", "", "open", now, audience=self.audience).with_plan(plan)
        return tx.venue, journeys.choose(tx, visit, now).candidates


class LookAtPlace(View[tuple[Whereabouts, Line | None]], frozen=True):
    """Where somebody stands, and the line of the ticket that their visit has come to."""

    view: View[Whereabouts]
    """Says whose visit it is."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.view.wants(venue, wants)

    def look(self, tx: Transaction, now: int) -> tuple[Whereabouts, Line | None]:
        seen = self.view.look(tx, now)
        return seen, None if seen.ticket is None else tx.line_at(seen.ticket.line_key)


class Way(msgspec.Struct, frozen=True):
    """Where somebody stands, and what that was chosen from, or will be."""

    seen: Whereabouts
    candidates: list[Candidate]


class LookAtWay(View[Way], frozen=True):
    """Of somebody who stands in a queue, what it is weighed against as things are now: they stay there all the same."""

    view: View[Whereabouts]

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.view.wants(venue, wants)

    def look(self, tx: Transaction, now: int) -> Way:
        seen = self.view.look(tx, now)
        candidates = journeys.choose(tx, seen.visit, now).candidates if seen.visit.is_open else []
        return Way(seen, [_without(seen.place, candidate) for candidate in candidates])


def _without(place: Joined | None, candidate: Candidate) -> Candidate:
    """Nobody waits for themselves."""
    if place is None or place.ticket.state != "waiting" or place.queue.id != candidate.queue_id:
        return candidate
    return msgspec.structs.replace(candidate, waiting=candidate.waiting - 1, wait_minutes=place.wait_minutes)


class GoOn(Operation[Way], frozen=True):
    """Go into the next queue, if a stage is ready, and say what it was chosen from."""

    view: View[Whereabouts]

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.view.wants(venue, wants)

    def decide(self, tx: Transaction, now: int) -> Way:
        before = LookAtWay(self.view).look(tx, now)
        return Way(whereabouts(tx, enter(tx, before.seen.visit, now), now), before.candidates)
