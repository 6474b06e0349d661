"""What happened at a venue, as the audit trail has it."""

from typing import Any

from tests.running import Client

OF_ALL_QUEUES = {"pin.made", "pin.rotated"}


def trail(client: Client, venue: str, queue: str | None, manager: str) -> list[dict[str, Any]]:
    """The same but for PINs that were changed: tests of other queues make all of them anew."""
    events = whole_trail(client, venue, queue, manager)
    return [event for event in events if event["kind"] not in OF_ALL_QUEUES]


def whole_trail(client: Client, venue: str, queue: str | None, manager: str) -> list[dict[str, Any]]:
    """Every event of the queue, or of the whole venue, oldest first."""
    events: list[dict[str, Any]] = []
    cursor: str | None = "0"
    while cursor is not None:
        path = f"/v1/venues/{venue}/audit"
        page = client.get(path, bearer=manager, everything="true", limit=100, cursor=cursor).json
        events += [event for event in page["items"] if queue is None or event["queue"] == f"{venue}:{queue}"]
        cursor = page["next"]
    return events
