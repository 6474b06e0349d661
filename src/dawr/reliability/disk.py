"""What the disk has, and not only the system's memory; and who may look at it."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

OTHERS = stat.S_IRWXG | stat.S_IRWXO
PARTIAL = ".partial"
"""Ends the name of a file that is being written."""


class FileIdentity(NamedTuple):
    """A path, and the file that was there when it was identified."""

    path: str
    device: int
    inode: int

    @classmethod
    def identify(cls, path: Path) -> Self:
        """Identify the file at a path. One that is not there is in place at no time."""
        try:
            found = path.stat()
        except OSError:
            return cls(str(path), -1, -1)
        return cls(str(path), found.st_dev, found.st_ino)

    @property
    def is_in_place(self) -> bool:
        """Return whether the path still names that file. An inode is not reused while a process has the file open."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - a third of what pathlib takes, for every batch
        except OSError:
            return False
        return found.st_ino == self.inode and found.st_dev == self.device


def first_moved(files: Iterable[FileIdentity]) -> FileIdentity | None:
    """Return the first of these files that is no longer in place, or None."""
    return next((file for file in files if not file.is_in_place), None)


def sync(path: Path) -> None:
    """When it returns the disk has the file, or the names in the directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_durably(file: Path, text: str) -> None:
    """Write a private file, all of it or none. The disk has its content and its name when this returns."""
    partial = file.with_name(file.name + PARTIAL)
    make_private(partial)
    partial.write_text(text, encoding="utf-8")
    sync(partial)
    partial.rename(file)
    sync(file.parent)


def remove_durably(file: Path) -> None:
    """Remove a file, if it is there. The disk has forgotten its name when this returns."""
    file.unlink(missing_ok=True)
    sync(file.parent)


def make_directory(path: Path) -> None:
    """With all that is missing above it. What is made is its owner's only; what is there stays as it is."""
    for folder in reversed([folder for folder in path.parents if not folder.exists()]):
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    path.mkdir(mode=stat.S_IRWXU, exist_ok=True)


def make_private(file: Path) -> None:
    """Make sure that the file is there, and that a new one can be read by its owner only."""
    os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
