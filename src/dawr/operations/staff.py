"""What staff can do with tickets: call, call again, give more time, start, finish, miss, put back, hold, prioritize."""

from collections.abc import Iterable
from typing import ClassVar, Final, Literal

import msgspec

from dawr.domain import AlarmKey, DeskId, Queue, QueueCode, QueueId, State, Ticket, Venue, Verb, Why
from dawr.domain.errors import InvalidValue, TicketInWrongState
from dawr.domain.ticket import PRIORITIES
from dawr.operations.operation import Operation
from dawr.operations.overtaking import overtaking
from dawr.operations.rows import ALARMS, OVERTAKINGS, VISITS
from dawr.operations.ticket import Joined, OfTicket, OneVerb, change, desk_named
from dawr.operations.timers import call_after, set_alarm
from dawr.operations.transaction import Transaction
from dawr.operations.visitor import Rejoin
from dawr.ports import Wants

MOST_MORE_MINUTES = 60
PUT_BACK_FROM: Final[frozenset[State]] = frozenset({"called", "missed"})


class Called(msgspec.Struct, frozen=True):
    """Who was called, and who is next in the same queues. Nobody waiting: `ticket` is None."""

    ticket: Ticket | None
    next: Ticket | None
    waiting: int
    """In all of them, paused or not."""
    queues: tuple[QueueId, ...]
    paused: tuple[QueueId, ...]
    """Those of them that nobody is called from now."""


class CallNext(Operation[Called], frozen=True):
    """Call whoever is first over all the desk's queues: by priority, then by sequence."""

    desk: str | None = None
    queue: QueueCode | None = None
    """Only this queue; without a desk, the queue must be named."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.waiting.update(queue.id for queue in self._queues(venue))

    def decide(self, tx: Transaction, now: int) -> Called:
        queues = self._queues(tx.venue)
        calling = [queue for queue in queues if queue.state != "paused"]
        if queues and not calling:
            queues[0].must_call_people()
        called = _first(tx, calling)
        if called is not None:
            desk_id = None if self.desk is None else tx.venue.desk(self.desk).id
            called = change(tx, called.ticket_id, "call", now, desk_id=desk_id)
        return Called(
            called,
            _first(tx, calling),
            sum(tx.line(queue.id).people_waiting for queue in queues),
            tuple(queue.id for queue in queues),
            paused_among(queues),
        )

    def _queues(self, venue: Venue) -> list[Queue]:
        named = None if self.queue is None else venue.queue(self.queue)
        if self.desk is None:
            if named is None:
                raise InvalidValue("desk", "desk-or-queue")
            return [named]
        served = [venue.queue(code) for code in venue.desk(self.desk).queues]
        if named is None:
            return served
        if named not in served:
            raise InvalidValue("queue", "desk-serves-not", desk=self.desk, queue=named.id)
        return [named]


def paused_among(queues: Iterable[Queue]) -> tuple[QueueId, ...]:
    return tuple(queue.id for queue in queues if queue.state == "paused")


def _first(tx: Transaction, queues: list[Queue]) -> Ticket | None:
    waiting = [ticket for queue in queues if (ticket := tx.first_waiting(queue.id)) is not None]
    return min(waiting, key=lambda ticket: ticket.place, default=None)


class Call(OfTicket[Ticket], frozen=True):
    """Call this visitor, whoever is first."""

    desk: str | None = None
    why: Why = "other"
    """Why, if somebody else is first."""

    def decide(self, tx: Transaction, now: int) -> Ticket:
        ticket = tx.ticket(self.ticket_id)
        tx.venue.queue(ticket.queue_id).must_call_people()
        desk_id: DeskId | None = None if self.desk is None else tx.venue.desk(self.desk).id
        more = overtaking(tx, self.why, tx.ahead_of(ticket))
        return change(tx, self.ticket_id, "call", now, more=more, desk_id=desk_id)


class Recall(OfTicket[Ticket], frozen=True):
    """Call the same visitor again."""

    def decide(self, tx: Transaction, now: int) -> Ticket:
        recalls = tx.ticket(self.ticket_id).recalls + 1
        return change(tx, self.ticket_id, "recall", now, recalls=recalls)


class Start(OneVerb, frozen=True):
    """The visitor came, and is being served."""

    verb: ClassVar[Verb] = "start"


class Finish(OneVerb, frozen=True):
    """The visitor is done here. Whoever missed their call comes back first; only a PIN shows that they were here."""

    verb: ClassVar[Verb] = "finish"

    def decide(self, tx: Transaction, now: int) -> Ticket:
        ticket = tx.ticket(self.ticket_id)
        if ticket.state == "missed":
            raise TicketInWrongState(ticket.label, ticket.state, self.verb)
        return super().decide(tx, now)


def finish(tx: Transaction, ticket: Ticket, now: int, why: Why) -> Ticket:
    """Finish somebody who was examined, called or not: who waits is called, started and finished at once.

    Nobody is called out by that: those before them are still to come.
    """
    if ticket.state == "waiting":
        expect_overtaking(tx, ticket)
        more = msgspec.structs.replace(overtaking(tx, why, tx.ahead_of(ticket)), unannounced=True)
        change(tx, ticket.ticket_id, "call", now, more=more)
        change(tx, ticket.ticket_id, "start", now)
    return change(tx, ticket.ticket_id, "finish", now)


def expect_overtaking(tx: Transaction, ticket: Ticket) -> None:
    """Ask at once for all that it takes to finish somebody who waits: who is ahead, and who is overtaken."""
    tx.must_have(
        places=[ticket.line_key],
        waiting=[ticket.queue_id],
        rows={OVERTAKINGS: {tx.day}, VISITS: {ticket.visit_id}},
    )


class Extend(OfTicket[Ticket], frozen=True):
    """Give somebody who was called more time to come."""

    minutes: int = 5

    def wants(self, venue: Venue, wants: Wants) -> None:
        super().wants(venue, wants)
        wants.add(ALARMS, AlarmKey("miss", self.ticket_id))

    def decide(self, tx: Transaction, now: int) -> Ticket:
        if not 1 <= self.minutes <= MOST_MORE_MINUTES:
            raise InvalidValue("minutes", "range", least=1, most=MOST_MORE_MINUTES)
        ticket = change(tx, self.ticket_id, "extend", now)
        alarm = tx.find(ALARMS, AlarmKey("miss", self.ticket_id))
        if alarm is not None and alarm.due_at is not None:
            set_alarm(tx, "miss", self.ticket_id, max(now, alarm.due_at) + self.minutes * 60_000)
        return ticket


class Prioritize(OfTicket[Ticket], frozen=True):
    """Let a visitor be called earlier, or later: behind everybody of that priority. It goes along with their visit."""

    priority: int
    why: Why

    def decide(self, tx: Transaction, now: int) -> Ticket:
        if not 0 <= self.priority < PRIORITIES:
            raise InvalidValue("priority", "range", least=0, most=PRIORITIES - 1)
        before = tx.ticket(self.ticket_id)
        overtaken = 0
        if before.state == "waiting" and self.priority > before.priority:
            overtaken = tx.ahead_of(before) - tx.line_at(before.line_key).ahead_of_newcomer(self.priority)
        more = overtaking(tx, self.why, overtaken)
        tx.must_have(rows={VISITS: {before.visit_id}})
        after = change(
            tx, self.ticket_id, "prioritize", now, more=more, priority=self.priority, sequence=tx.next_version
        )
        visit = tx.find(VISITS, before.visit_id)
        if visit is not None and visit.ticket_id == before.ticket_id:
            changed = msgspec.structs.replace(visit, priority=self.priority, why=self.why)
            tx.put_visit(changed.remembering(visit, after.version))
        return after


class Miss(OneVerb, frozen=True):
    """The visitor was called and did not come."""

    verb: ClassVar[Verb] = "miss"


class PutBack(OfTicket[Joined], frozen=True):
    """Send somebody who was called and did not come back into the line at once: missed and back in one change.

    One undo takes both back. Whoever missed their call already only comes back.
    """

    where: Literal["first", "last"] = "last"
    why: Why = "returned"
    """Of those who go to the front: why they overtake."""

    def decide(self, tx: Transaction, now: int) -> Joined:
        called = tx.ticket(self.ticket_id)
        with desk_named(tx.venue):
            called.must_be_in(PUT_BACK_FROM, "put-back", now)
        rejoining = Rejoin(self.ticket_id, self.where, self.why)
        if called.state == "missed":
            return rejoining.decide(tx, now)
        change(tx, self.ticket_id, "miss", now)
        return rejoining.rejoin(tx, now, undone_to=called)


class Hold(OneVerb, frozen=True):
    """Keep the visitor's place without calling them. Whoever was called gives the desk back."""

    verb: ClassVar[Verb] = "hold"

    def decide(self, tx: Transaction, now: int) -> Ticket:
        desk_id = tx.ticket(self.ticket_id).desk_id
        held = change(tx, self.ticket_id, self.verb, now, desk_id=None)
        if desk_id is not None:
            call_after(tx, desk_id, now)
        return held


class Resume(OneVerb, frozen=True):
    """Let a held visitor be called again, at the place they had."""

    verb: ClassVar[Verb] = "resume"
