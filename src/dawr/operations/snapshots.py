"""Everything one page, one answer or one stream shows about a queue, read at one moment."""

import msgspec

from dawr.domain import estimate
from dawr.domain.day import Day
from dawr.domain.line import Line
from dawr.domain.queue import Queue
from dawr.domain.ticket import Ticket
from dawr.domain.venue import Venue
from dawr.operations.operation import View
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class LookAtVenue(View[tuple[Venue, Day]], frozen=True):
    """How the venue is set up, and which service day it is there."""

    def look(self, tx: Transaction, now: int) -> tuple[Venue, Day]:
        return (tx.venue, tx.day)


class QueueSnapshot(msgspec.Struct, frozen=True):
    queue: Queue
    line: Line
    next: Ticket | None
    mean_wait_minutes: float


class LookAtQueue(View[QueueSnapshot], frozen=True):
    queue: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.waiting.add(venue.queue(self.queue).id)

    def look(self, tx: Transaction, now: int) -> QueueSnapshot:
        queue = tx.venue.queue(self.queue)
        line = tx.line(queue.id)
        return QueueSnapshot(queue, line, tx.first_waiting(queue.id), estimate.mean_wait_minutes(line))
