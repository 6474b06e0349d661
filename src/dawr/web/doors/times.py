"""Times as the doors write them."""

from datetime import UTC, datetime


def iso_time(at: int) -> str:
    """Milliseconds since 1970 as `2026-11-15T23:49:54.698Z`."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
