"""Traffic statistics that count each request exactly once. Useful in any ASGI app, not only in this one.

A request is written down in a spool before its answer ends, shipped to a queue in the database, and counted there by
one consumer. Nothing here knows a ticket or a venue.
"""

from typing import TYPE_CHECKING

from dawr.traffic.identity import extract_timestamp, generate, is_valid

if TYPE_CHECKING:
    from dawr.traffic.collector import Collector
    from dawr.traffic.middleware import TrafficMiddleware

__all__ = ["Collector", "TrafficMiddleware", "extract_timestamp", "generate", "is_valid"]


def __getattr__(name: str) -> object:
    """Imported when they are asked for: the archive's child processes need neither."""
    if name == "Collector":
        from dawr.traffic.collector import Collector  # noqa: PLC0415 - as above

        return Collector
    if name == "TrafficMiddleware":
        from dawr.traffic.middleware import TrafficMiddleware  # noqa: PLC0415 - as above

        return TrafficMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
