"""One line for everything that was committed: what happened where, to which number, and on whose request.

Who asked is told by kind only. No name, phone number, visitor or secret is in it: whoever
needs to know finds the event by its venue and version.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from dawr.domain import Event, Ticket, TicketId, VenueId
from dawr.observe.log_buffer import LogBuffer
from dawr.ports import Batch

JOINED, CALLED, STATUS_CHANGED, VENUE_CHANGED = "queue.joined", "queue.called", "queue.status_changed", "venue.changed"
EVENT_OF = {"ticket.issued": JOINED, "ticket.called": CALLED}
OF_A_QUEUE = ("ticket.", "queue.", "visit.", "desk.", "pin.")


class Happened(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    event: str
    at: str
    level: Literal["info"] | None
    kind: str
    """What the event is called in the venue's history."""
    venue: str
    version: int
    queue: str | None = None
    number: int | None = None
    label: str | None = None
    actor: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None


def log_committed(lines: LogBuffer, batch: Batch, name_of: Callable[[VenueId], str]) -> None:
    """`name_of` says what a venue is called."""
    at = lines.moment()
    trace_ids = {correlation_id: trace.trace_id for correlation_id, trace in batch.traces}
    for changes in batch.changed:
        venue = name_of(changes.head.venue_id)
        tickets = {ticket.ticket_id: ticket for ticket in (*changes.new_tickets, *changes.changed_tickets)}
        for event in changes.events:
            trace_id = trace_ids.get(event.correlation_id) if trace_ids else None
            lines.add(_line(event, at, venue, tickets, trace_id))


def _line(event: Event, at: str, venue: str, tickets: dict[TicketId, Ticket], trace_id: str | None) -> Happened:
    ticket = None if event.ticket_id is None else tickets.get(event.ticket_id)
    return Happened(
        EVENT_OF.get(event.kind) or (STATUS_CHANGED if event.kind.startswith(OF_A_QUEUE) else VENUE_CHANGED),
        at,
        "info",
        event.kind,
        venue,
        event.version,
        event.queue_id,
        None if ticket is None else ticket.number,
        None if ticket is None else ticket.label,
        None if event.actor is None else event.actor.partition(":")[0],
        event.correlation_id,
        trace_id,
    )
