"""A queue, a ticket, a line: only what a test cares about is given."""

from msgspec.structs import replace

from dawr.domain.day import Day
from dawr.domain.line import Line
from dawr.domain.queue import Queue, QueueId
from dawr.domain.ticket import OPEN_STATES, State, Ticket, TicketId, VisitId, open_key
from dawr.domain.venue import Desk, DeskId, Venue, VenueId

VENUE = VenueId("v1")
LAB = QueueId("lab")
TODAY = Day("2025-03-10")


def a_queue(code: str = "lab", **given: object) -> Queue:
    return replace(Queue(id=QueueId(code), name={"en": code.title()}, prefix=code[0].upper()), **given)


def a_desk(code: str = "desk-1", *queues: str) -> Desk:
    return Desk(DeskId(code), {"en": code}, tuple(QueueId(queue) for queue in queues or ("lab",)))


def a_venue(*queues: Queue, **given: object) -> Venue:
    venue = Venue(id=VENUE, slug="clinic", name={"en": "Clinic"}, zone="Asia/Qatar", queues=queues or (a_queue(),))
    return replace(venue, **given)


def a_line(**given: object) -> Line:
    return replace(Line(venue_id=VENUE, queue_id=LAB, day=TODAY, round=1), **given)


def a_ticket(number: int = 1, /, *, state: State = "waiting", queue: str = "lab", **given: object) -> Ticket:
    """A ticket in a state, with its place in the line by its number unless another sequence is given."""
    visitor, queue_id = f"visitor-{number}", QueueId(queue)
    ticket = Ticket(
        venue_id=VENUE,
        ticket_id=TicketId(f"t{number}"),
        queue_id=queue_id,
        day=TODAY,
        round=1,
        number=number,
        label=f"L{number:03}",
        priority=0,
        sequence=number,
        state=state,
        visitor=visitor,
        open_key=open_key(queue_id, visitor) if state in OPEN_STATES else None,
        visit_id=VisitId(f"s{number}"),
        issued_at=1_000_000,
    )
    return replace(ticket, **given)
