"""What happened at a venue, as the audit trail has it."""

from typing import Any

from tests.running import Client


def trail(client: Client, venue: str, queue: str | None, manager: str) -> list[dict[str, Any]]:
    """Every event of the queue, or of the whole venue, oldest first."""
    events: list[dict[str, Any]] = []
    cursor: str | None = "0"
    while cursor is not None:
        path = f"/v1/venues/{venue}/audit"
        page = client.get(path, bearer=manager, everything="true", limit=100, cursor=cursor).json
        events += [event for event in page["items"] if queue is None or event["queue"] == f"{venue}:{queue}"]
        cursor = page["next"]
    return events
