"""`dawr migrate` and the traffic statistics of an embedded installation, which another process writes."""

import pytest

from dawr.traffic.directory import TrafficDirectory, traffic_in
from tests.cli.databases import rows_of
from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.stores.statistics import traffic_process_of

APPLIED = "Applied traffic 0001 each request counted once, to the traffic statistics.\n"
TABLES = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'traffic%' AND type = 'table'"


@pytest.fixture
def traffic(embedded: Installation) -> TrafficDirectory:
    """Its file was made, and has no tables yet."""
    assert run_here(embedded, "migrate").exit_code == 0
    directory = traffic_in(embedded.settings["DAWR_DATA"])
    directory.prepare()
    directory.database.touch()
    return directory


def test_the_statistics_are_brought_up_to_date_with_the_database(
    embedded: Installation, traffic: TrafficDirectory
) -> None:
    first = run_here(embedded, "migrate")
    again = run_here(embedded, "migrate")

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert APPLIED in first.said
    assert again.said == "The schema is up to date.\n"
    assert rows_of(traffic.database, TABLES) > [(10,)]


def test_statistics_that_nobody_began_are_not_made(embedded: Installation) -> None:
    run_here(embedded, "migrate")

    assert not traffic_in(embedded.settings["DAWR_DATA"]).path.exists()


def test_statistics_in_use_are_left_to_their_process(embedded: Installation, traffic: TrafficDirectory) -> None:
    with traffic_process_of(traffic):
        done = run_here(embedded, "migrate")

    assert done.exit_code == 0
    assert "The traffic statistics were left as they are. A traffic process runs in " in done.said
    assert rows_of(traffic.database, TABLES) == [(0,)]


def test_statistics_that_are_damaged_are_a_sentence(embedded: Installation, traffic: TrafficDirectory) -> None:
    traffic.database.write_bytes(b"not a database" * 1000)

    done = run_here(embedded, "migrate")

    assert done.exit_code == 1
    assert done.complained.startswith("Error: The traffic statistics cannot be brought up to date: traffic.sqlite: ")


def test_nothing_is_moved_from_under_a_traffic_process(
    embedded: Installation, scaled: Installation, traffic: TrafficDirectory
) -> None:
    with traffic_process_of(traffic):
        done = run_here(embedded, "migrate", "--to", str(scaled.database))

    assert done.exit_code == 1
    assert done.complained.startswith(f"Error: A traffic process runs in {traffic.path}, and nobody else may write")
    assert scaled.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []
    assert run_here(embedded, "migrate").exit_code == 0


def test_statistics_that_are_behind_are_not_moved(
    embedded: Installation, scaled: Installation, traffic: TrafficDirectory
) -> None:
    behind = run_here(embedded, "migrate", "--to", str(scaled.database))
    run_here(embedded, "migrate")
    moved = run_here(embedded, "migrate", "--to", str(scaled.database))

    assert behind.exit_code == 1
    assert f"The schema of {traffic.database} is behind: run `dawr migrate` first" in behind.complained
    assert moved.exit_code == 0, moved
    assert "\ntraffic_snapshots " in moved.said
    assert traffic.database.exists()


def test_the_way_back_waits_for_the_traffic_process_to_stop(embedded: Installation, scaled: Installation) -> None:
    """It ships what this host answers to PostgreSQL."""
    run_here(embedded, "migrate")
    run_here(embedded, "migrate", "--to", str(scaled.database))

    with traffic_process_of(traffic_in(embedded.settings["DAWR_DATA"])):
        refused = run_here(embedded, "migrate", "--back")

    assert refused.exit_code == 1
    assert "A traffic process runs in " in refused.complained
    assert run_here(embedded, "migrate", "--back").exit_code == 0
