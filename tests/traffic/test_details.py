"""All requests are counted, and only so many are kept in detail; the ledger says why, and verification adds it up."""

from pathlib import Path

import pytest

from dawr.traffic.database import Database
from dawr.traffic.details import DetailLimits, FreeSpace
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_HOUR, encoded
from dawr.traffic.shipping import MAX_QUEUED_WHEN_LOW, Shipper
from dawr.traffic.spool import Spool
from dawr.traffic.verify import Report, verify
from tests.traffic.builders import NOON, an_event
from tests.traffic.tables import consumed, many_messages, rows_of, shipped

REQUESTS = 250
HEALTH = "/health"
LEDGER = "SELECT hour, stored, detailed, counted_only, over_limit, no_space FROM traffic_ledger ORDER BY hour"


async def verified(database: Database, tmp_path: Path) -> Report:
    directory = TrafficDirectory(tmp_path / "traffic")
    return await verify(database, directory, NOON - MS_PER_HOUR, NOON + 2 * MS_PER_HOUR, sample=1.0)


async def kept(database: Database) -> int:
    [(details,)] = await rows_of(database, "SELECT count(*) FROM traffic_events")
    return int(details)


@pytest.mark.parametrize("is_repeatable", [True, False])
async def test_an_hour_keeps_no_more_details_than_its_limit_and_counts_all(
    database: Database, tmp_path: Path, *, is_repeatable: bool
) -> None:
    events = [an_event(number, is_repeatable=is_repeatable) for number in range(REQUESTS)]
    late = an_event(REQUESTS, at=NOON + MS_PER_HOUR)
    await shipped(database, [*events, late])

    await consumed(database, limits=DetailLimits(per_hour=70))

    assert await kept(database) == 71
    assert await rows_of(database, LEDGER) == [
        (NOON, REQUESTS, 70, 0, REQUESTS - 70, 0),
        (NOON + MS_PER_HOUR, 1, 1, 0, 0, 0),
    ]
    report = await verified(database, tmp_path)
    assert report.is_right, report


async def test_a_full_disk_keeps_no_details_and_no_hashes_and_counts_all(database: Database, tmp_path: Path) -> None:
    await shipped(database, [an_event(number) for number in range(REQUESTS)])

    await consumed(database, limits=DetailLimits(is_disk_low=lambda: True))

    assert await kept(database) == 0
    assert await rows_of(database, "SELECT hash FROM traffic_seen") == []
    assert await rows_of(database, LEDGER) == [(NOON, REQUESTS, 0, 0, 0, REQUESTS)]
    assert (await verified(database, tmp_path)).is_right


async def test_health_checks_and_limited_requests_are_counted_only(database: Database, tmp_path: Path) -> None:
    limits = DetailLimits(counted_paths=frozenset({HEALTH}))
    await shipped(
        database,
        [an_event(1, path=HEALTH, is_repeatable=False), an_event(2, status=429, is_repeatable=False), an_event(3)],
    )

    await consumed(database, limits=limits)

    assert await rows_of(database, "SELECT request_id FROM traffic_events") == [("3",)]
    assert await rows_of(database, "SELECT id FROM traffic_seen") == [(an_event(3).idempotent_id,)]
    assert await rows_of(database, LEDGER) == [(NOON, 3, 1, 2, 0, 0)]
    assert (await verified(database, tmp_path)).is_right


async def test_a_stream_is_counted_and_its_time_is_not(database: Database, tmp_path: Path) -> None:
    await shipped(database, [an_event(1, ms=5), an_event(2, ms=600_000, is_stream=True)])

    await consumed(database)

    hours = await rows_of(
        database, f"SELECT requests, sum_us, max_us, streams FROM traffic_hours WHERE span = {MS_PER_HOUR}"
    )
    assert hours == [(2, 5000, 5000, 1)]
    assert await rows_of(database, "SELECT outcome, ms FROM traffic_events ORDER BY ms") == [
        ("ok", 5.0),
        ("stream", 600_000.0),
    ]
    report = await verified(database, tmp_path)
    assert report.is_right, report


async def test_on_a_full_disk_lines_wait_in_the_spool_while_the_queue_is_long(
    database: Database, tmp_path: Path
) -> None:
    spools = tmp_path / "spool"
    is_low = True
    shipper = Shipper(database, spools, lambda: NOON, lambda: is_low)
    with Spool(spools, lambda: "one") as spool:
        spool.append(encoded(an_event(1)), NOON)
        assert await shipper.ship() == 1
        await many_messages(database, MAX_QUEUED_WHEN_LOW)
        spool.append(encoded(an_event(2)), NOON)

        assert await shipper.ship() == 0

        is_low = False
        assert await shipper.ship() == 1


def test_free_space_is_compared_with_the_minimum_and_a_disk_that_does_not_tell_is_not_full(tmp_path: Path) -> None:
    assert not FreeSpace(tmp_path, 0).is_low()
    assert FreeSpace(tmp_path, 10**9).is_low()
    assert not FreeSpace(tmp_path / "missing", 10**9).is_low()
