"""One SELECT over live rows and archives, on both databases."""

import subprocess
import sys
from pathlib import Path

import pytest

from dawr.traffic.archive.archiving import archive_due
from dawr.traffic.archive.export import remove_left_behind
from dawr.traffic.archive.query import QueryFailed, run_query
from dawr.traffic.database import Database
from dawr.traffic.directory import TrafficDirectory
from dawr.traffic.event import MS_PER_DAY, hour_of
from dawr.traffic.ledger import Entries, add_to_ledger
from dawr.traffic.sqlite import SqliteDatabase
from tests.traffic.archives import FILE, LATER, ON_SQLITE, Stopped, a_day_of, live, stopping_after
from tests.traffic.builders import NOON, an_event, counted

COUNT = "SELECT count(*), count(DISTINCT id || hash), sum(status), max(e.at) FROM traffic_events AS e"


@pytest.fixture
def directory(tmp_path: Path) -> TrafficDirectory:
    return TrafficDirectory(tmp_path / "traffic")


async def test_details_are_found_wherever_they_are_and_each_once(
    database: Database, directory: TrafficDirectory
) -> None:
    """A day in two files, one half of whose rows are still in the database, a late row, and a day that is not due."""
    await counted(database, [an_event(1, at=NOON - MS_PER_DAY)])
    await archive_due(database, directory, LATER)
    await counted(database, [an_event(2, at=NOON - MS_PER_DAY)])
    await a_day_of(database, 2500)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("deleted"))
    await counted(database, [an_event(9001), an_event(9002, at=NOON + MS_PER_DAY)], now=LATER)
    assert 0 < len(await live(database)) < 2500

    answer = await run_query(COUNT, database, directory)

    assert answer.rows == [(2504, 2504, 2504 * 200, NOON + MS_PER_DAY)]
    assert not answer.missing


async def test_aggregates_can_be_asked_and_joined(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(n, status=200 + 300 * (n % 2)) for n in range(10)])
    entries = Entries({(hour_of(NOON), "stored"): 10})
    await database.transact(lambda transaction: add_to_ledger(transaction, entries))

    answer = await run_query(
        """
        WITH hours AS (SELECT start AS hour, sum(requests) AS requests, sum(errors) AS errors
                       FROM traffic_hours WHERE span = 3600000 GROUP BY ALL)
        SELECT hours.requests, hours.errors, stored, (SELECT sum(requests) FROM traffic_minutes) AS by_minute
        FROM hours JOIN traffic_ledger USING (hour)
        """,
        database,
        directory,
    )

    assert answer.columns == ("requests", "errors", "stored", "by_minute")
    assert answer.rows == [(10, 5, 10, 10)]


@ON_SQLITE
async def test_a_row_that_is_counted_again_after_its_archive_is_one_row(
    database: Database, directory: TrafficDirectory
) -> None:
    await counted(database, [an_event(1)])
    await archive_due(database, directory, LATER)
    await database.change_rows("purge_seen", LATER, 1000)
    await counted(database, [an_event(1)], now=LATER)
    assert len(await live(database)) == 1

    assert (await run_query(COUNT, database, directory)).rows == [(1, 1, 200, NOON)]


@ON_SQLITE
async def test_an_archive_that_is_not_here_is_named(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1), an_event(2, at=NOON + MS_PER_DAY)])
    await archive_due(database, directory, LATER)
    (directory.archive / FILE).unlink()

    answer = await run_query("SELECT request_id FROM traffic_events", database, directory)

    assert (answer.rows, answer.missing) == ([("2",)], (FILE,))


@ON_SQLITE
async def test_a_long_answer_is_cut_and_says_so(database: Database, directory: TrafficDirectory) -> None:
    await a_day_of(database, 500)
    asked = "SELECT request_id FROM traffic_events"

    answers = [await run_query(asked, database, directory, rows=rows) for rows in (499, 500)]
    large = await run_query("SELECT repeat('x', 1000000) FROM range(100)", database, directory)

    assert [(len(answer.rows), answer.is_cut) for answer in answers] == [(499, True), (500, False)]
    assert large.is_cut


@ON_SQLITE
async def test_values_that_json_has_no_word_for_come_as_text(database: Database, directory: TrafficDirectory) -> None:
    (row,) = (
        await run_query("SELECT DATE '2024-11-07', [1, 2], 2::HUGEINT ** 0, NULL, true, 1e3", database, directory)
    ).rows

    assert row == ("2024-11-07", "[1, 2]", 1.0, None, True, 1000.0)


@ON_SQLITE
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT list(range) FROM range(1000000000)", "Out of Memory"),
        ("SELECT repeat('x', 100000000) FROM range(100)", "Out of Memory"),
        ("SELECT nothing FROM traffic_events", "nothing"),
        ("SELEC 1", "syntax error"),
        ("SELECT at FROM traffic_events", 'the column "at" only in quotes'),
        ("", "Exactly one statement"),
    ],
)
async def test_what_cannot_be_answered_is_said_in_one_line(
    database: Database, directory: TrafficDirectory, sql: str, said: str
) -> None:
    with pytest.raises(QueryFailed, match=said) as failed:
        await run_query(sql, database, directory)

    assert "\n" not in str(failed.value)
    assert not list(directory.path.glob("query-*"))


@ON_SQLITE
async def test_a_statement_that_takes_too_long_is_stopped(database: Database, directory: TrafficDirectory) -> None:
    with pytest.raises(QueryFailed, match=r"longer than 0\.5 seconds"):
        await run_query("SELECT count(*) FROM range(1000000000000)", database, directory, seconds=0.5)

    assert not list(directory.path.glob("query-*"))


@ON_SQLITE
async def test_a_bad_file_whose_rows_are_all_in_the_database_is_not_needed(
    database: Database, directory: TrafficDirectory
) -> None:
    await a_day_of(database, 50)
    with pytest.raises(Stopped):
        await archive_due(database, directory, LATER, progress=stopping_after("recorded"))
    (directory.archive / FILE).write_bytes(b"damaged")

    assert (await run_query(COUNT, database, directory)).rows[0][0] == 50


@ON_SQLITE
async def test_a_database_that_can_only_be_read_is_enough(database: Database, directory: TrafficDirectory) -> None:
    await counted(database, [an_event(1)])
    assert isinstance(database, SqliteDatabase)
    reading = SqliteDatabase(database.path, read_only=True)

    answer = await run_query(COUNT, reading, directory)
    await reading.close()

    assert answer.rows[0][0] == 1


@ON_SQLITE
async def test_without_the_extra_a_query_says_how_to_get_it(
    database: Database, directory: TrafficDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)

    with pytest.raises(QueryFailed, match=r"make install EXTRAS=archive"):
        await run_query("SELECT 1", database, directory)


def test_whoever_asks_does_not_import_duckdb() -> None:
    asks = "import sys, dawr.traffic.archive.query, dawr.traffic.archive.retention; sys.exit('duckdb' in sys.modules)"

    assert subprocess.run((sys.executable, "-c", asks), check=False).returncode == 0


def test_what_a_killed_query_left_is_removed(directory: TrafficDirectory) -> None:
    directory.prepare()
    (directory.path / "query-left").mkdir()

    remove_left_behind(directory)

    assert not list(directory.path.glob("query-*"))
