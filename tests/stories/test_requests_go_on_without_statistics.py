"""The disk of the statistics is full, or their database hangs: requests are answered as ever, and counted later."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from dawr.traffic.spool import MOST_IN_MEMORY
from tests.cli.databases import rows_of
from tests.running import DawrServer, eventually, set_up, venue_document
from tests.servers import PostgresServer, server_directory
from tests.stories.traffic_audit import ledger, must_add_up, must_be_counted_once
from tests.stories.traffic_chaos import descendants_of
from tests.stories.traffic_load import Load

FEW = 1000
ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
LIVE = ["/favicon.ico"]
"""What is asked for: it needs no database."""


def sent(server: DawrServer, requests: int, *, paths: list[str] | None = None) -> Load:
    """All are answered, and well."""
    load = Load(server.port, requests, paths or LIVE, seed=f"{requests} requests")
    with load.running():
        pass
    assert len(load.answered) == requests
    assert set(load.answered.values()) == {200}
    return load


def is_ready(data: Path) -> bool:
    return (data / "traffic" / "control.sock").exists()


def settled(database: Path | str, *, counted: int) -> None:
    """Wait until so many are counted and nothing waits."""
    eventually(lambda: rows_of(database, "SELECT count(*) FROM traffic_events") >= [(counted,)])
    eventually(lambda: rows_of(database, "SELECT count(*) FROM traffic_queue") == [(0,)])


@contextmanager
def small_disk(directory: Path) -> Iterator[None]:
    """A file system of its own at this place."""
    directory.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(directory)], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip(f"this system mounts no file system: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def fill(directory: Path) -> Path:
    """With something else, to its last byte."""
    ballast = directory / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


@pytest.mark.parametrize("requests", [FEW, pytest.param(MOST_IN_MEMORY + FEW, marks=pytest.mark.prove)])
def test_a_full_disk_costs_nobody_an_answer_and_what_had_no_place_is_counted_as_lost(
    tmp_path: Path, requests: int
) -> None:
    spools, database = tmp_path / "traffic" / "spool", tmp_path / "traffic" / "traffic.sqlite"
    with small_disk(spools), DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        eventually(lambda: is_ready(tmp_path))
        ballast = fill(spools)

        load = sent(server, requests)
        ballast.unlink()
        answers = requests + load.repeated.total()
        eventually(lambda: ledger(database, "stored + duplicates + lost") >= answers)

        stored, lost = ledger(database, "stored"), ledger(database, "lost")
        must_add_up(database)
        assert ledger(database, "spooled + lost") == ledger(database, "answered") == answers
        assert (lost == 0) == (requests < MOST_IN_MEMORY)
        assert "traffic.spool-failed" in server.log.read_text()
        if lost == 0:
            must_be_counted_once(database, load)
    print(f"{requests} requests on a full disk: {stored} counted later, {lost} lost and counted as lost")  # noqa: T201


def test_a_locked_file_of_statistics_holds_nobody_up(tmp_path: Path) -> None:
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    database = tmp_path / "traffic" / "traffic.sqlite"
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        eventually(lambda: is_ready(tmp_path))
        with closing(apsw.Connection(str(database))) as connection:
            connection.set_busy_timeout(60_000)
            connection.execute("BEGIN IMMEDIATE")

            load = sent(server, FEW, paths=[*LIVE, "/api/v1/queue/status?clinic=lab"])
            eventually(lambda: "traffic.sqlite: database is locked" in server.log.read_text())
            connection.execute("ROLLBACK")

        settled(database, counted=FEW)
        must_be_counted_once(database, load)
        must_add_up(database)


def test_a_hanging_postgresql_holds_nobody_up(tmp_path: Path) -> None:
    with server_directory() as directory, PostgresServer(directory) as postgres:
        url = postgres.create_database("dawr")
        set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATABASE_URL=url)
        with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, DAWR_DATABASE_URL=url, **ON) as server:
            eventually(lambda: is_ready(tmp_path))
            with hanging(postgres):
                load = sent(server, FEW)
                eventually(lambda: "PostgreSQL: TimeoutError" in server.log.read_text())

            settled(url, counted=FEW)
            must_be_counted_once(url, load)
            must_add_up(url)


@contextmanager
def hanging(postgres: PostgresServer) -> Iterator[None]:
    """All its processes stand still."""
    frozen = [postgres.pid, *descendants_of(postgres.pid)]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
