"""What the disk has, and not only the system's memory; and who may look at it."""

import os
import stat
from pathlib import Path

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def sync(path: Path) -> None:
    """When it returns the disk has the file, or the names in the directory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
