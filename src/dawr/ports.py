"""What the rules need from outside: a store that locks, loads and saves; a clock; ids.

`Wants` and `Rows` speak of one venue. A store fills every want it is given: a row that
does not come back is known not to exist.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol, TypeVar

import msgspec

from dawr.domain.events import Event
from dawr.domain.line import Line
from dawr.domain.queue import QueueId
from dawr.domain.ticket import LineKey, Ticket, TicketId
from dawr.domain.venue import Head, Venue, VenueId
from dawr.domain.visit import Visit
from dawr.domain.waiting import Place
from dawr.reliability.idempotency import Answer, AnswerKey

T = TypeVar("T")

BULK_STEP = 500
"""The most rows that bulk work changes in one transaction."""


class Wants(msgspec.Struct):
    """Rows that commands expect to need: a hint that saves round trips, never a need."""

    tickets: set[TicketId] = msgspec.field(default_factory=set)
    open_keys: set[str] = msgspec.field(default_factory=set)
    places: set[LineKey] = msgspec.field(default_factory=set)
    """The places of all who wait in a line, read once to tell any number of them how many are ahead."""
    lines: set[LineKey] = msgspec.field(default_factory=set)
    current_lines: set[QueueId] = msgspec.field(default_factory=set)
    waiting: set[QueueId] = msgspec.field(default_factory=set)
    """The people to call next; the current line comes along."""
    ended: set[LineKey] = msgspec.field(default_factory=set)
    """Open tickets of lines before this one."""
    answers: set[AnswerKey] = msgspec.field(default_factory=set)


class Rows(msgspec.Struct):
    """What a store found."""

    tickets: list[Ticket] = msgspec.field(default_factory=list)
    open: list[Ticket] = msgspec.field(default_factory=list)
    places: dict[LineKey, list[Place]] = msgspec.field(default_factory=dict)
    """In the order of calling."""
    lines: list[Line] = msgspec.field(default_factory=list)
    current_lines: list[Line] = msgspec.field(default_factory=list)
    waiting: list[Ticket] = msgspec.field(default_factory=list)
    ended: list[Ticket] = msgspec.field(default_factory=list)
    answers: list[Answer] = msgspec.field(default_factory=list)


class Changes(msgspec.Struct):
    """What a transaction did to one venue, ready to be saved."""

    head: Head
    venue: Venue | None
    """The new set-up, if it changed."""
    new_tickets: list[Ticket]
    changed_tickets: list[Ticket]
    visits: list[Visit]
    lines: list[Line]
    events: list[Event]
    answers: list[Answer]


class Session(Protocol):
    """One open transaction. The heads of its venues are held until it ends."""

    heads: Mapping[VenueId, Head]
    venues: Mapping[VenueId, Venue]
    clock_trusted: bool
    """False when this clock and the store's are more than two seconds apart: then no day may begin."""

    async def load(self, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        """Everything wanted, in bulk: of each line at most `depth` waiting tickets, the first ones."""

    async def save(self, changes: Iterable[Changes]) -> None: ...

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        """A venue's events behind this version, in order."""


class Store(Protocol):
    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        """Lock the venues' heads in id order, run work, commit; return only when the disk has it.

        Work may be run again from the start, and must not keep anything from an earlier run.
        """

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        """Run work on one consistent picture without locking anything."""

    async def add_venue(self, venue: Venue, head: Head) -> None: ...

    async def venue_ids(self) -> dict[str, VenueId]:
        """All venues: slug → id."""

    async def purge_answers(self, now: int, *, most: int) -> int:
        """Delete answers that have expired, and say how many."""

    async def ping(self) -> None:
        """Raise unless a transaction could be made now, by a clock that can be trusted."""

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; the titles of what was applied."""

    async def renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        """In a restored copy, begin new epochs, so that no stream resumes wrongly from before.

        Says how many venues it had; none for a database that is no copy.
        """

    async def pending_migrations(self) -> list[str]:
        """Titles of what `migrate` would apply. Reads only."""

    async def faults(self) -> list[str]:
        """What a look at every row finds wrong, in sentences. Reads only."""

    async def close(self) -> None: ...


class Clock(Protocol):
    def __call__(self) -> int:
        """Now, in milliseconds since 1970 UTC."""


class Ids(Protocol):
    def token(self) -> str:
        """A secret: 128 random bits as text that fits a URL."""

    def new(self, venue_id: VenueId) -> str:
        """An id that nobody can guess and no other thing has. It begins with its venue, then with the time."""

    def venue_code(self) -> str:
        """A short code for a new venue."""

    def epoch(self) -> int:
        """A number that no earlier stream of events had."""


class StoreFault(Exception):
    """The store could not do it.

    StoreFault
    ├── StoreAway        nothing was stored; try again later
    │   └── ClockUntrusted
    ├── OutcomeUnknown   the commit was sent and no answer came
    └── Unstorable       a row that the database will not take: never retry as it is
    """


class StoreAway(StoreFault):
    """The database cannot be reached or is too busy; nothing was stored."""


class ClockUntrusted(StoreAway):
    """This machine's clock and the database's are more than two seconds apart: set them right."""


class OutcomeUnknown(StoreFault):
    """The connection was lost while committing; it may or may not be stored."""


class Unstorable(StoreFault):
    """The database refused a row."""
