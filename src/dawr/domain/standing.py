"""Where a ticket stands in its line: its position, whether its turn is near, and how long the wait will be.

Pages, API, doors and streams all read it from here; nobody else works it out. The wait is those
ahead, at the mean service time, over the desks at work. Measured services are mixed with
what staff typed in, so that the first visitor of the day gets a sensible figure too.
"""

import msgspec

from dawr.domain.events import LineFacts
from dawr.domain.line import MS_PER_MINUTE, Line
from dawr.domain.queue import Queue
from dawr.domain.ticket import Ticket

TYPED_IN_WEIGHT = 5
TOLD_TO = 5
"""Minutes. A figure to the minute would promise more than anybody knows."""


class Standing(msgspec.Struct, frozen=True):
    """One ticket, how many are called before it, and how long that takes."""

    queue: Queue
    ticket: Ticket
    ahead: int
    wait_minutes: int

    @property
    def position(self) -> int:
        """1 is next; 0 is not waiting."""
        return self.ahead + 1 if self.ticket.state == "waiting" else 0

    @property
    def is_near(self) -> bool:
        """Few enough are ahead that the visitor should be close by."""
        return self.ticket.state == "waiting" and self.ahead <= self.queue.near_turn

    @property
    def is_paused(self) -> bool:
        """They keep their place, but nobody is called from the queue at present."""
        return self.ticket.state == "waiting" and self.queue.state == "paused"


def wait_minutes(queue: Queue, line: Line | LineFacts, ahead: int) -> int:
    """How long whoever has so many ahead will wait."""
    desks_at_work = max(1, line.called + line.serving)
    return round(ahead * mean_service_ms(queue, line) / desks_at_work / MS_PER_MINUTE)


def told_minutes(minutes: int) -> int:
    """As people say it: to five minutes, unless it is less than that. The phone's script says the same."""
    return minutes if minutes < TOLD_TO else (minutes + TOLD_TO // 2) // TOLD_TO * TOLD_TO


def mean_service_ms(queue: Queue, line: Line | LineFacts) -> float:
    typed_in = queue.mean_service_seconds * 1000
    return (TYPED_IN_WEIGHT * typed_in + line.services_ms) / (TYPED_IN_WEIGHT + line.finished)
