"""A file that is not what was recorded costs no row: rows are deleted only for what was read back."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from dawr.traffic.archive.archiving import archive_day, archive_due
from dawr.traffic.archive.part import ArchiveFailed, Step
from dawr.traffic.archive.records import all_records
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY
from dawr.traffic.sqlite import SqliteDatabase
from tests.traffic.archives import DAY, FILE, LATER, Row, Stopped, a_day_of, archived, in_files, live, stopping_after
from tests.traffic.builders import NOON, an_event, counted


@pytest.fixture
async def database(tmp_path: Path) -> SqliteDatabase:
    opened = SqliteDatabase(tmp_path / "traffic.sqlite")
    await opened.create_tables()
    return opened


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    return TrafficDirectory(tmp_path / "traffic")


async def recorded(database: Database, directory: TrafficDirectory) -> list[Row]:
    """A day whose file is written and recorded, and of which nothing was deleted yet."""
    everything = await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))
    return everything


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def remove(file: Path) -> None:
    file.unlink()


def shorten(file: Path) -> None:
    """To a whole Parquet file of which a row is missing."""
    with duckdb.connect() as connection:
        connection.read_parquet(str(file)).limit(49).write_parquet(str(file) + ".less")
    shutil.move(str(file) + ".less", file)


@pytest.mark.parametrize(
    ("damage", "said"), [(flip, "its hash is another"), (remove, "is missing"), (shorten, "its hash is another")]
)
async def test_rows_whose_file_is_bad_are_kept_until_the_day_is_archived_again(
    database: Database, directory: TrafficDirectory, damage: Callable[[Path], None], said: str
) -> None:
    everything = await recorded(database, directory)
    damage(directory.archive / FILE)

    with pytest.raises(ArchiveFailed, match=rf"{FILE} .*{said}.*All its 50 rows are kept"):
        await archive_due(database, directory, LATER)
    assert await live(database) == everything
    await archive_day(database, directory, DAY, LATER)

    assert await live(database) == []
    assert sorted(await archived(database, directory)) == everything


@pytest.mark.parametrize(("rows", "said"), [(51, "has 50 rows instead of 51"), (50, "the checksum is another")])
async def test_a_file_with_other_rows_than_the_database_had_deletes_nothing(
    database: Database, directory: TrafficDirectory, rows: int, said: str
) -> None:
    everything = await recorded(database, directory)
    (record,) = await all_records(database)
    await database.change_rows("forget_archive", record.day, record.part, record.sha256)
    await database.change_rows("add_archive", DAY, 0, FILE, rows, "another", record.sha256, LATER)

    with pytest.raises(ArchiveFailed, match=said):
        await archive_due(database, directory, LATER)

    assert await live(database) == everything


async def test_a_bad_file_whose_rows_are_gone_is_told_and_left_alone(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    await archive_due(database, directory, LATER)
    flip(directory.archive / FILE)

    with pytest.raises(ArchiveFailed, match="no longer in the database: restore the file from a backup"):
        await archive_day(database, directory, DAY, LATER)

    assert (directory.archive / FILE).exists()


async def test_a_file_that_went_bad_while_its_rows_were_deleted_keeps_the_rest(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 2500)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("deleted"))
    flip(directory.archive / FILE)

    for archive in (archive_due(database, directory, LATER), archive_day(database, directory, DAY, LATER)):
        with pytest.raises(ArchiveFailed, match="2,000 of its 2,500 rows were deleted before; the others are kept"):
            await archive

    assert len(await live(database)) == 500


async def test_a_bad_day_does_not_hold_up_the_others(database: Database, directory: TrafficDirectory) -> None:
    await recorded(database, directory)
    flip(directory.archive / FILE)
    await counted(database, [an_event(9000, at=NOON + MS_PER_DAY)])

    with pytest.raises(ArchiveFailed) as failed:
        await archive_due(database, directory, LATER + MS_PER_DAY)

    assert [part.file for part in failed.value.done] == ["2024-11-08.0.parquet"]


async def test_nothing_more_is_deleted_when_another_host_took_the_record(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    taking: list[asyncio.Task[object]] = []

    async def take() -> None:
        (record,) = await all_records(database)
        await database.change_rows("forget_archive", record.day, record.part, record.sha256)

    def progress(step: Step) -> None:
        if step.name == "recorded":
            taking.append(asyncio.create_task(take()))

    with pytest.raises(ArchiveFailed, match="was changed meanwhile"):
        await archive_due(database, directory, LATER, progress=progress)

    assert len(await live(database)) == 50


async def test_what_cannot_be_written_is_told_and_nothing_is_deleted(
    database: Database, directory: TrafficDirectory
) -> None:
    everything = await a_day_of(database, 50)

    def progress(step: Step) -> None:
        if step.name == "read":
            (directory.archive / ".2024-11-07.lines.unfinished").unlink()

    with pytest.raises(ArchiveFailed, match=r"could not be written: .* Nothing was deleted"):
        await archive_due(database, directory, LATER, progress=progress)

    assert await live(database) == everything


async def test_whoever_comes_second_on_another_host_leaves_the_day_alone(
    database: Database, directory: TrafficDirectory
) -> None:
    everything = await a_day_of(database, 50)
    first: list[asyncio.Task[int]] = []

    def progress(step: Step) -> None:
        if step.name == "read":
            record = (DAY, 0, FILE, 50, "checksum", "sha256", LATER)
            first.append(asyncio.create_task(database.change_rows("add_archive", *record)))

    with pytest.raises(ArchiveFailed, match="Another host archives 2024-11-07 now"):
        await archive_due(database, directory, LATER, progress=progress)

    assert await first[0] == 1
    assert await live(database) == everything
    assert not list(directory.archive.glob("*.parquet"))


async def test_a_folder_that_cannot_be_used_is_told(database: Database, directory: TrafficDirectory) -> None:
    directory.path.mkdir()
    directory.archive.touch()

    with pytest.raises(ArchiveFailed, match="The folder of the archives cannot be used"):
        await archive_due(database, directory, LATER)


ARCHIVES = """
import asyncio, os, signal, sys
from pathlib import Path
from dawr.traffic.archive.archiving import archive_due
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.sqlite import SqliteDatabase
database, directory, now, left = SqliteDatabase(Path(sys.argv[1])), TrafficDirectory(Path(sys.argv[2])), *sys.argv[3:]
left = int(left)
def progress(step):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(archive_due(database, directory, int(now), progress=progress))
"""


@pytest.mark.slow
async def test_killed_again_and_again_it_still_gets_there(database: Database, directory: TrafficDirectory) -> None:
    everything = await a_day_of(database, 2500)
    assert isinstance(database, SqliteDatabase)
    command = (sys.executable, "-c", ARCHIVES, str(database.path), str(directory.path), str(LATER))

    codes = set()
    for steps in (*range(1, 12), 1000):
        process = await asyncio.create_subprocess_exec(*command, str(steps))
        codes.add(await process.wait())
        assert {*await live(database), *in_files(directory)} == {*everything}

    assert codes == {-signal.SIGKILL, os.EX_OK}
    assert await live(database) == []
    assert sorted(await archived(database, directory)) == everything
