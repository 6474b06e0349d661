"""One visitor's place in one line, from issued to finished.

A ticket never changes queue. Moving on issues a new ticket under the same visit,
so every queue's waiting times stay honest. The position is never stored: it is
how many wait with a higher priority, or the same one and a smaller sequence.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple, NewType
from unicodedata import normalize

import msgspec

from dawr.domain.day import Day
from dawr.domain.digits import fold_digits
from dawr.domain.errors import Fact, InvalidValue, TicketInWrongState
from dawr.domain.queue import QueueId
from dawr.domain.text import JOINERS
from dawr.domain.venue import DeskId, VenueId

TicketId = NewType("TicketId", str)
VisitId = NewType("VisitId", str)

Place = tuple[int, int]
"""Sorts the waiting in the order of calling."""


class LineKey(NamedTuple):
    """One line of one venue."""

    queue_id: QueueId
    day: Day
    round: int


State = Literal["waiting", "called", "serving", "held", "missed", "finished", "left", "expired"]
Verb = Literal[
    "issue",
    "call",
    "recall",
    "extend",
    "start",
    "finish",
    "miss",
    "rejoin",
    "hold",
    "resume",
    "prioritize",
    "leave",
    "expire",
]

OPEN_STATES: Final[frozenset[State]] = frozenset({"waiting", "called", "serving", "held", "missed"})
ENDED_STATES: Final[frozenset[State]] = frozenset({"finished", "left", "expired"})

STATES_IN_LINE: Final[frozenset[State]] = frozenset({"waiting", "held"})
"""Who has a place in the line: others may be ahead of them."""

STATES_AT_A_DESK: Final[frozenset[State]] = frozenset({"called", "serving"})
JUST_NOW_MS: Final = 60_000

PRIORITIES: Final = 4
"""0 is everybody's; a higher one is called first."""


class Change(msgspec.Struct, frozen=True):
    """What a verb does: from one of these states to that one, under this event, stamped in this column."""

    sources: frozenset[State]
    target: State
    event: str
    stamp: str


VERBS: Final[Mapping[Verb, Change]] = {
    "issue": Change(frozenset(), "waiting", "ticket.issued", "issued_at"),
    "call": Change(frozenset({"waiting"}), "called", "ticket.called", "called_at"),
    "recall": Change(frozenset({"called"}), "called", "ticket.recalled", "recalled_at"),
    "extend": Change(frozenset({"called"}), "called", "ticket.extended", "extended_at"),
    "start": Change(frozenset({"called"}), "serving", "ticket.started", "started_at"),
    "finish": Change(frozenset({"called", "serving", "missed"}), "finished", "ticket.finished", "finished_at"),
    "miss": Change(frozenset({"called"}), "missed", "ticket.missed", "missed_at"),
    "rejoin": Change(frozenset({"missed"}), "waiting", "ticket.rejoined", "rejoined_at"),
    "hold": Change(frozenset({"waiting", "called"}), "held", "ticket.held", "held_at"),
    "resume": Change(frozenset({"held"}), "waiting", "ticket.resumed", "resumed_at"),
    "prioritize": Change(frozenset({"waiting"}), "waiting", "ticket.prioritized", "prioritized_at"),
    "leave": Change(frozenset({"waiting", "called", "held", "missed"}), "left", "ticket.left", "left_at"),
    "expire": Change(OPEN_STATES, "expired", "ticket.expired", "expired_at"),
}


class Ticket(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    ticket_id: TicketId
    queue_id: QueueId
    day: Day
    round: int
    number: int
    label: str
    priority: int
    sequence: int
    """The venue's version when the visitor took this place: the order of calling, across queues too."""
    state: State
    visitor: str
    """Who it is, as the door knows them; one open ticket each per queue."""
    open_key: str | None
    """Queue and visitor while the ticket is open, None after: unique in the venue."""
    visit_id: VisitId
    issued_at: int
    version: int = 0
    """The version of the latest event of this ticket."""
    desk_id: DeskId | None = None
    recalls: int = 0
    called_at: int | None = None
    recalled_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    missed_at: int | None = None
    rejoined_at: int | None = None
    held_at: int | None = None
    resumed_at: int | None = None
    left_at: int | None = None
    expired_at: int | None = None
    from_ticket_id: TicketId | None = None
    """The ticket that this one carries on from, when a visitor was moved."""
    previous: str | None = None
    """What the latest change replaced, as JSON, so that it can be undone."""
    name: str | None = None
    """What staff call out, where the visitor is known by something else."""
    party_size: int = 1
    area: str | None = None
    """Where the party would like to sit."""
    stage: int | None = None
    """Which one of its visit's plan it was when it was issued, from 0. None: the visit has no plan."""
    prioritized_at: int | None = None
    extended_at: int | None = None

    @property
    def is_open(self) -> bool:
        return self.open_key is not None

    @property
    def is_planned(self) -> bool:
        """Return whether it is a stage of a journey. A caller who only knows a name must not learn of it."""
        return self.stage is not None

    @property
    def line_key(self) -> LineKey:
        return LineKey(self.queue_id, self.day, self.round)

    @property
    def place(self) -> Place:
        return (-self.priority, self.sequence)

    def after(
        self,
        verb: Verb,
        now: int,
        *,
        current: int | None = None,
        undone_to: "Ticket | None" = None,
        **facts: str | int | None,
    ) -> "Ticket":
        """This ticket once the verb has happened; refuses what its state does not allow.

        `current` is the number that its line called last: a call that is undone gives it back. `undone_to` is the
        ticket as an earlier change of the same command found it: both are undone as one.
        """
        change = VERBS[verb]
        self.must_be_in(change.sources, verb, now)
        facts["state"] = change.target
        facts[change.stamp] = now
        if verb == "resume" and self._was_called_from_this_wait:
            facts["rejoined_at"] = now
        if change.target in ENDED_STATES:
            facts["open_key"] = None
        changed = facts if undone_to is None else {**facts, **self.replaced}
        replaced = {name: getattr(undone_to or self, name) for name in changed}
        if verb == "call":
            replaced["current"] = current
        return msgspec.structs.replace(self, **facts, previous=msgspec.json.encode(replaced).decode())

    def must_be_in(self, states: frozenset[State], verb: str, now: int) -> None:
        if self.state not in states:
            raise TicketInWrongState(self.label, self.state, verb, **self._where(now))

    def _where(self, now: int) -> dict[str, Fact]:
        """Which desk has the visitor, and whether it called them just now; nothing, if none has."""
        if self.desk_id is None or self.state not in STATES_AT_A_DESK:
            return {}
        called_at = max(self.called_at or 0, self.recalled_at or 0)
        return {"desk": self.desk_id, "just_now": now - called_at < JUST_NOW_MS}

    @property
    def replaced(self) -> dict[str, Any]:
        """What the latest change replaced, by field; empty where nothing can be undone."""
        return _decode_replaced(self.previous or "{}")

    @property
    def latest_verbs(self) -> tuple[Verb, ...]:
        """What an undo would take back: one verb, or those of one command."""
        replaced = self.replaced
        return tuple(verb for verb, change in VERBS.items() if change.stamp in replaced)

    @property
    def changed_at(self) -> int:
        """When that happened."""
        stamps = [getattr(self, VERBS[verb].stamp) for verb in self.latest_verbs]
        return max((stamp for stamp in stamps if stamp is not None), default=self.issued_at)

    def before(self) -> tuple["Ticket", int | None]:
        """This ticket as its latest change found it, and what its line had called last then."""
        replaced = self.replaced
        current = replaced.pop("current", None)
        if replaced.get("open_key") is not None:
            replaced["open_key"] = open_key(self.queue_id, self.visitor)  # before an upgrade it had another form
        return msgspec.structs.replace(self, **replaced, previous=None), current

    @property
    def waited_ms(self) -> int | None:
        """Never less than nothing, though a clock may have stepped back meanwhile."""
        return None if self.called_at is None else max(0, self.called_at - self.waits_since)

    @property
    def waits_since(self) -> int:
        """When the wait began that a call ends."""
        return self.rejoined_at or self.issued_at

    @property
    def _was_called_from_this_wait(self) -> bool:
        """Whether a call has ended it already: whoever is held after that waits anew once they may be called again."""
        return self.called_at is not None and self.called_at > (self.rejoined_at or 0)

    @property
    def served_ms(self) -> int | None:
        begun = self.started_at or self.called_at
        return None if self.finished_at is None or begun is None else max(0, self.finished_at - begun)


_decode_replaced = msgspec.json.Decoder(dict[str, Any]).decode


def open_key(queue_id: QueueId, visitor: str) -> str:
    """Return the key of a visitor's one open ticket in a queue, whether its visit has a plan or not."""
    return f"{queue_id}:{visitor}"


def successor(ticket_id: str, venue_id: VenueId, now: int, version: int) -> TicketId:
    """The id of what carries on from this ticket, or begins this visit: as hard to guess as that one's."""
    digest = sha256(f"{ticket_id}:{version}".encode()).hexdigest()
    return TicketId(f"{venue_id}-{now:012x}{digest[:32]}")


LONGEST_VISITOR = 128
LARGEST_PARTY = 20


def checked_visitor(visitor: str) -> str:
    """Return the visitor's name for themselves. An id is one id, whichever digits a keyboard has for it."""
    return fold_digits(checked_text(visitor, field="visitor", most=LONGEST_VISITOR))


def checked_text(text: str, *, field: str, most: int) -> str:
    """Return a text that can be shown, without blanks around it, or refuse it.

    Accents are put together in one way, whatever the keyboard does.
    """
    trimmed = (text if text.isascii() else normalize("NFC", text)).strip()
    visible = trimmed if trimmed.isprintable() else trimmed.translate(JOINERS)
    if not visible.strip():
        raise InvalidValue(field, "visitor-empty")
    if len(trimmed) > most:
        raise InvalidValue(field, "visitor-long", most=most)
    if not visible.isprintable():
        raise InvalidValue(field, "visitor-unprintable")
    return trimmed
