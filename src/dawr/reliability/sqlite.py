"""A connection to a file of SQLite that keeps what was committed, through whichever library."""

import time
from typing import Any, Protocol

import apsw

TRIES = 50
PRIMARY_CODE = 0xFF
"""The rest of an error code says more about the same error."""


class SqliteConnection(Protocol):
    """What `apsw` and Python's own `sqlite3` have in common."""

    @property
    def in_transaction(self) -> bool:
        """Whether one was begun, and has not ended."""

    def execute(self, statement: str, bindings: tuple[str | int | bytes | None, ...] = (), /) -> Any:  # noqa: ANN401
        """The cursor of one statement."""

    def close(self) -> None:
        """What is open is rolled back."""


def begin_wal(connection: SqliteConnection, *, busy_ms: int) -> None:
    """Commits wait for the disk, readers do not wait for writers, and who finds the file busy waits so long."""
    connection.execute(f"PRAGMA busy_timeout = {busy_ms}")
    for tries_left in reversed(range(TRIES)):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except Exception as error:
            # Of two that turn a new file to WAL at once, one is told that it is busy without being let wait.
            if not tries_left or not _is_busy(error):
                raise
            time.sleep(busy_ms / 1000 / TRIES)
    connection.execute("PRAGMA synchronous = FULL")


def _is_busy(error: Exception) -> bool:
    is_busy: bool = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE == apsw.SQLITE_BUSY
    return isinstance(error, apsw.BusyError) or is_busy
