"""`dawr migrate`: the schema brought up to date, once."""

from dawr.stores import migrations
from tests.cli.installations import Installation
from tests.running import at_once


def test_a_new_database_gets_every_migration(installation: Installation) -> None:
    dialect = "postgres" if isinstance(installation.database, str) else "sqlite"

    done = installation.dawr("migrate")

    assert done.exit_code == 0
    for migration in migrations.known(dialect):
        assert f"Applied {migration.title}." in done.said


def test_migrating_again_changes_nothing(installation: Installation) -> None:
    installation.dawr("migrate")

    again = installation.dawr("migrate")

    assert (again.exit_code, again.said) == (0, "The schema is up to date.\n")


def test_an_epoch_is_kept_when_nothing_was_restored(installation: Installation) -> None:
    installation.create_venue()
    epoch = installation.epoch()

    installation.dawr("migrate")
    installation.take_numbers(1)

    assert installation.epoch() == epoch


def test_an_embedded_database_is_not_migrated_under_a_running_server(embedded: Installation) -> None:
    embedded.create_venue()
    with embedded.serve():
        done = embedded.dawr("migrate")

    assert done.exit_code == 1
    assert "one server writes to it at a time" in done.complained


def test_several_processes_that_migrate_at_once_apply_everything_once(scaled: Installation) -> None:
    done = at_once(lambda _: scaled.dawr_process("migrate"), range(4))

    assert {each.exit_code for each in done} == {0}
    applied = [line for each in done for line in each.said.splitlines() if line.startswith("Applied ")]
    assert sorted(applied) == sorted(f"Applied {migration.title}." for migration in migrations.known("postgres"))
