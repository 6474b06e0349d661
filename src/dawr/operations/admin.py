"""What a manager can do: set a venue up; open, pause, resume, close and reset its queues."""

import msgspec

from dawr.domain import Line, LineKey, Queue, QueueId, QueueVerb, Venue
from dawr.domain.errors import InvalidValue
from dawr.domain.queue import QUEUE_VERBS
from dawr.domain.venue import DEFAULT_LIMITS, VenueLimits, checked
from dawr.operations.alarms import keep_hours
from dawr.operations.journeys import retry_parked
from dawr.operations.operation import Operation
from dawr.operations.rows import DESKS
from dawr.operations.timers import call_after
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class ChangeQueue(Operation[Queue], frozen=True):
    """Open, pause, resume or close a queue."""

    queue: str
    verb: QueueVerb

    def decide(self, tx: Transaction, now: int) -> Queue:
        queue = tx.venue.queue(self.queue).after(self.verb)
        tx.put_venue(tx.venue.with_queue(queue))
        tx.happened(QUEUE_VERBS[self.verb].event, queue.id, state=queue.state)
        if queue.state == "open":
            retry_parked(tx)
        return queue


class Reset(Operation[LineKey], frozen=True):
    """Begin a new round at number 1. The line that ended is swept by `ExpireEnded`, in steps."""

    queue: str

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(venue.queue(self.queue).id)

    def decide(self, tx: Transaction, now: int) -> LineKey:
        queue = tx.venue.queue(self.queue)
        line = tx.line(queue.id).next_round()
        tx.put_line(line)
        tx.happened("queue.reset", queue.id, day=line.day, round=line.round)
        retry_parked(tx)
        return line.key


class ResetBehind(Operation[LineKey], frozen=True):
    """Begin a new round behind every number that another database has given in this queue, or may have.

    The queue may be one that was made there: whoever makes it here too goes on behind.
    """

    queue: QueueId
    there: Line | None
    """The queue's latest line in that database; None if it cannot be asked."""
    highest: int
    """The highest number of that line's day, or the highest that may have been given."""

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(self.queue)

    def decide(self, tx: Transaction, now: int) -> LineKey:
        here = tx.line(self.queue)
        latest = here if self.there is None else max(here, self.there, key=lambda line: line.key)
        gave_today = self.there is None or self.there.day == latest.day
        line = latest.next_round(behind=max(here.last_number, self.highest if gave_today else 0))
        tx.put_line(line)
        if any(queue.id == self.queue for queue in tx.venue.queues):
            tx.happened("queue.reset", line.queue_id, day=line.day, round=line.round)
        return line.key


class SetUp(Operation[Venue], frozen=True):
    """Replace the venue's set-up. Its id, queues that have a history, and whether queues are open stay as they are."""

    venue: Venue
    limits: VenueLimits = DEFAULT_LIMITS

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.histories.update({queue.id for queue in venue.queues} - {queue.id for queue in self.venue.queues})

    def decide(self, tx: Transaction, now: int) -> Venue:
        states = {queue.id: queue.state for queue in tx.venue.queues}
        queues = tuple(
            msgspec.structs.replace(queue, state=states.get(queue.id, queue.state)) for queue in self.venue.queues
        )
        wanted = msgspec.structs.replace(self.venue, id=tx.venue.id, queues=queues)
        venue = checked(wanted, before=tx.venue, limits=self.limits)
        if venue.slug != tx.venue.slug:
            raise InvalidValue("slug", "slug-stays")
        for removed in sorted(states.keys() - {queue.id for queue in venue.queues}):
            if tx.has_history(removed):
                raise InvalidValue("queues", "queue-stays", queue=removed)
        if venue == tx.venue:
            return venue
        tx.put_venue(venue)
        tx.happened("venue.set_up")
        keep_hours(tx, now)
        retry_parked(tx)
        if any(queue.auto_call is not None for queue in venue.queues):
            for desk in tx.all(DESKS):
                if desk.state == "open":
                    call_after(tx, desk.desk_id, now)
        return venue
