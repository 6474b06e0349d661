"""What a statement reads: rows of the database as lines of JSON in a private folder, and the archives beside them."""

import fcntl
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from dawr.reliability.file_lock import try_lock
from dawr.reliability.records import Argument
from dawr.traffic.archive.archiving import days_between
from dawr.traffic.archive.chunks import chunks
from dawr.traffic.archive.columns import EVENTS, json_lines
from dawr.traffic.archive.folder import ids_of
from dawr.traffic.archive.messages import Sources
from dawr.traffic.archive.records import Record, all_records
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory

LAST_DAY = 9_999_999_999_999
"""Ids have 13 digits of time."""
FOLDERS = "query-"
AGGREGATES: dict[str, tuple[str, tuple[Argument, ...]]] = {
    "traffic_hours": ("next_hours", (-1, -1, "", "", "")),
    "traffic_minutes": ("next_minutes", (-1,)),
    "traffic_ledger": ("next_ledger", (-1,)),
}
"""How each is read, and what is before its first key."""

Progress = Callable[[str, int], None]
"""Of a table, so many rows were read so far."""


class Exported(NamedTuple):
    sources: Sources
    missing: list[str]
    """Archive files that are not here."""


@contextmanager
def private_folder(directory: TrafficDirectory) -> Iterator[Path]:
    """One of its own for each query."""
    remove_left_behind(directory)
    with _lock(directory) as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with tempfile.TemporaryDirectory(prefix=FOLDERS, dir=directory.path) as folder:
            yield Path(folder)


def remove_left_behind(directory: TrafficDirectory) -> None:
    """What queries left that were killed, if nobody asks anything now."""
    with _lock(directory) as lock:
        for folder in directory.path.glob(f"{FOLDERS}*") if try_lock(lock.fileno()) else ():
            shutil.rmtree(folder)


def _lock(directory: TrafficDirectory) -> IO[bytes]:
    directory.prepare()
    return (directory.path / "query.lock").open("ab")


async def exported(
    tables: Iterable[str],
    database: Database,
    directory: TrafficDirectory,
    folder: Path,
    *,
    most_rows: int,
    progress: Progress,
) -> Exported:
    result = Exported(Sources(str(folder), {}, [], [], [], most_rows), [])
    for table in tables:
        if table == EVENTS:
            days = await _live_days(database, folder, progress)
            # After the rows: whatever was no longer in the table then is in a file that is recorded now.
            _add_events(result, days, await all_records(database), directory.archive)
        else:
            name, first = AGGREGATES[table]
            path = folder / f"{table}.lines"
            await _write(path, table, chunks(database, name, first), progress)
            result.sources.tables[table] = [str(path)]
    return result


async def _live_days(database: Database, folder: Path, progress: Progress) -> dict[int, Path]:
    """A file for each day that has rows in the table."""
    days: dict[int, Path] = {}
    read = 0
    for day in await days_between(database, 0, LAST_DAY):
        after, end = ids_of(day)
        days[day] = folder / f"{after}.lines"
        chunked = chunks(database, "next_events", (after, ""), end)
        read = await _write(days[day], EVENTS, chunked, progress, before=read)
    return days


async def _write(
    path: Path, table: str, chunked: AsyncIterator[Sequence[Any]], progress: Progress, *, before: int = 0
) -> int:
    """How many rows of the table were read, with those before."""
    read = before
    with path.open("wb") as file:
        async for rows in chunked:
            file.write(json_lines(table, rows))
            read += len(rows)
            progress(table, read)
    return read


def _add_events(result: Exported, days: dict[int, Path], records: Iterable[Record], archive: Path) -> None:
    """Days that are in one place only need not be looked through for rows that are there twice."""
    kept = [record for record in records if record.file and (record.deleted or record.state == "emptied")]
    places = Counter([*days, *(record.day for record in kept)])
    sources = result.sources
    sources.tables[EVENTS] = [str(path) for day, path in days.items() if places[day] == 1]
    sources.overlapping.extend(str(path) for day, path in days.items() if places[day] > 1)
    for record in kept:
        file = archive / record.file
        if not file.is_file():
            result.missing.append(record.file)
        else:
            (sources.archives if places[record.day] == 1 else sources.overlapping_archives).append(str(file))
