"""The directory of an embedded installation, its disk, and the server that holds it."""

import shutil
from pathlib import Path
from typing import Literal

import msgspec

from dawr import __version__
from dawr.bootstrap import control
from dawr.cli.check.findings import Report
from dawr.stores.data_directory import NETWORK_FILE_SYSTEMS, DataDirectory, DataDirectoryUnfit, file_system_of
from dawr.stores.sqlite_connections import WAL_BYTES_KEPT

MEGABYTE = 1024 * 1024
LITTLE_ROOM = 512 * MEGABYTE
NO_ROOM = 16 * MEGABYTE


class Status(msgspec.Struct, frozen=True):
    """What a running server says of itself."""

    version: str
    settings: dict[Literal["public_url", "clinic_venue"], str] = {}
    """Settings that `dawr check` judges. An older server says none."""


def look_at_directory(directory: DataDirectory, report: Report) -> Status | None:
    """Return what the server there says of itself, if one answers."""
    kind = file_system_of(directory.path)
    if kind in NETWORK_FILE_SYSTEMS:
        report.wrong(
            f"{directory.path} is on a network file system ({kind}), where SQLite is not safe.", about="directory"
        )
    if not directory.path.exists():
        return None
    _look_at_mark(directory, report)
    if openness := directory.openness:
        report.warn(openness, about="directory")
    look_at_room(shutil.disk_usage(directory.path).free, directory.path, report)
    look_at_log(directory.database, report)
    return _look_at_server(directory, report)


def _look_at_mark(directory: DataDirectory, report: Report) -> None:
    try:
        mark = directory.mark()
        if mark is None or mark.is_under_way:
            directory.must_be_here()
        else:
            report.warn(
                f"This installation has moved to {mark.place}, and gives no numbers here: "
                "set DAWR_DATABASE_URL to look there.",
                about="directory",
            )
        if directory.database.exists():
            directory.must_be_whole()
    except DataDirectoryUnfit as unfit:
        report.wrong(str(unfit), about="directory")


def look_at_room(free: int, path: Path, report: Report) -> None:
    megabytes = free // MEGABYTE
    if free < NO_ROOM:
        report.wrong(
            f"The disk of {path} is full ({megabytes} MB free): make room, or nothing can be stored.", about="directory"
        )
    elif free < LITTLE_ROOM:
        report.warn(f"The disk of {path} is nearly full ({megabytes} MB free): make room.", about="directory")
    else:
        report.fine(f"The disk has room: {megabytes:,} MB.", about="directory")


def look_at_log(database: Path, report: Report) -> None:
    """It is emptied as it goes, unless somebody reads for a long time."""
    log = database.with_name(database.name + "-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > WAL_BYTES_KEPT:
        report.warn(
            f"The write-ahead log {log.name} has grown to {size // MEGABYTE} MB: somebody has the database open for "
            "reading and does not let go. Close other programs that have it open.",
            about="directory",
        )


def _look_at_server(directory: DataDirectory, report: Report) -> Status | None:
    if not directory.is_locked():
        report.fine("No server runs here.", about="server")
        return None
    report.server_answers = True
    try:
        status = msgspec.json.decode(control.ask(directory.control_socket, "status"), type=Status)
    except (control.ControlFailed, msgspec.MsgspecError) as failure:
        report.wrong(f"A server holds {directory.path}, but is not well. {failure}", about="server")
        return None
    report.fine("A server runs here and can store.", about="server")
    look_at_version(status.version, report)
    return status


def look_at_version(version: str, report: Report) -> None:
    if version == __version__:
        report.fine(f"The server is version {version}, and so is this.", about="server")
    else:
        report.warn(
            f"The server is version {version}, and this is {__version__}: restart it to use what was installed.",
            about="server",
        )
