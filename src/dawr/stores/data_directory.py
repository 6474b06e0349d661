"""The directory of an embedded installation: one database file, one writer, one lock.

A second writer on the same file is refused with a sentence, and so is a file system
that is shared over a network, where locks and shared memory cannot be relied on. An
installation that has moved to PostgreSQL leaves a mark, and gives no numbers here any more.
The lock is on the directory itself, which cannot be deleted while it has files. `dawr.lock`
has the number of the process that holds it, and is locked for versions that know no other lock.
"""

import os
from pathlib import Path
from typing import NamedTuple

from dawr.reliability.disk import OTHERS, PARTIAL, make_directory, mode_of, remove_durably, sync, write_durably
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
RESTORING = "dawr.restoring"
"""The file that is there while a restore moves files. Its name must not begin like those of the files it moves."""
RESTORING_TEXT = "A restore was cut short, unless it is running. Run `dawr restore --replace BACKUP` again.\n"
HAD_DATABASE_TEXT = (
    "A database was made in this directory. If dawr.sqlite is missing, put it or a backup back with `dawr restore`.\n"
    "Delete this file only to begin anew, with every number from 1.\n"
)
UNDER_WAY = "under way"
"""The last line of the mark of a move that has not ended."""


class Mark(NamedTuple):
    """The mark of an installation that has moved, or is moving."""

    place: str
    """Where it is now, without secrets."""
    identity: str
    """Which database that is; empty in the mark of an earlier version."""
    is_under_way: bool = False
    """Whether the move has not ended. Then neither side gives numbers."""

    @property
    def text(self) -> str:
        lines = [self.place, self.identity, *([UNDER_WAY] if self.is_under_way else [])]
        return "".join(f"{line}\n" for line in lines)


class DataDirectoryUnfit(Exception):
    """The directory cannot be used; the sentence says why and what to do."""


class DataDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path = path.absolute()  # so that sentences say where it is looked for
        self.database = path / "dawr.sqlite"
        self.control_socket = path / "control.sock"
        self.moved = path / "dawr.sqlite-moved"
        """Named so that it goes wherever `dawr.sqlite*` goes."""
        self.restoring = path / RESTORING
        self.had_database = path / "had-database"
        """Named so that it stays where somebody removes `dawr.*`."""
        self._lock_file = path / "dawr.lock"
        self._locks: tuple[int, ...] = ()

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
            self.must_be_here()
            if not to_restore:
                self.must_be_whole()
        except DataDirectoryUnfit:
            self.unlock()
            raise

    def must_be_whole(self) -> None:
        """Refuse to begin a new database where an old one was being replaced, or was removed."""
        partial = self.database.with_name(self.database.name + PARTIAL)
        if self.restoring.exists() or partial.exists():
            raise DataDirectoryUnfit(
                f"A restore of {self.path} was cut short: run `dawr restore --replace BACKUP` again, before anything "
                "else."
            )
        if self.had_database.exists() and not self.database.exists():
            raise DataDirectoryUnfit(
                f"The database {self.database} is gone: {self.had_database.name} says that there was one, and a new "
                f"one would give every number again. Put it back, or restore a backup: `dawr restore --data "
                f"{self.path} BACKUP`. To begin anew all the same, delete {self.had_database}."
            )

    def must_be_here(self) -> None:
        mark = self.mark()
        if mark is None:
            return
        if mark.is_under_way:
            raise DataDirectoryUnfit(
                f"A move of the installation in {self.path} to {mark.place} was cut short: neither side gives numbers "
                "until it is finished, or numbers would be given twice. Run the same `dawr migrate --to` again: it "
                "finds out what was stored there. To stay here instead, run `dawr migrate --back`."
            )
        raise DataDirectoryUnfit(
            f"The installation in {self.path} has moved to {mark.place}: nothing is given from here any more, or "
            "numbers would be given twice. Set DAWR_DATABASE_URL to that database. To go back, stop its servers and "
            "run `dawr migrate --back`, as docs/run/postgres.md says."
        )

    def remember_database(self) -> None:
        """Leave a sign that a database was made here, so that a start without it does not begin at number 1."""
        if self.had_database.exists():
            return
        try:
            sync(self.path)  # the disk has the database's name first
            write_durably(self.had_database, HAD_DATABASE_TEXT)
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.had_database} cannot be written: {error.strerror}.") from error

    def moved_to(self) -> str | None:
        """Where the installation is now; None if it is here."""
        mark = self.mark()
        return None if mark is None else mark.place

    def mark(self) -> "Mark | None":
        try:
            place, identity, state, *_ = (*self.moved.read_text(encoding="utf-8", errors="replace").split("\n"), "", "")
            return Mark(place.strip(), identity.strip(), state.strip() == UNDER_WAY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be read: {error.strerror}.") from error

    def mark_moving(self, to: str, identity: str) -> None:
        """Have the disk know that numbers may be stored there from now on."""
        try:
            write_durably(self.moved, Mark(to, identity, is_under_way=True).text)
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be written: {error.strerror}. Nothing was moved.") from error

    def mark_moved(self, to: str, identity: str) -> None:
        """When it returns the disk has the mark."""
        try:
            write_durably(self.moved, Mark(to, identity).text)
        except OSError as error:
            raise DataDirectoryUnfit(
                f"The copy in {to} is complete, but {self.moved} cannot be written: {error.strerror}. "
                "Neither side gives numbers until you run the same command again."
            ) from error

    def unmark_moved(self) -> None:
        try:
            remove_durably(self.moved)
        except OSError as error:
            raise DataDirectoryUnfit(f"{self.moved} cannot be removed: {error.strerror}.") from error

    def hold(self) -> None:
        """Keep every other process from writing, wherever the installation may be by now."""
        try:
            self._take_lock(os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            handle = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.unlock()
            raise DataDirectoryUnfit(
                f"The data directory {self.path} cannot be written to: {error.strerror}."
            ) from error
        self._take_lock(handle)
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())

    def _take_lock(self, handle: int) -> None:
        self._locks += (handle,)
        if not lock_soon(handle, tries=LOCK_TRIES):
            self.unlock()
            raise DataDirectoryInUse(self.path, self._holder())

    def _holder(self) -> str:
        try:
            return f"process {int(self._lock_file.read_text(encoding='utf-8', errors='replace'))}"
        except (OSError, ValueError):
            return "another process"

    def is_locked(self) -> bool:
        return is_locked(self.path) or is_locked(self._lock_file)

    def unlock(self) -> None:
        for handle in self._locks:
            os.close(handle)
        self._locks = ()


class DataDirectoryInUse(DataDirectoryUnfit):
    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(
            f"The data directory {path} is in use by {holder}: one server writes to it at a time. "
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
