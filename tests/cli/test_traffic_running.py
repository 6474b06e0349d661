"""`dawr traffic` beside a running traffic process: whoever writes asks it, because its file has one writer."""

import asyncio
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dawr.bootstrap.control import listening
from dawr.bootstrap.system import now
from dawr.cli.traffic.progress import Line
from dawr.traffic import commands
from dawr.traffic.commands import Commands
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.event import MS_PER_DAY
from tests.cli.installations import Installation
from tests.cli.statistics import counted, open_statistics, rows_in, with_statistics
from tests.traffic.builders import an_event
from tests.traffic.tables import consumed, shipped

LONG_AGO = now() // MS_PER_DAY * MS_PER_DAY - 10 * MS_PER_DAY


@contextmanager
def a_traffic_process(installation: Installation) -> Iterator[TrafficDirectory]:
    """What holds the lock, has the file open and answers at the socket, in a thread of the test."""
    database = open_statistics(installation)
    directory = traffic_in(str(installation.settings["DAWR_DATA"]))
    started, loop, ended = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        async with listening(directory.socket, Commands(database, directory, now).handlers()):
            started.set()
            await ended.wait()
        await database.close()
        os.close(handle)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert started.wait(10)
        yield directory
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


@pytest.fixture
def fifty(embedded: Installation) -> Installation:
    with_statistics(embedded, lambda database: counted(database, now()))
    return embedded


@pytest.fixture
def old(embedded: Installation) -> Installation:
    """Twenty requests of a day that is due for the archive."""

    async def long_ago(database: Database) -> None:
        events = [an_event(number, at=LONG_AGO + number) for number in range(20)]
        await shipped(database, events, now=LONG_AGO)
        await consumed(database, now=LONG_AGO)

    with_statistics(embedded, long_ago)
    return embedded


def test_a_running_traffic_process_replays_and_drops_for_the_tool(fifty: Installation) -> None:
    with a_traffic_process(fifty):
        replayed = fifty.dawr("traffic", "replay")
        refused = fifty.dawr("traffic", "replay", "1")
        dropped = fifty.dawr("traffic", "dead", "drop", "--all")
        verified = fifty.dawr("traffic", "verify")

    assert (replayed.exit_code, replayed.said) == (0, "Put 1 dead letter back into the queue.\n")
    assert (refused.exit_code, refused.complained) == (1, "Error: There is no dead letter 1.\n")
    assert (dropped.exit_code, dropped.said) == (0, "There are no dead letters.\n")
    assert verified.exit_code == 0
    assert rows_in(fifty, "SELECT count(*) FROM traffic_queue") == [(1,)]


def test_a_traffic_process_that_does_not_answer_is_named(fifty: Installation) -> None:
    directory = traffic_in(str(fifty.settings["DAWR_DATA"]))
    handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)

    done = fifty.dawr("traffic", "replay")
    os.close(handle)

    assert done.exit_code == 1
    assert done.complained.startswith("Error: The server does not answer at ")
    assert rows_in(fifty, "SELECT count(*) FROM traffic_dead") == [(1,)]


@pytest.mark.parametrize("is_running", [True, False], ids=["asked", "alone"])
def test_what_is_due_is_archived_and_stays_in_what_a_query_sees(
    old: Installation, monkeypatch: pytest.MonkeyPatch, *, is_running: bool
) -> None:
    """A process that is asked answers before it is done, and is asked again."""
    monkeypatch.setattr(commands, "PATIENCE_SECONDS", 0.05)
    if is_running:
        with a_traffic_process(old):
            archived = old.dawr("traffic", "archive")
    else:
        archived = old.dawr("traffic", "archive")
    again = old.dawr("traffic", "archive")
    seen = old.dawr("traffic", "query", "SELECT count(*) AS requests, min(path) AS path FROM traffic_events")
    verified = old.dawr("traffic", "verify", "--from", "2020-01-01")

    assert archived.exit_code == 0, archived
    assert archived.said.endswith(".0.parquet: 20 rows.\n")
    assert again.said == "There is nothing to archive.\n"
    assert rows_in(old, "SELECT count(*) FROM traffic_events") == [(0,)]
    assert (seen.exit_code, seen.said) == (0, "requests  path\n20        /v1/queues/{queue}\n")
    assert verified.exit_code == 0, verified


def test_a_day_that_is_not_over_is_not_archived(old: Installation) -> None:
    done = old.dawr("traffic", "archive", "2999-01-01")

    assert (done.exit_code, done.said) == (1, "")
    assert done.complained.startswith("Error: Only a whole UTC day that is over can be archived.")


@pytest.mark.parametrize("sql", ["DELETE FROM traffic_events", "SELECT * FROM '/etc/passwd'", "SELECT nonsense"])
def test_a_query_that_is_refused_is_a_sentence(old: Installation, sql: str) -> None:
    done = old.dawr("traffic", "query", sql)

    assert (done.exit_code, done.said) == (1, "")
    assert done.complained.startswith("Error: ")
    assert "root:" not in done.complained


def test_how_far_it_is_is_shown_on_a_terminal_and_nowhere_else(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Line() as elsewhere:
        elsewhere.show("reading: 1,000 rows")
    said_elsewhere = capsys.readouterr().err
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)

    with Line() as terminal:
        terminal.show("reading: 1,000 rows")
        terminal.show("checked")

    assert said_elsewhere == ""
    assert capsys.readouterr().err == f"\rreading: 1,000 rows\rchecked{' ' * 12}\r{' ' * 19}\r"
