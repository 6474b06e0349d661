"""A private PostgreSQL."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg

from tests.servers.account import account, may_run, unprivileged
from tests.servers.process import ServerFailed, environment
from tests.servers.programs import find_postgres, postgres_of_wheel
from tests.servers.server import Server

EMPTY_DATABASE = """
    DO $$
    DECLARE schema text;
    BEGIN
        FOR schema IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' LOOP
            EXECUTE format('DROP SCHEMA %I CASCADE', schema);
        END LOOP;
        CREATE SCHEMA public;
    END $$
"""


class PostgresServer(Server):
    """PostgreSQL with its durable defaults, and without passwords."""

    abort_signal = signal.SIGQUIT
    stop_signal = signal.SIGINT

    def __init__(self, directory: Path, *, host: str | None = None, address: str = "127.0.0.1") -> None:
        super().__init__(directory, host=host, address=address)
        self._loans = itertools.count(1)
        self._returned: list[str] = []

    @property
    def url(self) -> str:
        return self._url("postgres")

    def create_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        self._run(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return self._url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self._run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    @contextlib.contextmanager
    def lend_database(self) -> Iterator[str]:
        """An empty database for a while.

        The next borrower gets it emptied and under another name, which is much quicker than a new one.
        """
        name = f"lent_{next(self._loans)}"
        if self._returned:
            self._renew(self._returned.pop(), name)
        else:
            self.create_database(name)
        yield self._url(name)
        self._returned.append(name)

    def _renew(self, old: str, new: str) -> None:
        self._run(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{old}'")
        self._run(f'ALTER DATABASE "{old}" RENAME TO "{new}"')
        self._run(EMPTY_DATABASE, database=new)

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
        initdb = [str(self._bin / "initdb"), "-D", str(self._data), "-U", "dawr", "-A", "trust"]
        made = subprocess.run(
            [*initdb, "-E", "UTF8", "--no-locale", "--no-sync"],
            cwd=self.directory,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            **account(uid),
        )
        if made.returncode != 0:
            raise ServerFailed(f"PostgreSQL cannot make its data directory: {made.stderr}")
        if self.host is not None:
            with (self._data / "pg_hba.conf").open("a", encoding="utf-8") as who_may:
                who_may.write("host all dawr samenet trust\n")

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
        return self._copy_of_wheel(found.parent)

    def _copy_of_wheel(self, installed: Path) -> Path:
        """The wheel's programs where the other user can reach them: a virtual environment may be private."""
        package = self.directory / "wheel" / installed.parent.name
        if not package.exists():
            libraries = f"{installed.parent.name}.libs"
            shutil.copytree(installed, package / installed.name, ignore=shutil.ignore_patterns("include"))
            shutil.copytree(installed.parent.with_name(libraries), package.with_name(libraries))
            for path in [package.parent, *package.parent.rglob("*")]:
                path.chmod(path.stat().st_mode | (path.stat().st_mode & 0o500) >> 6)
        return package / installed.name / "bin"

    def _command(self) -> Sequence[str]:
        settings = {
            "listen_addresses": "127.0.0.1" if self.host is None else "*",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "max_connections": 200,
            "shared_buffers": "128MB",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(self._bin / "postgres"), "-D", str(self._data), *options]

    def _accepts(self) -> bool:
        try:
            self._run("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    def _run(self, statement: str, *, database: str = "postgres") -> None:
        """In a thread of its own, because the caller may be inside an event loop."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, self._execute(statement, database)).result()

    async def _execute(self, statement: str, database: str) -> None:
        connection = await asyncpg.connect(self._url(database), ssl=False, timeout=5)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()
