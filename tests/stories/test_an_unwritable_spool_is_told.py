"""A spool that cannot be written holds no request up, and `/health` and `dawr traffic status` tell of it."""

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from dawr.traffic.directory import traffic_in
from tests.running import Client, DawrServer, dawr, eventually
from tests.stories.traffic_audit import ledger
from tests.stories.traffic_chaos import traffic_process_of

ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
REQUESTS = 300
SPOOL_UNWRITABLE = "spool-unwritable"


def ask(server: DawrServer, requests: int) -> None:
    with Client(server.url) as client:
        assert {client.get("/favicon.ico").status for _ in range(requests)} == {200}


def failed(data: Path) -> list[str]:
    said: list[str] = json.loads(dawr("traffic", "status", "--data", data, "--json").said)["failed"]
    return said


def health(server: DawrServer) -> dict[str, Any]:
    with Client(server.url) as client:
        return client.get("/health").json


def is_told(data: Path) -> bool:
    return any("the spool cannot be written" in sentence for sentence in failed(data))


@pytest.mark.parametrize("are_counters_replaced", [False, True], ids=["spool", "spool and counters"])
def test_an_unwritable_spool_is_told_and_what_waited_is_counted(tmp_path: Path, *, are_counters_replaced: bool) -> None:
    directory = traffic_in(tmp_path)
    replaced = [directory.spools, directory.counters] if are_counters_replaced else [directory.spools]
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        ask(server, 1)
        eventually(lambda: directory.socket.exists() and ledger(directory.database, "stored") == 1)
        for folder in replaced:
            shutil.rmtree(folder)
            folder.write_text("no directory can be here")

        ask(server, REQUESTS)
        eventually(lambda: health(server)["traffic"] == "critical")
        eventually(lambda: is_told(tmp_path))

        assert SPOOL_UNWRITABLE in health(server)["alerts"]
        done = dawr("traffic", "status", "--data", tmp_path)
        assert (done.exit_code, "Every gate holds" in done.said) == (1, False)
        eventually(lambda: any(sentence.startswith(SPOOL_UNWRITABLE) for sentence in failed(tmp_path)))

        for folder in replaced:
            folder.unlink()
        eventually(lambda: not is_told(tmp_path))
        eventually(lambda: health(server)["traffic"] == "well")
        eventually(lambda: ledger(directory.database, "stored") > REQUESTS)
        verified = dawr("traffic", "verify", "--data", tmp_path)

    assert verified.exit_code == 0, verified


def test_health_tells_of_an_unwritable_spool_while_the_traffic_process_stands_still(tmp_path: Path) -> None:
    directory = traffic_in(tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON) as server:
        ask(server, 1)
        eventually(lambda: directory.socket.exists() and ledger(directory.database, "stored") == 1)
        eventually(lambda: health(server)["traffic"] == "well")
        frozen = traffic_process_of(server)
        os.kill(frozen, signal.SIGSTOP)
        shutil.rmtree(directory.spools)
        directory.spools.write_text("no directory can be here")

        eventually(lambda: health(server)["traffic"] == "critical")
        assert health(server)["alerts"] == [SPOOL_UNWRITABLE]

        directory.spools.unlink()
        eventually(lambda: health(server)["traffic"] == "well")
        assert health(server)["alerts"] == []
        os.kill(frozen, signal.SIGCONT)
