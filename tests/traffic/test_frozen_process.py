"""Two traffic processes: one is frozen or killed in the middle of its work, the other takes over; each counts once."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dawr.traffic.event import encoded
from tests.cli.databases import rows_of
from tests.running import PROGRAM, eventually
from tests.servers.process import Child
from tests.stories.traffic_audit import must_add_up
from tests.stories.traffic_chaos import framed, leave_a_spool
from tests.traffic.builders import an_event

MANY = 5000
AT = 1_893_456_000_000
"""In 2030: nothing here is too old to be counted, and no day ends."""
COUNTED = "SELECT request_id FROM traffic_events"
KEYS = "SELECT count(*), count(DISTINCT key_check) FROM traffic_consumer"
"""Each host has a key of its own here, and that can be seen."""
LEASE = "SELECT holder, fence FROM leases WHERE name = 'traffic-events'"


@contextmanager
def consuming(directory: Path, database_url: str = "") -> Iterator[int]:
    """`dawr consume`; its process id."""
    directory.mkdir(exist_ok=True)
    settings = {"DAWR_DATA": str(directory), "DAWR_TRAFFIC_BATCH_SECONDS": "1", "DAWR_DATABASE_URL": database_url}
    given = [f"{name}={value}" for name, value in settings.items()]
    child = Child(["/usr/bin/env", *given, PROGRAM, "consume"], directory, uid=None, abort=signal.SIGKILL)
    try:
        yield child.pid
    finally:
        child.send(signal.SIGCONT)
        child.send(signal.SIGTERM)
        child.wait()
        child.release()


def leave(directory: Path, numbers: range) -> None:
    spools = directory / "traffic" / "spool"
    spools.mkdir(parents=True, exist_ok=True)
    leave_a_spool(spools, [framed(encoded(an_event(number, at=AT + number)).decode()) for number in numbers])


def counted(database: Path | str) -> list[int]:
    return sorted(int(number) for (number,) in rows_of(database, COUNTED))


def is_ready(directory: Path) -> bool:
    return (directory / "traffic" / "control.sock").exists()


def name_of(directory: Path) -> str:
    """Return the name by which the directory's process holds its leases."""
    return (directory / "traffic" / "lock").read_text()


@pytest.mark.slow
def test_on_postgresql_another_host_takes_over_and_the_frozen_one_changes_nothing_when_it_thaws(
    tmp_path: Path, migrated_url: str
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with consuming(one, migrated_url) as first, consuming(two, migrated_url) as second:
        eventually(lambda: is_ready(one) and is_ready(two))
        eventually(lambda: rows_of(migrated_url, KEYS) == [(2, 2)])
        leave(one, range(MANY))
        leave(two, range(MANY, 2 * MANY))
        eventually(lambda: len(counted(migrated_url)) > 0)

        [(holder, fence)] = rows_of(migrated_url, LEASE)
        frozen, other = (first, two) if holder.endswith(name_of(one)) else (second, one)
        os.kill(frozen, signal.SIGSTOP)
        leave(other, range(2 * MANY, 3 * MANY))
        eventually(lambda: rows_of(migrated_url, LEASE)[0][1] > fence, seconds=120)
        eventually(lambda: set(range(2 * MANY, 3 * MANY)) <= set(counted(migrated_url)))
        os.kill(frozen, signal.SIGCONT)

        eventually(lambda: len(counted(migrated_url)) >= 3 * MANY and nothing_waits(migrated_url))
        assert counted(migrated_url) == list(range(3 * MANY))
        must_add_up(migrated_url)


def test_on_one_machine_one_stands_by_until_the_other_is_gone(tmp_path: Path) -> None:
    database = tmp_path / "traffic" / "traffic.sqlite"
    with consuming(tmp_path) as first:
        eventually(lambda: is_ready(tmp_path))
        with consuming(tmp_path):
            eventually(lambda: "traffic.standing-by" in (tmp_path / "server.log").read_text())
            leave(tmp_path, range(MANY))
            eventually(lambda: len(counted(database)) > 0)

            os.kill(first, signal.SIGKILL)

            eventually(lambda: len(counted(database)) >= MANY and nothing_waits(database))
            assert counted(database) == list(range(MANY))
            must_add_up(database)


def nothing_waits(database: Path | str) -> bool:
    return rows_of(database, "SELECT count(*) FROM traffic_queue") == [(0,)]
