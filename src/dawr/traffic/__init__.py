"""Traffic statistics that count each request exactly once. Useful in any ASGI app, not only in this one.

A request is written down in a spool before its answer ends, shipped to a queue in the database, and counted there by
one consumer. Nothing here knows a ticket or a venue.
"""

from dawr.traffic.collector import Answered, Collector
from dawr.traffic.identity import extract_timestamp, generate, is_valid
from dawr.traffic.middleware import TrafficMiddleware

__all__ = ["Answered", "Collector", "TrafficMiddleware", "extract_timestamp", "generate", "is_valid"]
