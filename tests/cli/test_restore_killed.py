"""`dawr restore --replace` killed at every moment: what is there is one database, or nothing is served from it."""

import shutil
from pathlib import Path

import pytest

from tests.cli.databases import rows_of
from tests.cli.here import run_here
from tests.cli.installations import Installation, take_numbers
from tests.cli.killing import Moment, run_failing, run_killed, run_without_room
from tests.running import Client, eventually

HIGHEST = "SELECT max(number) FROM tickets"
MAX_MOMENTS = 60
SMALL_FILE_BYTES = 100_000


@pytest.fixture(scope="module")
def ten_and_twenty(tmp_path_factory: pytest.TempPathFactory, ten_numbers: Path) -> Path:
    """A backup with ten numbers and statistics, and the data directory of a server that was killed after twenty."""
    directory = tmp_path_factory.mktemp("killed")
    shutil.copytree(ten_numbers, directory / "data")
    settings: dict[str, str | Path] = {"DAWR_DATA": directory / "data", "DAWR_TRAFFIC": "on"}
    installation = Installation(settings, directory / "data" / "dawr.sqlite", directory)
    with installation.serve() as server:
        statistics = directory / "data" / "traffic" / "traffic.sqlite"
        eventually(lambda: (directory / "data" / "traffic" / "control.sock").exists() and statistics.exists())
        assert run_here(installation, "backup", directory / "backup").exit_code == 0
        take_numbers(server, 20)
        server.kill()
    for socket in directory.rglob("control.sock"):
        socket.unlink()
    assert (directory / "backup.traffic").exists()
    assert (directory / "data" / "dawr.sqlite-wal").stat().st_size > 0
    return directory


@pytest.fixture
def killed(embedded: Installation, ten_and_twenty: Path) -> Installation:
    return begin_anew(embedded, ten_and_twenty)


@pytest.fixture
def backup(ten_and_twenty: Path) -> Path:
    return ten_and_twenty / "backup"


def begin_anew(installation: Installation, ten_and_twenty: Path) -> Installation:
    data = Path(installation.settings["DAWR_DATA"])
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(ten_and_twenty / "data", data)
    return installation


def restore_until(installation: Installation, backup: Path, nth: int = 1, event: str = "", name: str = "") -> bool:
    """Return whether the restore was killed then; it ended before otherwise."""
    moment = Moment(Path(installation.settings["DAWR_DATA"]), nth, event, name)
    return run_killed(moment, "restore", "--replace", backup, **installation.settings)


def restore_without_room(installation: Installation, backup: Path) -> int:
    return run_without_room(SMALL_FILE_BYTES, "restore", "--replace", backup, **installation.settings)


def is_refused(installation: Installation) -> bool:
    """Return whether a tool that writes, which asks what a server asks, says that a restore was cut short."""
    done = run_here(installation, "migrate")
    assert done.exit_code == 0 or "was cut short: run `dawr restore --replace BACKUP` again" in done.complained, done
    return done.exit_code == 1


def test_a_second_restore_that_fails_leaves_the_mark_of_the_first(killed: Installation, backup: Path) -> None:
    assert restore_until(killed, backup, event="os.rename", name="dawr.sqlite")
    assert not (Path(killed.settings["DAWR_DATA"]) / "dawr.sqlite-wal").exists()

    failed = restore_without_room(killed, backup)
    interrupted = restore_until(killed, backup, event="open", name="dawr.sqlite.partial", nth=2)
    served = killed.dawr("serve", "--port", "0")
    backed_up = run_here(killed, "backup", killed.directory / "another")
    checked = run_here(killed, "check")
    again = killed.dawr("restore", "--replace", backup)

    assert (failed, interrupted) == (1, True)
    for done in (served, backed_up):
        assert done.exit_code == 1
        assert "was cut short: run `dawr restore --replace BACKUP` again, before anything else." in done.complained
    assert checked.exit_code == 1
    assert f"✗  A restore of {killed.settings['DAWR_DATA']} was cut short" in checked.said
    assert again.exit_code == 0, again
    with killed.serve() as server, Client(server.url) as client:
        assert client.enter("lab", "somebody new").json["number"] == 11


def test_a_restore_that_fails_by_itself_leaves_no_mark(killed: Installation, backup: Path) -> None:
    assert restore_without_room(killed, backup) == 1

    assert not is_refused(killed)
    assert killed.rows(HIGHEST) == [(20,)]


def test_a_second_restore_that_fails_while_it_moves_files_leaves_the_mark_of_the_first(
    killed: Installation, backup: Path
) -> None:
    data = Path(killed.settings["DAWR_DATA"])
    assert restore_until(killed, backup, event="os.rename", name="dawr.sqlite")

    moving = Moment(data, event="os.rename", name="dawr.sqlite")
    failed = run_failing(moving, "restore", "--replace", backup, **killed.settings)

    assert failed == 1
    assert is_refused(killed)


def test_a_restore_that_fails_while_it_moves_files_puts_them_back(killed: Installation, backup: Path) -> None:
    moving = Moment(Path(killed.settings["DAWR_DATA"]), event="os.rename", name="dawr.sqlite")

    assert run_failing(moving, "restore", "--replace", backup, **killed.settings) == 1

    assert not is_refused(killed)
    assert killed.rows(HIGHEST) == [(20,)]


def test_what_an_earlier_version_left_half_is_not_forgotten(killed: Installation, backup: Path) -> None:
    data = Path(killed.settings["DAWR_DATA"])
    (data / "dawr.sqlite.partial").touch()
    (data / "dawr.sqlite-wal").rename(data / "moved aside")

    assert restore_without_room(killed, backup) == 1

    assert is_refused(killed)


@pytest.mark.slow
def test_killed_at_any_moment_the_files_are_one_database_or_serve_nobody(
    embedded: Installation, ten_and_twenty: Path
) -> None:
    backup, refused, was_killed, nth = ten_and_twenty / "backup", 0, True, 0
    while was_killed:
        nth += 1
        killed = begin_anew(embedded, ten_and_twenty)
        was_killed = restore_until(killed, backup, nth)
        if is_refused(killed):
            refused += 1
            must_stay_refused_until_restored(killed, backup)
        assert killed.rows(HIGHEST) in ([(10,)], [(20,)]), nth
        assert run_here(killed, "check").exit_code == 0, nth
        assert nth < MAX_MOMENTS

    assert refused > 5


def must_stay_refused_until_restored(killed: Installation, backup: Path) -> None:
    data = Path(killed.settings["DAWR_DATA"])
    assert restore_without_room(killed, backup) == 1
    assert is_refused(killed)
    assert not restore_until(killed, backup, nth=MAX_MOMENTS * 10)
    assert killed.rows(HIGHEST) == [(10,)]
    assert not is_refused(killed)
    kept = {file.name for aside in data.glob("replaced-*") for file in aside.iterdir()}
    assert {"dawr.sqlite", "dawr.sqlite-wal"} <= kept
    assert rows_of(data / "traffic" / "traffic.sqlite", "PRAGMA quick_check") == [("ok",)]
