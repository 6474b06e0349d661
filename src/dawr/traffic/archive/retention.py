"""How long anything is kept, and the nightly run that sees to it. Rows are deleted in steps of 1,000 at most."""

import asyncio
from functools import partial

import msgspec

from dawr.traffic.archive.archiving import DAYS, archive_due, can_archive, days_between, ignore
from dawr.traffic.archive.export import remove_left_behind
from dawr.traffic.archive.folder import ArchiveFolder, ids_of
from dawr.traffic.archive.part import Archived, ArchiveFailed, Progress
from dawr.traffic.archive.records import Record, all_records, records_of
from dawr.traffic.database import Database, Transaction
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of

DETAIL_DAYS = 30
AGGREGATE_DAYS = 90
ROWS_AT_ONCE = 1000
ARCHIVE_TIME = 2 * MS_PER_HOUR
"""After midnight UTC."""


class Nightly(msgspec.Struct, frozen=True):
    """What one run did."""

    archived: list[Archived]
    expired_details: int
    expired_aggregates: int
    removed_files: list[str]


def is_archive_time(now: int, last: int | None) -> bool:
    """Whether 02:00 UTC has come since the last run; a run that was missed is made up for."""
    latest = day_of(now - ARCHIVE_TIME) + ARCHIVE_TIME
    return last is None or last < latest


async def nightly(
    database: Database,
    directory: TrafficDirectory,
    now: int,
    *,
    days: int = DAYS,
    keep_files_days: int = 0,
    progress: Progress = ignore,
) -> Nightly:
    """Details are archived, or end after 30 days where they cannot be. A failed archive is told after all the rest."""
    archived: list[Archived] = []
    expired, failed = 0, None
    if can_archive():
        try:
            archived = await archive_due(database, directory, now, days=days, progress=progress)
        except ArchiveFailed as error:
            failed = error
    else:
        expired = await expire_details(database, directory, now)
    removed = await remove_archives(database, directory, now, days=keep_files_days)
    aggregates = await expire_aggregates(database, now)
    remove_left_behind(directory)
    if failed is not None:
        raise failed
    return Nightly(archived, expired, aggregates, removed)


async def expire_details(database: Database, directory: TrafficDirectory, now: int, *, days: int = DETAIL_DAYS) -> int:
    """Where there is no archive. Each step counts what it deletes, so that nothing is ever unaccounted for."""
    expired = 0
    for day in await days_between(database, 0, _cutoff(now, days)):
        part = await _part_of_expired(database, directory, day)
        while gone := await database.transact(partial(_expire, day=day, part=part, now=now)):
            expired += gone
            await asyncio.sleep(0)
    return expired


async def expire_aggregates(database: Database, now: int, *, days: int = AGGREGATE_DAYS) -> int:
    """With the ledger, and the records of archives of which nothing is left."""
    cutoff = _cutoff(now, days)
    expired = 0
    for name in ("purge_hours", "purge_buckets", "purge_visitors"):
        for span in (MS_PER_HOUR, MS_PER_DAY):
            expired += await _purged(database, name, span, cutoff)
    for name in ("purge_minutes", "purge_ledger", "purge_archives"):
        expired += await _purged(database, name, cutoff)
    return expired


async def remove_archives(database: Database, directory: TrafficDirectory, now: int, *, days: int) -> list[str]:
    """Files of days that are over for longer than this; 0 keeps them all. A file whose rows are not deleted stays."""
    if days == 0:
        return []
    cutoff = _cutoff(now, days)
    folder = ArchiveFolder(directory.archive)
    records = await all_records(database)
    needed = {record.file for record in records if record.state == "written"}
    directory.prepare()
    removed = [path for path in folder.files_before(cutoff) if path.name not in needed]
    for path in removed:
        path.unlink()
    for record in records:
        if record.file and record.file not in needed and record.day < cutoff:
            await database.change_rows("expire_archive", record.day, record.part, record.sha256)
    return [path.name for path in removed]


def _cutoff(now: int, days: int) -> int:
    """Whole days before this one are over for longer."""
    return day_of(now - days * MS_PER_DAY)


async def _part_of_expired(database: Database, directory: TrafficDirectory, day: int) -> int:
    """One record a day. A file that was never read back is given up: its rows are all in the table, and end there."""
    records = await records_of(database, day)
    for record in records:
        if record.state == "written":
            await _give_up(database, directory, record)
    expired = [record.part for record in records if record.state == "expired" and not record.sha256]
    return expired[0] if expired else max((record.part for record in records), default=-1) + 1


async def _give_up(database: Database, directory: TrafficDirectory, record: Record) -> None:
    if record.deleted == 0:
        (directory.archive / record.file).unlink(missing_ok=True)
        await database.change_rows("forget_archive", record.day, record.part, record.sha256)


async def _expire(transaction: Transaction, *, day: int, part: int, now: int) -> int:
    gone = await transaction.change_rows("delete_expired_events", *ids_of(day), ROWS_AT_ONCE)
    if gone:
        await transaction.change_rows("count_expired", day, part, gone, now)
    return gone


async def _purged(database: Database, name: str, *arguments: int) -> int:
    purged = 0
    while gone := await database.change_rows(name, *arguments, ROWS_AT_ONCE):
        purged += gone
        await asyncio.sleep(0)
    return purged
