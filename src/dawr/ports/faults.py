"""What may go wrong outside of the rules: too much to do, or a store that is away, damaged or unsure."""

from typing import ClassVar


class Busy(Exception):
    """More requests wait than can be answered soon. Try again in a second."""

    code: ClassVar[str] = "busy"


class Stopping(Busy):
    """The server is stopping. Try again in a moment."""

    code = "stopping"


class StoreFault(Exception):
    """The store could not do it.

    StoreFault
    ├── StoreAway        nothing was stored; try again later
    │   ├── ClockUntrusted
    │   └── StoreDamaged     and it stays so until it is restored
    │       └── StoreMissing     its files were removed or replaced
    ├── OutcomeUnknown   the commit was sent and no answer came
    └── Unstorable       a row that the database will not take: never retry as it is
    """


class StoreAway(StoreFault):
    """The database cannot be reached or is too busy; nothing was stored."""


class ClockUntrusted(StoreAway):
    """This machine's clock and the database's are more than two seconds apart: set them right."""


class StoreDamaged(StoreAway):
    """The database is damaged: nothing can be stored until a backup is restored."""


class StoreMissing(StoreDamaged):
    """The files of the database were removed or replaced under the server: nothing can be stored."""


class OutcomeUnknown(StoreFault):
    """The connection was lost while committing; it may or may not be stored."""

    has_key: bool = False
    """Whether the request came under an idempotency key: then it is safe to ask again."""


class Unstorable(StoreFault):
    """The database refused a row."""
