"""What a visitor sees of their own visit: where they stand, and what they have been through."""

from collections.abc import Mapping
from contextlib import suppress

import msgspec

from dawr.domain import Link, TicketId, Venue
from dawr.domain.errors import UnknownTicket
from dawr.operations.operation import View
from dawr.operations.transaction import Transaction
from dawr.operations.visits import LookAtVisit, Whereabouts
from dawr.ports import Wants


class Stay(msgspec.Struct, frozen=True):
    """A visit at a moment."""

    seen: Whereabouts
    now: int
    finished_at: Mapping[TicketId, int]
    """When stages of its plan were done, by their tickets."""


class LookAtStay(View[Stay], frozen=True):
    """For whoever holds the visit's link."""

    link: Link

    def wants(self, venue: Venue, wants: Wants) -> None:
        LookAtVisit(self.link).wants(venue, wants)

    def look(self, tx: Transaction, now: int) -> Stay:
        seen = LookAtVisit(self.link).look(tx, now)
        done = [stage.ticket_id for stage in seen.visit.plan if stage.state == "completed" and stage.ticket_id]
        tx.must_have(tickets=done)
        finished_at: dict[TicketId, int] = {}
        for ticket_id in done:
            with suppress(UnknownTicket):  # tickets are forgotten after a while, plans are not
                at = tx.ticket(ticket_id).finished_at
                if at is not None:
                    finished_at[ticket_id] = at
        return Stay(seen, now, finished_at)
