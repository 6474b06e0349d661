"""`dawr check` on the disk and the server of an embedded installation."""

import asyncio
from pathlib import Path

import apsw
import pytest

from dawr.bootstrap import control
from dawr.cli.check.directory import LITTLE_ROOM, NO_ROOM, look_at_directory, look_at_room
from dawr.cli.check.findings import Report
from dawr.stores.data_directory import DataDirectory
from dawr.stores.sqlite_connections import WAL_BYTES_KEPT
from tests.cli.here import run_here
from tests.cli.installations import Installation


def levels_of(report: Report) -> list[str]:
    return [found.level for found in report.findings]


@pytest.mark.parametrize(
    ("free", "level", "sentence"),
    [
        (NO_ROOM - 1, "wrong", "is full (15 MB free): make room, or nothing can be stored."),
        (NO_ROOM, "warning", "is nearly full (16 MB free)"),
        (LITTLE_ROOM - 1, "warning", "is nearly full (511 MB free)"),
        (LITTLE_ROOM, "fine", "The disk has room: 512 MB."),
    ],
)
def test_a_disk_that_fills_is_named_before_nothing_can_be_stored(free: int, level: str, sentence: str) -> None:
    report = Report()

    look_at_room(free, Path("data"), report)

    assert levels_of(report) == [level]
    assert sentence in report.findings[0].sentence


def test_a_log_that_a_reader_keeps_from_being_emptied_is_named(embedded: Installation) -> None:
    run_here(embedded, "migrate")
    reader, writer = (apsw.Connection(str(embedded.database)) for _ in range(2))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM venues").fetchall()
    writer.execute("CREATE TABLE ballast (bytes BLOB)")
    writer.execute("INSERT INTO ballast VALUES (zeroblob(?))", (WAL_BYTES_KEPT,))

    grown = run_here(embedded, "check")
    reader.close()
    writer.close()
    emptied = run_here(embedded, "check")

    assert "!  The write-ahead log dawr.sqlite-wal has grown to 6" in grown.said
    assert "write-ahead log" not in emptied.said
    assert (grown.exit_code, emptied.exit_code) == (0, 0)


async def test_a_server_that_was_not_restarted_after_an_upgrade_is_named(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.lock()

    async def status(_: object) -> dict[str, str | int]:
        return {"pid": 1, "version": "0.0.1"}

    report = Report()
    async with control.listening(directory.control_socket, {"status": status}):
        await asyncio.to_thread(look_at_directory, directory, report)
    directory.unlock()

    assert "The server is version 0.0.1, and this is " in report.findings[-1].sentence
    assert report.findings[-1].level == "warning"
