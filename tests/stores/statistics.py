"""The traffic statistics of an installation: requests written down, shipped and counted, as the processes do it."""

import fcntl
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from dawr.reliability.lease import Leases
from dawr.traffic.consumer import Consumer
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import encoded
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import Spool
from tests.traffic.builders import NOON, an_event

COUNTED = """
    SELECT
        (SELECT count(*) FROM traffic_events),
        (SELECT coalesce(sum(requests), 0) FROM traffic_hours WHERE span = 3600000),
        (SELECT coalesce(sum(requests), 0) FROM traffic_minutes),
        (SELECT coalesce(sum(stored), 0) FROM traffic_ledger),
        (SELECT coalesce(sum(spooled), 0) - coalesce(sum(duplicates), 0) FROM traffic_ledger)
            - (SELECT count(*) FROM traffic_queue)
"""
"""Five ways to count the same requests. What was shipped again and found to be a duplicate is in the last."""

NAMES = itertools.count()


def clock() -> int:
    return NOON


@contextmanager
def spooling(directory: TrafficDirectory) -> Iterator[Spool]:
    """The spool of a process that serves; it stays in use until the block ends."""
    directory.prepare()
    with Spool(directory.spools, lambda: f"spool{next(NAMES)}") as spool:
        yield spool


def answer(spool: Spool, numbers: Iterable[int]) -> None:
    for number in numbers:
        assert spool.append(encoded(an_event(number)), NOON)


async def ship(database: Database, directory: TrafficDirectory) -> int:
    return await Shipper(database, directory.spools, clock).ship()


async def count_all(database: Database, directory: TrafficDirectory) -> int:
    """Ship what is there and count all that waits; how much was shipped."""
    shipped = await ship(database, directory)
    fence = await Leases(database, clock).take("traffic-events", "a test")
    assert fence is not None
    await Consumer(database, clock, wait_ms=0).consume(fence)
    return shipped


def fill_every_table(statistics: Path) -> list[str]:
    """Two rows in each, whichever columns it has; the tables."""
    allowed = {"kind": ("poison", "damaged"), "level": ("warning", "critical"), "state": ("written", "emptied")}
    values = {"INTEGER": (0, 2**62), "TEXT": ("", "عيادة \U0001f9ea"), "REAL": (0.1, -1e300)}
    connection = apsw.Connection(str(statistics))
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        ours = [name for name in tables if name.startswith("traffic_") and name != "traffic_migrations"]
        for table, turn in itertools.product(ours, (0, 1)):
            columns = [*connection.execute("SELECT name, type FROM pragma_table_info(?)", (table,))]
            row = [allowed.get(name, values[kind])[turn] for name, kind in columns]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    finally:
        connection.close()
    return sorted(ours)


@contextmanager
def traffic_process_of(directory: TrafficDirectory) -> Iterator[None]:
    """What others see of one: its lock."""
    directory.prepare()
    handle = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
