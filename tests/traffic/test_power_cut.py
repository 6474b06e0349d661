"""The power goes out at any moment: what a spool had synced is counted once, and nothing twice.

Lines since the last sync, which is a second ago at most, may be missing.
"""

import os
import random
import shutil
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import asyncpg
import pytest

from dawr.reliability.lease import Leases
from dawr.traffic import spool as spool_module
from dawr.traffic.consumer import Consumer
from dawr.traffic.event import MS_PER_HOUR, MS_PER_MINUTE, encoded
from dawr.traffic.postgres import PostgresDatabase
from dawr.traffic.shipping import Shipper
from dawr.traffic.spool import Spool
from dawr.traffic.sqlite import SqliteDatabase
from tests.servers.postgres import in_thread
from tests.traffic.builders import NOON, an_event
from tests.traffic.power import Disk, Image
from tests.traffic.tables import rows_of

STEPS = 25
SYNCS = 20
OWN_WRITES = 2
"""A server may write something of its own just when it is asked."""
LEASE = "traffic-events"


class Cut:
    """A moment at which the power went."""

    def __init__(self, image: Image, required: set[int], written: int) -> None:
        self.image = image
        self.required = required
        """The requests that the disk must have."""
        self.written = written


class World:
    """A process that writes requests down, and one that ships and counts them, on a disk that may lose power."""

    def __init__(self, directory: Path, patch: pytest.MonkeyPatch, seed: str) -> None:
        self.cuts: list[Cut] = []
        self._chance = random.Random(seed)
        self._now = NOON
        self._directory = directory
        self._names = count(1)
        self._written = 0
        self._in_spool: list[int] = []
        self._left: dict[str, list[int]] = {}
        self._required = set[int]()
        (directory / "spool").mkdir(parents=True)
        self.disk = Disk(directory, patch, self._cut)
        self._spool = self._new_spool()
        self._database = SqliteDatabase(directory / "traffic.sqlite")
        self._shipper = Shipper(self._database, directory / "spool", lambda: self._now)
        self._consumer = Consumer(self._database, lambda: self._now)

    async def live(self) -> None:
        await self._database.create_tables()
        fence = await Leases(self._database, lambda: self._now).take(LEASE, "before")
        assert fence is not None
        for _ in range(STEPS):
            step = self._chance.choice([self._write, self._write, self._sync, self._go_on, self._be_killed, None, None])
            if step is not None:
                step()
            else:
                await self._shipper.ship()
                await self._consumer.consume(fence)
            self._now += self._chance.randint(0, 3000)
            self._require_what_was_removed()
            self._cut()
        await self._database.close()
        self._spool.close()
        self.disk.close()

    def _write(self) -> None:
        for _ in range(self._chance.randint(1, 60)):
            self._written += 1
            assert self._spool.append(encoded(an_event(self._written, at=self._now)), self._now)
            self._in_spool.append(self._written)

    def _sync(self) -> None:
        self._spool.sync()
        self._required.update(self._in_spool)

    def _go_on(self) -> None:
        """To the next hour, and another file."""
        self._now += MS_PER_HOUR

    def _be_killed(self) -> None:
        """The process: what it wrote is left to whoever ships it."""
        names = [path.name for path in (self._directory / "spool").glob("*.spool") if path.name not in self._left]
        self._left |= dict.fromkeys(names, self._in_spool)
        for file in (*self._spool._retired, self._spool._file):
            if file is not None:
                file.close()
        self._spool = self._new_spool()
        self._in_spool = []

    def _new_spool(self) -> Spool:
        return Spool(self._directory / "spool", lambda: f"{next(self._names):04}")

    def _require_what_was_removed(self) -> None:
        """A spool is gone when the disk has its lines elsewhere."""
        for numbers in self._left.values():
            names = [name for name, others in self._left.items() if others is numbers]
            if not any((self._directory / "spool" / name).exists() for name in names):
                self._required.update(numbers)

    def _cut(self) -> None:
        self.cuts.append(Cut(self.disk.after_power_cut(self._chance), set(self._required), self._written))


async def counted_after(cut: Cut, directory: Path, now: int) -> list[int]:
    """The requests that are counted once everything runs again."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "spool").mkdir(parents=True)
    for name, data in cut.image.items():
        (directory / name).write_bytes(data)
    database = SqliteDatabase(directory / "traffic.sqlite")
    await database.create_tables()
    fence = await Leases(database, lambda: now + MS_PER_HOUR).take(LEASE, "after")
    assert fence is not None
    await Shipper(database, directory / "spool", lambda: now).ship()
    await Consumer(database, lambda: now + MS_PER_MINUTE).consume(fence)
    counted = [int(number) for (number,) in await rows_of(database, "SELECT request_id FROM traffic_events")]
    for table, rows in (("traffic_hours", 2), ("traffic_buckets", 2), ("traffic_minutes", 1)):
        [(total,)] = await rows_of(database, f"SELECT coalesce(sum(requests), 0) FROM {table}")
        assert total == rows * len(counted), table
    left = [path.name for path in (directory / "spool").iterdir()]
    assert left == []
    await database.close()
    return counted


@pytest.fixture
def no_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Spools are synced when the test says so."""
    with monkeypatch.context() as patch:
        patch.setattr(spool_module, "SYNC_SECONDS", 3600.0)
        yield patch


@pytest.mark.parametrize("points", [100, pytest.param(1000, marks=pytest.mark.prove)])
async def test_wherever_it_goes_what_was_synced_is_counted_once(
    tmp_path: Path, no_thread: pytest.MonkeyPatch, points: int
) -> None:
    cuts: list[Cut] = []
    for number in count(1):
        world = World(tmp_path / f"world-{number}", no_thread, f"world {number}")
        await world.live()
        cuts += world.cuts
        if len(cuts) >= points:
            break
    lost = 0

    for number, cut in enumerate(random.Random(points).sample(cuts, points)):
        counted = await counted_after(cut, tmp_path / "restarted", NOON + STEPS * 2 * MS_PER_HOUR)

        assert len(set(counted)) == len(counted), f"cut {number}: counted twice"
        assert cut.required <= set(counted) <= set(range(1, cut.written + 1)), f"cut {number}"
        lost += cut.written - len(counted)
    print(f"{points} power cuts in {len(cuts)} moments: {lost} lines after their last sync were lost")  # noqa: T201
    assert lost > 0


async def test_postgresql_has_on_disk_what_was_shipped_when_a_spool_is_removed(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await PostgresDatabase.open(postgres_url)
    await database.create_tables()
    own, removed = os.unlink, list[bool]()

    def watched_unlink(path: Path, **named: int) -> None:
        if path.name.endswith(".spool"):
            removed.append(flushed(postgres_url))
        own(path, **named)

    monkeypatch.setattr(os, "unlink", watched_unlink)
    shipper = Shipper(database, tmp_path, lambda: NOON)

    for number in range(SYNCS):
        with Spool(tmp_path, lambda: f"{number:04}") as spool:  # noqa: B023 - called at once
            spool.append(encoded(an_event(number)), NOON)
        await shipper.ship()

    await database.close()
    assert len(removed) == SYNCS
    assert sum(removed) >= SYNCS - OWN_WRITES


async def test_postgresql_has_a_lease_on_disk_before_anybody_works_under_it(postgres_url: str) -> None:
    """A crash must not give the same fence to two processes."""
    database = await PostgresDatabase.open(postgres_url)
    await database.create_tables()
    leases = Leases(database, lambda: NOON)

    taken = [await leases.take(LEASE, "one") is not None and flushed(postgres_url) for _ in range(SYNCS)]

    await database.close()
    assert sum(taken) >= SYNCS - OWN_WRITES


def flushed(url: str) -> bool:
    """Whether the server's disk has all that was committed. Its own writer does so by itself, but a moment later."""
    return in_thread(_flushed(url))


async def _flushed(url: str) -> bool:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url, ssl=False)
    try:
        return bool(await connection.fetchval("SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()"))
    finally:
        await connection.close()
