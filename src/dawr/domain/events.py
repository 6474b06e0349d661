"""What happened, one row per change, numbered without holes in each venue."""

import msgspec

from dawr.domain.day import Day
from dawr.domain.line import Line
from dawr.domain.overtaking import Why
from dawr.domain.queue import QueueId
from dawr.domain.ticket import Place, State, Ticket, TicketId, VisitId
from dawr.domain.venue import DeskId, VenueId


class Origin(msgspec.Struct, frozen=True):
    """Who asked for a change, and under which correlation id."""

    actor: str | None = None
    correlation_id: str | None = None
    reason: str | None = None


NOBODY = Origin()


class Event(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    version: int
    kind: str
    at: int
    queue_id: QueueId | None
    ticket_id: TicketId | None
    actor: str | None
    correlation_id: str | None
    reason: str | None
    data: str
    """The facts of the change as JSON."""


class LineFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the ticket's line stands after the event; what is nought is left out."""

    waiting: int = 0
    called: int = 0
    serving: int = 0
    finished: int = 0
    services_ms: int = 0
    current: int | None = None
    """The number called last."""

    @property
    def people(self) -> int:
        """Everybody who waits, was called, or is being served."""
        return self.waiting + self.called + self.serving


class TicketFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """The data of a ticket's event: enough to follow a line without reading it again."""

    number: int
    label: str
    day: Day
    round: int
    priority: int
    sequence: int
    state: State
    before: State | None = None
    desk: DeskId | None = None
    line: LineFacts | None = None
    """None in events of before there was a live stream."""
    out_of_order: bool = False
    """Called although somebody else was first."""
    visit: VisitId | None = None
    """Of a ticket that a visit has come to by this: which one. Left out where a single number is all of its visit."""
    next: QueueId | None = None
    """Where the visitor goes from here."""
    why: Why | None = None
    """Why somebody was overtaken."""
    overtaken: int = 0
    """How many were."""
    moved_from: Place | None = None
    """The place among the waiting that it had, as it sorts, if it has another one now."""
    unannounced: bool = False
    """Of a call: nobody was called out, for whoever waits was finished in one step."""


_encode = msgspec.json.Encoder().encode


class More(msgspec.Struct, frozen=True):
    """What is said of a ticket's event besides what its rows say."""

    visit: VisitId | None = None
    next: QueueId | None = None
    why: Why | None = None
    overtaken: int = 0
    unannounced: bool = False


NOTHING_MORE = More()


def ticket_data(
    before: Ticket | None, after: Ticket, line: Line, *, out_of_order: bool = False, more: More = NOTHING_MORE
) -> str:
    has_moved = before is not None and before.state == "waiting" and before.place != after.place
    return _encode(
        TicketFacts(
            after.number,
            after.label,
            after.day,
            after.round,
            after.priority,
            after.sequence,
            after.state,
            None if before is None else before.state,
            after.desk_id,
            line_facts(line),
            out_of_order,
            more.visit,
            more.next,
            more.why,
            more.overtaken,
            before.place if has_moved and before is not None else None,
            more.unannounced,
        )
    ).decode()


def line_facts(line: Line) -> LineFacts:
    return LineFacts(
        line.people_waiting, line.called, line.serving, line.finished, line.services_ms, line.current_number
    )


def plain_data(**facts: str | int | None) -> str:
    return _encode(facts).decode()
