"""The directory of an embedded installation: one database file, one writer, one lock.

A second writer on the same file is refused with a sentence, and so is a file system
that is shared over a network, where locks and shared memory cannot be relied on. An
installation that has moved to PostgreSQL leaves a mark, and gives no numbers here any more.
"""

import os
from pathlib import Path

from dawr.reliability.disk import sync
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


class DataDirectoryUnfit(Exception):
    """The directory cannot be used; the sentence says why and what to do."""


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.database = path / "dawr.sqlite"
        self.control_socket = path / "control.sock"
        self.moved = path / "dawr.sqlite-moved"
        """Named so that it goes wherever `dawr.sqlite*` goes."""
        self._lock_file = path / "dawr.lock"
        self._lock: int | None = None

    def prepare(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DataDirectoryUnfit(f"The data directory {self.path} cannot be made: {error.strerror}.") from error
        kind = file_system_of(self.path)
        if kind in NETWORK_FILE_SYSTEMS:
            raise DataDirectoryUnfit(
                f"The data directory {self.path} is on a network file system ({kind}), where SQLite is not safe. "
                "Use a local disk, or PostgreSQL with DAWR_DATABASE_URL."
            )

    def lock(self) -> None:
        """Be the one writer, until the process ends; nobody is one where the installation has moved away."""
        self.hold()
        to = self.moved_to()
        if to is not None:
            self.unlock()
            raise DataDirectoryUnfit(
                f"The installation in {self.path} has moved to {to}: nothing is given from here any more, or numbers "
                "would be given twice. Set DAWR_DATABASE_URL to that database. To go back, stop its servers and run "
                "`dawr migrate --back`, as docs/run/postgres.md says."
            )

    def moved_to(self) -> str | None:
        """Where the installation is now; None if it is here."""
        try:
            return self.moved.read_text(encoding="utf-8", errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be read: {error.strerror}.") from error

    def mark_moved(self, to: str) -> None:
        """When it returns the disk has the mark."""
        partial = self.moved.with_name(self.moved.name + ".partial")
        try:
            partial.write_text(f"{to}\n", encoding="utf-8")
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


def make_private(file: Path) -> None:
    """Make sure that the file is there, and that a new one can be read by its owner only."""
    os.close(os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


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
