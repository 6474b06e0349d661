"""Named SQL from files."""

from pathlib import Path

import pytest

from dawr.reliability.statements import read_statements


def test_a_statement_is_everything_between_its_name_and_the_next(tmp_path: Path) -> None:
    (tmp_path / "tickets.sql").write_text(
        "-- Tickets.\n\n-- name: one\nSELECT 1\nFROM a;\n\n-- name: two\nSELECT 2;\n", encoding="utf-8"
    )

    assert read_statements(tmp_path) == {"one": "SELECT 1\nFROM a", "two": "SELECT 2"}


def test_statements_of_all_files_are_read_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- name: one\nSELECT 1;\n", encoding="utf-8")
    (tmp_path / "b.sql").write_text("-- name: two\nSELECT 2;\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("-- name: three\nSELECT 3;\n", encoding="utf-8")
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0001_first.sql").write_text("-- name: four\nSELECT 4;\n", encoding="utf-8")

    assert set(read_statements(tmp_path)) == {"one", "two"}


def test_a_comment_before_the_first_name_belongs_to_no_statement(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- What this file is for.\nSELECT 0;\n-- name: one\nSELECT 1;\n", encoding="utf-8")

    assert read_statements(tmp_path) == {"one": "SELECT 1"}


@pytest.mark.parametrize("files", [("a.sql", "a.sql"), ("a.sql", "b.sql")])
def test_two_statements_of_one_name_are_refused(tmp_path: Path, files: tuple[str, str]) -> None:
    for file in files:
        with (tmp_path / file).open("a", encoding="utf-8") as text:
            text.write("-- name: next_waiting\nSELECT 1;\n")

    with pytest.raises(ValueError, match="two SQL statements are named next_waiting"):
        read_statements(tmp_path)


def test_an_empty_folder_has_no_statements(tmp_path: Path) -> None:
    assert read_statements(tmp_path) == {}


def test_texts_that_are_not_ascii_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- name: one\nSELECT 'دور';\n", encoding="utf-8")

    assert read_statements(tmp_path) == {"one": "SELECT 'دور'"}
