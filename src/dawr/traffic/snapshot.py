"""The overview of the latest 24 hours, computed once a minute for everybody who asks."""

import msgspec

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_MINUTE
from dawr.traffic.ranges import Range
from dawr.traffic.reading.overview import Overview, overview

NAME = "overview"
EVERY_MS = MS_PER_MINUTE
STALE_MS = 2 * MS_PER_MINUTE

_decode = msgspec.json.Decoder(Overview).decode


class Snapshot(msgspec.Struct, frozen=True):
    at: int
    overview: Overview

    def age_ms(self, now: int) -> int:
        """Clocks of two hosts differ: never less than nothing."""
        return max(now - self.at, 0)


async def refresh(database: Database, now: int) -> bool:
    """Compute and save it, unless that was done within the minute. Of two that do so at once, the newer one stays."""
    saved = await database.select_rows("traffic_snapshot", NAME)
    if saved and abs(now - saved[0][0]) < EVERY_MS:
        return False
    computed = await overview(database, Range(now - MS_PER_DAY, now), now)
    body = msgspec.json.encode(computed).decode()
    return await database.change_rows("save_traffic_snapshot", NAME, now, body, EVERY_MS) > 0


async def latest(database: Database) -> Snapshot | None:
    """None before the first one, and of one that another version saved in another form."""
    rows = await database.select_rows("traffic_snapshot", NAME)
    if not rows:
        return None
    at, body = rows[0]
    try:
        return Snapshot(at, _decode(body))
    except msgspec.DecodeError:
        return None
