"""`dawr check`: an installation looked over, running or stopped."""

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from dawr.cli import main
from dawr.stores import migrations
from dawr.stores.checking import missing_indexes
from dawr.stores.data_directory import DataDirectory, file_system_of
from dawr.stores.session import all_statements
from tests.cli.here import run_here
from tests.cli.installations import Installation, take_numbers
from tests.running import Finished, dawr, eventually, venue_document


def check(installation: Installation, *arguments: str, **more: str) -> Finished:
    """With no port named, nobody who happens to listen there is asked."""
    return run_here(installation, "check", *arguments, **{"DAWR_PORT": "0", **more})


def test_a_healthy_installation_is_said_to_be_healthy(installation: Installation) -> None:
    installation.create_venue()
    installation.take_numbers(10)
    if isinstance(installation.database, str):
        installation.rows("SELECT pg_stat_reset()")  # the database was lent to others before

    def look() -> Finished:
        public = {"DAWR_PUBLIC_URL": "https://queue.example.org"}
        return installation.dawr("check", DAWR_PORT="0", DAWR_RATE_LIMITS="on", **public)

    # A server that stops on a busy machine may not have the time to give its leases back. They end by themselves.
    eventually(lambda: "without giving them back" not in look().said)
    done = look()

    assert (done.exit_code, done.complained) == (0, "")
    assert {line[0] for line in done.said.splitlines()} == {"✓"}, done.said
    assert "✓  Venues: clinic.\n✓  Every number was given once, and no event is missing.\n" in done.said
    assert "✓  No deadlock, and nobody waits for a lock.\n" in done.said
    assert "✓  Limits are counted by the one process that serves.\n" in done.said
    assert "✓  Nobody holds the lease clockwork now" in done.said


def test_scripts_are_told_the_same_as_json(used: Installation) -> None:
    healthy = check(used, "--json")
    used.rows("DELETE FROM tickets WHERE number = 4")
    sick = check(used, "--json")

    assert (healthy.exit_code, json.loads(healthy.said)["ok"]) == (0, True)
    said = json.loads(sick.said)
    assert (sick.exit_code, said["ok"]) == (1, False)
    (wrong,) = [found for found in said["findings"] if found["level"] == "wrong"]
    assert wrong["about"] == "numbers"
    assert "numbers are missing or doubled" in wrong["sentence"]


def test_a_doubled_number_is_named(used: Installation) -> None:
    """Also when as many are missing as are doubled, so that counting alone says nothing."""
    used.rows("DROP INDEX tickets_each_number_once")
    used.rows("UPDATE tickets SET number = 4 WHERE number = 5")

    done = check(used)

    assert done.exit_code == 1
    assert re.search(r"✗  Number 4 of queue lab of clinic on [\d-]+, round 1, was given 2 times", done.said)
    assert "✗  Indexes or constraints are missing (tickets_each_number_once)" in done.said


def test_a_venue_that_cannot_give_numbers_is_named(used: Installation) -> None:
    """The seed's first trouble: the row that numbers are made from is not there."""
    used.rows("DELETE FROM heads")

    done = check(used)

    assert done.exit_code == 1
    assert "✗  Venue clinic has no head, the row that gives its numbers" in done.said


def test_tickets_without_a_line_are_named(used: Installation) -> None:
    used.rows("DELETE FROM lines")

    done = check(used)

    assert done.exit_code == 1
    assert "✗  10 tickets of queue lab of venue " in done.said


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_every_index_that_a_migration_makes_is_expected(dialect: str) -> None:
    written = " ".join(migration.sql for migration in migrations.known(dialect))
    expected = set(missing_indexes(dialect, ()))

    assert {"tickets_each_number_once", "tickets_one_open_per_visitor", "idempotency_by_expiry"} <= expected
    assert len(expected) >= written.count("INDEX ") - 2 * written.count("DROP INDEX ")


@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_every_key_and_constraint_of_a_new_database_is_expected(kind: str, request: pytest.FixtureRequest) -> None:
    """Whoever adds one in a way that is not understood here learns of it."""
    installation: Installation = request.getfixturevalue(kind)
    run_here(installation, "migrate")
    dialect = "sqlite" if kind == "embedded" else "postgres"
    listed = {name for (name,) in installation.rows(all_statements(dialect)["index_names"])}

    present = {name for name in listed if not name.startswith("sqlite_")} - {"migrations_pkey"}

    assert present == set(missing_indexes(dialect, ()))


@pytest.mark.parametrize(
    ("table", "constraint"),
    [
        ("tickets", "tickets_pkey"),
        ("events", "events_pkey"),
        ("heads", "heads_pkey"),
        ("idempotency", "idempotency_pkey"),
        ("venues", "venues_slug_key"),
        ("tickets", "tickets_check"),
        ("tickets", "tickets_party_size_check"),
    ],
)
def test_a_constraint_that_was_dropped_is_named(scaled: Installation, table: str, constraint: str) -> None:
    run_here(scaled, "migrate")
    scaled.rows(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}")

    done = check(scaled)

    assert done.exit_code == 1
    assert f"✗  Indexes or constraints are missing ({constraint})" in done.said


def test_a_table_that_was_made_again_without_its_keys_is_named(embedded: Installation) -> None:
    """As tools do that export and import."""
    run_here(embedded, "migrate")
    embedded.rows("CREATE TABLE copied AS SELECT * FROM venues; DROP TABLE venues; ALTER TABLE copied RENAME TO venues")

    done = check(embedded)

    assert done.exit_code == 1
    assert "✗  Indexes or constraints are missing (venues_pkey, venues_slug_key)" in done.said


ODD_HOURS = json.dumps(
    {
        "id": "x",
        "slug": "clinic",
        "name": {"en": "A clinic"},
        "zone": "Asia/Qatar",
        "queues": [{"id": "lab", "name": {"en": "Lab"}, "hours": {"week": [["oops"]] * 7}}],
    }
)
PLANTED = {
    "UPDATE lines SET waiting = '[999,0,0,0]'": "[999,0,0,0] wait by priority, but its tickets say [10,0,0,0]",
    "UPDATE tickets SET priority = 2 WHERE number = 1": "[10,0,0,0] wait by priority, but its tickets say [9,0,1,0]",
    "UPDATE lines SET waiting = 'not JSON'": "says that not JSON wait by priority",
    "INSERT INTO lines SELECT venue_id, queue_id, day, 2, 0, 0, '[]', 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0 FROM lines": (
        "round 2, says that [] wait by priority, but its tickets say [0,0,0,0]"
    ),
    "UPDATE venues SET document = '{}'": "How venue clinic is set up cannot be read",
    "UPDATE venues SET document = 'not JSON'": "How venue clinic is set up cannot be read",
    f"UPDATE venues SET document = '{ODD_HOURS}'": "How venue clinic is set up cannot be read",
    "UPDATE venues SET slug = 'other'": "How venue other is set up is another venue's",
    "INSERT INTO heads SELECT 'nobody', epoch, day, version, 1 FROM heads": "A head belongs to venue nobody",
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_row_that_was_spoiled_by_hand_is_named(used: Installation, planted: str) -> None:
    used.rows(planted)

    done = check(used)

    assert done.exit_code == 1
    (wrong,) = [line for line in done.said.splitlines() if line[0] == "✗"]
    assert PLANTED[planted] in wrong


@pytest.mark.parametrize(
    ("table", "column"), [("tickets", "name"), ("venues", "slug"), ("lines", "waiting"), ("events", "kind")]
)
def test_text_that_is_none_is_named(embedded: Installation, ten_numbers: Path, table: str, column: str) -> None:
    assert isinstance(embedded.database, Path)
    shutil.copytree(ten_numbers, embedded.database.parent)
    embedded.rows(f"UPDATE {table} SET {column} = CAST(x'ff41' AS TEXT)")

    done = check(embedded)

    assert done.exit_code == 1
    assert f"✗  Table {table} holds text that is none (not UTF-8)" in done.said


def test_a_lease_that_is_no_text_is_named(embedded: Installation) -> None:
    run_here(embedded, "migrate")
    embedded.rows("INSERT INTO leases VALUES ('clockwork', CAST(x'ff41' AS TEXT), 1, 1)")

    done = check(embedded)

    assert done.exit_code == 1
    assert "✗  The database holds text that is none" in done.said


@pytest.mark.parametrize("command", ["check", "migrate"])
def test_a_port_above_all_ports_is_a_sentence(command: str) -> None:
    done = dawr(command, DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:99999/dawr", DAWR_PORT="0")

    assert done.exit_code == 1
    assert "DAWR_DATABASE_URL cannot be used" in done.said + done.complained
    assert "hunter2" not in done.said + done.complained


def test_a_running_installation_is_looked_over_under_load(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve() as server:
        take_numbers(server, 10)

        done = check(embedded)

    assert done.exit_code == 0
    assert "✓  A server runs here and can store." in done.said


def test_a_new_installation_has_no_venue_yet(installation: Installation) -> None:
    run_here(installation, "migrate")

    done = check(installation)

    assert done.exit_code == 0
    assert "✓  Venues: none yet." in done.said


@pytest.mark.parametrize("version", [1, 10])
def test_a_missing_event_is_named(used: Installation, version: int) -> None:
    used.rows(f"DELETE FROM events WHERE version = {version}")

    done = check(used)

    assert done.exit_code == 1
    assert "✗  Venue clinic is at version 10, but has 9 events" in done.said


def test_a_missing_ticket_is_named(used: Installation) -> None:
    used.rows("DELETE FROM tickets WHERE number = 4")

    done = check(used)

    assert done.exit_code == 1
    assert "✗  Queue lab of clinic on " in done.said
    assert "gave 10 numbers, but has 9 tickets, the highest 10: numbers are missing or doubled." in done.said


def test_a_number_that_was_made_up_is_named(used: Installation) -> None:
    used.rows("UPDATE tickets SET number = 42 WHERE number = 10")

    done = check(used)

    assert done.exit_code == 1
    assert "but has 10 tickets, the highest 42" in done.said


def test_a_schema_that_is_behind_is_named(used: Installation) -> None:
    used.rows("DELETE FROM migrations WHERE owner = 'dawr' AND number = 3")

    done = check(used)

    assert done.exit_code == 1
    assert "✗  The schema is behind: run `dawr migrate` to apply dawr 0003 parties." in done.said


def test_a_database_of_a_newer_dawr_is_refused(used: Installation) -> None:
    used.rows("UPDATE migrations SET number = 9999 WHERE owner = 'dawr' AND number = 2")

    for command in ("check", "migrate", "serve"):
        done = check(used) if command == "check" else used.dawr(command)

        assert done.exit_code == 1
        assert "it was made by a newer one" in done.said + done.complained


def test_a_migration_that_was_changed_afterwards_is_refused(used: Installation) -> None:
    used.rows("UPDATE migrations SET checksum = 'other' WHERE owner = 'dawr'")

    for command in ("check", "migrate", "serve"):
        done = check(used) if command == "check" else used.dawr(command)

        assert done.exit_code == 1
        assert "is not the one that was applied to this database" in done.said + done.complained


def test_an_installation_without_a_database_is_named(embedded: Installation) -> None:
    done = check(embedded)

    assert done.exit_code == 1
    assert f"✗  There is no database in {embedded.settings['DAWR_DATA']} yet" in done.said


def test_a_database_that_is_still_empty_is_behind(installation: Installation) -> None:
    if isinstance(installation.database, Path):
        installation.database.parent.mkdir()
        installation.database.touch()

    done = check(installation)

    assert done.exit_code == 1
    assert "✗  The schema is behind: run `dawr migrate`" in done.said


def test_a_postgresql_that_is_away_is_named() -> None:
    done = dawr("check", DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr")

    assert done.exit_code == 1
    assert "✗  PostgreSQL: " in done.said
    assert "hunter2" not in done.said


def test_a_damaged_file_is_named(embedded: Installation) -> None:
    embedded.create_venue()
    embedded.take_numbers(50)
    assert isinstance(embedded.database, Path)
    content = bytearray(embedded.database.read_bytes())
    content[4096 * 8 : 4096 * 20] = bytes(4096 * 12)
    embedded.database.write_bytes(content)

    done = check(embedded)

    assert done.exit_code == 1
    assert re.search("✗  .*(damaged|malformed)", done.said)


def test_a_file_that_is_no_database_is_named(embedded: Installation) -> None:
    assert isinstance(embedded.database, Path)
    embedded.database.parent.mkdir()
    embedded.database.write_bytes(b"not a database" * 1000)

    done = check(embedded)

    assert done.exit_code == 1
    assert done.said.count(f"✗  The database {embedded.database} is damaged (") == 1
    assert "store.damaged" not in done.said


def test_a_setting_that_cannot_be_is_a_finding(embedded: Installation) -> None:
    done = check(embedded, "--json", DAWR_LANES="0")

    assert done.exit_code == 1
    (found,) = json.loads(done.said)["findings"]
    assert (found["level"], found["about"]) == ("wrong", "settings")
    assert "DAWR_LANES (lanes='0') cannot be used" in found["sentence"]


def test_a_server_that_holds_the_directory_and_does_not_answer_is_named(embedded: Installation) -> None:
    run_here(embedded, "venue", "apply", "-", stdin=venue_document({"id": "lab"}))
    assert isinstance(embedded.database, Path)
    held = DataDirectory(embedded.database.parent)
    held.lock()

    done = check(embedded)
    held.unlock()

    assert done.exit_code == 1
    assert f"✗  A server holds {held.path}, but is not well. The server does not answer" in done.said


def test_a_slip_of_the_pen_in_a_setting_is_named(embedded: Installation) -> None:
    run_here(embedded, "migrate")

    done = check(embedded, DAWR_LANE="4", DAWR_TEST_ANYTHING="1")

    assert done.exit_code == 0
    assert "!  DAWR_LANE is set, but is no setting of this version" in done.said
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
