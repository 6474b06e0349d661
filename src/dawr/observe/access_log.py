"""One line per request, and one more for what needs attention: a replay, an error of ours.

Nothing a client sends can forge a line: the method is one of a known few, and the route is
our own template.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from dawr.observe.log_buffer import LogBuffer
from dawr.reliability.asgi import METHODS, OTHER_METHOD, known_method
from dawr.reliability.correlation import trace_id_of

NO_ROUTE = "-"

Counted = Callable[[str, str, int, int], None]
"""Told of every request that has a line: its method, route, status, and the nanoseconds it took."""


class Line(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag="request", gc=False):
    at: str
    level: Literal["info"]
    method: str
    route: str
    status: int
    ms: float
    correlation_id: str
    actor: str | None = None
    bytes: int | None = None
    trace_id: str | None = None


class Replayed(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag="idempotency.replayed", gc=False
):
    """The key stays out of it: whoever has the key has the answer."""

    at: str
    level: Literal["info"]
    route: str
    correlation_id: str
    trace_id: str | None = None


class Failed(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag="api.error", gc=False):
    at: str
    level: Literal["warning"]
    route: str
    status: int
    code: str
    correlation_id: str
    trace_id: str | None = None


def _not_counted(*_: str | int) -> None:
    """Until somebody counts."""


class AccessLog(LogBuffer):
    shows_operations = True
    count: Counted = staticmethod(_not_counted)
    count_refusal: Callable[[str], None] = staticmethod(_not_counted)
    count_error: Callable[[str], None] = staticmethod(_not_counted)
    """Told the code of every problem that a caller is told: of what was refused, and of what failed here."""

    def begin(self) -> int:
        """When a request began, as `record` wants to know it."""
        return self._now()

    def record(  # noqa: PLR0917 - called for every request; names would cost as much as the line
        self,
        method: str,
        route: str,
        status: int,
        began: int,
        correlation_id: str,
        actor: str | None = None,
        size: int | None = None,
    ) -> None:
        now = self._now()
        took = max(0, now - began)
        method = method if method in METHODS else OTHER_METHOD
        self.count(method, route, status, took)
        ms, trace_id = took // 10_000 / 100, trace_id_of(correlation_id)
        self.add(Line(self.at(now), "info", method, route, status, ms, correlation_id, actor, size, trace_id))

    def replayed(self, route: str, correlation_id: str) -> None:
        """A retry got the answer of the first try."""
        self.add(Replayed(self.moment(), "info", route, correlation_id, trace_id_of(correlation_id)))

    def failed(self, route: str, status: int, code: str, correlation_id: str) -> None:
        """What was asked is right, and we cannot do it now. A fault that nobody expected has a line of its own."""
        self.add(Failed(self.moment(), "warning", route, status, code, correlation_id, trace_id_of(correlation_id)))


class NoAccessLog(AccessLog):
    """For whoever logs warnings only: requests are counted, and not written."""

    shows_operations = False

    def record(  # noqa: PLR0917 - as above
        self,
        method: str,
        route: str,
        status: int,
        began: int,
        correlation_id: str,  # noqa: ARG002 - as above
        actor: str | None = None,  # noqa: ARG002 - as above
        size: int | None = None,  # noqa: ARG002 - as above
    ) -> None:
        self.count(known_method(method), route, status, max(0, self._now() - began))

    def replayed(self, route: str, correlation_id: str) -> None:
        pass


class NoLog(NoAccessLog):
    """For whoever logs errors only."""

    def failed(self, route: str, status: int, code: str, correlation_id: str) -> None:
        pass
