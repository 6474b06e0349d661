"""`dawr traffic`: the statistics looked at, verified and mended, on both databases."""

import json
from pathlib import Path

import pytest

from dawr.bootstrap.system import now
from dawr.traffic.event import MS_PER_DAY
from tests.cli.installations import Installation
from tests.cli.statistics import counted, open_statistics, rows_in, with_statistics
from tests.running import dawr
from tests.traffic.tables import a_damaged_line, a_heartbeat

POISON = '"idempotentId"'


@pytest.fixture
def sixty(installation: Installation) -> Installation:
    """Fifty requests of this hour were counted, one is poison, and the traffic process was heard of just now."""
    with_statistics(installation, lambda database: counted(database, now()))
    return installation


def test_the_status_is_printed_and_every_gate_holds(installation: Installation) -> None:
    with_statistics(installation, lambda database: counted(database, now(), poison=0))

    done = installation.dawr("traffic", "status")

    assert (done.exit_code, done.complained) == (0, "")
    assert "backlog       0 messages\n" in done.said
    assert "consumed      50 of 50 in 24 hours (100.00%)\n" in done.said
    assert "dead letters  0, and 0 damaged lines\n" in done.said
    assert "host          one: heard " in done.said
    assert done.said.endswith("✓  Every gate holds.\n")


def test_a_gate_that_does_not_hold_is_named_and_ends_with_exit_code_1(sixty: Installation) -> None:
    done = sixty.dawr("traffic", "status")
    said = json.loads(sixty.dawr("traffic", "status", "--json").said)

    sentence = "1 dead letters wait for somebody: more than 0.1 % of what was consumed."
    assert (done.exit_code, f"✗  {sentence}\n" in done.said) == (1, True)
    assert (said["ok"], said["failed"], said["dead_letters"], said["consumed_share"]) == (False, [sentence], 1, 1.0)


def test_what_was_counted_is_verified_hour_by_hour(sixty: Installation) -> None:
    done = sixty.dawr("traffic", "verify", "--sample", "1")
    said = json.loads(sixty.dawr("traffic", "verify", "--json").said)

    assert (done.exit_code, done.complained) == (0, "")
    assert done.said.endswith(
        "51 answers were sent, 51 requests written down (+0.00%).\n"
        "Of 50 details that were looked up, 0 are missing.\n"
        "✓  Each request was counted once.\n"
    )
    assert (said["ok"], sum(hour["stored"] for hour in said["hours"])) == (True, 50)


def test_a_difference_is_named_and_ends_with_exit_code_1(sixty: Installation) -> None:
    rows_in(sixty, "DELETE FROM traffic_events WHERE id = (SELECT min(id) FROM traffic_events)")

    done = sixty.dawr("traffic", "verify")

    assert done.exit_code == 1
    assert "UTC: kept in detail, and details that are there: " in done.said
    assert "✗  " in done.said


def test_nothing_to_count_ends_with_exit_code_2(sixty: Installation) -> None:
    done = sixty.dawr("traffic", "verify", "--from", "2020-01-01", "--to", "2020-01-02T12:00")

    assert (done.exit_code, done.said) == (2, "There was nothing to count.\n")


def test_no_statistics_at_all_ends_with_exit_code_2(tmp_path: Path) -> None:
    done = dawr("traffic", "verify", "--data", tmp_path)

    assert (done.exit_code, "There are no traffic statistics" in done.complained) == (2, True)


def test_an_archive_that_is_gone_is_wrong_where_there_is_one_host_only(sixty: Installation) -> None:
    day = now() // MS_PER_DAY * MS_PER_DAY
    rows_in(sixty, f"INSERT INTO traffic_archives VALUES ({day}, 0, 'gone.parquet', 0, 0, '', '', 'emptied', 0)")

    done = sixty.dawr("traffic", "verify")

    is_embedded = isinstance(sixty.database, Path)
    assert done.exit_code == (1 if is_embedded else 0)
    assert "The archive gone.parquet is not in " in (done.said if is_embedded else done.complained)


def test_dead_letters_are_listed_shown_and_dropped(sixty: Installation) -> None:
    with_statistics(sixty, lambda database: a_damaged_line(database, "torn\\x1b[31m"))

    listed = sixty.dawr("traffic", "dead", "list", "--limit", "1")
    rest = json.loads(sixty.dawr("traffic", "dead", "list", "--after", "1", "--json").said)
    shown = sixty.dawr("traffic", "dead", "show", "1")
    dropped = sixty.dawr("traffic", "dead", "drop", "1", "2")

    assert listed.said.startswith("1  ")
    assert "  poison  4 tries  ValidationError: " in listed.said
    assert listed.complained == "There may be more: --after 1.\n"
    assert [(letter["seq"], letter["kind"]) for letter in rest] == [(2, "damaged")]
    assert POISON in shown.said
    assert (dropped.exit_code, dropped.said) == (0, "Dropped 2 dead letters.\n")
    assert rows_in(sixty, "SELECT count(*) FROM traffic_dead") == [(0,)]


def test_dead_letters_are_replayed_by_id_or_all(sixty: Installation) -> None:
    one = sixty.dawr("traffic", "replay", "1")
    none = sixty.dawr("traffic", "replay")
    verified = sixty.dawr("traffic", "verify")

    assert (one.said, none.said) == ("Put 1 dead letter back into the queue.\n", "There was none to replay.\n")
    assert rows_in(sixty, "SELECT count(*) FROM traffic_queue") == [(1,)]
    assert verified.exit_code == 0


def test_what_a_terminal_would_take_for_a_command_is_not_printed_as_one(sixty: Installation) -> None:
    with_statistics(sixty, lambda database: a_damaged_line(database, "torn \x1b[31m قائمة"))

    shown = sixty.dawr("traffic", "dead", "show", "2")

    assert shown.said.endswith("body    torn \\x1b[31m قائمة\n")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["dead", "show", "99"], 1, "Error: There is no dead letter 99.\n"),
        (["dead", "drop", "98", "99"], 1, "Error: There is no dead letter 98, 99.\n"),
        (["replay", "99"], 1, "Error: There is no dead letter 99.\n"),
        (["replay", "1"], 1, "Error: Dead letter 1 is a damaged line: nobody knows what it was"),
        (["dead", "drop"], 2, "Error: Name the ids to drop, or say --all.\n"),
        (["dead", "drop", "--all", "1"], 2, "Error: Name the ids to drop, or say --all.\n"),
        (["dead", "drop", "first"], 2, "'first' is not a valid integer range."),
        (["replay", "9223372036854775808"], 2, "is not in the range"),
        (["verify", "--from", "2024-11-08", "--to", "2024-11-07"], 2, "Error: --from must be before --to.\n"),
        (["verify", "--from", "yesterday"], 2, "'yesterday' does not match the formats"),
        (["verify", "--sample", "2"], 2, "2.0 is not in the range"),
        (["archive", "07.11.2024"], 2, "'07.11.2024' does not match the format"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_a_sentence(
    embedded: Installation, arguments: list[str], code: int, sentence: str
) -> None:
    with_statistics(embedded, a_damaged_line)

    done = embedded.dawr("traffic", *arguments)

    assert (done.exit_code, done.said) == (code, "")
    assert sentence in done.complained


@pytest.mark.parametrize("arguments", [["status"], ["dead", "list"], ["replay"], ["query", "SELECT 1"]])
def test_an_installation_without_statistics_is_told_so(embedded: Installation, arguments: list[str]) -> None:
    done = embedded.dawr("traffic", *arguments)

    assert done.exit_code == 1
    assert done.complained == (
        f"Error: There are no traffic statistics in {embedded.settings['DAWR_DATA']}/traffic yet: "
        "`dawr serve` makes them.\n"
    )


@pytest.mark.parametrize("arguments", [["status"], ["dead", "list"], ["replay"], ["dead", "drop", "--all"]])
def test_a_database_without_the_tables_is_a_sentence(installation: Installation, arguments: list[str]) -> None:
    if isinstance(installation.database, Path):
        open_statistics(installation).path.parent.mkdir(parents=True)
        open_statistics(installation).path.touch()

    done = installation.dawr("traffic", *arguments)

    assert done.exit_code == 1
    assert done.complained.startswith("Error: ")
    assert "traffic_" in done.complained


def test_a_postgresql_that_is_away_is_a_sentence() -> None:
    done = dawr("traffic", "status", DAWR_DATABASE_URL="postgresql://dawr:hunter2@127.0.0.1:1/dawr")

    assert done.exit_code == 1
    assert done.complained.startswith("Error: PostgreSQL: ")
    assert "hunter2" not in done.complained


def test_old_heartbeats_are_named(installation: Installation) -> None:
    with_statistics(installation, lambda database: a_heartbeat(database, "one", beat_at=now() - 200_000))

    done = installation.dawr("traffic", "status")

    assert (done.exit_code, "✗  No heartbeat for more than 3 minutes: one.\n" in done.said) == (1, True)
