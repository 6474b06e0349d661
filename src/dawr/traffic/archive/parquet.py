"""The process that writes a Parquet file of details, or reads one back: `python -m` starts it."""

import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import duckdb
import msgspec

from dawr.reliability.statements import read_statements
from dawr.traffic.archive.checksum import Digest
from dawr.traffic.archive.child import serve
from dawr.traffic.archive.columns import EVENTS, TABLES
from dawr.traffic.archive.messages import FileRead, FileWritten, Keys, NextKeys, ReadFile, WriteFile

Message: TypeAlias = WriteFile | ReadFile | NextKeys

ROWS_AT_ONCE = 1000
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "256MB",
    "threads": "1",
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


@cache
def duckdb_statements() -> dict[str, str]:
    return read_statements(files("dawr.traffic") / "sql" / "duckdb")


class Parquet:
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._sql = duckdb_statements()

    def answer(self, message: Message) -> msgspec.Struct:
        match message:
            case WriteFile(source, target):
                write_parquet(self._connection, EVENTS, Path(source), Path(target))
                return FileWritten(self._rows_of(target), sha256_of(Path(target)))
            case ReadFile():
                return self._read_back(message)
            case NextKeys():
                return Keys(self._connection.fetchmany(ROWS_AT_ONCE))

    def _rows_of(self, file: str) -> int:
        self._connection.execute(self._sql["set_file"], [file])
        ((rows,),) = self._connection.execute(self._sql["rows_in_file"]).fetchall()
        return int(rows)

    def _read_back(self, request: ReadFile) -> FileRead:
        found = sha256_of(Path(request.file))
        if request.sha256 not in {"", found}:
            return FileRead(found)
        self._connection.execute(self._sql["set_file"], [request.file])
        digest = Digest()
        self._connection.execute(self._sql["events_in_file"])
        while rows := self._connection.fetchmany(ROWS_AT_ONCE):
            digest = digest.plus(rows)
        self._connection.execute(self._sql["keys_in_file"])
        return FileRead(found, digest.rows, digest.checksum)


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


if __name__ == "__main__":
    serve(Message, Parquet(duckdb.connect(":memory:", config=CONFIG)).answer)
