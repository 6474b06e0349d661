"""What is out of its bounds: every rule just within its bound, just beyond it, and far beyond."""

from typing import Any

import msgspec
import pytest

from dawr.traffic.alert_rules import GIGABYTE, MEGABYTE, Before, Bounds, Picture, judge
from dawr.traffic.status import Heartbeat
from tests.traffic.tables import WELL

BEAT = WELL.heartbeats[0]


def a_beat(host: str = "one", **fields: Any) -> Heartbeat:  # noqa: ANN401 - any field of a heartbeat
    return msgspec.structs.replace(BEAT, host=host, **fields)


def alerts_of(status: dict[str, Any], picture: dict[str, Any]) -> list[tuple[str, str]]:
    now = Picture(msgspec.structs.replace(WELL, **status), **picture)
    return [(found.name, found.level) for found in judge(now, Bounds())]


TABLE: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    ({"requests": 100, "errors": 5}, {}, "error-rate", ""),
    ({"requests": 100, "errors": 6}, {}, "error-rate", "warning"),
    ({"requests": 100, "errors": 10}, {}, "error-rate", "warning"),
    ({"requests": 100, "errors": 11}, {}, "error-rate", "critical"),
    ({"requests": 19, "errors": 19}, {}, "error-rate", ""),
    ({}, {"before": Before(200, 100, "yesterday")}, "traffic-rose", ""),
    ({}, {"before": Before(201, 100, "yesterday")}, "traffic-rose", "warning"),
    ({}, {"before": Before(301, 100, "yesterday")}, "traffic-rose", "critical"),
    ({}, {"before": Before(900, 99, "yesterday")}, "traffic-rose", ""),
    ({}, {"before": Before(50, 100, "yesterday")}, "traffic-fell", ""),
    ({}, {"before": Before(49, 100, "yesterday")}, "traffic-fell", "warning"),
    ({}, {"before": Before(19, 100, "yesterday")}, "traffic-fell", "critical"),
    ({"lag_seconds": 60.0}, {"before": Before(0, 100, "yesterday")}, "traffic-fell", ""),
    ({}, {"before": Before(0, 99, "yesterday")}, "traffic-fell", ""),
    ({"rpm": 899}, {"peak_rpm": 1000}, "rate-near-peak", ""),
    ({"rpm": 900}, {"peak_rpm": 1000}, "rate-near-peak", "warning"),
    ({"rpm": 900}, {"peak_rpm": 1000, "mean_rpm": 601.0}, "rate-near-peak", ""),
    ({"rpm": 599}, {"peak_rpm": 599}, "rate-near-peak", ""),
    ({"rpm": 900}, {"peak_rpm": 0}, "rate-near-peak", ""),
    ({"backlog": 100}, {}, "backlog", ""),
    ({"backlog": 101}, {}, "backlog", "warning"),
    ({"backlog": 10_001}, {}, "backlog", "critical"),
    ({"lag_seconds": 300.0}, {}, "lag", ""),
    ({"lag_seconds": 300.1}, {}, "lag", "critical"),
    ({"sent": 1000, "consumed": 999}, {}, "not-consumed", ""),
    ({"sent": 1000, "consumed": 998}, {}, "not-consumed", "critical"),
    ({"sent": 0, "consumed": 0}, {}, "not-consumed", ""),
    ({"dead_letters": 1}, {}, "dead-letters", "warning"),
    ({"damaged": 1}, {}, "damaged-lines", "warning"),
    ({}, {"lost": 1}, "events-lost", "critical"),
    ({}, {"over_limit": 1}, "details-limited", "warning"),
    ({}, {"is_disk_low": True}, "disk-low", "critical"),
    ({"heartbeats": (a_beat(unspooled=1),)}, {}, "spool-unwritable", "critical"),
    ({"heartbeats": (a_beat(unwritable=1),)}, {}, "spool-unwritable", "critical"),
    ({"snapshot_age_seconds": 600.0}, {}, "snapshot-old", ""),
    ({"snapshot_age_seconds": 600.1}, {}, "snapshot-old", "warning"),
    ({"heartbeats": (a_beat(up_seconds=601.0),)}, {}, "snapshot-old", "warning"),
    ({"heartbeats": (a_beat(age_seconds=180.0),)}, {}, "heartbeat", ""),
    ({"heartbeats": (a_beat(age_seconds=180.1),)}, {}, "heartbeat", "critical"),
    ({"heartbeats": (a_beat("a", key_check="x"), a_beat("b", key_check="x"))}, {}, "keys-differ", ""),
    ({"heartbeats": (a_beat("a", key_check="x"), a_beat("b", key_check="y"))}, {}, "keys-differ", "warning"),
    ({"heartbeats": (a_beat("a", key_check="x"), a_beat("b", key_check="y", key_day=1))}, {}, "keys-differ", ""),
    ({"heartbeats": (a_beat(spool_bytes=128 * MEGABYTE),)}, {}, "spool-large", ""),
    ({"heartbeats": (a_beat(spool_bytes=129 * MEGABYTE), a_beat("b"))}, {}, "spool-large", "warning"),
    ({"heartbeats": (a_beat(spool_bytes=231 * MEGABYTE),)}, {}, "spool-large", "critical"),
    ({}, {"table_bytes": 10 * GIGABYTE}, "tables-large", ""),
    ({}, {"table_bytes": 11 * GIGABYTE}, "tables-large", "warning"),
    ({}, {"table_bytes": 51 * GIGABYTE}, "tables-large", "critical"),
    ({}, {"archive_failure": "The file is not what was written."}, "archive-failed", "warning"),
]


@pytest.mark.parametrize(
    ("status", "picture", "name", "level"), TABLE, ids=[f"{row[2]} {number}" for number, row in enumerate(TABLE)]
)
def test_a_rule_holds_up_to_its_bound_and_no_further(
    status: dict[str, Any], picture: dict[str, Any], name: str, level: str
) -> None:
    assert alerts_of(status, picture) == ([(name, level)] if level else [])


def test_what_is_well_is_no_alert() -> None:
    assert alerts_of({}, {}) == []


def test_a_sentence_says_how_much_it_is() -> None:
    status = msgspec.structs.replace(WELL, requests=1234, errors=617, backlog=10_001, lag_seconds=7200.0)
    found = judge(Picture(status, before=Before(40, 200, "a week ago")), Bounds())

    assert [condition.sentence for condition in found] == [
        "617 of 1,234 requests of the latest minutes failed (50.0%).",
        "10,000 or more messages wait to be counted.",
        "The first message has waited for 2 hours to be counted.",
    ]
