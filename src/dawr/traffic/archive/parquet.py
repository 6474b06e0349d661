"""The process that writes a Parquet file of details, or reads one back: `python -m` starts it."""

import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from dawr.reliability.statements import read_statements
from dawr.traffic.archive.checksum import Digest
from dawr.traffic.archive.child import serve
from dawr.traffic.archive.columns import EVENTS, TABLES
from dawr.traffic.archive.messages import FileRead, FileWritten, Keys, ReadFile, WriteFile

ROWS_AT_ONCE = 1000
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "256MB",
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


@cache
def duckdb_statements() -> dict[str, str]:
    return read_statements(files("dawr.traffic") / "sql" / "duckdb")


def answers(hear: Callable[[Any], Any]) -> Iterator[msgspec.Struct]:
    request: WriteFile | ReadFile = hear(WriteFile | ReadFile)
    with duckdb.connect(":memory:", config=CONFIG) as connection:
        if isinstance(request, WriteFile):
            write_parquet(connection, EVENTS, Path(request.source), Path(request.target))
            rows = _rows_of(connection, request.target)
            yield FileWritten(rows, sha256_of(Path(request.target)))
        else:
            yield from _read_back(connection, request)


def write_parquet(connection: duckdb.DuckDBPyConnection, table: str, source: Path, target: Path) -> None:
    """When it returns, the disk has it."""
    sql = duckdb_statements()
    connection.execute(sql["set_columns"], [dict(TABLES[table])])
    connection.execute(sql["set_source"], [str(source)])
    connection.execute(sql["set_target"], [str(target)])
    connection.execute(sql["write_parquet"])
    with target.open("rb") as written:
        os.fsync(written.fileno())


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rows_of(connection: duckdb.DuckDBPyConnection, file: str) -> int:
    connection.execute(duckdb_statements()["set_file"], [file])
    rows: int = connection.execute(duckdb_statements()["rows_in_file"]).fetchall()[0][0]
    return rows


def _read_back(connection: duckdb.DuckDBPyConnection, request: ReadFile) -> Iterator[msgspec.Struct]:
    found = sha256_of(Path(request.file))
    if request.sha256 not in {"", found}:
        yield FileRead(found)
        return
    connection.execute(duckdb_statements()["set_file"], [request.file])
    digest = Digest()
    for rows in _chunks(connection, "events_in_file"):
        digest = digest.plus(rows)
    yield FileRead(found, digest.rows, digest.checksum)
    for keys in _chunks(connection, "keys_in_file"):
        yield Keys(keys)
    yield Keys([])


def _chunks(connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[list[Any]]:
    connection.execute(duckdb_statements()[name])
    while rows := connection.fetchmany(ROWS_AT_ONCE):
        yield rows


if __name__ == "__main__":
    serve(answers, hears=1)
