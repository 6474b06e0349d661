"""`dawr check`: an installation looked over, running or stopped."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dawr.cli import main
from dawr.stores.data_directory import DataDirectory, file_system_of
from tests.cli.installations import Installation, take_numbers
from tests.running import dawr


@pytest.fixture
def spoiled(installation: Installation) -> Installation:
    """Ten numbers were given; a test takes something away."""
    installation.found()
    installation.take_numbers(10)
    return installation


def test_a_healthy_installation_is_said_to_be_healthy(installation: Installation) -> None:
    installation.found()
    installation.take_numbers(10)

    done = installation.dawr("check")

    assert (done.exit_code, done.complained) == (0, "")
    assert {line[0] for line in done.said.splitlines()} == {"✓"}
    assert done.said.endswith("✓  Venues: clinic.\n✓  Every number was given once, and no event is missing.\n")


def test_a_running_installation_is_looked_over_under_load(embedded: Installation) -> None:
    embedded.found()
    with embedded.serve() as server:
        take_numbers(server, 10)

        done = embedded.dawr("check")

    assert done.exit_code == 0
    assert "✓  A server runs here and can store." in done.said


def test_a_new_installation_has_no_venue_yet(installation: Installation) -> None:
    installation.dawr("migrate")

    done = installation.dawr("check")

    assert done.exit_code == 0
    assert "✓  Venues: none yet." in done.said


@pytest.mark.parametrize("version", [1, 10])
def test_a_missing_event_is_named(spoiled: Installation, version: int) -> None:
    spoiled.rows(f"DELETE FROM events WHERE version = {version}")

    done = spoiled.dawr("check")

    assert done.exit_code == 1
    assert "✗  Venue clinic is at version 10, but has 9 events" in done.said


def test_a_missing_ticket_is_named(spoiled: Installation) -> None:
    spoiled.rows("DELETE FROM tickets WHERE number = 4")

    done = spoiled.dawr("check")

    assert done.exit_code == 1
    assert "✗  Queue lab of clinic on " in done.said
    assert "gave 10 numbers, but has 9 tickets, the highest 10: numbers are missing or doubled." in done.said


def test_a_number_that_was_made_up_is_named(spoiled: Installation) -> None:
    spoiled.rows("UPDATE tickets SET number = 42 WHERE number = 10")

    done = spoiled.dawr("check")

    assert done.exit_code == 1
    assert "but has 10 tickets, the highest 42" in done.said


def test_a_schema_that_is_behind_is_named(spoiled: Installation) -> None:
    spoiled.rows("DELETE FROM migrations WHERE owner = 'reliability'")

    done = spoiled.dawr("check")

    assert done.exit_code == 1
    assert "✗  The schema is behind: run `dawr migrate` to apply reliability 0001 one answer per key." in done.said


def test_a_database_of_a_newer_dawr_is_refused(spoiled: Installation) -> None:
    spoiled.rows("UPDATE migrations SET number = 9999 WHERE owner = 'dawr' AND number = 2")

    for command in ("check", "migrate", "serve"):
        done = spoiled.dawr(command)

        assert done.exit_code == 1
        assert "it was made by a newer one" in done.said + done.complained


def test_a_migration_that_was_changed_afterwards_is_refused(spoiled: Installation) -> None:
    spoiled.rows("UPDATE migrations SET checksum = 'other' WHERE owner = 'dawr'")

    for command in ("check", "migrate", "serve"):
        done = spoiled.dawr(command)

        assert done.exit_code == 1
        assert "is not the one that was applied to this database" in done.said + done.complained


def test_an_installation_without_a_database_is_named(embedded: Installation) -> None:
    done = embedded.dawr("check")

    assert done.exit_code == 1
    assert f"✗  There is no database in {embedded.settings['DAWR_DATA']} yet" in done.said


def test_a_database_that_is_still_empty_is_behind(installation: Installation) -> None:
    if isinstance(installation.database, Path):
        installation.database.parent.mkdir()
        installation.database.touch()

    done = installation.dawr("check")

    assert done.exit_code == 1
    assert "✗  The schema is behind: run `dawr migrate`" in done.said


def test_a_postgresql_that_is_away_is_named() -> None:
    done = dawr("check", DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr")

    assert done.exit_code == 1
    assert "✗  PostgreSQL: " in done.said
    assert "hunter2" not in done.said


def test_a_damaged_file_is_named(embedded: Installation) -> None:
    embedded.found()
    embedded.take_numbers(50)
    assert isinstance(embedded.database, Path)
    content = bytearray(embedded.database.read_bytes())
    content[4096 * 8 : 4096 * 20] = bytes(4096 * 12)
    embedded.database.write_bytes(content)

    done = embedded.dawr("check")

    assert done.exit_code == 1
    assert re.search("✗  .*(damaged|malformed)", done.said)


def test_a_file_that_is_no_database_is_named(embedded: Installation) -> None:
    assert isinstance(embedded.database, Path)
    embedded.database.parent.mkdir()
    embedded.database.write_bytes(b"not a database" * 1000)

    done = embedded.dawr("check")

    assert done.exit_code == 1
    assert "✗  SQLite: " in done.said


def test_a_server_that_holds_the_directory_and_does_not_answer_is_named(embedded: Installation) -> None:
    embedded.found()
    assert isinstance(embedded.database, Path)
    held = DataDirectory(embedded.database.parent)
    held.lock()

    done = embedded.dawr("check")
    held.unlock()

    assert done.exit_code == 1
    assert f"✗  A server holds {held.path}, but is not well. The server does not answer" in done.said


def test_a_slip_of_the_pen_in_a_setting_is_named(embedded: Installation) -> None:
    embedded.found()

    done = embedded.dawr("check", DAWR_LANE="4", DAWR_TEST_ANYTHING="1")

    assert done.exit_code == 0
    assert "?  DAWR_LANE is set, but is no setting of this version." in done.said
    assert "DAWR_TEST_ANYTHING" not in done.said


@pytest.fixture
def on_nfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory that the system says is on a network file system."""
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"36 35 98:0 / {tmp_path}/data rw,noatime master:1 - nfs4 server:/share rw\n")
    monkeypatch.setattr(file_system_of, "__defaults__", (mounts,))
    return tmp_path / "data"


@pytest.mark.parametrize("command", ["migrate", "check"])
def test_a_network_file_system_is_refused(on_nfs: Path, command: str) -> None:
    done = CliRunner().invoke(main, [command, "--data", str(on_nfs)])

    assert done.exit_code == 1
    assert f"{on_nfs} is on a network file system (nfs4), where SQLite is not safe." in done.output
