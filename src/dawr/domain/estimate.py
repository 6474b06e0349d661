"""How long a newcomer will wait: those ahead, at the mean service time, over the desks at work.

Measured services are mixed with what staff typed in, so that the first visitor of
the day gets a sensible figure too.
"""

from typing import Protocol

from dawr.domain.line import Line
from dawr.domain.queue import Queue

TYPED_IN_WEIGHT = 5
MS_PER_MINUTE = 60_000


class AtWork(Protocol):
    """What a line, or the facts of an event, tell about service."""

    @property
    def called(self) -> int: ...
    @property
    def serving(self) -> int: ...
    @property
    def finished(self) -> int: ...
    @property
    def services_ms(self) -> int: ...


def mean_service_ms(queue: Queue, line: AtWork) -> float:
    typed_in = queue.mean_service_seconds * 1000
    return (TYPED_IN_WEIGHT * typed_in + line.services_ms) / (TYPED_IN_WEIGHT + line.finished)


def wait_minutes(queue: Queue, line: AtWork, ahead: int) -> int:
    desks_at_work = max(1, line.called + line.serving)
    return round(ahead * mean_service_ms(queue, line) / desks_at_work / MS_PER_MINUTE)


def mean_wait_minutes(line: Line) -> float:
    return round(line.waits_ms / line.calls / MS_PER_MINUTE, 1) if line.calls else 0.0
