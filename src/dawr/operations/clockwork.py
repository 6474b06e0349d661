"""What the clock does: end what was left open when a day or a round ended. Safe to run twice."""

from typing import ClassVar

from dawr.domain import QueueId, Venue, Verb
from dawr.operations import journeys
from dawr.operations.operation import Operation
from dawr.operations.rows import VISITS
from dawr.operations.ticket import OneVerb
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class Expire(OneVerb, frozen=True):
    """End a ticket that nobody will come back to."""

    verb: ClassVar[Verb] = "expire"


class ExpireEnded(Operation[int], frozen=True):
    """Expire one step of tickets in lines that have ended. Says how many: none means done.

    Where no day may end nobody knows yet whose line has ended, nor that of an earlier round.
    """

    alone: ClassVar[bool] = True
    queue_id: QueueId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(self.queue_id)

    def decide(self, tx: Transaction, now: int) -> int:
        if not tx.may_end_days:
            return 0
        line = tx.line(self.queue_id)
        stale = [ticket for ticket in tx.ended_before(line.key) if ticket.is_open and line.has_ended(ticket)]
        tx.must_have(lines={ticket.line_key for ticket in stale}, rows={VISITS: {ticket.visit_id for ticket in stale}})
        for ticket in stale:
            journeys.end(tx, "expire", ticket, ticket.after("expire", now), now)
        return len(stale)
