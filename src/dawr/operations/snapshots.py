"""Everything one page, one answer or one stream shows about a queue, read at one moment."""

from typing import Final, Generic

import msgspec

from dawr.domain import Day, Line, LineKey, Queue, QueueCode, QueueId, State, Ticket, TicketId, Venue
from dawr.domain.errors import NotInQueue
from dawr.domain.ticket import OPEN_STATES, checked_visitor, open_key
from dawr.operations.operation import R, View
from dawr.operations.rows import ANSWERS
from dawr.operations.ticket import Joined, standing_of
from dawr.operations.transaction import Transaction
from dawr.ports import Search, Wants
from dawr.reliability.idempotency import Claim, Reply

FROM_THE_START: Final = (1 - 2**31, 1 - 2**63)
"""Before every place in a line."""


class Moment(msgspec.Struct, Generic[R], frozen=True):
    """What was seen, and after which of the venue's events."""

    epoch: int
    version: int
    venue: Venue
    seen: R


class AtMoment(View[Moment[R]], Generic[R], frozen=True):
    """Another view, with the moment that it shows: a stream goes on from there."""

    view: View[R]

    def wants(self, venue: Venue, wants: Wants) -> None:
        self.view.wants(venue, wants)

    def look(self, tx: Transaction, now: int) -> Moment[R]:
        return Moment(tx.epoch, tx.version, tx.venue, self.view.look(tx, now))


class LookAtVenue(View[tuple[Venue, Day]], frozen=True):
    """How the venue is set up, and which service day it is there."""

    def look(self, tx: Transaction, now: int) -> tuple[Venue, Day]:
        return (tx.venue, tx.day)


class LookAtLines(View[list[LineKey]], frozen=True):
    """Which line each of the venue's queues has come to."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.update(queue.id for queue in venue.queues)

    def look(self, tx: Transaction, now: int) -> list[LineKey]:
        return [tx.line(queue.id).key for queue in tx.venue.queues]


class QueueWaiting(msgspec.Struct, frozen=True):
    """How many wait in a queue, and since when whoever has waited longest."""

    queue_id: QueueId
    people: int
    since: int | None


class LookAtWaiting(View[list[QueueWaiting]], frozen=True):
    """In each of the venue's queues."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.update(queue.id for queue in venue.queues)
        wants.searches.update(_longest(queue) for queue in venue.queues)

    def look(self, tx: Transaction, now: int) -> list[QueueWaiting]:
        return [self._at(tx, queue) for queue in tx.venue.queues]

    def _at(self, tx: Transaction, queue: Queue) -> QueueWaiting:
        """The newest line may be of a day that has ended."""
        line = tx.line(queue.id)
        since = [ticket.waits_since for ticket in tx.search(_longest(queue)) if ticket.line_key == line.key]
        return QueueWaiting(queue.id, line.people_waiting, since[0] if since else None)


def _longest(queue: Queue) -> Search:
    return Search("longest", (queue.id,))


class LookAtTicket(View[Joined], frozen=True):
    """A ticket, and where it stands."""

    ticket_id: TicketId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.tickets.add(self.ticket_id)

    def look(self, tx: Transaction, now: int) -> Joined:
        return standing_of(tx, tx.ticket(self.ticket_id))


class LookAtVisitor(View[tuple[Joined, Line]], frozen=True):
    """A visitor's place and line, for a caller who knows their name. A visitor who was finished today is found too."""

    queue: str
    visitor: str
    by_staff: bool = False
    """Staff find a visitor whose visit has a plan, too."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        queue = venue.queue(self.queue)
        wants.open_keys.add(open_key(queue.id, checked_visitor(self.visitor)))
        wants.current_lines.add(queue.id)

    def look(self, tx: Transaction, now: int) -> tuple[Joined, Line]:
        queue, visitor = tx.venue.queue(self.queue), checked_visitor(self.visitor)
        ticket = tx.open_ticket(open_key(queue.id, visitor))
        if ticket is None or tx.has_ended(ticket) or self._is_hidden(ticket):
            finished = tx.search(Search("finished_in", (visitor, tx.day, queue.id)))
            ticket = next((t for t in finished if not self._is_hidden(t)), None)
            if ticket is None:
                raise NotInQueue(queue.id)
        return (standing_of(tx, ticket), tx.line_at(ticket.line_key))

    def _is_hidden(self, ticket: Ticket) -> bool:
        return ticket.is_planned and not self.by_staff


class LookAtLine(View[list[Ticket]], frozen=True):
    """Those of a queue's line who are not done, all or in some states, in the order of calling: a page of them."""

    queue: QueueCode
    after: tuple[int, int]
    most: int
    states: frozenset[State] = OPEN_STATES

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(venue.queue(self.queue).id)

    def look(self, tx: Transaction, now: int) -> list[Ticket]:
        line = tx.line(tx.venue.queue(self.queue).id)
        behind = (-self.after[0], self.after[1])
        return tx.search(Search("open", (*line.key, *behind, " ".join(sorted(self.states)), self.most)))


class LookAtStates(View[list[Ticket]], frozen=True):
    """Those of a queue's line in some states, done or not, the highest number first: a page of them."""

    queue: QueueCode
    states: frozenset[State]
    below: int
    most: int

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(venue.queue(self.queue).id)

    def look(self, tx: Transaction, now: int) -> list[Ticket]:
        line = tx.line(tx.venue.queue(self.queue).id)
        return tx.search(Search("in_states", (*line.key, self.below, " ".join(sorted(self.states)), self.most)))


class LookAtAnswer(View[Reply | None], frozen=True):
    """The stored answer to a request that came before under the same key, if there is one."""

    claim: Claim

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.add(ANSWERS, self.claim.key)

    def look(self, tx: Transaction, now: int) -> Reply | None:
        first = tx.answer(self.claim.key)
        return None if first is None else first.replay(self.claim, tx.ran_ms)


class QueueSnapshot(msgspec.Struct, frozen=True):
    queue: Queue
    line: Line
    next: Ticket | None
    now: int


class LookAtQueue(View[QueueSnapshot], frozen=True):
    queue: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.waiting.add(venue.queue(self.queue).id)

    def look(self, tx: Transaction, now: int) -> QueueSnapshot:
        queue = tx.venue.queue(self.queue)
        line = tx.line(queue.id)
        return QueueSnapshot(queue, line, tx.first_waiting(queue.id), now)


class LookAtQueueWithTickets(View[tuple[QueueSnapshot, list[Ticket]]], frozen=True):
    """How a queue stands, and the first so many who are not done, in the order of calling."""

    queue: str
    most: int

    def wants(self, venue: Venue, wants: Wants) -> None:
        LookAtQueue(self.queue).wants(venue, wants)

    def look(self, tx: Transaction, now: int) -> tuple[QueueSnapshot, list[Ticket]]:
        everybody = LookAtLine(self.queue, FROM_THE_START, self.most)
        return LookAtQueue(self.queue).look(tx, now), everybody.look(tx, now)
