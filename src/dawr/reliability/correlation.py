"""One id for all that one request causes: its answer, its log lines, the calls it makes.

A caller may bring the id (`x-correlation-id`, or `x-request-id`); what does not look like
an id is replaced, and kept nowhere. A W3C `traceparent` is carried along with it: this is
no tracing system, so the parent of the calls we make is the parent that we were given,
until a tracing system says where it stands.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from dawr.reliability.asgi import ASGIApp, Message, Receive, Scope, Send

HeaderLine = tuple[bytes, bytes]

CORRELATION_ID = b"x-correlation-id"
REQUEST_ID = b"x-request-id"
TRACEPARENT = b"traceparent"
TRACESTATE = b"tracestate"

FITTING = re.compile(rb"[A-Za-z0-9._-]{1,128}")
PARENT = re.compile(
    rb"(?!ff|00.{53}-)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?", re.DOTALL
)
"""Version 00 has 55 characters; of a later version the first 55 are read in the same way."""
KNOWN_FLAGS = 0b11
"""Sampled, and random trace id. A sender clears the flags it does not know."""
ANSWERS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
"""The messages that carry the headers of an answer."""
MOST_MEMBERS = 32
STATE = re.compile(rb"[\x20-\x7e\t]{1,512}")


class Trace(NamedTuple):
    """Where a request stands in somebody's trace."""

    trace_id: str
    parent_id: str
    flags: int = 0
    state: str = ""

    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.parent_id}-{self.flags:02x}"


_current: ContextVar[tuple[str | None, Trace | None]] = ContextVar("correlation", default=(None, None))
"""The id of a request, and the trace that it is part of."""


def begin(headers: Sequence[HeaderLine], new_id: Callable[[], str]) -> str:
    """The id of the request that begins here; from now on it is the current one of this task."""
    first = dict(headers)
    brought = accepted(headers) if CORRELATION_ID in first or REQUEST_ID in first else None
    correlation_id = brought or new_id()
    # Without a trace, too: a task may have inherited that of the request that started it.
    _current.set((correlation_id, traced(headers) if TRACEPARENT in first else None))
    return correlation_id


def current() -> str | None:
    """The id of the request that is being answered, if one is."""
    return _current.get()[0]


def current_trace() -> Trace | None:
    return _current.get()[1]


def trace_id_of(correlation_id: str | None) -> str | None:
    """Return the current trace's id if the current request has this correlation id.

    On a pipelined connection the next request may be refused while the one before it is current.
    """
    current_id, trace = _current.get()
    return None if trace is None or current_id != correlation_id else trace.trace_id


def stand_at(trace: Trace) -> None:
    """For a tracing system: from here on this is the parent of the calls we make."""
    _current.set((current(), trace))


def accepted(headers: Sequence[HeaderLine]) -> str | None:
    """The id that the caller brought: the first that fits, and `x-correlation-id` before `x-request-id`."""
    for wanted in (CORRELATION_ID, REQUEST_ID):
        for name, value in headers:
            if name == wanted and FITTING.fullmatch(value):
                return value.decode("ascii")
    return None


def traced(headers: Sequence[HeaderLine]) -> Trace | None:
    """The trace that the caller is part of. Two parents are none."""
    parents = [value.strip(b" \t") for name, value in headers if name == TRACEPARENT]
    match = PARENT.fullmatch(parents[0]) if len(parents) == 1 else None
    if match is None:
        return None
    trace_id, parent_id, flags = match.groups()
    state = _state([value for name, value in headers if name == TRACESTATE])
    return Trace(trace_id.decode(), parent_id.decode(), int(flags, 16) & KNOWN_FLAGS, state)


def _state(lines: list[bytes]) -> str:
    """What others keep in the trace, passed on whole or not at all."""
    state = b",".join(lines)
    fits = STATE.fullmatch(state) is not None and state.count(b",") < MOST_MEMBERS
    return state.decode("ascii") if fits else ""


def outgoing_headers() -> dict[str, str]:
    """For a call that is made on behalf of the current request."""
    headers = {}
    if (correlation_id := current()) is not None:
        headers["x-correlation-id"] = correlation_id
    if (trace := current_trace()) is not None:
        headers["traceparent"] = trace.traceparent()
        if trace.state:
            headers["tracestate"] = trace.state
    return headers


@contextmanager
def within(correlation_id: str, trace: Trace | None = None) -> Iterator[None]:
    """On behalf of a request that ended: a worker takes its id from the row that it works on."""
    before = _current.get()
    _current.set((correlation_id, trace))
    try:
        yield
    finally:
        _current.set(before)


class CorrelationFilter(logging.Filter):
    """A filter for Python's own logging: every record gets a `correlation_id` and a `trace_id`, or `-`."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.correlation_id = current() or "-"
        record.trace_id = trace_id_of(current()) or "-"
        return True


def add_to_log_line(_logger: object, _level: str, line: Message) -> Message:
    """A structlog processor: every line of a request says which request and trace it was."""
    if (correlation_id := current()) is not None:
        line.setdefault("correlation_id", correlation_id)
        if (trace_id := trace_id_of(line["correlation_id"])) is not None:
            line.setdefault("trace_id", trace_id)
    return line


class Correlation:
    """ASGI middleware: gives each request its id, and echoes it in the answer.

    It goes around the whole app. What a framework answers to an unhandled error is made outside of its own middleware.
    """

    def __init__(self, app: ASGIApp, new_id: Callable[[], str]) -> None:
        self._app = app
        self._new_id = new_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        before = _current.get()
        echoed = begin(list(scope["headers"]), self._new_id).encode("ascii")

        async def send_with_id(message: Message) -> None:
            if message["type"] in ANSWERS:
                others = [line for line in message.get("headers", ()) if line[0].lower() != CORRELATION_ID]
                message["headers"] = [*others, (CORRELATION_ID, echoed)]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            _current.set(before)
