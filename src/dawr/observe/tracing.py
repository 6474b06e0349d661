"""Traces for OpenTelemetry, if it is installed (the extra `otel`) and switched on by its own variables.

Nothing of it is imported otherwise, and nothing is done.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Protocol, cast

import structlog

from dawr.reliability.correlation import Trace

log = structlog.get_logger("dawr.tracing")

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"
EXPORTERS = ("otlp", "console")


class RequestSpan(Protocol):
    def answered(self, method: str, route: str, status: int, correlation_id: str, *, failed: bool) -> None:
        """It ends here."""


class Tracing(Protocol):
    def begin(self) -> RequestSpan:
        """A span for the current request: under the parent that it came with, and above whatever it calls."""

    def ran(self, requests: Sequence[Trace], commands: int, seconds: float, fault: BaseException | None) -> None:
        """A span for a batch that ended now, linked to the requests that it served."""

    async def close(self) -> None:
        """Send what is there, if it can be sent soon."""


def from_environment(environment: Mapping[str, str], now: Callable[[], int]) -> Tracing | None:
    """As the variables say, by their names in OpenTelemetry's specification. `now` gives nanoseconds since 1970."""
    exporter = exporter_of(environment)
    if exporter is None:
        return None
    if exporter not in EXPORTERS:
        log.warning("tracing.off", reason=f"OTEL_TRACES_EXPORTER is none of {', '.join(EXPORTERS)}, none")
        return None
    protocol = next((environment[name] for name in PROTOCOLS if environment.get(name)), SPOKEN)
    if exporter == "otlp" and protocol != SPOKEN:
        log.warning("tracing.off", reason=f"only {SPOKEN} is spoken here: set {PROTOCOLS[1]}")
        return None
    try:
        otel = import_module("dawr.observe.otel")
    except ModuleNotFoundError:
        log.warning(
            "tracing.off", reason="OpenTelemetry is not installed: `make install EXTRAS=otel`, or pip install '.[otel]'"
        )
        return None
    return cast("Tracing", otel.started(exporter, now))


def exporter_of(environment: Mapping[str, str]) -> str | None:
    """Where traces go; None: nowhere."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = environment.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if not named:
        return "otlp" if any(environment.get(name) for name in ENDPOINTS) else None
    return None if named == "none" else named
