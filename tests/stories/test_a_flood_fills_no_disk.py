"""A flood of requests: each is counted, few are kept in detail, and an alert says so."""

import json
from pathlib import Path

import pytest

from dawr.traffic.directory import traffic_in
from tests.cli.databases import rows_of
from tests.running import DawrServer, dawr, eventually, set_up, venue_document
from tests.stories.traffic_audit import ledger
from tests.stories.traffic_load import Load

ON = {"DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
FLOOD = 2000
LIMIT = 50


def alerts(data: Path) -> dict[str, str]:
    """Open alerts, and their levels."""
    rows = rows_of(traffic_in(data).database, "SELECT name, level FROM traffic_alerts WHERE ended_at IS NULL")
    return {str(name): str(level) for name, level in rows}


@pytest.mark.parametrize(
    ("settings", "details", "reason", "alert"),
    [
        ({"DAWR_TRAFFIC_DETAILS_PER_HOUR": str(LIMIT)}, LIMIT, "over_limit", ("details-limited", "warning")),
        ({"DAWR_TRAFFIC_FREE_MB": "1000000000"}, 0, "no_space", ("disk-low", "critical")),
    ],
    ids=["limit of an hour", "full disk"],
)
def test_a_flood_keeps_few_details_and_is_counted(
    tmp_path: Path, settings: dict[str, str], details: int, reason: str, alert: tuple[str, str]
) -> None:
    database = traffic_in(tmp_path).database
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON, **settings) as server:
        eventually(traffic_in(tmp_path).socket.exists)
        load = Load(server.port, FLOOD, ["/favicon.ico", "/nowhere/{number}", "/health/live"], seed="flood")
        with load.running():
            pass
        answers = len(load.answered) + load.repeated.total()
        eventually(lambda: ledger(database, "stored + duplicates") == answers)
        hours = ledger(database, "detailed > 0")
        eventually(lambda: alert in alerts(tmp_path).items())
        verified = dawr("traffic", "verify", "--data", tmp_path)
        status = json.loads(dawr("traffic", "status", "--data", tmp_path, "--json").said)

    [(kept,)] = rows_of(database, "SELECT count(*) FROM traffic_events")
    assert kept == ledger(database, "detailed") == details * max(hours, 1)
    stored = ledger(database, "stored")
    assert len(load.answered) == FLOOD <= stored
    assert ledger(database, f"detailed + counted_only + {reason}") == stored
    assert 0 < ledger(database, "counted_only") < stored
    assert (verified.exit_code, "Each request was counted once" in verified.said) == (0, True), verified
    assert status["ok"] is (alert[1] == "warning")


def test_what_a_limit_refuses_is_counted_only(tmp_path: Path) -> None:
    settings = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_LOOK": "5"}
    database = traffic_in(tmp_path).database
    set_up("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=tmp_path)
    with DawrServer(tmp_path, "serve", DAWR_DATA=tmp_path, **ON, **settings) as server:
        eventually(traffic_in(tmp_path).socket.exists)
        load = Load(server.port, 40, ["/v1/venues/clinic"], seed="limited")
        with load.running():
            pass
        eventually(lambda: ledger(database, "stored") == 40)

    limited = [*load.answered.values()].count(429)
    assert ledger(database, "counted_only") == limited
    assert rows_of(database, "SELECT count(*) FROM traffic_events WHERE status = 429") == [(0,)]
