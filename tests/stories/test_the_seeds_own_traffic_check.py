"""The steps by which the traffic seed checks itself, run as they are written but for host and port."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.databases import rows_of
from tests.running import Client, DawrServer, eventually, set_up, venue_document
from tests.servers import ValkeyServer

TEN_REQUESTS = """
for i in {1..10}; do
  curl http://localhost:8787/api/test \
    -H "CF-Connecting-IP: 192.168.1.$i" \
    -H "CF-Ray: test-$i"
  sleep 0.1
done
"""
THE_SAME_TWICE = """
curl http://localhost:8787/api/test \
  -H "CF-Connecting-IP: 192.168.1.1" \
  -H "CF-Ray: test-duplicate"

sleep 1

curl http://localhost:8787/api/test \
  -H "CF-Connecting-IP: 192.168.1.1" \
  -H "CF-Ray: test-duplicate"
"""
SENT = re.compile(r"Queue sent: (\d{13}-[0-9a-f]{8}) \| Path: /api/test \| Status: 200")
CONSUMED = re.compile(r"Event: (\d{13}-[0-9a-f]{8}) \| Path: /api/test \| Status: 200 \| Time: [\d.]+ms")
ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
FEWEST = 20


def run_in_shell(steps: str, server: DawrServer) -> None:
    here = steps.replace("localhost:8787", f"127.0.0.1:{server.port}").replace("curl ", "curl --fail --silent ")
    subprocess.run(["/bin/bash", "-ec", here], check=True, timeout=60, capture_output=True)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_demo_logs_each_request_on_its_way_and_counts_a_repeat_once(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", **ON) as server:
        run_in_shell(TEN_REQUESTS, server)
        run_in_shell(THE_SAME_TWICE, server)

        eventually(lambda: len(CONSUMED.findall(server.log.read_text())) >= 11)

    log = server.log.read_text()
    sent, consumed = SENT.findall(log), CONSUMED.findall(log)
    rows = rows_of(
        tmp_path / "data" / "traffic" / "traffic.sqlite",
        "SELECT id, request_id FROM traffic_events WHERE path = '/api/test' ORDER BY id",
    )
    assert len(sent) == 12
    assert sent[-1] == sent[-2]
    assert len(set(sent)) == 11
    assert sorted(consumed) == sorted(set(sent)) == [id_ for id_, _ in rows]
    assert [ray for _, ray in rows] == [*(f"test-{number}" for number in range(1, 11)), "test-duplicate"]


def test_through_two_workers_a_repeat_counts_once_whoever_answers_it(
    tmp_path: Path, postgres_url: str, valkey_server: ValkeyServer
) -> None:
    """Each repeat comes over a connection of its own, so that either worker may answer it."""
    settings = {"DAWR_DATABASE_URL": postgres_url, "DAWR_REDIS_URL": valkey_server.url, "DAWR_DATA": str(tmp_path)}
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings)
    with DawrServer(tmp_path, "serve", "--workers", "2", DAWR_TRAFFIC_LOG="on", **settings, **ON) as server:
        asked = 0
        while asked < FEWEST or files_in(tmp_path / "traffic" / "spool") < 2:
            with Client(server.url) as client:
                answer = client.ask("/favicon.ico", headers={"CF-Ray": "again", "CF-Connecting-IP": "192.168.1.1"})
            assert answer.status == 200
            asked += 1

        eventually(lambda: counted(postgres_url) == (1, asked - 1))


def files_in(spools: Path) -> int:
    """Each worker has one of its own."""
    return len(list(spools.glob("*.spool")))


def counted(url: str) -> tuple[int, int]:
    """How often it counts, and how many repeats were noticed."""
    if not rows_of(url, "SELECT 1 FROM traffic_ledger"):
        return 0, 0
    ((requests,),) = rows_of(url, "SELECT count(*) FROM traffic_events WHERE request_id = 'again'")
    ((duplicates,),) = rows_of(url, "SELECT sum(duplicates) FROM traffic_ledger")
    return requests, int(duplicates)
