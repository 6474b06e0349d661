"""Copies of a living database: consistent, checked, and marked as copies.

Whoever opens a marked copy begins new epochs, so that no watcher resumes into a history
that went another way.

The traffic statistics of an embedded installation are a file of their own. How far each spool was shipped is in
it, in the transaction that shipped it: whichever moment a copy is of, what it says was shipped is in it, and what
is shipped again is not. So nothing is counted twice after a restore.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from urllib.parse import unquote, urlsplit

import apsw

from dawr.reliability.disk import PARTIAL, make_directory, make_private, remove_durably, sync, write_durably
from dawr.stores import reasons
from dawr.stores.data_directory import RESTORING, RESTORING_TEXT
from dawr.stores.session import all_statements
from dawr.stores.sqlite_connections import open_reading

A_TABLE = "traffic_spools"
"""What has it is a file of statistics."""


class BackupFailed(Exception):
    """No copy was made; the sentence says why."""


def back_up_sqlite(database: Path, target: Path, *, statistics: Path) -> Path | None:
    """Copy both files while others write to them, both or neither. Where the statistics are; None: there are none."""
    if not database.exists():
        raise BackupFailed(f"There is no database at {database}.")
    beside = statistics_of(target) if _is_begun(statistics) else None
    _must_be_free(target, statistics_of(target))
    with _whole_or_not_at_all(target, beside) as (partial, *more):
        _copy(database, partial)
        with closing(apsw.Connection(str(partial))) as copy:
            copy.execute(all_statements("sqlite")["mark_copy"])
        _check(partial)
        for second in more:
            _copy_statistics(statistics, second)
    return beside


def restore_sqlite(source: Path, database: Path, *, statistics: Path, aside: str | None = None) -> Path | None:
    """Put a backup in the place of files that are not there, or are moved aside: to a directory of this name.

    As above; both are checked first. What is there stays until the disk has all that comes in its place. A mark says
    from the first move to the last that the files here are not one database's.
    """
    found = [left for file in (database, statistics) for left in _files_of(file)]
    if found and aside is None:
        names = ", ".join(str(left.relative_to(database.parent)) for left in found)
        raise BackupFailed(
            f"There is {names} in {database.parent} already: a write-ahead log of another database would be replayed "
            "into this one. `dawr restore --replace` moves it aside first; nothing was changed."
        )
    beside = statistics_of(source) if statistics_of(source).exists() else None
    if {each.resolve() for each in (source, beside) if each is not None} & {left.resolve() for left in found}:
        raise BackupFailed(f"{source} would be moved aside itself: move it out of the way first. Nothing was changed.")
    _check(source)
    if beside is not None:
        _check_statistics(beside)
    mark = database.with_name(RESTORING)
    _keep_earlier_mark(database, mark)
    moving = _moved_aside(found, aside or "", mark)
    with _whole_or_not_at_all(database, None if beside is None else statistics, before=moving) as (partial, *more):
        shutil.copyfile(source, partial)
        for second in more:
            shutil.copyfile(statistics_of(source), second)
    return beside


def _files_of(database: Path) -> list[Path]:
    """Its write-ahead log and the like before the database: none is ever there without it."""
    found = {left for left in database.parent.glob(f"{database.name}*") if not left.name.endswith(PARTIAL)}
    return sorted(found, key=lambda left: (left == database, left))


def _keep_earlier_mark(database: Path, mark: Path) -> None:
    """Mark the directory where an earlier version, which had no mark, left half of a restore."""
    if database.with_name(f"{database.name}{PARTIAL}").exists():
        write_durably(mark, RESTORING_TEXT)


@contextmanager
def _moved_aside(files: Sequence[Path], aside: str, mark: Path) -> Iterator[None]:
    """Move files aside for as long as the mark is there, and back if what follows fails.

    Nothing is deleted: what is damaged may still tell something. A mark that an earlier restore left stays until one
    succeeds, because the files that it moved are not known to this one.
    """
    was_cut_short = mark.exists()
    try:
        write_durably(mark, RESTORING_TEXT)
        for file in files:
            make_directory(file.parent / aside)
            file.rename(file.parent / aside / file.name)
        _sync_all(files, aside)
        yield
    except BaseException:
        _put_back(files, aside)
        if not was_cut_short:
            remove_durably(mark)
        raise
    try:
        remove_durably(mark)
    except OSError as error:
        raise BackupFailed(
            f"The backup is in place, but {mark} cannot be removed: {reasons.of_system(error)}. Delete it yourself."
        ) from error


def _put_back(files: Sequence[Path], aside: str) -> None:
    try:
        for file in reversed(files):
            kept = file.parent / aside / file.name
            if kept.exists():
                kept.rename(file)
        _sync_all(files, aside)
    except OSError as error:
        raise BackupFailed(
            f"What was there is in {aside}, and cannot be put back: {reasons.of_system(error)}. Run the same command "
            "again, before anything else."
        ) from error


def _sync_all(files: Sequence[Path], aside: str) -> None:
    for directory in {place for file in files for place in (file.parent, file.parent / aside)}:
        if directory.exists():
            sync(directory)


def statistics_of(backup: Path) -> Path:
    """The file beside a backup that has the traffic statistics."""
    return backup.with_name(f"{backup.name}.traffic")


def back_up_postgres(url: str, target: Path, environment: Mapping[str, str]) -> None:
    """One consistent snapshot by `pg_dump`, in its custom format."""
    _must_be_free(target)
    program = shutil.which("pg_dump")
    if program is None:
        raise BackupFailed(
            "pg_dump is not installed here: install PostgreSQL's client programs, or back up on the server."
        )
    place, secret = _without_password(url)
    with _whole_or_not_at_all(target) as (partial,):
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
def _whole_or_not_at_all(
    target: Path, second: Path | None = None, *, before: AbstractContextManager[None] | None = None
) -> Iterator[list[Path]]:
    """Private files to write to, which take their targets' names once the disk has all of them, and within `before`.

    The first one is the last to get its name: where it is, the other one is too.
    """
    targets = [target] if second is None else [target, second]
    partials = [each.with_name(f"{each.name}{PARTIAL}") for each in targets]
    try:
        for partial in partials:
            partial.unlink(missing_ok=True)
            make_private(partial)
        yield partials
        for partial in partials:
            sync(partial)
        with before or nullcontext():
            _name(partials, targets)
    except OSError as error:
        raise BackupFailed(f"{target} cannot be written: {reasons.of_system(error)}. Nothing was changed.") from error
    except apsw.Error as error:
        raise BackupFailed(f"{target} cannot be written: {error}.") from error
    finally:
        for partial in partials:
            partial.unlink(missing_ok=True)


def _name(partials: Sequence[Path], targets: Sequence[Path]) -> None:
    try:
        for partial, target in reversed([*zip(partials, targets, strict=True)]):
            partial.rename(target)
            sync(target.parent)
    except BaseException:
        for partial, target in zip(partials, targets, strict=True):
            if not partial.exists():
                target.unlink(missing_ok=True)
        raise


def _without_password(url: str) -> tuple[str, dict[str, str]]:
    """A process's arguments can be read by everybody on the machine; its environment cannot."""
    parts = urlsplit(url)
    if parts.password is None:
        return url, {}
    user, _, address = parts.netloc.rpartition("@")
    place = parts._replace(netloc=f"{user.partition(':')[0]}@{address}").geturl()
    return place, {"PGPASSWORD": unquote(parts.password)}


def _is_begun(statistics: Path) -> bool:
    """The traffic process makes the file first, and its tables a moment later."""
    if not statistics.exists():
        return False
    with _told_of(statistics), closing(open_reading(statistics)) as connection:
        return connection.table_exists("main", A_TABLE)


def _copy(database: Path, target: Path) -> None:
    with closing(open_reading(database)) as source, closing(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as backup:
            backup.step(-1)
        copy.execute("PRAGMA journal_mode = DELETE")


def _copy_statistics(statistics: Path, target: Path) -> None:
    with _told_of(statistics):
        _copy(statistics, target)
        _check_statistics(target)


@contextmanager
def _told_of(statistics: Path) -> Iterator[None]:
    """A backup without the statistics is better than none, but nobody is to take it for a whole one."""
    try:
        yield
    except (apsw.Error, OSError, BackupFailed) as error:
        raise BackupFailed(
            f"The traffic statistics in {statistics} cannot be copied, so no backup was made: "
            f"{str(error).rstrip('.')}. To make one without them, stop the traffic process and move "
            f"{statistics.name}* away."
        ) from error


def _check(path: Path) -> None:
    with _checked(path) as connection:
        marked = connection.execute(all_statements("sqlite")["is_copy"]).fetchall()
    if marked != [(1,)]:
        raise BackupFailed(f"{path} was not made by `dawr backup`: its streams could resume wrongly.")


def _check_statistics(path: Path) -> None:
    with _checked(path) as connection:
        is_whole = connection.pragma("journal_mode") != "wal"
        is_ours = connection.table_exists("main", A_TABLE)
    if not is_ours or not is_whole:
        raise BackupFailed(f"{path} was not made by `dawr backup`: it is no copy of traffic statistics, or not whole.")


@contextmanager
def _checked(path: Path) -> Iterator[apsw.Connection]:
    """Open a copy whose every page is as it should be."""
    try:
        with closing(open_reading(path)) as connection:
            [(verdict,)] = connection.execute("PRAGMA integrity_check(1)")
            if verdict != "ok":
                raise BackupFailed(f"{path} is damaged: {verdict}.")
            yield connection
    except apsw.Error as error:
        raise BackupFailed(f"{path} cannot be read as a backup: {error}.") from error


def _must_be_free(*targets: Path) -> None:
    for target in targets:
        if target.exists():
            raise BackupFailed(f"{target} exists already; nothing was overwritten.")
