"""What a driver's error means and what to do about it, in words for whoever runs the server."""

import errno
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import apsw
import asyncpg

Kinds = tuple[type[BaseException], ...]

POSTGRES: Sequence[tuple[Kinds, str]] = (
    ((socket.gaierror,), "the name of its host is not known. Correct the address"),
    ((TimeoutError,), "it does not answer in time. Is it there, and does a firewall let this host through?"),
    ((ConnectionRefusedError, FileNotFoundError), "nobody listens at its address. Start it, or correct the address"),
    ((asyncpg.InvalidCatalogNameError,), "it has no database of this name. Make one, or correct the address"),
    (
        (asyncpg.InvalidAuthorizationSpecificationError,),
        "it does not let this account in. Correct the account in the address, or the password in PGPASSWORD",
    ),
    ((asyncpg.InsufficientPrivilegeError,), "the account may not do this. Make it the owner of the database"),
    ((asyncpg.TooManyConnectionsError,), "it takes no more connections. Raise max_connections, or lower DAWR_LANES"),
    ((asyncpg.CannotConnectNowError,), "it is starting or stopping. Wait a moment"),
    (
        (asyncpg.AdminShutdownError, asyncpg.CrashShutdownError),
        "it was shut down, or ended our session. Start it again",
    ),
    ((asyncpg.ReadOnlySQLTransactionError,), "it takes no writes: it is a standby. Name the primary in the address"),
    ((asyncpg.DiskFullError,), "its disk is full. Make room there"),
    ((asyncpg.LockNotAvailableError,), "somebody keeps a lock for too long. `dawr check` names the session"),
    ((asyncpg.QueryCanceledError,), "it took too long. Is it overloaded? `dawr check` names who waits"),
    ((asyncpg.UndefinedTableError,), "a table is not there ({words}). `dawr migrate` makes it"),
    (
        (asyncpg.ConnectionDoesNotExistError, asyncpg.ConnectionFailureError, ConnectionError),
        "the connection was lost. Is it still there?",
    ),
)
SQLITE: Sequence[tuple[Kinds, str]] = (
    (
        (apsw.CorruptError, apsw.NotADBError),
        "the file is damaged, or is no database. Restore a backup with `dawr restore`",
    ),
    ((apsw.FullError,), "the disk is full. Make room"),
    ((apsw.CantOpenError, apsw.PermissionsError), "the file cannot be opened. Look at who owns it and its directory"),
    ((apsw.ReadOnlyError,), "the file cannot be written. Look at who owns it and its directory"),
    ((apsw.BusyError, apsw.LockedError), "another program keeps the file busy. Close it"),
    ((apsw.IOError,), "the disk fails, or is full. Look at it"),
)
LEFT = "the installation of this database went back to"
"""What PostgreSQL says where it was left, to whoever would store something."""
MOVING = "a move of an installation to this database was cut short. It is still in"
UNREACHABLE = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, None})
"""None: the host has several addresses, and each failed in its own way."""


def of_postgres(error: BaseException) -> str:
    """A sentence or two; an error that nobody foresaw in its own words, and where to look."""
    if type(error) is OSError and error.errno in UNREACHABLE:
        error = ConnectionRefusedError(str(error))
    if LEFT in str(error):
        return f"{_words(error)}. Serve that directory, without DAWR_DATABASE_URL."
    return _reason(POSTGRES, error) or f"it says “{_words(error)}”. Look at its log."


def of_sqlite(error: BaseException) -> str:
    return _reason(SQLITE, error) or f"it says “{_words(error)}”. `dawr check` says more."


def of_either(error: BaseException) -> str:
    """Of whichever driver it is; or of what was made of its error, which begins with the name of the database."""
    driver = error.__cause__ or error
    reason = of_sqlite(driver) if isinstance(driver, apsw.Error) else of_postgres(driver)
    return reason if driver is error else f"{str(error).partition(': ')[0]}: {reason}"


def of_system(error: OSError) -> str:
    """What the system says, without its number and in its own words: a driver may have put others there."""
    return _words(error) if error.errno is None else os.strerror(error.errno)


def damage(path: Path, what: str) -> str:
    """The way out of it, too."""
    return (
        f"The database {path} is damaged ({what}): nothing can be stored in it. Stop the server, and put the latest "
        f"backup in its place: `dawr restore --replace --data {path.parent} BACKUP`, as docs/run/backup.md says."
    )


def missing(path: str) -> str:
    """Explain that a file of the database is no longer at its path, and how to get out of that."""
    return (
        f"{path} was removed or replaced while the server has it open: what would be stored now would be lost, so "
        "nothing is. Find out what did it and stop the server. Then put the file back, or the latest backup: "
        f"`dawr restore --replace --data {Path(path).parent} BACKUP`, as docs/run/backup.md says."
    )


def _reason(known: Sequence[tuple[Kinds, str]], error: BaseException) -> str:
    reason = next((reason for kinds, reason in known if isinstance(error, kinds)), "").replace("{words}", _words(error))
    return reason if not reason or reason.endswith("?") else f"{reason}."


def _words(error: BaseException) -> str:
    return str(error).rstrip(".") or type(error).__name__
