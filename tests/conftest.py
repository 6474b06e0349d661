"""What every test may ask for."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import hypothesis
import pytest
import structlog

from tests.servers import PostgresServer, ValkeyServer, server_directory
from tests.servers.run import directory_of_run
from tests.sizes import needs_servers
from tests.stores.databases import PostgresDatabase

hypothesis.settings.register_profile("on a busy machine", deadline=None)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=20)
hypothesis.settings.load_profile("on a busy machine")

LONGEST_FIRST = ("stories", "browser", "operations", "cli", "reliability")


def pytest_configure(config: pytest.Config) -> None:
    run = ExitStack()
    run.enter_context(directory_of_run())
    config.add_cleanup(run.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long begin first, so that at the end no process waits for another."""
    items.sort(key=lambda item: _place_of(item.path.parent.name))
    named = Counter[str]()
    for item in items:
        # Fuzzing gives all its tests one name, and a test is known to the processes of a run by its name.
        named[item.nodeid] += 1
        if named[item.nodeid] > 1:
            item._id = dataclasses.replace(item.id, params=str(named[item.nodeid]))
        if needs_servers(item):
            item.add_marker("servers")


def _place_of(folder: str) -> int:
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(autouse=True)
def plain_logs() -> Iterator[None]:
    """A command that was run within a test sets up the logs of its process; the next test has its own.

    By default, structlog draws a fault with the values of all variables, which takes seconds.
    """
    renderer = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, renderer])
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One for the whole run: a test that kills its server starts one of its own."""
    with server_directory() as directory, PostgresServer(directory) as server:
        yield server


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[ValkeyServer]:
    """One for the whole run: a test that kills its server starts one of its own."""
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of the test's own, empty at first."""
    with postgres_server.lend_database() as url:
        yield url


@pytest.fixture
def migrated_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The same with its tables, and nobody's rows."""
    with postgres_server.lend_migrated_database(migrate) as url:
        yield url


async def migrate(url: str) -> None:
    store = await PostgresDatabase(url).open()
    await store.migrate()
    await store.close()
