"""The process that runs one SELECT: it reads the files that it was given, and reaches nothing else.

Archives are read where they are; lines of JSON from the database become Parquet files first, so that a statement
may look at them more than once.
"""

import resource
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import msgspec

from dawr.traffic.archive.child import serve
from dawr.traffic.archive.columns import EVENTS
from dawr.traffic.archive.messages import Cell, Columns, NextRows, Question, Rows, Sources, Wanted
from dawr.traffic.archive.parquet import CONFIG, duckdb_statements, write_parquet
from dawr.traffic.archive.selecting import tables_of

Message: TypeAlias = Question | Sources | NextRows

ROWS_AT_ONCE = 100
MOST_BYTES = 16 * 1024 * 1024
"""Of an answer, as JSON."""
LARGEST_INT = 2**63
MOST_MEMORY = 640 * 1024 * 1024
"""DuckDB does not count all that it takes against its own limit of 256 MB; the system does."""


class Sandbox:
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._sql = ""
        self._left = 0
        self._bytes_left = MOST_BYTES

    def answer(self, message: Message) -> msgspec.Struct:
        match message:
            case Question(sql):
                self._sql = sql
                return Wanted(tables_of(self._connection, sql))
            case Sources():
                shut_in(self._connection, message)
                self._left = message.most_rows
                self._connection.execute(self._sql)
                return Columns([name for name, *_ in self._connection.description or ()])
            case NextRows():
                return self._next_rows()

    def _next_rows(self) -> Rows:
        rows = [[_cell(value) for value in row] for row in self._connection.fetchmany(ROWS_AT_ONCE)]
        size = len(msgspec.json.encode(rows))
        shown = rows[: self._left] if size <= self._bytes_left else []
        self._left -= len(shown)
        self._bytes_left -= size
        return Rows(shown, is_cut=len(shown) < len(rows))


def shut_in(connection: duckdb.DuckDBPyConnection, sources: Sources) -> None:
    """Make the tables that were asked for, then shut everything else out, for good."""
    sql = duckdb_statements()
    folder = Path(sources.folder)
    connection.execute(sql["set_folder"], [str(folder / "spill")])
    connection.execute(sql["spill_into_folder"])
    connection.execute(sql["bound_folder"])
    tables = {table: [_parquet(connection, table, path) for path in lines] for table, lines in sources.tables.items()}
    if EVENTS in tables:
        nothing = folder / "nothing.lines"
        nothing.touch()
        empty = _parquet(connection, EVENTS, str(nothing))
        tables[EVENTS] += [empty, *sources.archives]
        overlapping = [_parquet(connection, EVENTS, path) for path in sources.overlapping]
        tables["overlapping"] = [empty, *overlapping, *sources.overlapping_archives]
    for name, files in tables.items():
        connection.execute(sql[f"set_{name}"], [files])
    for table in sources.tables:
        connection.execute(sql[f"show_{table}"])
    connection.execute(sql["set_allowed"], [[file for files in tables.values() for file in files]])
    for name in ("allow_files", "shut_out_all_else", "lock_settings"):
        connection.execute(sql[name])


def _parquet(connection: duckdb.DuckDBPyConnection, table: str, lines: str) -> str:
    target = Path(lines).with_suffix(".parquet")
    write_parquet(connection, table, Path(lines), target)
    Path(lines).unlink()
    return str(target)


def _cell(value: Any) -> Cell:  # noqa: ANN401 - whatever DuckDB has types for
    if isinstance(value, int) and not -LARGEST_INT <= value < LARGEST_INT:
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    serve(Message, Sandbox(duckdb.connect(":memory:", config=CONFIG)).answer)
