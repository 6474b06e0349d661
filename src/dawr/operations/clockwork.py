"""What the clock does: end what was left open when a day or a round ended. Safe to run twice."""

from typing import ClassVar

from dawr.domain import QueueId, Venue, Verb
from dawr.operations.operation import Operation
from dawr.operations.ticket import OneVerb
from dawr.operations.transaction import Transaction
from dawr.ports import Wants


class Expire(OneVerb, frozen=True):
    """End a ticket that nobody will come back to."""

    verb: ClassVar[Verb] = "expire"


class ExpireEnded(Operation[int], frozen=True):
    """Expire one step of tickets in lines that have ended. Says how many: none means done."""

    alone: ClassVar[bool] = True
    queue_id: QueueId

    def wants(self, venue: Venue, wants: Wants) -> None:
        wants.current_lines.add(self.queue_id)

    def decide(self, tx: Transaction, now: int) -> int:
        line = tx.line(self.queue_id)
        stale = [ticket for ticket in tx.ended_before(line.key) if ticket.is_open and line.has_ended(ticket)]
        for ticket in stale:
            tx.record("expire", ticket.after("expire", now), before=ticket)
        return len(stale)
