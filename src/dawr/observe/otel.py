"""Spans through OpenTelemetry's own library. Imported only when traces are switched on.

A span has the route's template, the status and the correlation id: no path, no address, nothing
that a caller sent.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, set_span_in_context
from opentelemetry.trace.span import TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode

from dawr import __version__
from dawr.reliability import correlation
from dawr.reliability.correlation import Trace

NAME = "dawr"
NAMELESS = "unknown_service"
SAMPLED = 1
MOST_LINKS = 1000
"""As many as a batch may have commands."""
LAST_WORDS_SECONDS = 0.4
NS_PER_SECOND = 1_000_000_000


def started(exporter: str, now: Callable[[], int]) -> "OtelTracing":
    """The library reads the rest of its variables itself. Made after a fork: it has a thread."""
    provider = TracerProvider(
        resource=_resource(),
        span_limits=SpanLimits(max_links=MOST_LINKS),
        shutdown_on_exit=False,
    )
    sender = OTLPSpanExporter() if exporter == "otlp" else ConsoleSpanExporter()
    provider.add_span_processor(BatchSpanProcessor(sender))
    return OtelTracing(provider, now)


class OtelTracing:
    def __init__(self, provider: TracerProvider, now: Callable[[], int]) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(NAME, __version__)
        self._now = now

    def begin(self) -> "OtelSpan":
        parent = correlation.current_trace()
        span = self._tracer.start_span("request", _under(parent), kind=SpanKind.SERVER)
        own = span.get_span_context()
        state = own.trace_state.to_header()
        correlation.stand_at(Trace(f"{own.trace_id:032x}", f"{own.span_id:016x}", int(own.trace_flags), state))
        return OtelSpan(span)

    def ran(self, requests: Sequence[Trace], commands: int, seconds: float, fault: BaseException | None) -> None:
        links = [Link(_context_of(trace, is_remote=False)) for trace in requests if trace.flags & SAMPLED]
        if not links:
            return
        ended = self._now()
        span = self._tracer.start_span(
            "batch",
            Context(),
            links=links,
            start_time=ended - int(seconds * NS_PER_SECOND),
            attributes={"dawr.batch.commands": commands},
        )
        if fault is not None:
            _fail(span, type(fault).__name__)
        span.end(ended)

    async def close(self) -> None:
        """In a thread that nobody waits for: the library would, for 30 s, while its collector is away."""
        thread = threading.Thread(target=self._provider.shutdown, daemon=True)
        thread.start()
        await asyncio.get_running_loop().run_in_executor(None, thread.join, LAST_WORDS_SECONDS)


class OtelSpan:
    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, method: str, route: str, status: int, correlation_id: str, *, failed: bool) -> None:
        span = self._span
        span.update_name(f"{method} {route}")
        span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
                "dawr.correlation_id": correlation_id,
            }
        )
        if failed:
            _fail(span, str(status))
        span.end()


def _resource() -> Resource:
    """Ours is the name only if OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES give none."""
    found = Resource.create()
    is_named = not str(found.attributes[SERVICE_NAME]).startswith(NAMELESS)
    return found if is_named else found.merge(Resource({SERVICE_NAME: NAME}))


def _under(parent: Trace | None) -> Context:
    if parent is None:
        return Context()
    return set_span_in_context(NonRecordingSpan(_context_of(parent, is_remote=True)), Context())


def _context_of(trace: Trace, *, is_remote: bool) -> SpanContext:
    return SpanContext(
        int(trace.trace_id, 16),
        int(trace.parent_id, 16),
        is_remote,
        TraceFlags(trace.flags),
        TraceState.from_header([trace.state]) if trace.state else None,
    )


def _fail(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
