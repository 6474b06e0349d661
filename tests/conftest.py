"""What every test may ask for."""

from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import settings

from tests.servers import PostgresServer, ValkeyServer, server_directory

# How long an example takes depends on what else the machine does.
settings.register_profile("dawr", deadline=None)
settings.load_profile("dawr")

LONGEST_FIRST = ("stories", "operations", "cli", "reliability")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long begin first, so that at the end no process waits for another."""
    items.sort(key=lambda item: _place_of(item.path.parent.name))


def _place_of(folder: str) -> int:
    return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(autouse=True)
def logs_as_by_default() -> Iterator[None]:
    """A command that was run within a test sets up the logs of its process; the next test has its own."""
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
