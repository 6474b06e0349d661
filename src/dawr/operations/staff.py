"""What staff can do at a desk: call, call again, start, finish, miss, hold, resume."""

from typing import ClassVar

import msgspec

from dawr.domain import DeskId, Queue, QueueCode, QueueId, Ticket, Venue, Verb
from dawr.domain.errors import InvalidValue, NotInQueue
from dawr.domain.ticket import checked_visitor, open_key
from dawr.operations.operation import Operation
from dawr.operations.ticket import OfTicket, OneVerb, change
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class Called(msgspec.Struct, frozen=True):
    """Who was called, and who is next in the same queues. Nobody waiting: `ticket` is None."""

    ticket: Ticket | None
    next: Ticket | None
    waiting: int
    queues: tuple[QueueId, ...]
    """Those that were called from."""


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
        waiting = sum(tx.line(queue.id).people_waiting for queue in calling)
        return Called(called, _first(tx, calling), waiting, tuple(queue.id for queue in queues))

    def _queues(self, venue: Venue) -> list[Queue]:
        named = None if self.queue is None else venue.queue(self.queue)
        if self.desk is None:
            if named is None:
                raise InvalidValue("desk", "Say which desk calls, or which queue is called from.")
            return [named]
        served = [venue.queue(code) for code in venue.desk(self.desk).queues]
        if named is None:
            return served
        if named not in served:
            raise InvalidValue("queue", f"Desk {self.desk} does not serve queue {named.id}.")
        return [named]


def _first(tx: Transaction, queues: list[Queue]) -> Ticket | None:
    waiting = [ticket for queue in queues if (ticket := tx.first_waiting(queue.id)) is not None]
    return min(waiting, key=lambda ticket: ticket.place, default=None)


class Call(OfTicket[Ticket], frozen=True):
    """Call this visitor, whoever is first."""

    desk: str | None = None

    def decide(self, tx: Transaction, now: int) -> Ticket:
        tx.venue.queue(tx.ticket(self.ticket_id).queue_id).must_call_people()
        desk_id: DeskId | None = None if self.desk is None else tx.venue.desk(self.desk).id
        return change(tx, self.ticket_id, "call", now, desk_id=desk_id)


class Recall(OfTicket[Ticket], frozen=True):
    """Call the same visitor again."""

    def decide(self, tx: Transaction, now: int) -> Ticket:
        recalls = tx.ticket(self.ticket_id).recalls + 1
        return change(tx, self.ticket_id, "recall", now, recalls=recalls)


class Start(OneVerb, frozen=True):
    """The visitor came, and is being served."""

    verb: ClassVar[Verb] = "start"


class Finish(OneVerb, frozen=True):
    """The visitor is done here."""

    verb: ClassVar[Verb] = "finish"


class Done(Operation[Ticket], frozen=True):
    """Finish whoever the door knows by name. Only staff may finish somebody who was never called."""

    queue: str
    visitor: str
    by_staff: bool

    def wants(self, venue: Venue, wants: Wants) -> None:
        queue = venue.queue(self.queue)
        wants.open_keys.add(open_key(queue.id, checked_visitor(self.visitor)))

    def decide(self, tx: Transaction, now: int) -> Ticket:
        queue = tx.venue.queue(self.queue)
        ticket = tx.open_ticket(open_key(queue.id, checked_visitor(self.visitor)))
        if ticket is None:
            raise NotInQueue(queue.id)
        if ticket.state == "waiting" and self.by_staff:
            Call(ticket.ticket_id).decide(tx, now)
            change(tx, ticket.ticket_id, "start", now)
        return change(tx, ticket.ticket_id, "finish", now)


class Miss(OneVerb, frozen=True):
    """The visitor was called and did not come."""

    verb: ClassVar[Verb] = "miss"


class Hold(OneVerb, frozen=True):
    """Keep the visitor's place without calling them."""

    verb: ClassVar[Verb] = "hold"


class Resume(OneVerb, frozen=True):
    """Let a held visitor be called again, at the place they had."""

    verb: ClassVar[Verb] = "resume"
