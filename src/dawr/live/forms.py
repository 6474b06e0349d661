"""How what happened is put to those who watch. Each door brings its own words; the hub knows none of them."""

from typing import Protocol

import msgspec

from dawr.domain import Day, Event, LineFacts, LineKey, Place, Queue, QueueId, Standing, TicketFacts, VisitId


class RoundFacts(msgspec.Struct, frozen=True):
    """The data of `queue.reset`."""

    day: Day
    round: int


class VisitFacts(msgspec.Struct, frozen=True):
    """What the data of all events of a visit has."""

    visit: VisitId


class Placed(Standing, frozen=True):
    """Where a ticket stands, as it is told to whoever follows it."""

    reserve_mode: bool = False
    """The number is beyond the day's capacity."""
    next: Queue | None = None
    """Where the visitor goes from here. For whoever holds the link: who only knows a name is not told."""


class Published:
    """An event as it is handed to forms. Its facts are read once, and each form puts it into bytes once."""

    __slots__ = ("at", "event", "facts", "frames", "reset", "shown", "visit_id")

    def __init__(self, event: Event, at: bytes) -> None:
        self.event = event
        self.at = at
        """The id of the event in a stream."""
        self.facts = _facts(event.data) if event.ticket_id is not None else None
        """A ticket's."""
        self.reset = _round(event.data) if event.kind == "queue.reset" else None
        self.visit_id = _visit_of(event, self.facts)
        """The visit that has come to this ticket, or that something happened to as a whole."""
        self.shown: LineFacts | None = None
        """How the queue's current line stands now; None if the event did not change it, or nobody asked."""
        self.frames: dict[Form, bytes | None] = {}

    @property
    def kind_for_visitor(self) -> str:
        """A call that nobody called out is a change like any other to whoever it is about."""
        return "ticket.changed" if self.facts is not None and self.facts.unannounced else self.event.kind

    @property
    def line_key(self) -> LineKey | None:
        facts = self.facts or self.reset
        queue_id = self.event.queue_id
        return None if facts is None or queue_id is None else LineKey(queue_id, facts.day, facts.round)

    @property
    def place(self) -> Place | None:
        """Where the ticket waits now, or did; None if it is no ticket's."""
        return None if self.facts is None else (-self.facts.priority, self.facts.sequence)

    @property
    def place_before(self) -> Place | None:
        """Where it waited before, or would have."""
        return self.place if self.facts is None or self.facts.moved_from is None else self.facts.moved_from

    @property
    def is_complete(self) -> bool:
        """Events of before there was a live stream do not say how their line stood."""
        return self.facts is None or self.facts.line is not None


_facts = msgspec.json.Decoder(TicketFacts).decode
_round = msgspec.json.Decoder(RoundFacts).decode
_visit = msgspec.json.Decoder(VisitFacts).decode


def _visit_of(event: Event, facts: TicketFacts | None) -> VisitId | None:
    if facts is not None:
        return facts.visit
    return _visit(event.data).visit if event.kind.startswith("visit.") else None


class Form(Protocol):
    """A shared view: all who see the same get the same bytes. It is a key, so it is hashable and holds no state."""

    @property
    def queue_id(self) -> QueueId | None:
        """The queue whose line is followed for this form, if it shows one."""

    @property
    def is_staffs(self) -> bool:
        """Only staff see this: whoever watches is judged again when the staff or tokens change."""

    def frame(self, published: Published) -> bytes | None:
        """The event in this form, with its id; None if it is not shown."""

    def present(self, line: LineFacts, at: bytes) -> bytes:
        """How the queue stands at this moment."""


class PersonalForm(Protocol):
    """One visitor's own view. `at` is empty when the id comes with the shared frame behind it."""

    def present(self, standing: Placed, at: bytes) -> bytes:
        """All that somebody who just came must know."""

    def happened(self, kind: str, standing: Placed, at: bytes) -> bytes:
        """The ticket itself changed by an event of this kind."""

    def moved(self, standing: Placed, at: bytes) -> bytes:
        """Others changed, and with them the place."""

    def near(self, standing: Placed) -> bytes:
        """It became nearly their turn."""


class Notices(msgspec.Struct, frozen=True):
    """What everybody is told about the stream itself."""

    stale: bytes
    """The store is away: what is shown may be out of date."""
    fresh: bytes
    """What is shown is true again."""
