"""What the traffic process of a host says about itself: that it lives, what waits on its disk, which key it has."""

from collections.abc import Callable
from contextlib import suppress

from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY
from dawr.traffic.keys import VisitorKeys, check_of
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import size_of

FORGOTTEN_MS = 7 * MS_PER_DAY


class HeartbeatWriter:
    def __init__(
        self,
        database: Database,
        directory: TrafficDirectory,
        keys: VisitorKeys,
        shipper: Shipper,
        clock: Callable[[], int],
        *,
        host: str,
        pid: int,
        version: str,
    ) -> None:
        self._database = database
        self._directory = directory
        self._keys = keys
        self._shipper = shipper
        self._clock = clock
        self._who = (host, pid, version, clock())

    async def beat(self) -> None:
        now = self._clock()
        keys = self._keys.at(now)
        waiting = size_of(self._directory.spools)
        shipped = (self._shipper.unreadable, self._shipper.shipped_at)
        await self._database.change_rows(
            "save_heartbeat",
            *self._who,
            now,
            waiting,
            *shipped,
            keys.day,
            check_of(keys.today),
            self._shipper.unspooled,
            self._directory.count_unwritable(),
        )
        await self._database.change_rows("forget_hosts", now - FORGOTTEN_MS)

    async def stop(self) -> None:
        """Whoever was told to stop is not missed."""
        with suppress(DatabaseAway):
            await self._database.change_rows("forget_host", self._who[0])
