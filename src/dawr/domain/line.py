"""One queue on one service day and round: its numbers, and how many are in which state.

A number is given once: the line counts up, and never down. The counts are kept with
every change, so nobody counts rows to say how many are ahead.
"""

from typing import Final

import msgspec

from dawr.domain.day import Day
from dawr.domain.errors import QueueFull
from dawr.domain.queue import Queue, QueueId
from dawr.domain.ticket import PRIORITIES, LineKey, State, Ticket
from dawr.domain.venue import VenueId

ENDED_BY_A_RESET: Final[frozenset[State]] = frozenset({"waiting", "held", "missed"})
MS_PER_MINUTE = 60_000
LONGEST_COUNTED_MS: Final = 24 * 60 * MS_PER_MINUTE
COUNTED_STATES = ("called", "serving", "held", "missed", "finished")


class Redated(msgspec.Struct, frozen=True):
    """What a venue takes along when its day goes back to today."""

    lines: dict[LineKey, LineKey]
    """Which line each one becomes, with all of its tickets."""
    day_ends: int
    now: int
    """What was to ring after the day's end rings now."""


class Line(msgspec.Struct, frozen=True):
    """The fields are the columns, in their order."""

    venue_id: VenueId
    queue_id: QueueId
    day: Day
    round: int
    last_number: int = 0
    used_before: int = 0
    """Places of the day's capacity that earlier rounds used up."""
    waiting: tuple[int, ...] = (0,) * PRIORITIES
    """How many wait, by priority."""
    called: int = 0
    serving: int = 0
    held: int = 0
    missed: int = 0
    finished: int = 0
    current_number: int | None = None
    """The number called last. Calling again does not change it, nor does finishing somebody who waits."""
    calls: int = 0
    waits_ms: int = 0
    services_ms: int = 0
    begins_behind: int = 0
    """The number before its first. Above 0 where another database gave those up to it, or may have."""

    @property
    def key(self) -> LineKey:
        return LineKey(self.queue_id, self.day, self.round)

    @property
    def people_waiting(self) -> int:
        return sum(self.waiting)

    @property
    def people(self) -> int:
        """Everybody who waits, was called, or is being served."""
        return self.people_waiting + self.called + self.serving

    @property
    def mean_wait_minutes(self) -> float:
        """Of those who were called."""
        return round(self.waits_ms / self.calls / MS_PER_MINUTE, 1) if self.calls else 0.0

    def ahead_of_newcomer(self, priority: int) -> int:
        return sum(self.waiting[priority:])

    def with_next_number(self, queue: Queue) -> "Line":
        """The same line with one more number given; refuses beyond capacity and reserve."""
        if queue.capacity is not None and self.is_full(queue):
            raise QueueFull(queue.id, queue.capacity, queue.reserve)
        return msgspec.structs.replace(self, last_number=self.last_number + 1)

    def is_full(self, queue: Queue) -> bool:
        return queue.capacity is not None and self.used >= queue.capacity + queue.reserve

    @property
    def used(self) -> int:
        """How much of the day's capacity is used."""
        return self.place_of(self.last_number)

    def place_of(self, number: int) -> int:
        """Which place of the day's capacity a number of this line has."""
        return self.used_before + number - self.begins_behind

    def next_round(self, *, behind: int = 0) -> "Line":
        """A new round at number 1, or behind another one. Who was not served gives their place of the capacity back."""
        given_back = self.people_waiting + self.held + self.missed
        return Line(
            venue_id=self.venue_id,
            queue_id=self.queue_id,
            day=self.day,
            round=self.round + 1,
            last_number=behind,
            used_before=self.used - given_back,
            begins_behind=behind,
        )

    def has_ended(self, ticket: Ticket) -> bool:
        """Whether this line took the place of the ticket's. After a reset, whoever was called is still served."""
        if ticket.line_key >= self.key:
            return False
        return ticket.day < self.day or ticket.state in ENDED_BY_A_RESET

    def counting(self, before: Ticket | None, after: Ticket, *, announced: bool = True) -> "Line":
        """The line after one of its tickets changed; `announced` is whether whoever was called was called out."""
        changed: dict[str, int] = {}
        waiting = self.waiting
        if before is not None:
            waiting = self._step(changed, waiting, before, -1)
        waiting = self._step(changed, waiting, after, +1)
        if after.state == "called" and before is not None and before.state == "waiting":
            if announced:
                changed["current_number"] = after.number
            changed["calls"] = self.calls + 1
            changed["waits_ms"] = self.waits_ms + _counted(after.waited_ms)
        elif after.state == "finished":
            changed["services_ms"] = self.services_ms + _counted(after.served_ms)
        return msgspec.structs.replace(self, waiting=waiting, **changed)

    def uncounting(self, undone: Ticket, restored: Ticket, current: int | None) -> "Line":
        """The line after a ticket's latest change was undone; `current` is the number called before that one."""
        changed: dict[str, int] = {}
        waiting = self._step(changed, self.waiting, undone, -1)
        waiting = self._step(changed, waiting, restored, +1)
        line = msgspec.structs.replace(self, waiting=waiting, **changed)
        if undone.state == "called" and restored.state == "waiting":
            return msgspec.structs.replace(
                line,
                calls=self.calls - 1,
                waits_ms=self.waits_ms - _counted(undone.waited_ms),
                current_number=current if self.current_number == undone.number else self.current_number,
            )
        if undone.state == "finished":
            return msgspec.structs.replace(line, services_ms=self.services_ms - _counted(undone.served_ms))
        return line

    def _step(self, changed: dict[str, int], waiting: tuple[int, ...], ticket: Ticket, step: int) -> tuple[int, ...]:
        state, priority = ticket.state, ticket.priority
        if state == "waiting":
            return (*waiting[:priority], waiting[priority] + step, *waiting[priority + 1 :])
        if state in COUNTED_STATES:
            changed[state] = changed.get(state, getattr(self, state)) + step
        return waiting


def _counted(ms: int | None) -> int:
    """Nobody waits or is served for more than a day: a clock was wrong."""
    return 0 if ms is None or ms > LONGEST_COUNTED_MS else ms
