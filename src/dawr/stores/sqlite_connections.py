"""Connections to the SQLite file: the one that writes, and those that read."""

from pathlib import Path

import apsw

from dawr.reliability.sqlite import begin_wal

BUSY_MS = 2000
WAL_PAGES_BEFORE_CHECKPOINT = 4000
WAL_BYTES_KEPT = 64 * 1024 * 1024

ONE_USER_AT_A_TIME = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOMUTEX
"""SQLite need not lock the connection for every call, because the store lets one caller use it at a time."""


def open_writing(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=ONE_USER_AT_A_TIME)
    begin_wal(connection, busy_ms=BUSY_MS)
    connection.execute("PRAGMA user_version").fetchall()  # the first read makes the log
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}")
    connection.wal_autocheckpoint(WAL_PAGES_BEFORE_CHECKPOINT)
    _keep_plans(connection)
    return connection


def open_reading(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(BUSY_MS)
    _keep_plans(connection)
    return connection


def _keep_plans(connection: apsw.Connection) -> None:
    """Plan a statement once. Otherwise SQLite plans it again whenever new values are bound to an ordered one."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
