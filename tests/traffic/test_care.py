"""What the statistics need besides counting: a snapshot every minute, and hashes that are kept long enough."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from dawr.reliability.lease import Fence, Leases
from dawr.traffic import care as care_module
from dawr.traffic import snapshot
from dawr.traffic.care import Care
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE
from tests.traffic.builders import NOON, an_event, counted
from tests.traffic.tables import rows_of

SEEN = "SELECT count(*) FROM traffic_seen"


class Looked:
    """Care on a driven clock, under its lease."""

    def __init__(self, database: Database, directory: Path, fence: Fence) -> None:
        self.now = NOON
        self.fence = fence
        self.synchronised = True
        self.care = Care(
            database,
            TrafficDirectory(directory),
            lambda: self.now,
            details_days=3,
            archive_days=0,
            is_synchronised=lambda: self.synchronised,
        )

    async def look(self) -> None:
        await self.care.look_after(self.fence)


async def care_of(database: Database, directory: Path) -> Looked:
    fence = await Leases(database, lambda: NOON).take("care", "a test", lease_ms=10 * MS_PER_HOUR)
    assert fence is not None
    return Looked(database, directory, fence)


async def test_a_look_makes_the_snapshot_once_a_minute(database: Database, tmp_path: Path) -> None:
    care = await care_of(database, tmp_path)
    await care.look()
    await counted(database, [an_event(1, at=NOON - 1000)])

    care.now += MS_PER_MINUTE - 1
    await care.look()
    early = await snapshot.latest(database)
    care.now += 1
    await care.look()
    late = await snapshot.latest(database)

    assert early is not None
    assert late is not None
    assert (early.overview.requests, late.overview.requests) == (0, 1)


async def test_hashes_are_forgotten_an_hour_after_they_were_counted(database: Database, tmp_path: Path) -> None:
    care = await care_of(database, tmp_path)
    await counted(database, [an_event(1, at=NOON - 5 * MS_PER_HOUR)], now=NOON)

    care.now = NOON + MS_PER_HOUR
    await care.look()
    assert await rows_of(database, SEEN) == [(1,)]

    care.now += MS_PER_MINUTE
    await care.look()
    assert await rows_of(database, SEEN) == [(0,)]


async def test_hashes_are_kept_while_a_host_has_not_shipped_what_it_wrote_down(
    database: Database, tmp_path: Path
) -> None:
    """Its lines may be repeats of requests that were counted hours ago."""
    care = await care_of(database, tmp_path)
    await counted(database, [an_event(1)], now=NOON)
    await database.change_rows("save_heartbeat", "cut off", 1, "1", NOON, NOON, 0, 0, NOON, NOON, "", 0, 0)

    care.now = NOON + 5 * MS_PER_HOUR
    await care.look()
    repeat = await counted(database, [an_event(1, at=NOON + 1000)], now=care.now)

    assert len(repeat.duplicates) == 1


async def test_hashes_are_kept_while_older_messages_wait(database: Database, tmp_path: Path) -> None:
    care = await care_of(database, tmp_path)
    await counted(database, [an_event(1)], now=NOON)
    await database.transact(lambda transaction: transaction.change_each("add_to_queue", [(NOON, "{}", NOON)]))

    care.now = NOON + 5 * MS_PER_HOUR
    await care.look()

    assert await rows_of(database, SEEN) == [(1,)]


async def test_a_clock_that_jumped_a_year_ahead_deletes_nothing_by_it(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(care_module, "TRUSTED_SECONDS", 0.05)
    monkeypatch.setattr(care_module, "NIGHT_SECONDS", 0.01)
    looked = await care_of(database, tmp_path)
    await counted(database, [an_event(1)])

    with capture_logs() as logs:
        nights = asyncio.create_task(looked.care.go_on(looked.fence))
        await until(lambda: looked.care._night_at is not None)
        monkeypatch.setattr(care_module, "TRUSTED_SECONDS", 3600.0)
        looked.now += 400 * MS_PER_DAY
        await until(lambda: any(line["event"] == "traffic.clock-jumped" for line in logs))
        nights.cancel()
        await asyncio.wait([nights])

    assert await rows_of(database, "SELECT count(*) FROM traffic_hours") == [(2,)]


@pytest.mark.parametrize("waited", ["TRUSTED_SECONDS", "DOUBTED_SECONDS"])
async def test_how_long_a_clock_must_have_been_right_depends_on_whether_it_is_synchronised(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: str
) -> None:
    for seconds in ("TRUSTED_SECONDS", "DOUBTED_SECONDS"):
        monkeypatch.setattr(care_module, seconds, 0.0 if seconds == waited else 3600.0)
    looked = await care_of(database, tmp_path)
    looked.synchronised = waited == "TRUSTED_SECONDS"

    nights = asyncio.create_task(looked.care.go_on(looked.fence))

    await until(lambda: looked.care._night_at is not None)
    nights.cancel()
    await asyncio.wait([nights])


async def test_a_clock_that_nobody_synchronises_deletes_nothing_for_longer(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(care_module, "TRUSTED_SECONDS", 0.0)
    looked = await care_of(database, tmp_path)
    looked.synchronised, looked.now = False, NOON + 400 * MS_PER_DAY
    await counted(database, [an_event(1)])

    nights = asyncio.create_task(looked.care.go_on(looked.fence))
    await until(lambda: looked.care._tidied_at != 0)
    nights.cancel()
    await asyncio.wait([nights])

    assert looked.care._night_at is None
    assert await rows_of(database, "SELECT count(*) FROM traffic_hours") == [(2,)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
