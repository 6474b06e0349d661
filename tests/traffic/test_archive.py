"""Details on their way into Parquet files: none is lost and none is there twice, wherever it is stopped."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from dawr.traffic.archive.archiving import archive_day, archive_due, can_archive
from dawr.traffic.archive.checksum import Digest
from dawr.traffic.archive.part import ArchiveFailed, Step
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY
from tests.traffic.archives import (
    DAY,
    FILE,
    LATER,
    ON_SQLITE,
    Stopped,
    a_day_of,
    archived,
    in_files,
    live,
    stopping_after,
)
from tests.traffic.builders import NOON, an_event, counted


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    return TrafficDirectory(tmp_path / "traffic")


async def test_days_that_are_over_for_three_days_go_into_a_file_each_and_out_of_the_table(
    database: Database, directory: TrafficDirectory
) -> None:
    await counted(database, [an_event(n, at=NOON + (n % 4 - 2) * MS_PER_DAY + n) for n in range(20)])
    everything = await live(database)

    done = await archive_due(database, directory, LATER)

    assert [part.file for part in done] == ["2024-11-05.0.parquet", "2024-11-06.0.parquet", FILE]
    left = await live(database)
    assert [at >= DAY + MS_PER_DAY for _, _, at, *_ in left] == [True] * 5
    assert sorted(left + await archived(database, directory)) == everything
    assert await archive_due(database, directory, LATER) == []


@ON_SQLITE
async def test_a_day_is_due_when_its_youngest_row_is_three_days_old(
    database: Database, directory: TrafficDirectory
) -> None:
    await counted(database, [an_event(1)])

    assert await archive_due(database, directory, DAY + 4 * MS_PER_DAY - 1) == []
    assert len(await archive_due(database, directory, DAY + 4 * MS_PER_DAY)) == 1


async def test_what_a_row_has_comes_back_to_the_last_bit(database: Database, directory: TrafficDirectory) -> None:
    odd = msgspec.structs.replace(
        an_event(1, path='/a\n"b\\ü/{ملف}/😀', ms=0.1 + 0.2),
        request_id="'; DROP TABLE traffic_events; --",
        correlation_id="null",
        user_agent="\ufeff\u2028",
        country="SA",
    )
    await counted(database, [odd, an_event(2, ms=1e-9), an_event(3, ms=0.0), an_event(4, ms=123456789.125)])
    before = await live(database)

    await archive_due(database, directory, LATER)

    assert sorted(in_files(directory)) == before
    assert Digest().plus(in_files(directory)) == Digest().plus(before)


async def test_late_events_become_another_part(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1), an_event(3)])
    await archive_due(database, directory, LATER)
    await counted(database, [an_event(2)], now=LATER)

    done = await archive_due(database, directory, LATER + MS_PER_DAY)

    assert [(part.part, part.rows) for part in done] == [(1, 1)]
    assert await live(database) == []
    assert len(set(await archived(database, directory))) == 3


@pytest.mark.parametrize(
    ("database", "last"),
    [
        *[("sqlite", step) for step in ("reading", "read", "written", "renamed")],
        *[(dialect, step) for dialect in ("sqlite", "postgres") for step in ("recorded", "deleted")],
        *[("sqlite", step) for step in ("checked", "emptied")],
    ],
    indirect=["database"],
)
async def test_stopped_at_any_step_another_run_neither_loses_nor_doubles(
    database: Database, directory: TrafficDirectory, last: str
) -> None:
    everything = await a_day_of(database, 2500)

    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after(last))
    assert {*await live(database), *in_files(directory)} == {*everything}
    await counted(database, [an_event(9001)], now=LATER)
    await archive_due(database, directory, LATER)

    kept = await archived(database, directory)
    assert len(kept) == len(set(kept)) == 2501
    assert set(kept) > set(everything)
    assert await live(database) == []
    assert [path.name for path in directory.archive.glob(".*")] == [".lock"]


@ON_SQLITE
async def test_stopped_after_the_last_row_was_deleted_the_next_run_closes_the_record(
    database: Database, directory: TrafficDirectory
) -> None:
    everything = await a_day_of(database, 1500)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("deleted"))
    assert await live(database) == []

    (part,) = await archive_due(database, directory, LATER)

    assert (part.file, part.rows) == (FILE, 1500)
    assert sorted(await archived(database, directory)) == everything
    assert await archive_due(database, directory, LATER) == []


async def test_an_event_that_comes_while_rows_are_deleted_stays(
    database: Database, directory: TrafficDirectory
) -> None:
    await counted(database, [an_event(n) for n in range(0, 100, 2)])
    coming: list[asyncio.Task[object]] = []

    def progress(step: Step) -> None:
        if step.name == "recorded":
            coming.append(asyncio.create_task(counted(database, [an_event(51)], now=LATER)))

    await archive_due(database, directory, LATER, progress=progress)
    await coming[0]

    assert [row[9] for row in await live(database)] == ["51"]


@ON_SQLITE
async def test_somebody_elses_file_is_never_written_over(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1)])
    directory.prepare()
    (directory.archive / FILE).write_bytes(b"from another life")

    (part,) = await archive_due(database, directory, LATER)

    assert part.file == "2024-11-07.1.parquet"
    assert (directory.archive / FILE).read_bytes() == b"from another life"


@ON_SQLITE
async def test_only_one_run_at_a_time_works_on_the_files(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1)])
    other: list[asyncio.Task[object]] = []

    def progress(step: Step) -> None:
        if step.name == "read":
            other.append(asyncio.create_task(archive_day(database, directory, DAY, LATER)))

    done = await archive_due(database, directory, LATER, progress=progress)

    assert len(done) == 1
    with pytest.raises(ArchiveFailed, match="Another run works on the archives"):
        await other[0]


@ON_SQLITE
async def test_a_day_that_is_not_over_is_not_archived(database: Database, directory: TrafficDirectory) -> None:
    for day in (DAY, DAY - 1):
        with pytest.raises(ArchiveFailed, match="Only a whole UTC day"):
            await archive_day(database, directory, day, DAY + MS_PER_DAY - 1)


@ON_SQLITE
async def test_without_the_extra_an_archive_says_how_to_get_it(
    database: Database, directory: TrafficDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    assert not can_archive()
    with pytest.raises(ArchiveFailed, match=r"make install EXTRAS=archive"):
        await archive_due(database, directory, LATER)


def test_the_checksum_leaves_out_no_column_and_no_row_and_needs_no_order() -> None:
    one, two = (1, "a", 1.0), (2, "b", 2.0)

    assert Digest().plus([one, two]) == Digest().plus([two]).plus([one])
    for other in ((2, "a", 1.0), (1, "b", 1.0), (1, "a", 1.5), (1, "a"), ("1", "a", 1.0)):
        assert Digest().plus([one]).checksum != Digest().plus([other]).checksum
    assert Digest().plus([one, one]).checksum != Digest().checksum
