"""The columns of the tables that DuckDB reads, in their order, and their types there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

EVENTS = "traffic_events"
TABLES: Mapping[str, Mapping[str, str]] = {
    EVENTS: {
        "id": "VARCHAR",
        "hash": "VARCHAR",
        "at": "BIGINT",
        "path": "VARCHAR",
        "method": "VARCHAR",
        "status": "BIGINT",
        "outcome": "VARCHAR",
        "ms": "DOUBLE",
        "visitor": "VARCHAR",
        "request_id": "VARCHAR",
        "correlation_id": "VARCHAR",
        "agent": "VARCHAR",
        "country": "VARCHAR",
    },
    "traffic_hours": {
        "span": "BIGINT",
        "start": "BIGINT",
        "path": "VARCHAR",
        "method": "VARCHAR",
        "class": "VARCHAR",
        "requests": "BIGINT",
        "errors": "BIGINT",
        "refused": "BIGINT",
        "sum_us": "BIGINT",
        "max_us": "BIGINT",
        "streams": "BIGINT",
    },
    "traffic_minutes": {"minute": "BIGINT", "requests": "BIGINT", "errors": "BIGINT", "refused": "BIGINT"},
    "traffic_ledger": {
        "hour": "BIGINT",
        "answered": "BIGINT",
        "spooled": "BIGINT",
        "queued": "BIGINT",
        "stored": "BIGINT",
        "detailed": "BIGINT",
        "duplicates": "BIGINT",
        "dead": "BIGINT",
        "damaged": "BIGINT",
        "lost": "BIGINT",
        "counted_only": "BIGINT",
        "over_limit": "BIGINT",
        "no_space": "BIGINT",
    },
}

_encode = msgspec.json.Encoder().encode_lines


def json_lines(table: str, rows: Iterable[Sequence[Any]]) -> bytes:
    """As DuckDB reads them: one object a line."""
    names = tuple(TABLES[table])
    return _encode([dict(zip(names, row, strict=True)) for row in rows])
