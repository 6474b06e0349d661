"""What the rules need from outside: a store that locks, loads and saves; a clock; ids.

`Wants` and `Rows` speak of one venue. A store fills every want it is given: a row that
does not come back is known not to exist.
"""

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from dawr.domain import (
    Account,
    AccountId,
    Alarm,
    Day,
    Event,
    Head,
    Line,
    LineKey,
    Place,
    QueueId,
    Redated,
    Role,
    SignedIn,
    StaffMember,
    Ticket,
    TicketId,
    Token,
    TokenId,
    Venue,
    VenueId,
    Visit,
)
from dawr.domain.account import Session as AccountSession
from dawr.reliability.correlation import Trace
from dawr.reliability.lease import Leases

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R", bound=msgspec.Struct)

BULK_STEP = 500
"""The most rows that bulk work changes in one transaction."""


class Kind(msgspec.Struct, Generic[K, R], frozen=True, eq=False, kw_only=True):
    """A kind of row that a venue has, declared once. What is loaded, missed, taken back and saved follows from it.

    Its statements are named after it: `{name}_by_key` or, if it is loaded whole, `{name}_of_venue`; and `save_{name}`.
    """

    name: str
    row: type[R]
    """Its fields are the columns, in their order."""
    key: Callable[[R], K]
    whole: bool = False
    """A venue has few of them: all are loaded at once, or none."""
    of_venue: bool = True
    """Whether the database finds one by its venue and its key, or by the key alone."""
    missing: Callable[[], Exception] = LookupError
    """What whoever needs one is told if it is not there."""


class Search(NamedTuple):
    """Tickets that are looked for in one way, by its key; as they are stored.

    `open`: those of a line who are not done and in some states, in the order of calling: queue, day, round, behind
    which priority and sequence, states separated by spaces, how many. `in_states`: those in some states, done or not:
    queue, day, round, below which number, states, how many. `at_desk`: who was called there or is served there.
    `by_number`: queue, day, number. `by_name`: queue, day, round, name, how many.
    `called`: the latest calls in all queues: day, how many. `longest`: who has waited longest in a queue's newest line.
    `waiting`: the first people of that line: queue, how many. `aside`: who is held, or missed their call, the latest
    first: queue, day, round, state, how many. `left_desk`: who was last changed at a desk and has gone from there, the
    latest first: desk, how many. `found`: who of a line waits, is held or missed their call, by a part of their label
    or name or the whole of what the door knows them by: queue, day, round, text, how many. `noted`: who of a line
    has a visit with this in its note: queue, day, round, text, how many. `finished_in`: a visitor's finished tickets of
    a day in one queue, the latest first: visitor, day, queue. `ended_stages`: their latest ticket of a day that belongs
    to a journey and has ended: visitor, day.
    """

    how: Literal[
        "open",
        "in_states",
        "at_desk",
        "by_number",
        "by_name",
        "called",
        "longest",
        "waiting",
        "aside",
        "left_desk",
        "found",
        "noted",
        "finished_in",
        "ended_stages",
    ]
    key: tuple[str | int, ...]


class IssuedTo(NamedTuple):
    """When a mobile number was given its latest `most` numbers at the venue."""

    visitor: str
    most: int


class Wants(msgspec.Struct):
    """Rows that commands expect to need: a hint that saves round trips, never a need."""

    tickets: set[TicketId] = msgspec.field(default_factory=set)
    open_keys: set[str] = msgspec.field(default_factory=set)
    visitors: set[str] = msgspec.field(default_factory=set)
    """Whose open visit with a plan is asked for."""
    searches: set[Search] = msgspec.field(default_factory=set)
    places: set[LineKey] = msgspec.field(default_factory=set)
    """The places of all who wait in a line, read once to tell any number of them how many are ahead."""
    lines: set[LineKey] = msgspec.field(default_factory=set)
    current_lines: set[QueueId] = msgspec.field(default_factory=set)
    waiting: set[QueueId] = msgspec.field(default_factory=set)
    """The people to call next; the current line comes along."""
    ended: set[LineKey] = msgspec.field(default_factory=set)
    """Open tickets of lines before this one."""
    issued: set[IssuedTo] = msgspec.field(default_factory=set)
    histories: set[QueueId] = msgspec.field(default_factory=set)
    """Queues of which it is asked whether they ever gave a number, or were part of somebody's plan."""
    rows: dict[Kind[Any, Any], set[Any]] = msgspec.field(default_factory=dict)
    """By their keys; of a kind that is loaded whole, all, and no key is named."""

    def add(self, kind: Kind[K, Any], *keys: K) -> None:
        self.rows.setdefault(kind, set()).update(keys)


class Rows(msgspec.Struct):
    """What a store found."""

    tickets: list[Ticket] = msgspec.field(default_factory=list)
    open: list[Ticket] = msgspec.field(default_factory=list)
    planned: list[Visit] = msgspec.field(default_factory=list)
    searches: dict[Search, list[Ticket]] = msgspec.field(default_factory=dict)
    places: dict[LineKey, list[Place]] = msgspec.field(default_factory=dict)
    """In the order of calling."""
    lines: list[Line] = msgspec.field(default_factory=list)
    current_lines: list[Line] = msgspec.field(default_factory=list)
    waiting: list[Ticket] = msgspec.field(default_factory=list)
    ended: list[Ticket] = msgspec.field(default_factory=list)
    issued: dict[str, list[int]] = msgspec.field(default_factory=dict)
    """By visitor."""
    histories: set[QueueId] = msgspec.field(default_factory=set)
    """Those that have one."""
    rows: dict[Kind[Any, Any], list[Any]] = msgspec.field(default_factory=dict)

    def of(self, kind: Kind[Any, R]) -> list[R]:
        return self.rows.get(kind, [])


class Changes(msgspec.Struct):
    """What a transaction did to one venue, ready to be saved."""

    head: Head
    venue: Venue | None
    """The new set-up, if it changed."""
    new_tickets: list[Ticket]
    changed_tickets: list[Ticket]
    lines: list[Line]
    events: list[Event]
    rows: dict[Kind[Any, Any], list[Any]] = msgspec.field(default_factory=dict)
    """New ones and changed ones, in the order in which they are saved."""
    redated: Redated | None = None
    retried: tuple[int, int] | None = None
    """Parked visits that are due after the first moment and up to the second one try again at the first."""

    @property
    def is_empty(self) -> bool:
        changed = (self.venue, self.new_tickets, self.changed_tickets, self.lines, self.events, *self.rows.values())
        return not any(changed)

    def of(self, kind: Kind[Any, R]) -> list[R]:
        return self.rows.get(kind, [])


class Batch(msgspec.Struct, frozen=True):
    """Commands that shared one transaction, and how that went."""

    size: int
    seconds: float
    """From its lock to the end of its commit."""
    changed: list[Changes]
    traces: list[tuple[str | None, Trace]]
    """Correlation id and trace of each command whose request is part of a trace."""
    fault: Exception | None = None
    """Why nothing was stored."""


class Session(Protocol):
    """One open transaction. The heads of its venues are held until it ends."""

    heads: Mapping[VenueId, Head]
    venues: Mapping[VenueId, Venue]
    clock_error_ms: int
    """How far this process's clock is ahead of the store's; 0 while they are within two seconds.

    With a wrong one no day may begin, and everything else goes by the store's.
    """

    async def load(self, wants: Mapping[VenueId, Wants], *, depth: int) -> dict[VenueId, Rows]:
        """Everything wanted, in bulk: of each line at most `depth` waiting tickets, the first ones."""

    async def fences(self, leases: Iterable[str]) -> dict[str, int]:
        """The current fence of each lease. Nobody takes one of them over until this transaction ends."""

    async def save(self, changes: Iterable[Changes]) -> None: ...

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        """A venue's events behind this version, in order."""


class AccountStore(Protocol):
    """Accounts and their sessions, which belong to no venue. Each call is a transaction of its own."""

    async def find(self, username: str) -> Account | None: ...

    async def get(self, account_id: AccountId) -> Account | None: ...

    async def add(self, account: Account) -> bool:
        """False: the name is taken. Of many who add one name at once, one succeeds."""

    async def set_password(self, account_id: AccountId, password_hash: str, unlocked_at: int) -> None: ...

    async def set_disabled(self, account_id: AccountId, disabled_at: int | None) -> None: ...

    async def set_unlocked(self, account_id: AccountId, unlocked_at: int) -> None: ...

    async def memberships(self, account_id: AccountId) -> list[StaffMember]:
        """Where this account works or worked, by venue."""

    async def has_owner(self) -> bool:
        """Whether any venue has an owner who can sign in."""

    async def add_session(self, session: AccountSession, *, password_hash: str) -> bool:
        """False: the account was disabled, or got another password than this, meanwhile."""

    async def signed_in(self, session_hash: str, now: int, *, idle_ms: int) -> SignedIn | None:
        """Whose session this is; None when it ended, was idle for too long, or its account is disabled."""

    async def touch_session(self, session_hash: str, now: int) -> None: ...

    async def end_session(self, session_hash: str) -> None: ...

    async def end_sessions(self, account_id: AccountId) -> None: ...

    async def end_sessions_unless_member(self, account_id: AccountId) -> None:
        """Those that open nothing any more: all of an account that works nowhere now, and none of any other."""

    async def purge_sessions(self, now: int, *, most: int) -> int:
        """Delete sessions that have expired, and say how many."""

    async def token(self, venue_id: VenueId, token_id: TokenId) -> tuple[Token, Role | None] | None:
        """A token, and what whoever answers for it may at the venue now: None, if nothing."""

    async def set_owner_code(self, code_hash: str, now: int) -> None:
        """The code that makes the first owner's account; an earlier one is forgotten."""

    async def is_owner_code(self, code_hash: str, *, made_after: int) -> bool:
        """Whether it could be taken now."""

    async def take_owner_code(self, code_hash: str, *, made_after: int) -> bool:
        """True for one of all who bring the right code, however many come at once."""


class Store(Protocol):
    @property
    def accounts(self) -> AccountStore: ...

    @property
    def leases(self) -> Leases:
        """Works that one process of all does at a time."""

    async def transact(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        """Lock the venues' heads in id order, run work, commit; return only when the disk has it.

        Work may be run again from the start, and must not keep anything from an earlier run.
        """

    async def read(self, venues: Iterable[VenueId], work: Callable[[Session], Awaitable[T]]) -> T:
        """Run work on one consistent picture without locking anything."""

    async def add_venue(self, venue: Venue, head: Head, first: Changes | None = None) -> None:
        """A new venue, its head, and what happens with its making: all of it, or nothing."""

    async def venue_ids(self) -> dict[str, VenueId]:
        """All venues: slug → id."""

    async def venues_called(self, name: str) -> dict[str, VenueId]:
        """The venue with this slug, and the one with this id: slug → id."""

    async def put_right(self, now: int) -> int:
        """This process's time, or the store's if they are more than two seconds apart."""

    async def lines_since(self, venue_id: VenueId, queue_id: QueueId, day: Day) -> list[LineKey]:
        """A queue's lines of this day and of later ones."""

    async def due_alarms(self, now: int, *, most: int) -> list[Alarm]:
        """What is due at any venue, the longest overdue first."""

    async def purge_alarms(self, *, most: int) -> int:
        """Delete alarms that have rung, and say how many."""

    async def ring_far_alarms(self, now: int, *, beyond: int) -> int:
        """Let alarms of tickets, desks and visits that are due later than any timer sets ring now. How many."""

    async def purge_answers(self, ran_ms: int, *, most: int) -> int:
        """Delete answers that have expired once the installation ran for so long, and say how many."""

    async def time_kept(self) -> tuple[int, int | None]:
        """How long the installation has run, and what its clock said when it was believed last; None: never."""

    async def keep_time(self, ran_ms: int, believed_at: int | None) -> None:
        """What is kept never becomes less; None leaves as it is what was believed."""

    async def warm_up(self) -> None:
        """Have at hand what the first requests would wait for. A store that is away is left for later."""

    async def ping(self) -> None:
        """Raise unless a transaction could be made now, by a clock that can be trusted."""

    async def migrate(self) -> list[str]:
        """Bring the schema up to date; the titles of what was applied."""

    async def renew_epochs(self, new_epoch: Callable[[], int]) -> int:
        """In a restored copy, begin new epochs, so that no stream resumes wrongly from before.

        Says how many venues it had; none for a database that is no copy.
        """

    async def identity(self) -> str:
        """Which database this is: the same for all who use it, another in every copy once its epochs are renewed."""

    async def secret(self, new: str) -> str:
        """The installation's own, which all of its processes share and nobody else knows; a new one if it has none."""

    async def inspect(self, *, seconds: float) -> bool:
        """Raise if it is damaged, as far as can be seen in this time. False: there was more to look at."""

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
