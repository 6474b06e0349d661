"""A desk while people work: who sits there, and whether it is open, on a break or closed.

Which queues it serves is the venue's set-up. A desk that nobody opened is closed, and can call all the same:
a clinic that does not use desks loses nothing.
"""

from typing import Final, Literal

import msgspec

from dawr.domain.errors import InvalidValue
from dawr.domain.venue import DeskId, VenueId

DeskState = Literal["open", "break", "closed"]

MOST_MISSES: Final = 3
"""After so many in a row nobody is called to the desk by the clock: it looks as if nobody were there."""
LONGEST_BREAK_MS: Final = 12 * 60 * 60 * 1000


class DeskNow(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    desk_id: DeskId
    state: DeskState
    occupant: str | None
    """Who opened it, as events name them; None once it is closed."""
    since: int
    until: int | None = None
    """When the break ends."""
    misses: int = 0
    """Who was called here and did not come, one after the other."""

    def has(self, actor: str | None) -> bool:
        """Whether they sit here; on a break they still do."""
        return actor is not None and self.occupant == actor and self.state != "closed"


def closed(venue_id: VenueId, desk_id: DeskId) -> DeskNow:
    """One that nobody has opened yet."""
    return DeskNow(venue_id, desk_id, "closed", None, 0)


def checked_break(until: int, now: int) -> int:
    if not now < until <= now + LONGEST_BREAK_MS:
        raise InvalidValue("until", "break-end", hours=12)
    return until
