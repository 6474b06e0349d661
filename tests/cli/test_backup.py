"""`dawr backup` and `dawr restore`: a copy of a living database, and a new life for it."""

import contextlib
import http.client
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.databases import rows_of
from tests.cli.installations import Installation, take_numbers
from tests.running import PROGRAM, Client, DawrServer, Finished, dawr, eventually
from tests.servers import PostgresServer
from tests.servers.programs import find_postgres


@pytest.fixture
def backup(embedded: Installation, tmp_path: Path) -> Path:
    """Made of an installation that has given ten numbers."""
    embedded.create_venue()
    embedded.take_numbers(10)
    done = embedded.dawr("backup", tmp_path / "backup")
    assert done.exit_code == 0
    assert done.said == f"Backed up to {tmp_path / 'backup'}. There are no traffic statistics yet.\n"
    return tmp_path / "backup"


@pytest.mark.slow
def test_a_backup_under_load_is_consistent(embedded: Installation, tmp_path: Path) -> None:
    embedded.create_venue()
    with embedded.serve() as server, under_load(server) as given:
        eventually(lambda: len(given) > 100)
        before = len(given)
        done = embedded.dawr("backup", tmp_path / "backup")
        eventually(lambda: len(given) > before + 100)

    copy = restored(tmp_path / "backup", tmp_path / "copy")
    ((numbers, highest),) = rows_of(copy, "SELECT count(*), max(number) FROM tickets")

    assert done.exit_code == 0
    assert before <= numbers == highest < len(given)
    assert checked(tmp_path / "copy").exit_code == 0


@pytest.mark.slow
def test_several_backups_under_load_are_all_consistent(embedded: Installation, tmp_path: Path) -> None:
    embedded.create_venue()
    with embedded.serve() as server, under_load(server) as given:
        eventually(lambda: len(given) > 20)
        for turn in range(3):
            assert embedded.dawr("backup", tmp_path / f"backup{turn}").exit_code == 0

    for turn in range(3):
        restored(tmp_path / f"backup{turn}", tmp_path / f"copy{turn}")
        assert checked(tmp_path / f"copy{turn}").exit_code == 0


def test_a_backup_is_one_file_with_nothing_beside_it(backup: Path) -> None:
    assert [file.name for file in backup.parent.glob("backup*")] == ["backup"]


def test_a_restored_copy_carries_on_with_the_next_number(backup: Path, tmp_path: Path) -> None:
    restored(backup, tmp_path / "copy")

    with (
        DawrServer(tmp_path / "copy", "serve", DAWR_DATA=tmp_path / "copy") as server,
        Client(server.url) as client,
    ):
        assert client.enter("lab", "somebody new").json["number"] == 11
        assert client.enter("lab", "visitor 3").json["message"] == "already in queue"


def test_every_restored_copy_begins_an_epoch_of_its_own(embedded: Installation, backup: Path, tmp_path: Path) -> None:
    original = embedded.epoch()
    copies = [restored(backup, tmp_path / name) for name in ("first", "second")]

    for copy in copies:
        assert "begin" in dawr("migrate", DAWR_DATA=copy.parent).said
        assert dawr("migrate", DAWR_DATA=copy.parent).said == "The schema is up to date.\n"

    epochs = [epoch for copy in copies for (epoch,) in rows_of(copy, "SELECT epoch FROM heads")]
    assert embedded.epoch() == original
    assert len({original, *epochs}) == 3


def test_a_backup_that_was_merely_copied_begins_a_new_epoch_too(
    embedded: Installation, backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "copy").mkdir()
    shutil.copy(backup, tmp_path / "copy" / "dawr.sqlite")

    dawr("migrate", DAWR_DATA=tmp_path / "copy")

    assert rows_of(tmp_path / "copy" / "dawr.sqlite", "SELECT epoch FROM heads") != [(embedded.epoch(),)]


def test_a_backup_of_a_restored_copy_can_be_restored(backup: Path, tmp_path: Path) -> None:
    restored(backup, tmp_path / "copy")
    dawr("migrate", DAWR_DATA=tmp_path / "copy")

    again = dawr("backup", tmp_path / "again", DAWR_DATA=tmp_path / "copy")
    restored(tmp_path / "again", tmp_path / "copy of the copy")

    assert again.exit_code == 0
    assert checked(tmp_path / "copy of the copy").exit_code == 0


def test_a_backup_overwrites_nothing(embedded: Installation, backup: Path) -> None:
    before = backup.read_bytes()

    done = embedded.dawr("backup", backup)

    assert (done.exit_code, done.complained) == (1, f"Error: {backup} exists already; nothing was overwritten.\n")
    assert backup.read_bytes() == before


def test_a_backup_to_nowhere_is_said_to_have_failed(embedded: Installation, backup: Path, tmp_path: Path) -> None:
    done = embedded.dawr("backup", tmp_path / "no" / "such" / "directory")

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: {tmp_path}/no/such/directory cannot be written: ")


def test_there_is_no_backup_of_nothing(embedded: Installation, tmp_path: Path) -> None:
    done = embedded.dawr("backup", tmp_path / "backup")

    assert done.exit_code == 1
    assert "There is no database at" in done.complained


def test_a_database_that_is_there_is_not_replaced(embedded: Installation, backup: Path) -> None:
    done = embedded.dawr("restore", backup)

    assert done.exit_code == 1
    assert "dawr.sqlite" in done.complained
    assert done.complained.endswith("`dawr restore --replace` moves it aside first; nothing was changed.\n")
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]


def test_a_database_that_is_there_is_moved_aside_if_one_says_so(embedded: Installation, backup: Path) -> None:
    with embedded.serve() as server:
        take_numbers(server, 20)
        server.kill()  # so that its write-ahead log is there, too

    first = embedded.dawr("restore", "--replace", backup)
    again = embedded.dawr("restore", "--replace", backup)

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]
    data = Path(embedded.settings["DAWR_DATA"])
    asides = sorted(data.glob("replaced-*"))
    assert [aside.stat().st_mode & 0o777 for aside in asides] == [0o700, 0o700]
    assert rows_of(asides[0] / "dawr.sqlite", "SELECT max(number) FROM tickets") == [(20,)]


def test_what_is_there_stays_if_the_backup_is_damaged(embedded: Installation, backup: Path, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(backup.read_bytes()[:-8_192])

    done = embedded.dawr("restore", "--replace", tmp_path / "cut")

    assert done.exit_code == 1
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]


def test_what_is_there_comes_back_if_there_is_no_room(embedded: Installation, backup: Path) -> None:
    limited = ["prlimit", "--fsize=100000", PROGRAM, "restore", "--replace", str(backup)]
    settings = {name: str(value) for name, value in embedded.settings.items()}
    done = subprocess.run(limited, env={**os.environ, **settings}, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done
    assert "cannot be written: File too large. Nothing was changed.\n" in done.stderr
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]
    assert embedded.dawr("check").exit_code == 0


def test_a_backup_that_lies_in_the_way_is_not_moved_aside(embedded: Installation, backup: Path) -> None:
    in_the_way = backup.rename(Path(embedded.settings["DAWR_DATA"]) / "dawr.sqlite.bak")

    done = embedded.dawr("restore", "--replace", in_the_way)

    assert done.exit_code == 1
    assert "would be moved aside itself" in done.complained
    assert in_the_way.exists()
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]


def test_where_a_restore_was_cut_short_nothing_else_begins(embedded: Installation, backup: Path) -> None:
    data = Path(embedded.settings["DAWR_DATA"])
    (data / "dawr.sqlite").rename(data / "dawr.sqlite.partial")  # as a power cut between two renames leaves it

    served = embedded.dawr("serve", "--port", "0")
    again = embedded.dawr("restore", "--replace", backup)

    assert served.exit_code == 1
    assert "was cut short: run `dawr restore --replace BACKUP` again" in served.complained
    assert again.exit_code == 0, again
    assert embedded.rows("SELECT max(number) FROM tickets") == [(10,)]


def test_what_has_moved_to_postgresql_is_not_replaced(embedded: Installation, backup: Path, postgres_url: str) -> None:
    assert embedded.dawr("migrate", "--to", postgres_url).exit_code == 0

    done = embedded.dawr("restore", "--replace", backup)

    assert done.exit_code == 1
    assert "has moved to" in done.complained


def test_the_rest_of_another_database_is_not_mixed_with_a_backup(
    embedded: Installation, backup: Path, tmp_path: Path
) -> None:
    with embedded.serve() as server:
        take_numbers(server, 20)
        server.kill()
    assert isinstance(embedded.database, Path)
    embedded.database.rename(tmp_path / "moved away")

    done = embedded.dawr("restore", backup)

    assert done.exit_code == 1
    assert "dawr.sqlite-wal" in done.complained
    assert not embedded.database.exists()


def test_nothing_is_restored_under_a_running_server(embedded: Installation, backup: Path) -> None:
    with embedded.serve():
        done = embedded.dawr("restore", backup)

    assert done.exit_code == 1
    assert "one server writes to it at a time" in done.complained


@pytest.mark.parametrize("kept", [0, 100, 4096, 20_000])
def test_a_backup_that_was_cut_off_is_refused(backup: Path, tmp_path: Path, kept: int) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(backup.read_bytes()[:kept])

    done = dawr("restore", cut, DAWR_DATA=tmp_path / "copy")

    assert done.exit_code == 1
    assert str(cut) in done.complained
    assert not (tmp_path / "copy" / "dawr.sqlite").exists()


def test_a_damaged_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    content = bytearray(backup.read_bytes())
    content[4096 * 10 : 4096 * 12] = b"\xa5" * 4096 * 2
    backup.write_bytes(content)

    done = dawr("restore", backup, DAWR_DATA=tmp_path / "copy")

    assert done.exit_code == 1
    assert not (tmp_path / "copy" / "dawr.sqlite").exists()


def test_a_file_that_is_no_backup_is_refused(embedded: Installation, tmp_path: Path) -> None:
    embedded.create_venue()
    assert isinstance(embedded.database, Path)
    (tmp_path / "text").write_text("not a database" * 1000)

    for source in (embedded.database, tmp_path / "text"):
        done = dawr("restore", source, DAWR_DATA=tmp_path / "copy")

        assert done.exit_code == 1
        assert str(source) in done.complained


@pytest.mark.slow
def test_a_dump_of_postgresql_under_load_is_consistent_and_begins_a_new_epoch(
    scaled: Installation, postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(find_postgres()), prepend=":")
    scaled.create_venue()
    original = scaled.epoch()
    with scaled.serve() as server, under_load(server) as given:
        eventually(lambda: len(given) > 50)
        done = scaled.dawr("backup", tmp_path / "backup")
    assert done.exit_code == 0, done

    copies = []
    for name in ("restored_first", "restored_second"):
        url = postgres_server.create_database(name)
        subprocess.run(["pg_restore", "--no-owner", f"--dbname={url}", tmp_path / "backup"], check=True)
        assert "begin" in dawr("migrate", DAWR_DATABASE_URL=url).said
        assert dawr("check", DAWR_DATABASE_URL=url).exit_code == 0
        copies.append(Installation({"DAWR_DATABASE_URL": url}, url, tmp_path))

    assert len({original, *(copy.epoch() for copy in copies)}) == 3
    assert scaled.epoch() == original
    assert scaled.dawr("migrate").said == "The schema is up to date.\n"
    for name in ("restored_first", "restored_second"):
        postgres_server.drop_database(name)


def test_without_pg_dump_it_says_what_to_install(scaled: Installation, tmp_path: Path) -> None:
    done = scaled.dawr("backup", tmp_path / "backup", PATH=str(tmp_path))

    assert done.exit_code == 1
    assert "pg_dump is not installed here" in done.complained


def test_a_dump_that_fails_leaves_nothing_and_tells_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(find_postgres()), prepend=":")

    done = dawr("backup", tmp_path / "backup", DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr")

    assert done.exit_code == 1
    assert done.complained.startswith("Error: pg_dump failed: ")
    assert "hunter2" not in done.complained
    assert list(tmp_path.iterdir()) == []


def test_postgresql_is_restored_by_its_own_tools(scaled: Installation, tmp_path: Path) -> None:
    (tmp_path / "backup").touch()

    done = scaled.dawr("restore", tmp_path / "backup")

    assert done.exit_code == 1
    assert "pg_restore" in done.complained


def restored(backup: Path, data: Path) -> Path:
    """The database file of a new installation."""
    done = dawr("restore", backup, DAWR_DATA=data)
    assert done.exit_code == 0, done
    return data / "dawr.sqlite"


def checked(data: Path) -> Finished:
    return dawr("check", DAWR_DATA=data)


@contextlib.contextmanager
def under_load(server: DawrServer) -> Iterator[list[int]]:
    """Eight visitors at a time, over and over; the numbers they were given so far."""
    given: list[int] = []
    enough = threading.Event()

    def keep_entering(lane: int) -> None:
        with Client(server.url) as client, contextlib.suppress(OSError, http.client.HTTPException):
            for turn in range(1_000_000):
                if enough.is_set():
                    return
                given.append(client.enter("lab", f"visitor {lane} for the {turn}th time").json["number"])

    lanes = [threading.Thread(target=keep_entering, args=(lane,)) for lane in range(8)]
    for lane in lanes:
        lane.start()
    try:
        yield given
    finally:
        enough.set()
        for lane in lanes:
            lane.join()
