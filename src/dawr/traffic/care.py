"""What the statistics need besides counting, done by one traffic process of all hosts: alerts, snapshot, housekeeping.

The nightly part moves details to the archive and ends what is too old. It takes its time, in a child process.
"""

import asyncio
from collections.abc import Callable

from dawr.reliability.lease import Fence
from dawr.reliability.log import log
from dawr.traffic import snapshot
from dawr.traffic.alerts import Memory, evaluate
from dawr.traffic.archive.archiving import ArchiveFailed
from dawr.traffic.archive.retention import is_archive_time, nightly
from dawr.traffic.counting import SEEN_MS
from dawr.traffic.database import Database, DatabaseAway
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from dawr.traffic.visitors import trim_visitors

LOOK_SECONDS = 10.0
NIGHT_SECONDS = 60.0
TRUSTED_SECONDS = 600.0
"""How long a clock must have been right before anything is deleted by it."""
DOUBTED_SECONDS = 3600.0
"""The same where the system does not say that it is synchronised."""
MS_PER_SECOND = 1000
AT_ONCE = 1000
TRIMMED_MS = 2 * MS_PER_HOUR
"""Groups of visitors that began so long ago have been trimmed before, but for those to which late events came."""
TRIMMED_AT_NIGHT_MS = 3 * MS_PER_DAY


class Care:
    def __init__(
        self,
        database: Database,
        directory: TrafficDirectory,
        clock: Callable[[], int],
        *,
        details_days: int,
        archive_days: int,
        is_synchronised: Callable[[], bool],
        is_disk_low: Callable[[], bool] = lambda: False,
    ) -> None:
        self._database = database
        self._directory = directory
        self._clock = clock
        self._details_days = details_days
        self._archive_days = archive_days
        self._is_synchronised = is_synchronised
        self._memory = Memory(is_disk_low=is_disk_low)
        self._tidied_at = 0
        self._night_at: int | None = None

    async def go_on(self, fence: Fence) -> None:
        """For as long as the lease is ours."""
        nights = asyncio.create_task(self._go_through_the_nights())
        try:
            while True:
                await self.look_after(fence)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            nights.cancel()
            await asyncio.wait([nights])

    async def look_after(self, fence: Fence) -> None:
        """Alerts first: they say whether the rest is done."""
        now = self._clock()
        await evaluate(self._database, now, self._memory, fence)
        await snapshot.refresh(self._database, now)
        if abs(now - self._tidied_at) >= MS_PER_MINUTE:
            self._tidied_at = now
            await self._tidy(now)

    async def at_night(self) -> None:
        """Move to the archive and delete what is due, if it is time for that."""
        now = self._clock()
        if not is_archive_time(now, self._night_at):
            return
        await trim_visitors(self._database, now - TRIMMED_AT_NIGHT_MS)
        try:
            done = await nightly(
                self._database,
                self._directory,
                now,
                days=self._details_days,
                keep_files_days=self._archive_days,
            )
        except ArchiveFailed as failure:
            self._memory.archive_failure = str(failure)
            log.warning("traffic.archive-failed", reason=str(failure))
        else:
            self._memory.archive_failure = ""
            if done.archived:
                log.info("traffic.archived", parts=len(done.archived))
        self._night_at = now

    async def _go_through_the_nights(self) -> None:
        """What a clock that was wrong for a moment had deleted would be gone: it must have been right for a while."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._trusted_seconds)
        ahead = self._clock() - loop.time() * MS_PER_SECOND
        while True:
            now_ahead = self._clock() - loop.time() * MS_PER_SECOND
            if abs(now_ahead - ahead) > MS_PER_HOUR:
                log.warning("traffic.clock-jumped", hours=round((now_ahead - ahead) / MS_PER_HOUR))
                ahead = now_ahead
                await asyncio.sleep(self._trusted_seconds)
                continue
            try:
                await self.at_night()
            except DatabaseAway as away:
                log.warning("traffic.archive-failed", reason=str(away))
            except Exception:
                log.exception("traffic.archive-failed")
                self._memory.archive_failure = "The archive failed; the fault was logged."
            await asyncio.sleep(NIGHT_SECONDS)

    @property
    def _trusted_seconds(self) -> float:
        return TRUSTED_SECONDS if self._is_synchronised() else DOUBTED_SECONDS

    async def _tidy(self, now: int) -> None:
        await trim_visitors(self._database, now - TRIMMED_MS)
        [(unsettled,)] = await self._database.select_rows("unsettled_since")
        since = now if unsettled is None else min(now, unsettled)
        while await self._database.change_rows("purge_seen", since - SEEN_MS, AT_ONCE) == AT_ONCE:
            pass
