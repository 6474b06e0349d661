"""A private PostgreSQL."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import asyncpg

from tests.servers.account import account, may_run, unprivileged
from tests.servers.loans import Loans
from tests.servers.process import ServerFailed, environment
from tests.servers.programs import find_postgres, postgres_of_wheel
from tests.servers.run import shared
from tests.servers.server import Server

T = TypeVar("T")

HOW_IT_IS_MADE = ("-U", "dawr", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
CONNECT_SECONDS = 30.0


class PostgresServer(Server):
    """PostgreSQL with its durable defaults, and without passwords."""

    abort_signal = signal.SIGQUIT
    stop_signal = signal.SIGINT

    def __init__(self, directory: Path, *, host: str | None = None, address: str = "127.0.0.1") -> None:
        super().__init__(directory, host=host, address=address)
        self._empty = Loans(self, "lent")
        self._migrated: Loans | None = None

    @property
    def url(self) -> str:
        return self._url("postgres")

    def create_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        self.run(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return self._url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @contextlib.contextmanager
    def lend_database(self) -> Iterator[str]:
        """An empty database for a while."""
        with self._empty.lend() as name:
            yield self._url(name)

    @contextlib.contextmanager
    def lend_migrated_database(self, migrate: Callable[[str], Coroutine[Any, Any, None]]) -> Iterator[str]:
        """One that has its tables, as `migrate` makes them at its URL, and nobody's rows."""
        if self._migrated is None:
            self._migrated = Loans(self, "migrated", lambda name: in_thread(migrate(self._url(name))))
        with self._migrated.lend() as name:
            yield self._url(name)

    def run(self, statement: str, *, database: str = "postgres") -> None:
        in_thread(self._execute(statement, database))

    def ask(self, question: str, *, database: str = "postgres") -> str:
        """The one value that answers a question."""
        return in_thread(self._fetch(question, database))

    def _url(self, database: str) -> str:
        return f"postgresql://dawr@{self.address}:{self.port}/{database}"

    def _uid(self) -> int | None:
        """PostgreSQL refuses to run as root."""
        return unprivileged()

    def _prepare(self) -> None:
        self._bin = self._programs()
        if self._data.exists():
            return
        uid = self._uid()
        if uid is not None:
            os.chown(self.directory, uid, uid)
        if not may_run(self.directory, uid):
            raise ServerFailed(
                f"PostgreSQL cannot reach {self.directory} as user {uid}: "
                "use server_directory(), or set TMPDIR to a directory open to everyone, such as /tmp."
            )
        self._fill_data()
        if self.host is not None:
            with (self._data / "pg_hba.conf").open("a", encoding="utf-8") as who_may:
                who_may.write("host all dawr samenet trust\n")

    def _fill_data(self) -> None:
        """`initdb` takes seconds: what it made once is copied by every other server of the run."""
        with shared() as directory:
            if directory is None:
                self._initdb()
                return
            kept = directory / f"data-{mark(find_postgres())}-{self._uid()}"
            if kept.exists():
                self._do("/bin/cp", "-R", str(kept), str(self._data))
                return
            self._initdb()
            unfinished = kept.with_suffix(".unfinished")
            self._do("/bin/cp", "-R", str(self._data), str(unfinished))
            unfinished.rename(kept)

    def _initdb(self) -> None:
        self._do(str(self._bin / "initdb"), "-D", str(self._data), *HOW_IT_IS_MADE)

    def _do(self, *command: str) -> None:
        made = subprocess.run(
            command,
            cwd=self.directory,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            **account(self._uid()),
        )
        if made.returncode != 0:
            raise ServerFailed(f"PostgreSQL cannot make its data directory: {made.stderr}")

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _programs(self) -> Path:
        found = find_postgres()
        if may_run(found / "postgres", self._uid()):
            return found
        if found != postgres_of_wheel():
            raise ServerFailed(
                f"User {self._uid()} may not run {found / 'postgres'}: open its directories to everyone."
            )
        with shared() as directory:
            return copy_of_wheel(found.parent, (directory or self.directory) / f"wheel-{mark(found)}")

    def _command(self) -> Sequence[str]:
        settings = {
            "listen_addresses": "127.0.0.1" if self.host is None else "*",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "max_connections": 200,
            "shared_buffers": "128MB",
            "autovacuum": "off",  # a plan must not hang on when it came by
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._bin / "postgres"), "-D", str(self._data), *options]

    def _accepts(self) -> bool:
        try:
            self.run("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    async def _execute(self, statement: str, database: str) -> None:
        connection = await asyncpg.connect(self._url(database), ssl=False, timeout=CONNECT_SECONDS)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def _fetch(self, question: str, database: str) -> str:
        connection = await asyncpg.connect(self._url(database), ssl=False, timeout=CONNECT_SECONDS)
        try:
            return str(await connection.fetchval(question))
        finally:
            await connection.close()


def copy_of_wheel(installed: Path, place: Path) -> Path:
    """The wheel's programs where the other user can reach them: a virtual environment may be private."""
    package = place / installed.parent.name
    if not package.exists():
        libraries = f"{installed.parent.name}.libs"
        shutil.copytree(installed, package / installed.name, ignore=shutil.ignore_patterns("include"))
        shutil.copytree(installed.parent.with_name(libraries), package.with_name(libraries))
        for path in [place, *place.rglob("*")]:
            path.chmod(path.stat().st_mode | (path.stat().st_mode & 0o500) >> 6)
    return package / installed.name / "bin"


def mark(path: Path) -> str:
    return f"{crc32(str(path).encode()):08x}"


def in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Because the caller may be inside an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
