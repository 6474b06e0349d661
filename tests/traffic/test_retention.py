"""How long anything is kept: details, aggregates and archive files, and the run of every night."""

import sys
from pathlib import Path

import pytest

from dawr.traffic.archive.archiving import archive_due
from dawr.traffic.archive.part import ArchiveFailed
from dawr.traffic.archive.records import all_records
from dawr.traffic.archive.retention import (
    expire_aggregates,
    expire_details,
    is_archive_time,
    nightly,
    remove_archives,
)
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, hour_of
from dawr.traffic.ledger import Entries, add_to_ledger
from tests.traffic.archives import DAY, FILE, LATER, ON_SQLITE, Stopped, a_day_of, live, stopping_after
from tests.traffic.builders import NOON, an_event, counted

TWO = 2 * MS_PER_HOUR


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    made = TrafficDirectory(tmp_path / "traffic")
    made.prepare()
    return made


@pytest.mark.parametrize(
    ("now", "last", "is_time"),
    [
        (DAY + TWO, DAY + TWO - 1, True),
        (DAY + TWO - 1, DAY + TWO - MS_PER_DAY, False),
        (DAY + TWO + 1, DAY + TWO, False),
        (DAY + MS_PER_DAY, DAY + TWO + 5, False),
        (DAY + MS_PER_DAY + TWO, DAY + TWO + 5, True),
        (DAY + 9 * MS_PER_DAY, DAY, True),
        (DAY, None, True),
    ],
)
def test_the_archive_runs_at_two_every_night_and_makes_up_for_what_it_missed(
    *, now: int, last: int | None, is_time: bool
) -> None:
    assert is_archive_time(now, last) is is_time


async def test_without_an_archive_details_end_after_thirty_days_and_are_accounted_for(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 2500)
    await counted(database, [an_event(9000, at=NOON + MS_PER_DAY)])

    assert await expire_details(database, directory, DAY + 31 * MS_PER_DAY - 1) == 0
    assert await expire_details(database, directory, DAY + 31 * MS_PER_DAY) == 2500
    await counted(database, [an_event(9001)], now=LATER)
    assert await expire_details(database, directory, DAY + 31 * MS_PER_DAY) == 1

    (record,) = await all_records(database)
    assert (record.day, record.file, record.state) == (DAY, "", "expired")
    assert record.rows == record.deleted == 2501
    assert len(await live(database)) == 1


@ON_SQLITE
async def test_details_whose_file_was_never_read_back_end_with_it(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))

    await expire_details(database, directory, DAY + 31 * MS_PER_DAY)

    assert [(record.state, record.deleted) for record in await all_records(database)] == [("expired", 50)]
    assert not (directory.archive / FILE).exists()


async def test_aggregates_end_after_ninety_days(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(n, path=f"/{n}", at=NOON + n % 2 * MS_PER_DAY) for n in range(2400)])
    entries = Entries({(hour_of(NOON), "stored"): 1200, (hour_of(NOON) + MS_PER_DAY, "stored"): 1200})
    await database.transact(lambda transaction: add_to_ledger(transaction, entries))
    await expire_details(database, directory, DAY + 91 * MS_PER_DAY)

    assert await expire_aggregates(database, DAY + 91 * MS_PER_DAY - 1) == 0
    assert await expire_aggregates(database, DAY + 91 * MS_PER_DAY) > 5 * 1200

    left = {
        name: list(await database.select_rows(name, *key, 5000))
        for name, key in {"next_hours": (-1, -1, "", "", ""), "next_minutes": (-1,), "next_ledger": (-1,)}.items()
    }
    assert {name: len(rows) for name, rows in left.items()} == {"next_hours": 2400, "next_minutes": 1, "next_ledger": 1}
    assert {row[1] for row in left["next_hours"]} == {DAY + MS_PER_DAY, hour_of(NOON) + MS_PER_DAY}
    assert [record.day for record in await all_records(database)] == [DAY + MS_PER_DAY]
    assert await expire_aggregates(database, DAY + 92 * MS_PER_DAY) == everything_of_a_day(1200)


def everything_of_a_day(paths: int) -> int:
    """Two spans of hours, buckets and visitors (of each path, and of all paths together); minute, ledger, record."""
    visitors = 1000 // 2
    return 2 * (paths + paths + paths + visitors) + 3


async def test_archive_files_are_kept_for_as_long_as_is_said(database: Database, directory: TrafficDirectory) -> None:
    await a_day_of(database, 50)
    await archive_due(database, directory, LATER)
    (directory.archive / "2024-11-06.7.parquet").touch()

    for now, days in ((LATER + 999 * MS_PER_DAY, 0), (DAY + 11 * MS_PER_DAY - 1, 10)):
        assert FILE not in await remove_archives(database, directory, now, days=days)
    assert await remove_archives(database, directory, DAY + 11 * MS_PER_DAY, days=10) == [FILE]

    (record,) = await all_records(database)
    assert (record.file, record.state, record.deleted) == ("", "expired", 50)
    assert list(directory.archive.glob("*.parquet")) == []


@ON_SQLITE
async def test_a_file_whose_rows_were_not_deleted_yet_is_not_removed(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))

    assert await remove_archives(database, directory, DAY + 100 * MS_PER_DAY, days=10) == []


@ON_SQLITE
async def test_every_night_does_all_of_it_and_tells_a_failed_archive_last(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    done = await nightly(database, directory, LATER)
    await counted(database, [an_event(9000, at=NOON + MS_PER_DAY)])
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER + MS_PER_DAY, progress=stopping_after("recorded"))
    (directory.archive / "2024-11-08.0.parquet").unlink()

    with pytest.raises(ArchiveFailed, match="2024-11-08"):
        await nightly(database, directory, DAY + 200 * MS_PER_DAY, keep_files_days=100)

    assert [part.file for part in done.archived] == [FILE]
    assert not (directory.archive / FILE).exists()
    assert await database.select_rows("next_minutes", -1, 10) == []
    assert len(await live(database)) == 1


@ON_SQLITE
async def test_a_night_without_the_extra_lets_details_end(
    database: Database, directory: TrafficDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    await a_day_of(database, 50)

    early = await nightly(database, directory, LATER)
    late = await nightly(database, directory, DAY + 31 * MS_PER_DAY)

    assert (early.expired_details, late.expired_details) == (0, 50)
