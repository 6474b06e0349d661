"""Copies of a living database: consistent, checked, and marked as copies.

Whoever opens a marked copy begins new epochs, so that no watcher resumes into a history
that went another way.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import apsw

from dawr.stores.data_directory import make_private, sync
from dawr.stores.session import all_statements
from dawr.stores.sqlite import open_reading


class BackupFailed(Exception):
    """No copy was made; the sentence says why."""


def back_up_sqlite(database: Path, target: Path) -> None:
    """Copy the file while others write to it."""
    if not database.exists():
        raise BackupFailed(f"There is no database at {database}.")
    _must_be_free(target)
    with _whole_or_not_at_all(target) as partial:
        _copy(database, partial)


def restore_sqlite(source: Path, database: Path) -> None:
    """Put a backup in the place of a database that is not there, or was moved away."""
    leftovers = sorted(file.name for file in database.parent.glob(database.name + "*"))
    if leftovers:
        raise BackupFailed(
            f"There is {', '.join(leftovers)} in {database.parent} already: a write-ahead log of another database "
            "would be replayed into this one. Move all of it away first; nothing was changed."
        )
    with _whole_or_not_at_all(database) as partial:
        _check(source)
        shutil.copyfile(source, partial)


def back_up_postgres(url: str, target: Path, environment: Mapping[str, str]) -> None:
    """One consistent snapshot by `pg_dump`, in its custom format."""
    _must_be_free(target)
    program = shutil.which("pg_dump")
    if program is None:
        raise BackupFailed(
            "pg_dump is not installed here: install PostgreSQL's client programs, or back up on the server."
        )
    place, secret = _without_password(url)
    with _whole_or_not_at_all(target) as partial:
        done = subprocess.run(  # noqa: S603 - the program was looked up, the url is the administrator's own
            [program, "--format=custom", f"--file={partial}", f"--dbname={place}"],
            capture_output=True,
            text=True,
            check=False,
            env={**environment, **secret},
        )
        if done.returncode != 0:
            raise BackupFailed(f"pg_dump failed: {done.stderr.strip()}")


@contextmanager
def _whole_or_not_at_all(target: Path) -> Iterator[Path]:
    """A private file to write to, which takes the target's name once the disk has all of it."""
    partial = target.with_name(target.name + ".partial")
    try:
        partial.unlink(missing_ok=True)
        make_private(partial)
        yield partial
        sync(partial)
        partial.rename(target)
        sync(target.parent)
    except (apsw.Error, OSError) as error:
        raise BackupFailed(f"{target} cannot be written: {error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def _without_password(url: str) -> tuple[str, dict[str, str]]:
    """A process's arguments can be read by everybody on the machine; its environment cannot."""
    parts = urlsplit(url)
    if parts.password is None:
        return url, {}
    user, _, address = parts.netloc.rpartition("@")
    place = parts._replace(netloc=f"{user.partition(':')[0]}@{address}").geturl()
    return place, {"PGPASSWORD": unquote(parts.password)}


def _copy(database: Path, target: Path) -> None:
    with closing(open_reading(database)) as source, closing(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as backup:
            backup.step(-1)
        copy.execute("PRAGMA journal_mode = DELETE")
        copy.execute(all_statements("sqlite")["mark_copy"])
    _check(target)


def _check(path: Path) -> None:
    try:
        with closing(open_reading(path)) as connection:
            verdict = connection.execute("PRAGMA integrity_check(1)").fetchall()
            marked = connection.execute(all_statements("sqlite")["is_copy"]).fetchall()
    except apsw.Error as error:
        raise BackupFailed(f"{path} cannot be read as a backup: {error}.") from error
    if verdict != [("ok",)]:
        raise BackupFailed(f"{path} is damaged: {verdict[0][0]}.")
    if marked != [(1,)]:
        raise BackupFailed(f"{path} was not made by `dawr backup`: its streams could resume wrongly.")


def _must_be_free(target: Path) -> None:
    if target.exists():
        raise BackupFailed(f"{target} exists already; nothing was overwritten.")
