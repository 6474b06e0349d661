"""Details on their way into Parquet files: none is lost and none is there twice, wherever it is stopped."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

from dawr.traffic.archive.archiving import archive_day, archive_due
from dawr.traffic.archive.checksum import Digest
from dawr.traffic.archive.part import ArchiveFailed, Step
from dawr.traffic.archive.records import all_records
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of
from tests.traffic.builders import NOON, an_event, counted

DAY = day_of(NOON)
LATER = DAY + 4 * MS_PER_DAY + 2 * MS_PER_HOUR
"""02:00 of the first day on which every row of the day is older than three days."""
Row = tuple[Any, ...]


class Stopped(Exception):
    """As good as killed: nothing is tidied up on the way out but what the system does itself."""


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    return TrafficDirectory(tmp_path / "traffic")


async def live(database: Database) -> list[Row]:
    return [tuple(row) for row in await database.select_rows("next_events", "", "", "9", 10_000)]


def in_files(directory: TrafficDirectory) -> list[Row]:
    files = sorted(str(path) for path in directory.archive.glob("*.parquet"))
    with duckdb.connect() as connection:
        return connection.read_parquet(files).fetchall() if files else []


async def in_records(database: Database, directory: TrafficDirectory) -> list[Row]:
    """What the recorded files have that is not in the database any longer."""
    records = await all_records(database)
    assert sum(record.deleted for record in records) == sum(record.rows for record in records)
    assert {record.file for record in records} == {path.name for path in directory.archive.glob("*.parquet")}
    return in_files(directory)


async def some_days(database: Database, rows: int = 5) -> list[Row]:
    """Details of three days that are due and of one that is not."""
    await counted(database, [an_event(n, at=NOON + (n % 4 - 2) * MS_PER_DAY + n) for n in range(rows * 4)])
    return await live(database)


async def test_days_that_are_over_for_three_days_go_into_a_file_each_and_out_of_the_table(
    database: Database, directory: TrafficDirectory
) -> None:
    everything = await some_days(database)

    done = await archive_due(database, directory, LATER)

    assert [archived.file for archived in done] == [
        "2024-11-05.0.parquet",
        "2024-11-06.0.parquet",
        "2024-11-07.0.parquet",
    ]
    left = await live(database)
    assert all(at >= DAY + MS_PER_DAY for _, _, at, *_ in left)
    assert len(left) == 5
    assert sorted(left + await in_records(database, directory)) == everything
    assert await archive_due(database, directory, LATER) == []


async def test_a_day_is_not_due_while_one_of_its_rows_is_younger_than_three_days(
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

    assert [(archived.part, archived.rows) for archived in done] == [(1, 1)]
    assert await live(database) == []
    assert len(set(await in_records(database, directory))) == 3


STEPS = ("reading", "read", "written", "renamed", "recorded", "checked", "deleted", "emptied")


@pytest.mark.parametrize("last", STEPS)
async def test_stopped_at_any_step_another_run_neither_loses_nor_doubles(
    database: Database, directory: TrafficDirectory, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = await a_day_of(database, 2500)
    await counted(database, [an_event(9000, at=NOON + MS_PER_DAY)])
    late = an_event(9001)

    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after(last))
    assert {*await live(database), *in_files(directory)} >= {*everything}
    await counted(database, [late], now=LATER)
    await archive_due(database, directory, LATER)

    archived = await in_records(database, directory)
    assert len(archived) == len(set(archived)) == 2501
    assert {*archived} > {*everything}
    assert [row[2] for row in await live(database)] == [NOON + MS_PER_DAY]
    assert [path.name for path in directory.archive.glob(".*")] == [".lock"]


async def a_day_of(database: Database, rows: int) -> list[Row]:
    await counted(database, [an_event(n, at=NOON + n % 5000) for n in range(rows)])
    return await live(database)


def stopping_after(last: str) -> Callable[[Step], None]:
    """In the middle of what is done in several steps."""
    seen: list[str] = []

    def progress(step: Step) -> None:
        seen.append(step.name)
        if step.name == last and seen.count(last) == (2 if last in {"reading", "deleted"} else 1):
            raise Stopped

    return progress


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


async def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


async def removed(file: Path) -> None:
    file.unlink()


async def shorter(file: Path) -> None:
    """A whole Parquet file of which a row is missing."""
    with duckdb.connect() as connection:
        connection.read_parquet(str(file)).limit(49).write_parquet(str(file) + ".less")
    shutil.move(str(file) + ".less", file)


@pytest.mark.parametrize(
    ("damage", "said"),
    [(flipped, "its hash is another"), (removed, "is missing"), (shorter, "its hash is another")],
)
async def test_rows_whose_file_is_bad_are_kept_until_the_day_is_archived_again(
    database: Database, directory: TrafficDirectory, damage: Callable[[Path], Any], said: str
) -> None:
    everything = await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))
    await damage(directory.archive / "2024-11-07.0.parquet")

    with pytest.raises(ArchiveFailed, match=rf"2024-11-07.0.parquet .*{said}.*All its 50 rows are kept"):
        await archive_due(database, directory, LATER)
    assert await live(database) == everything
    await archive_day(database, directory, DAY, LATER)

    assert await live(database) == []
    assert sorted(await in_records(database, directory)) == everything


@pytest.mark.parametrize(
    ("column", "value", "said"), [("rows", 51, "has 50 rows instead of 51"), ("checksum", "00", "the checksum")]
)
async def test_a_file_with_other_rows_than_recorded_deletes_nothing(
    database: Database, directory: TrafficDirectory, column: str, value: object, said: str
) -> None:
    everything = await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))
    await recorded_otherwise(database, column, value)

    with pytest.raises(ArchiveFailed, match=said):
        await archive_due(database, directory, LATER)

    assert await live(database) == everything


async def recorded_otherwise(database: Database, column: str, value: Any) -> None:
    """As if the database had had other rows than the file."""
    (record,) = await all_records(database)
    changed = record._replace(**{column: value})
    await database.change_rows("forget_archive", record.day, record.part, record.sha256)
    await database.change_rows(
        *("add_archive", *changed[:2], changed.file, changed.rows, changed.checksum, changed.sha256, LATER)
    )


async def test_a_bad_file_whose_rows_are_gone_is_told_and_left_alone(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    await archive_due(database, directory, LATER)
    await flipped(directory.archive / "2024-11-07.0.parquet")

    with pytest.raises(ArchiveFailed, match="no longer in the database: restore the file from a backup"):
        await archive_day(database, directory, DAY, LATER)

    assert (directory.archive / "2024-11-07.0.parquet").exists()


async def test_a_bad_day_does_not_hold_up_the_others(database: Database, directory: TrafficDirectory) -> None:
    await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))
    await flipped(directory.archive / "2024-11-07.0.parquet")
    await counted(database, [an_event(9000, at=NOON + MS_PER_DAY)])

    with pytest.raises(ArchiveFailed) as failed:
        await archive_due(database, directory, LATER + MS_PER_DAY)

    assert [archived.file for archived in failed.value.done] == ["2024-11-08.0.parquet"]


async def test_somebody_elses_file_is_never_written_over(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1)])
    directory.prepare()
    (directory.archive / "2024-11-07.0.parquet").write_bytes(b"from another life")

    (archived,) = await archive_due(database, directory, LATER)

    assert archived.file == "2024-11-07.1.parquet"
    assert (directory.archive / "2024-11-07.0.parquet").read_bytes() == b"from another life"


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


async def test_a_day_that_is_not_over_is_not_archived(database: Database, directory: TrafficDirectory) -> None:
    for day in (DAY, DAY - 1):
        with pytest.raises(ArchiveFailed, match="Only a whole UTC day"):
            await archive_day(database, directory, day, DAY + MS_PER_DAY - 1)


def test_an_event_has_no_detail_that_the_checksum_leaves_out() -> None:
    one = (1, "a", 1.0)

    assert Digest().plus([one, (2, "b", 2.0)]) == Digest().plus([(2, "b", 2.0), one])
    for other in ((2, "a", 1.0), (1, "b", 1.0), (1, "a", 1.5), (1, "a"), ("1", "a", 1.0)):
        assert Digest().plus([one]) != Digest().plus([other])
    assert Digest().plus([one, one]) != Digest().plus([])
