"""The directory of an embedded installation: one database file, one writer, one lock.

A second writer on the same file is refused with a sentence, and so is a file system
that is shared over a network, where locks and shared memory cannot be relied on. An
installation that has moved to PostgreSQL leaves a mark, and gives no numbers here any more.
"""

import os
from pathlib import Path
from typing import NamedTuple

from dawr.reliability.disk import OTHERS, make_directory, make_private, mode_of, sync
from dawr.reliability.file_lock import is_locked, lock_soon

NETWORK_FILE_SYSTEMS = frozenset(
    [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
        "smbfs",
        "virtiofs",
    ]
)


LOCK_TRIES = 4
PARTIAL = ".partial"
"""Ends the name of a file that is being written."""


class Mark(NamedTuple):
    """What an installation that has moved leaves behind."""

    place: str
    """Where it is now, without secrets."""
    identity: str
    """Which database that is; empty in the mark of an earlier version."""


class DataDirectoryUnfit(Exception):
    """The directory cannot be used; the sentence says why and what to do."""


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()  # so that sentences say where it is looked for
        self.database = path / "dawr.sqlite"
        self.control_socket = path / "control.sock"
        self.moved = path / "dawr.sqlite-moved"
        """Named so that it goes wherever `dawr.sqlite*` goes."""
        self._lock_file = path / "dawr.lock"
        self._lock: int | None = None

    def prepare(self) -> None:
        try:
            make_directory(self.path)
        except OSError as error:
            raise DataDirectoryUnfit(f"The data directory {self.path} cannot be made: {error.strerror}.") from error
        kind = file_system_of(self.path)
        if kind in NETWORK_FILE_SYSTEMS:
            raise DataDirectoryUnfit(
                f"The data directory {self.path} is on a network file system ({kind}), where SQLite is not safe. "
                "Use a local disk, or PostgreSQL with DAWR_DATABASE_URL."
            )

    @property
    def openness(self) -> str | None:
        """A sentence, if others than its owner may look in. Dawr makes it for its owner only: somebody chose this."""
        try:
            mode = mode_of(self.path)
        except OSError:
            return None  # whoever needs the directory says what is wrong with it
        if not mode & OTHERS:
            return None
        return f"Others on this machine may look into {self.path} (mode {mode:04o}): `chmod 700 {self.path}` closes it."

    def lock(self, *, to_restore: bool = False) -> None:
        """Be the one writer, until the process ends; nobody is one where the installation has moved away."""
        self.hold()
        try:
            self._must_be_here()
            if not to_restore:
                self._must_be_whole()
        except DataDirectoryUnfit:
            self.unlock()
            raise

    def _must_be_whole(self) -> None:
        """A new database must not begin where an old one was being replaced."""
        if self.database.with_name(self.database.name + PARTIAL).exists():
            raise DataDirectoryUnfit(
                f"A restore of {self.path} was cut short: run `dawr restore --replace BACKUP` again, before anything "
                "else."
            )

    def _must_be_here(self) -> None:
        to = self.moved_to()
        if to is not None:
            raise DataDirectoryUnfit(
                f"The installation in {self.path} has moved to {to}: nothing is given from here any more, or numbers "
                "would be given twice. Set DAWR_DATABASE_URL to that database. To go back, stop its servers and run "
                "`dawr migrate --back`, as docs/run/postgres.md says."
            )

    def moved_to(self) -> str | None:
        """Where the installation is now; None if it is here."""
        mark = self.mark()
        return None if mark is None else mark.place

    def mark(self) -> "Mark | None":
        try:
            place, _, identity = self.moved.read_text(encoding="utf-8", errors="replace").strip().partition("\n")
            return Mark(place, identity.strip())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be read: {error.strerror}.") from error

    def mark_moved(self, to: str, identity: str) -> None:
        """When it returns the disk has the mark."""
        partial = self.moved.with_name(self.moved.name + PARTIAL)
        try:
            make_private(partial)
            partial.write_text(f"{to}\n{identity}\n", encoding="utf-8")
            sync(partial)
            partial.rename(self.moved)
            sync(self.path)
        except OSError as error:
            raise DataDirectoryUnfit(
                f"The copy in {to} is complete, but {self.moved} cannot be written: {error.strerror}. "
                "Start no server on either side, and run the same command again."
            ) from error

    def unmark_moved(self) -> None:
        try:
            self.moved.unlink(missing_ok=True)
            sync(self.path)
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be removed: {error.strerror}.") from error

    def hold(self) -> None:
        """Keep every other process from writing, wherever the installation may be by now."""
        try:
            handle = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise DataDirectoryUnfit(
                f"The data directory {self.path} cannot be written to: {error.strerror}."
            ) from error
        if not lock_soon(handle, tries=LOCK_TRIES):
            holder = os.read(handle, 32).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise DataDirectoryInUse(self.path, holder)
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        self._lock = handle

    def is_locked(self) -> bool:
        return is_locked(self._lock_file)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class DataDirectoryInUse(DataDirectoryUnfit):
    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(
            f"The data directory {path} is in use by process {holder}: one server writes to it at a time. "
            "Stop that one first, or choose another directory with --data."
        )


def file_system_of(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str | None:
    """The kind of file system that holds the path, where the system can tell."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    wanted = path.resolve()
    found: tuple[int, str] | None = None
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(_without_escapes(before.split()[4]))
        depth = len(point.parts)
        if (wanted == point or point in wanted.parents) and (found is None or depth >= found[0]):
            found = (depth, after.split()[0])
    return found[1] if found else None


def _without_escapes(field: str) -> str:
    """Spaces in a mount point are written in octal; other scripts stand as they are."""
    return field.encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
