"""Numbered files of an owner's, applied once and in order, also to a database that was made before."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from dawr.reliability.migrations import Journal, migrate_sqlite, read_migrations
from dawr.reliability.records import kit_journal
from dawr.reliability.sqlite import SqliteConnection, begin_wal
from dawr.reliability.sqlite_records import SqliteRecords
from tests.reliability.backends import connect_sqlite3

CONNECTS = pytest.mark.parametrize("connect", [apsw.Connection, connect_sqlite3])

TRIGGER = """-- Who left; when; why.
CREATE TABLE gone (name TEXT);

CREATE TRIGGER remember AFTER DELETE ON people BEGIN
    INSERT INTO gone (name)
    VALUES (old.name);
END;
"""


def a_package(folder: Path, name: str, **migrations: str) -> str:
    """One that owns tables; the same in each dialect."""
    for dialect in ("sqlite", "postgres"):
        inside = folder / name / "sql" / dialect / "migrations"
        inside.mkdir(parents=True)
        for title, sql in migrations.items():
            (inside / f"{title.removeprefix('m')}.sql").write_text(sql, encoding="utf-8")
    (folder / name / "__init__.py").touch()
    return name


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    name = f"owner_{tmp_path.name}"
    return a_package(
        tmp_path / "packages", name, m0010_who_left=TRIGGER, m0002_people="CREATE TABLE people (name TEXT);\n"
    )


def test_they_are_read_in_the_order_of_their_numbers(people: str) -> None:
    found = read_migrations("sqlite", {"people": people, "reliability": "dawr.reliability"})

    assert [migration.title for migration in found][:2] == ["people 0002 people", "people 0010 who left"]
    assert found[2].title == "reliability 0001 one answer per key"


@CONNECTS
def test_a_script_of_several_statements_is_applied_whole_by_every_library(
    people: str, tmp_path: Path, connect: Callable[[str], SqliteConnection]
) -> None:
    found = read_migrations("sqlite", {"people": people})
    journal = Journal(
        "CREATE TABLE IF NOT EXISTS done (number INTEGER)",
        "SELECT number FROM done",
        "INSERT INTO done VALUES (?1)",
        row=lambda migration: (migration.number,),
        pending=lambda applied: [one for one in found if (one.number,) not in list(applied)],
    )
    with closing(connect(str(tmp_path / "people.db"))) as connection:
        made = [[one.number for one in migrate_sqlite(connection, journal)] for _ in range(2)]
        connection.execute("INSERT INTO people VALUES ('Amna')")
        connection.execute("DELETE FROM people")
        gone = connection.execute("SELECT name FROM gone").fetchall()

    assert made == [[2, 10], []]
    assert gone == [("Amna",)]


async def test_a_file_that_an_older_kit_made_gets_only_what_it_lacks(tmp_path: Path) -> None:
    first, *later = kit_journal("sqlite").pending([])
    with closing(sqlite3.connect(tmp_path / "kit.db", isolation_level=None)) as older:
        older.executescript(
            f"CREATE TABLE kit_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL); {first.sql}"
        )
        older.execute("INSERT INTO kit_migrations VALUES (1, 'one_answer_per_key')")
    records = SqliteRecords(tmp_path / "kit.db")

    made = await records.create_tables()
    await records.close()

    assert made == [migration.name for migration in later]


async def test_what_a_newer_kit_made_is_left_alone(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "kit.db")
    await records.create_tables()
    await records.close()
    with closing(apsw.Connection(str(tmp_path / "kit.db"))) as newer:
        newer.execute("INSERT INTO kit_migrations VALUES (9999, 'from_the_future')")

    again = SqliteRecords(tmp_path / "kit.db")
    assert await again.create_tables() == []
    await again.close()


@CONNECTS
def test_a_file_that_is_busy_is_tried_again_and_one_that_is_no_database_fails_at_once(
    tmp_path: Path, connect: Callable[[str], SqliteConnection]
) -> None:
    path = tmp_path / "no database"
    path.write_bytes(b"something else altogether" * 100)
    began = time.monotonic()

    with closing(connect(str(path))) as connection, pytest.raises((apsw.NotADBError, sqlite3.DatabaseError)):
        begin_wal(connection, busy_ms=600_000)

    assert time.monotonic() - began < 10


@CONNECTS
def test_a_file_that_stays_busy_is_told_to_be(tmp_path: Path, connect: Callable[[str], SqliteConnection]) -> None:
    path = str(tmp_path / "busy.db")
    with closing(connect(path)) as holder, closing(connect(path)) as connection:
        holder.execute("BEGIN EXCLUSIVE")

        with pytest.raises((apsw.BusyError, sqlite3.OperationalError), match="database is locked"):
            begin_wal(connection, busy_ms=20)

        holder.execute("ROLLBACK")
        begin_wal(connection, busy_ms=20)
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
        assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]
