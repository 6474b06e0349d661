"""Which days are archived, and when: those that are over for so long, or one that somebody names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dawr.traffic.archive.child import MISSING, Child, ChildFailed, has_duckdb
from dawr.traffic.archive.folder import ArchiveFolder, FolderBusy, date_of, ids_of
from dawr.traffic.archive.part import Archived, ArchiveDamaged, ArchiveFailed, Archiver, Progress, Step
from dawr.traffic.archive.records import Record, all_records, records_of
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, day_of
from dawr.traffic.identity import extract_timestamp

__all__ = ["DAYS", "ArchiveFailed", "Archived", "Progress", "Step", "archive_day", "archive_due", "can_archive"]

DAYS = 3
PARQUET = "dawr.traffic.archive.parquet"


def can_archive() -> bool:
    """Whether the extra is installed."""
    return has_duckdb()


def ignore(step: Step) -> None:
    """Nobody watches."""


async def archive_due(
    database: Database, directory: TrafficDirectory, now: int, *, days: int = DAYS, progress: Progress = ignore
) -> list[Archived]:
    """Whole UTC days of which every row is older than so many days. A day that fails does not hold up the others."""
    done: list[Archived] = []
    problems: list[str] = []
    async with Child(PARQUET) as child, _held(directory) as folder:
        archiver = Archiver(database, folder, child, now, progress=progress)
        for day in await _due(database, day_of(now - days * MS_PER_DAY)):
            try:
                for record in await records_of(database, day):
                    done += await _finished(archiver, record)
                done += await archiver.archive(day)
            except (ArchiveFailed, ChildFailed, OSError) as error:
                problems.append(_sentence(day, error))
    if problems:
        raise ArchiveFailed(" ".join(problems), tuple(done))
    return done


async def archive_day(
    database: Database, directory: TrafficDirectory, day: int, now: int, *, progress: Progress = ignore
) -> list[Archived]:
    """One day that is over, now or again: its files are read back, a bad one is written anew if its rows are here."""
    if day != day_of(day) or day + MS_PER_DAY > now:
        raise ArchiveFailed("Only a whole UTC day that is over can be archived.")
    done: list[Archived] = []
    async with Child(PARQUET) as child, _held(directory) as folder:
        archiver = Archiver(database, folder, child, now, progress=progress)
        try:
            for record in await records_of(database, day):
                done += await _mended(archiver, record)
            done += await archiver.archive(day)
        except (ArchiveFailed, ChildFailed, OSError) as error:
            raise ArchiveFailed(_sentence(day, error), tuple(done)) from error
    return done


async def _finished(archiver: Archiver, record: Record) -> list[Archived]:
    """What a run that was killed had begun."""
    return [await archiver.finish(record)] if record.state == "written" else []


async def _mended(archiver: Archiver, record: Record) -> list[Archived]:
    """Rows of a file that is forgotten here are in the table, and go into the next one."""
    if record.state == "emptied":
        await archiver.check(record)
    if record.state != "written":
        return []
    try:
        return [await archiver.finish(record)]
    except ArchiveDamaged:
        if record.deleted:
            raise
        await archiver.forget(record)
        return []


@asynccontextmanager
async def _held(directory: TrafficDirectory) -> AsyncIterator[ArchiveFolder]:
    if not can_archive():
        raise ArchiveFailed(MISSING)
    folder = ArchiveFolder(directory.archive)
    try:
        directory.prepare()
        with folder.held():
            yield folder
    except FolderBusy as error:
        raise ArchiveFailed(str(error)) from error
    except OSError as error:
        raise ArchiveFailed(f"The folder of the archives cannot be used: {error}.") from error


async def _due(database: Database, end: int) -> list[int]:
    """Days that have rows in the table, or a file whose rows were not all deleted."""
    begun = {record.day for record in await all_records(database) if record.state == "written" and record.day < end}
    return sorted(begun.union(await days_between(database, 0, end)))


async def days_between(database: Database, start: int, end: int) -> list[int]:
    """Those that have details in the table."""
    days: list[int] = []
    while found := await database.select_rows("first_event_between", ids_of(start)[0], ids_of(end)[0]):
        at = extract_timestamp(found[0][0])
        assert at is not None  # noqa: S101 - the table has no other ids
        days.append(day_of(at))
        start = day_of(at) + MS_PER_DAY
    return days


def _sentence(day: int, error: Exception) -> str:
    if isinstance(error, ArchiveFailed):
        return str(error)
    return f"{date_of(day)} could not be archived: {error}. Nothing was deleted but what a file has."
