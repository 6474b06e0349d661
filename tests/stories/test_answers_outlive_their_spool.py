"""Answers are counted apart from the spool: `dawr traffic verify` finds what was lost with it, and nothing twice."""

import json
import os
import shutil
import signal
from pathlib import Path

from dawr.traffic.directory import TrafficDirectory, traffic_in
from tests.running import Client, DawrServer, dawr, eventually
from tests.stories.traffic_audit import ledger
from tests.stories.traffic_chaos import traffic_process_of
from tests.stories.traffic_load import Load

ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
PATH = "/favicon.ico"
REQUESTS = 400


def asked(server: DawrServer, requests: int) -> None:
    with Client(server.url) as client:
        for _ in range(requests):
            assert client.get(PATH).status == 200


def is_settled(directory: TrafficDirectory, answers: int, spooled: int) -> bool:
    """Whether so many are in the ledger, and nothing waits to be counted."""
    if not directory.socket.exists():
        return False
    columns = ("answered", "spooled", "stored + duplicates")
    return [ledger(directory.database, column) for column in columns] == [answers, spooled, spooled]


def test_a_spool_that_is_deleted_after_a_kill_is_missed(tmp_path: Path) -> None:
    directory = traffic_in(tmp_path)
    server = DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON)
    with server:
        asked(server, 10)
        eventually(lambda: is_settled(directory, 10, 10))
        frozen = traffic_process_of(server)
        os.kill(frozen, signal.SIGSTOP)
        asked(server, REQUESTS + 1)  # the last answer leaves before it is counted, and the kill may come between
        for pid in (server.pid, frozen):
            os.kill(pid, signal.SIGKILL)
        server.kill()
        [spool] = directory.spools.glob("*.spool")
        spool.unlink()

        server.start()
        eventually(lambda: directory.socket.exists() and ledger(directory.database, "answered") >= 10 + REQUESTS)
        answered = ledger(directory.database, "answered")
        verified = dawr("traffic", "verify", "--data", tmp_path)
        status = json.loads(dawr("traffic", "status", "--data", tmp_path, "--json").said)

    assert answered in {10 + REQUESTS, 10 + REQUESTS + 1}
    assert ledger(directory.database, "spooled") == 10
    assert verified.exit_code == 1, verified
    assert f"answered, and written down: {answered} and 10." in verified.said
    assert "Each request was counted once" not in verified.said
    assert status["lost"] == answered - 10


def test_answers_are_counted_once_their_counter_can_be_made(tmp_path: Path) -> None:
    directory = traffic_in(tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        eventually(directory.socket.exists)
        directory.counters.rmdir()
        directory.counters.write_text("no directory can be here")
        asked(server, 10)
        eventually(lambda: is_settled(directory, 0, 10))

        directory.counters.unlink()

        eventually(lambda: is_settled(directory, 10, 10))
        verified = dawr("traffic", "verify", "--data", tmp_path)

    assert verified.exit_code == 0, verified


def test_a_spool_that_is_removed_under_load_counts_no_answer_twice(tmp_path: Path) -> None:
    directory = traffic_in(tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        eventually(directory.socket.exists)
        load = Load(server.port, 4 * REQUESTS, [PATH], seed="removed")
        with load.running():
            for share in (0.25, 0.5, 0.75):
                load.until(share)
                shutil.rmtree(directory.spools, ignore_errors=True)
        answers = len(load.answered) + load.repeated.total()
        assert len(load.answered) == 4 * REQUESTS

        eventually(lambda: is_settled(directory, answers, answers))
        verified = dawr("traffic", "verify", "--data", tmp_path)

        assert verified.exit_code == 0, verified
