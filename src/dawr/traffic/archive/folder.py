"""The folder of archive files: how they are called, how one comes into it, and who works there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from dawr.reliability.disk import sync
from dawr.reliability.file_lock import try_lock
from dawr.traffic.event import MS_PER_DAY

NAME = re.compile(r"(\d{4}-\d\d-\d\d)\.\d+\.parquet", re.ASCII)


class FolderBusy(Exception):
    """Somebody else works in the folder of the archives."""


class ArchiveFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else is in this block. What a run that was killed left unfinished is gone when it begins."""
        with (self.path / ".lock").open("ab") as lock:
            if not try_lock(lock.fileno()):
                raise FolderBusy("Another run works on the archives now: wait until it is done.")
            for unfinished in self.path.glob(".*.unfinished"):
                unfinished.unlink()
            yield

    def unfinished(self, day: int, kind: str) -> Path:
        return self.path / f".{date_of(day)}.{kind}.unfinished"

    def file_of(self, day: int, part: int) -> Path:
        return self.path / f"{date_of(day)}.{part}.parquet"

    def files_before(self, day: int) -> list[Path]:
        """By the day in their names, whether or not anybody remembers them."""
        found = ((NAME.fullmatch(path.name), path) for path in sorted(self.path.iterdir()))
        return [path for match, path in found if match is not None and match[1] < date_of(day)]

    def take_in(self, unfinished: Path, file: Path) -> None:
        """Under a name that nobody has yet: only whoever holds the folder may. When it returns, the disk has it."""
        unfinished.rename(file)
        sync(self.path)


def date_of(day: int) -> str:
    return datetime.fromtimestamp(day / 1000, UTC).date().isoformat()


def ids_of(day: int) -> tuple[str, str]:
    """Ids of a day are from the first to before the second: they begin with 13 digits of time."""
    return f"{day:013}", f"{day + MS_PER_DAY:013}"
