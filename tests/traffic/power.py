"""A disk that keeps what was synced, and of everything later what chance will have.

Of each file it knows the bytes of its last sync, of each directory the names. When the power goes, a page that was
written since may be there, be old, be torn between two sectors, or be zeros; a file may be shorter; a new name may be
missing and a removed one be back. What was synced stays.
"""

import os
import random
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

PAGE, SECTOR = 4096, 512

Image = dict[str, bytes]
"""Paths below the directory, and what is in the files."""


class Disk:
    """Watches one directory and its `spool`, whose names count as they were when that was last synced.

    The names beside it belong to SQLite, which syncs them itself. `on_point` is called before anything that matters.
    """

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch, on_point: Callable[[], None]) -> None:
        self._directory = directory
        self._spools = directory / "spool"
        self._on_point = on_point
        self._synced: dict[int, bytes] = {}
        self._names: dict[str, int] = {}
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, self._then_record(getattr(os, name)))
        for name in ("unlink", "rename"):
            patch.setattr(os, name, self._at_a_point(getattr(os, name)))
        self._vfs = WatchedVFS(self)

    def close(self) -> None:
        apsw.set_default_vfs(self._vfs.own)
        self._vfs.unregister()

    def point(self, path: str) -> None:
        if path.startswith(str(self._directory)):
            self._on_point()

    def record(self, path: Path) -> None:
        """The disk has it as it is now."""
        if path.is_dir():
            if path == self._spools:
                self._names = _names_in(path)
        else:
            self._synced[path.stat().st_ino] = path.read_bytes()

    def after_power_cut(self, chance: random.Random) -> Image:
        """What may be found."""
        image: Image = {}
        for name in ("traffic.sqlite", "traffic.sqlite-wal", "traffic.sqlite-journal"):
            path = self._directory / name
            if path.exists():
                image[name] = self._left_of(path.stat().st_ino, path.read_bytes(), chance)
        there = _names_in(self._spools)
        for name in sorted(self._names.keys() | there.keys()):
            found = self._name_left(name, there, chance)
            if found is not None:
                number = there[name] if name in there else self._names[name]
                now = (self._spools / name).read_bytes() if name in there else self._synced.get(number, b"")
                image[f"spool/{found}"] = self._left_of(number, now, chance)
        return image

    def _name_left(self, name: str, there: dict[str, int], chance: random.Random) -> str | None:
        """The name a file is found under, if it is."""
        if name in there and self._names.get(name) == there[name]:
            return name
        begun = name.replace(".spool", ".begun")
        return chance.choice([None, name] if name in self._names else [None, begun, name])

    def _left_of(self, number: int, now: bytes, chance: random.Random) -> bytes:
        synced = self._synced.get(number, b"")
        if now[: len(synced)] == synced:
            now = now[: chance.randint(len(synced), len(now))]
        pages = range(0, max(len(now), len(synced)), PAGE)
        return b"".join(_page(synced[at : at + PAGE], now[at : at + PAGE], chance) for at in pages)

    def _then_record(self, own: Callable[[int], None]) -> Callable[[int], None]:
        def sync(handle: int) -> None:
            path = Path(f"/proc/self/fd/{handle}").readlink()
            self.point(str(path))
            own(handle)
            if path.is_relative_to(self._directory) and not stat.S_ISSOCK(os.fstat(handle).st_mode):
                self.record(path)

        return sync

    def _at_a_point(self, own: Callable[..., None]) -> Callable[..., None]:
        def change(path: str | Path, *others: Any, **named: Any) -> None:  # noqa: ANN401 - those of the system call
            self.point(str(path))
            own(path, *others, **named)

        return change


class WatchedVFS(apsw.VFS):
    """SQLite's own way to the disk, with a note of every sync."""

    def __init__(self, disk: Disk) -> None:
        self.own = apsw.vfs_names()[0]
        """The one that does the work."""
        self._disk = disk
        super().__init__("watched by tests of power cuts", base=self.own, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "WatchedFile":  # noqa: N802 - SQLite's
        return WatchedFile(self._disk, self.own, name, flags)


class WatchedFile(apsw.VFSFile):
    def __init__(self, disk: Disk, vfs: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__(vfs, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.point(self._path)
        super().xSync(flags)
        self._disk.record(Path(self._path))


def _page(synced: bytes, now: bytes, chance: random.Random) -> bytes:
    """Either of the two, or some sectors of each. What was written for the first time may be zeros."""
    if synced == now:
        return now
    old = synced.ljust(len(now), b"\0")
    way = chance.randrange(3)
    if way == 0:
        return old
    if way == 1:
        return now or synced
    sectors = range(0, max(len(old), len(now)), SECTOR)
    return b"".join(chance.choice((old, now or old))[at : at + SECTOR] for at in sectors)


def _names_in(directory: Path) -> dict[str, int]:
    with os.scandir(directory) as entries:
        return {entry.name: entry.inode() for entry in entries}
