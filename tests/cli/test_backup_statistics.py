"""What servers have counted, through backup, restore and a move to PostgreSQL, with real processes."""

from pathlib import Path

import pytest

from dawr.traffic.directory import traffic_in
from tests.cli.databases import rows_of
from tests.cli.installations import Installation
from tests.running import Client, DawrServer, dawr, eventually
from tests.stores.statistics import COUNTED, fill_every_table, traffic_process_of

REQUESTS = "SELECT coalesce(sum(requests), 0) FROM traffic_hours WHERE span = 3600000"
BALANCE = "SELECT sum(answered), sum(spooled), sum(stored), sum(duplicates + dead + damaged + lost) FROM traffic_ledger"


def test_the_statistics_are_backed_up_and_restored_beside_the_database(embedded: Installation, tmp_path: Path) -> None:
    _migrate_both(embedded)
    fill_every_table(traffic_in(embedded.settings["DAWR_DATA"]).database)
    backup, copy = tmp_path / "backup", tmp_path / "copy"

    made = embedded.dawr("backup", backup)
    restored = dawr("restore", backup, DAWR_DATA=copy)

    assert made.said == f"Backed up to {backup}, the traffic statistics to {backup}.traffic.\n"
    assert restored.said.startswith(
        f"Restored {backup} and {backup}.traffic. The next start begins new event streams.\n"
    )
    assert rows_of(traffic_in(copy).database, "SELECT count(*) FROM traffic_spools") == [(2,)]
    assert dawr("migrate", DAWR_DATA=copy).exit_code == 0


def test_a_backup_of_before_there_were_statistics_is_restored_without(embedded: Installation, tmp_path: Path) -> None:
    embedded.dawr("migrate")
    embedded.dawr("backup", tmp_path / "backup")

    restored = dawr("restore", tmp_path / "backup", DAWR_DATA=tmp_path / "copy")

    assert restored.exit_code == 0
    assert restored.said.endswith("It has no traffic statistics: they begin anew.\n")
    assert not traffic_in(tmp_path / "copy").database.exists()


def test_nothing_is_restored_under_a_traffic_process(embedded: Installation, tmp_path: Path) -> None:
    _migrate_both(embedded)
    embedded.dawr("backup", tmp_path / "backup")

    with traffic_process_of(traffic_in(tmp_path / "copy")):
        done = dawr("restore", tmp_path / "backup", DAWR_DATA=tmp_path / "copy")

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: A traffic process runs in {tmp_path / 'copy' / 'traffic'}")
    assert not (tmp_path / "copy" / "dawr.sqlite").exists()


@pytest.mark.slow
def test_each_request_is_counted_once_through_backup_restore_and_move(
    embedded: Installation, scaled: Installation, tmp_path: Path
) -> None:
    data, backup = Path(embedded.settings["DAWR_DATA"]), tmp_path / "backup"
    embedded.create_venue()
    with _counting(embedded) as server:
        _ask(server, 150)
        eventually(traffic_in(data).socket.exists)
        eventually(lambda: _counted(traffic_in(data).database) > 0)
        assert embedded.dawr("backup", backup).exit_code == 0
        _ask(server, 150)
    restored = dawr("restore", backup, DAWR_DATA=tmp_path / "copy")
    moved = embedded.dawr_process("migrate", "--to", str(scaled.database))
    with _counting(Installation({**scaled.settings, "DAWR_DATA": data}, scaled.database, tmp_path)) as server:
        _ask(server, 150)
        eventually(lambda: _counted(scaled.database) >= 450)

    assert (restored.exit_code, moved.exit_code) == (0, 0), (restored, moved)
    [ways] = rows_of(traffic_in(tmp_path / "copy").database, COUNTED)
    assert len(set(ways)) == 1
    assert 0 < ways[0] <= 300
    assert scaled.rows(COUNTED) == [(450,) * 5]
    assert scaled.rows(BALANCE) == [(450, 450, 450, 0)]


def _migrate_both(installation: Installation) -> None:
    directory = traffic_in(installation.settings["DAWR_DATA"])
    directory.prepare()
    directory.database.touch()
    assert installation.dawr("migrate").exit_code == 0


def _counting(installation: Installation) -> DawrServer:
    settings = {**installation.settings, "DAWR_TRAFFIC": "on", "DAWR_TRAFFIC_BATCH_SECONDS": "1"}
    return DawrServer(installation.directory, "serve", **settings)


def _ask(server: DawrServer, times: int) -> None:
    with Client(server.url) as client:
        assert {client.status("lab").status for _ in range(times)} == {200}


def _counted(database: Path | str) -> int:
    ((requests,),) = rows_of(database, REQUESTS)
    return int(requests)
