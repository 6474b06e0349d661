"""The database and the traffic statistics, copied together and put back together."""

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from dawr.stores.backup import BackupFailed, back_up_sqlite, restore_sqlite
from dawr.stores.sqlite import SqliteStore
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.spool import Spool
from dawr.traffic.sqlite import SqliteDatabase as SqliteStatistics
from tests.cli.databases import rows_of
from tests.running import eventually
from tests.stores.databases import wall_clock
from tests.stores.statistics import COUNTED, answer, count_all, spooling


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of an installation with a database, and without statistics."""

    async def create(database: Path) -> None:
        store = SqliteStore(database, clock=wall_clock)
        await store.migrate()
        await store.close()

    (tmp_path / "data").mkdir()
    asyncio.run(create(tmp_path / "data" / "dawr.sqlite"))
    return tmp_path / "data"


@pytest.fixture
def traffic(data: Path) -> TrafficDirectory:
    """It has counted ten requests."""

    async def create(statistics: SqliteStatistics) -> None:
        await statistics.create_tables()
        await statistics.close()

    directory = traffic_in(data)
    directory.prepare()
    asyncio.run(create(SqliteStatistics(directory.database)))
    with spooling(directory) as spool:
        asyncio.run(_answer_and_count(directory, spool, range(10)))
    return directory


def back_up(data: Path, target: Path) -> Path | None:
    return back_up_sqlite(data / "dawr.sqlite", target, statistics=traffic_in(data).database)


def restore(source: Path, data: Path) -> Path | None:
    traffic_in(data).prepare()
    return restore_sqlite(source, data / "dawr.sqlite", statistics=traffic_in(data).database)


def files_of(backup: Path) -> list[str]:
    return sorted(file.name for file in backup.parent.glob(f"{backup.name}*"))


def test_the_statistics_come_along(data: Path, traffic: TrafficDirectory, tmp_path: Path) -> None:
    made = back_up(data, tmp_path / "backup")
    found = restore(tmp_path / "backup", tmp_path / "copy")

    assert made == found == tmp_path / "backup.traffic"
    assert files_of(tmp_path / "backup") == ["backup", "backup.traffic"]
    assert rows_of(traffic_in(tmp_path / "copy").database, COUNTED) == [(10, 10, 10, 10, 10)]
    for file in (tmp_path / "backup.traffic", traffic_in(tmp_path / "copy").database):
        assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("begun", [False, True])
def test_before_anything_was_counted_there_is_only_the_database(data: Path, tmp_path: Path, *, begun: bool) -> None:
    """Also in the moment in which the traffic process has made the file, and not yet its tables."""
    if begun:
        traffic_in(data).prepare()
        traffic_in(data).database.touch()

    made = back_up(data, tmp_path / "backup")
    found = restore(tmp_path / "backup", tmp_path / "copy")

    assert made is found is None
    assert files_of(tmp_path / "backup") == ["backup"]
    assert not traffic_in(tmp_path / "copy").database.exists()


def test_the_key_of_visitors_is_in_no_backup(data: Path, traffic: TrafficDirectory, tmp_path: Path) -> None:
    key = "5ec2e7" * 10
    traffic.key.write_text(key)

    back_up(data, tmp_path / "backup")

    kept = [(tmp_path / name).read_bytes() for name in files_of(tmp_path / "backup")]
    assert len(kept) == 2
    assert not [content for content in kept if key.encode() in content or bytes.fromhex(key) in content]


def test_every_backup_made_while_requests_are_counted_is_consistent(
    data: Path, traffic: TrafficDirectory, tmp_path: Path
) -> None:
    with counting(traffic) as counted:
        for turn in range(5):
            before = counted[-1]
            eventually(lambda seen=before: counted[-1] > seen)  # type: ignore[misc]
            back_up(data, tmp_path / f"backup{turn}")

    found = [rows_of(tmp_path / f"backup{turn}.traffic", COUNTED)[0] for turn in range(5)]
    assert [len(set(ways)) for ways in found] == [1] * 5
    assert 10 < found[0][0] < found[-1][0] <= counted[-1]


@contextmanager
def counting(traffic: TrafficDirectory) -> Iterator[list[int]]:
    """Requests are answered and counted, a few at a time; how many there were after each time."""
    counted, enough = [10], threading.Event()

    async def count(spool: Spool) -> None:
        while not enough.is_set():
            more = range(counted[-1], counted[-1] + 7)
            await _answer_and_count(traffic, spool, more)
            counted.append(more.stop)

    with spooling(traffic) as spool, ThreadPoolExecutor(1) as pool:
        running = pool.submit(lambda: asyncio.run(count(spool)))
        try:
            yield counted
        finally:
            enough.set()
            running.result()


async def test_what_was_shipped_after_the_backup_is_shipped_again_and_counted_once(
    data: Path, traffic: TrafficDirectory, tmp_path: Path
) -> None:
    with spooling(traffic) as spool:
        await _answer_and_count(traffic, spool, range(10, 30))
        back_up(data, tmp_path / "backup")
        await _answer_and_count(traffic, spool, range(30, 60))
        _remove(data)

        restore(tmp_path / "backup", data)
        restored = rows_of(traffic.database, COUNTED)
        shipped = await _answer_and_count(traffic, spool, range(60, 65))

    assert restored == [(30,) * 5]
    assert shipped == 35
    assert rows_of(traffic.database, COUNTED) == [(65,) * 5]
    assert rows_of(traffic.database, "SELECT sum(duplicates) FROM traffic_ledger") == [(0,)]


def _remove(data: Path) -> None:
    for file in [*data.glob("dawr.sqlite*"), *traffic_in(data).path.glob("traffic.sqlite*")]:
        file.unlink()


async def _answer_and_count(traffic: TrafficDirectory, spool: Spool, numbers: range) -> int:
    statistics = SqliteStatistics(traffic.database)
    answer(spool, numbers)
    shipped = await count_all(statistics, traffic)
    await statistics.close()
    return shipped


def test_statistics_of_another_backup_are_not_overwritten(
    data: Path, traffic: TrafficDirectory, tmp_path: Path
) -> None:
    (tmp_path / "backup.traffic").write_text("of another one")

    with pytest.raises(BackupFailed, match=r"backup\.traffic exists already; nothing was overwritten"):
        back_up(data, tmp_path / "backup")

    assert files_of(tmp_path / "backup") == ["backup.traffic"]
    assert (tmp_path / "backup.traffic").read_text() == "of another one"


@pytest.mark.parametrize("fails", ["backup", "backup.traffic"])
def test_both_are_there_or_neither_is(
    data: Path, traffic: TrafficDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if target.name == fails:
            raise OSError(28, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)

    with pytest.raises(BackupFailed, match=r"cannot be written: .*No space left"):
        back_up(data, tmp_path / "backup")

    assert files_of(tmp_path / "backup") == []


def test_where_the_database_is_the_statistics_are_too(
    data: Path, traffic: TrafficDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is killed between the two names leaves none that is taken for a whole backup."""
    named: list[str] = []
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        named.append(target.name)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)

    back_up(data, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "copy")

    assert named == ["backup.traffic", "backup", "dawr.restoring", "traffic.sqlite", "dawr.sqlite"]


def test_damaged_statistics_are_named_with_a_way_out(data: Path, traffic: TrafficDirectory, tmp_path: Path) -> None:
    traffic.database.write_bytes(b"not a database" * 1000)

    with pytest.raises(BackupFailed, match=r"cannot be copied, so no backup was made: .* move traffic\.sqlite\* away"):
        back_up(data, tmp_path / "backup")

    assert files_of(tmp_path / "backup") == []


@pytest.mark.parametrize("left", ["traffic.sqlite", "traffic.sqlite-wal"])
def test_the_rest_of_other_statistics_is_not_mixed_with_a_backup(
    data: Path, traffic: TrafficDirectory, tmp_path: Path, left: str
) -> None:
    back_up(data, tmp_path / "backup")
    copy = traffic_in(tmp_path / "copy")
    copy.prepare()
    (copy.path / left).touch()

    with pytest.raises(BackupFailed, match=f"There is traffic/{left} in {tmp_path / 'copy'} already"):
        restore(tmp_path / "backup", tmp_path / "copy")

    assert not (tmp_path / "copy" / "dawr.sqlite").exists()


def _cut(backup: Path, live: Path) -> None:
    backup.write_bytes(backup.read_bytes()[:20_000])


def _flip(backup: Path, live: Path) -> None:
    content = bytearray(backup.read_bytes())
    content[4096 * 10 : 4096 * 12] = b"\xa5" * 4096 * 2
    backup.write_bytes(content)


def _take_the_living_file(backup: Path, live: Path) -> None:
    shutil.copy(live, backup)


def _take_another_database(backup: Path, live: Path) -> None:
    backup.unlink()
    apsw.Connection(str(backup)).execute("CREATE TABLE another (id INTEGER)")


@pytest.mark.parametrize("spoil", [_cut, _flip, _take_the_living_file, _take_another_database])
def test_nothing_is_restored_if_the_statistics_cannot_be(
    data: Path, traffic: TrafficDirectory, tmp_path: Path, spoil: Callable[[Path, Path], None]
) -> None:
    back_up(data, tmp_path / "backup")
    spoil(tmp_path / "backup.traffic", traffic.database)

    with pytest.raises(BackupFailed, match=r"backup\.traffic (is damaged|cannot be read|was not made by)"):
        restore(tmp_path / "backup", tmp_path / "copy")

    assert not (tmp_path / "copy" / "dawr.sqlite").exists()
    assert not [*traffic_in(tmp_path / "copy").path.glob("traffic.sqlite*")]
