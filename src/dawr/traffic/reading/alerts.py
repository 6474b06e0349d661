"""What is or was out of its bounds lately."""

from typing import Literal

import msgspec

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY

ENDED_WITHIN_MS = 7 * MS_PER_DAY


class Alert(msgspec.Struct, frozen=True):
    name: str
    level: Literal["warning", "critical"]
    sentence: str
    value: float
    began_at: int
    told_at: int
    seen_at: int
    ended_at: int | None
    """Null while it goes on."""


async def alerts(database: Database, now: int) -> list[Alert]:
    """Those that go on first, then those that ended within seven days; the latest first."""
    return [Alert(*row) for row in await database.select_rows("alerts_since", now - ENDED_WITHIN_MS)]
