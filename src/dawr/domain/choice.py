"""Where a visitor goes next: to the queue where they would be called soonest.

The ticket is taken before the walk, so the walk and the wait go on together: the score is the longer of the two.
Ties go to fewest waiting, then to the order of the plan.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from dawr.domain.journey import Walks, is_for, walking_minutes
from dawr.domain.line import Line
from dawr.domain.queue import Audience, Queue, QueueId
from dawr.domain.standing import wait_minutes

LeftOut = Literal["closed", "full", "outside-hours", "audience"]


class Candidate(msgspec.Struct, frozen=True):
    """One queue that could be next: its score in minutes, or why it cannot be."""

    queue_id: QueueId
    walk_minutes: int
    wait_minutes: int
    waiting: int
    left_out: LeftOut | None = None
    opens_at: int | None = None
    """When its hours begin next, if that is why it is left out."""

    @property
    def score(self) -> int:
        return max(self.walk_minutes, self.wait_minutes)


def candidate(
    queue: Queue,
    line: Line,
    now: int,
    *,
    zone: str,
    walks: Walks,
    floor: str | None,
    audience: Audience,
    priority: int,
) -> Candidate:
    """`floor` is where the visitor is."""
    ahead = line.ahead_of_newcomer(priority)
    left_out, opens_at = why_left_out(queue, line, now, zone=zone, audience=audience)
    return Candidate(
        queue.id,
        walking_minutes(walks, floor, queue.floor),
        wait_minutes(queue, line, ahead),
        line.people_waiting,
        left_out,
        opens_at,
    )


def why_left_out(
    queue: Queue, line: Line, now: int, *, zone: str, audience: Audience
) -> tuple[LeftOut | None, int | None]:
    if not is_for(queue.audience, audience):
        return "audience", None
    if queue.state == "closed":
        return "closed", None
    if not queue.is_within_hours(now, zone=zone):
        return "outside-hours", queue.opens_next(now, zone=zone)
    return ("full", None) if line.is_full(queue) else (None, None)


def best(candidates: Iterable[Candidate]) -> Candidate | None:
    """Of candidates in the order of the plan."""
    return min((c for c in candidates if c.left_out is None), key=lambda c: (c.score, c.waiting), default=None)
