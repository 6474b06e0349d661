"""One part of a day on its way from the table of details into a file.

It can be killed anywhere: another run goes on where it was. A row is deleted only if the file that was read back
has it, in the transaction that counts it as deleted, and while the record of that very file stands.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Literal

import msgspec

from dawr.traffic.archive.checksum import Digest
from dawr.traffic.archive.child import Child, ChildFailed
from dawr.traffic.archive.chunks import chunks
from dawr.traffic.archive.columns import EVENTS, json_lines
from dawr.traffic.archive.folder import ArchiveFolder, date_of, ids_of
from dawr.traffic.archive.messages import FileRead, FileWritten, Key, Keys, NextKeys, ReadFile, WriteFile
from dawr.traffic.archive.records import Record, records_of
from dawr.traffic.database import Database, Transaction

StepName = Literal["reading", "read", "written", "renamed", "recorded", "checked", "deleted", "emptied"]


class Step(msgspec.Struct, frozen=True):
    """How far it is. Each step can be the last one of a run."""

    day: int
    part: int
    name: StepName
    rows: int
    """That were read or deleted so far."""


Progress = Callable[[Step], None]


class Archived(msgspec.Struct, frozen=True):
    """A part that is in its file and nowhere else."""

    day: int
    part: int
    file: str
    rows: int


class ArchiveFailed(Exception):
    """Nothing was deleted but what a file has that was read back. The sentence says what is wrong."""

    def __init__(self, sentence: str, done: tuple[Archived, ...] = ()) -> None:
        super().__init__(sentence)
        self.done = done
        """What the same run did archive."""


class ArchiveDamaged(ArchiveFailed):
    """The file is not what was recorded."""


class Archiver:
    def __init__(
        self, database: Database, folder: ArchiveFolder, child: Child, now: int, *, progress: Progress
    ) -> None:
        self._database = database
        self._folder = folder
        self._child = child
        self._now = now
        self._progress = progress

    async def archive(self, day: int) -> list[Archived]:
        """What of a day is in the table now becomes one more part; nothing if it has no rows."""
        part = await self._free_part(day)
        lines, parquet = (self._folder.unfinished(day, kind) for kind in ("lines", "parquet"))
        digest = await self._read(day, part, lines)
        if digest.rows == 0:
            lines.unlink()
            return []
        written = await self._write(lines, parquet)
        lines.unlink()
        self._progress(Step(day, part, "written", written.rows))
        file = self._folder.file_of(day, part)
        self._folder.take_in(parquet, file)
        self._progress(Step(day, part, "renamed", written.rows))
        record = Record(day, part, file.name, digest.rows, 0, digest.checksum, written.sha256, "written")
        await self._remember(record)
        self._progress(Step(day, part, "recorded", digest.rows))
        return [await self.finish(record)]

    async def finish(self, record: Record) -> Archived:
        """Delete what the file has, once it was read back; it may have been begun before."""
        await self.check(record)
        self._progress(Step(record.day, record.part, "checked", record.rows))
        deleted = record.deleted
        async for keys in self._keys():
            deleted += await self._delete(record, keys)
            self._progress(Step(record.day, record.part, "deleted", deleted))
        await self._database.change_rows("empty_archive", record.day, record.part, record.sha256)
        self._progress(Step(record.day, record.part, "emptied", deleted))
        return Archived(record.day, record.part, record.file, record.rows)

    async def check(self, record: Record) -> None:
        """Read the whole file back. Raises `ArchiveDamaged` if it is not what was recorded."""
        file = self._folder.path / record.file
        if not file.is_file():
            raise _damaged(record, "is missing")
        try:
            read = await self._child.ask(ReadFile(str(file), record.sha256), FileRead)
        except ChildFailed as error:
            raise _damaged(record, f"cannot be read ({error})") from error
        if read.sha256 != record.sha256:
            raise _damaged(record, "was changed after it was written: its hash is another")
        if read.rows != record.rows:
            raise _damaged(record, f"has {read.rows:,} rows instead of {record.rows:,}")
        if read.checksum != record.checksum:
            raise _damaged(record, "has other rows than the database had: the checksum is another")

    async def forget(self, record: Record) -> None:
        """A damaged file of which no row was deleted: they are all still there."""
        (self._folder.path / record.file).unlink(missing_ok=True)
        await self._database.change_rows("forget_archive", record.day, record.part, record.sha256)

    async def _free_part(self, day: int) -> int:
        """A file without a record is either left by a run that was killed, or somebody else's: that one stays."""
        part = max((record.part for record in await records_of(self._database, day)), default=-1) + 1
        while (file := self._folder.file_of(day, part)).exists():
            if await self._has_only_what_is_here(file):
                file.unlink()
            else:
                part += 1
        return part

    async def _has_only_what_is_here(self, file: Path) -> bool:
        try:
            await self._child.ask(ReadFile(str(file)), FileRead)
            return all([await self._are_here(keys) async for keys in self._keys()])
        except ChildFailed:
            return False

    async def _are_here(self, keys: list[Key]) -> bool:
        found = await self._database.read(lambda transaction: transaction.select_each("events_by_key", keys))
        return len(found) == len(keys)

    async def _read(self, day: int, part: int, lines: Path) -> Digest:
        """In steps, so that neither memory nor the database is held; what comes later is another part."""
        digest = Digest()
        after, end = ids_of(day)
        with lines.open("wb") as file:
            async for rows in chunks(self._database, "next_events", (after, ""), end):
                digest = digest.plus(rows)
                file.write(json_lines(EVENTS, rows))
                self._progress(Step(day, part, "reading", digest.rows))
        self._progress(Step(day, part, "read", digest.rows))
        return digest

    async def _write(self, lines: Path, parquet: Path) -> FileWritten:
        try:
            return await self._child.ask(WriteFile(str(lines), str(parquet)), FileWritten)
        except ChildFailed as error:
            raise ArchiveFailed(f"{parquet.name} could not be written: {error}. Nothing was deleted.") from error

    async def _remember(self, record: Record) -> None:
        r = record
        arguments = (r.day, r.part, r.file, r.rows, r.checksum, r.sha256, self._now)
        if not await self._database.change_rows("add_archive", *arguments):
            (self._folder.path / r.file).unlink()
            raise ArchiveFailed(f"Another host archives {date_of(r.day)} now. Nothing was deleted here.")

    async def _delete(self, record: Record, keys: list[Key]) -> int:
        async def delete(transaction: Transaction) -> int:
            gone = len(await transaction.select_each("delete_archived_events", keys))
            if not await transaction.change_rows("count_deleted", *record[:2], record.sha256, gone):
                raise ArchiveFailed(f"The record of {record.file} was changed meanwhile: nothing more was deleted.")
            return gone

        return await self._database.transact(delete)

    async def _keys(self) -> AsyncIterator[list[Key]]:
        """Of the file that was read back last."""
        while keys := (await self._child.ask(NextKeys(), Keys)).keys:
            yield keys


def _damaged(record: Record, what: str) -> ArchiveDamaged:
    if record.state == "emptied":
        then = "Its rows are no longer in the database: restore the file from a backup."
    elif record.deleted:
        then = (
            f"{record.deleted:,} of its {record.rows:,} rows were deleted before; the others are kept. "
            "Restore the file from a backup and archive the day again."
        )
    else:
        then = f"All its {record.rows:,} rows are kept in the database: archive the day again to write it anew."
    return ArchiveDamaged(f"The archive file {record.file} {what}. {then}")
