"""Something that is due: a row saved with the change that makes it so, and decided anew when it rings."""

from typing import Literal, NamedTuple

import msgspec

from dawr.domain.venue import VenueId

AlarmKind = Literal["miss", "hold", "break", "call", "enter", "hours", "close"]
"""Of a ticket: miss, hold. Of a desk: break, call, close. Of a visit: enter. Of a queue: hours."""


class AlarmKey(NamedTuple):
    kind: AlarmKind
    subject: str
    """The ticket's, desk's, visit's or queue's id."""


class Alarm(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    kind: AlarmKind
    subject: str
    due_at: int | None
    """None: it has rung."""

    @property
    def key(self) -> AlarmKey:
        return AlarmKey(self.kind, self.subject)
