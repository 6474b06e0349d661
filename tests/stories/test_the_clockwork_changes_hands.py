"""Two servers on one PostgreSQL: one has the clockwork, and the other takes it over, whatever happens to the first."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.running import DawrServer, eventually
from tests.stores.databases import PostgresDatabase

TAKEN_OVER_SECONDS = 20.0


@pytest.mark.prove
def test_a_server_that_is_frozen_or_killed_loses_the_clockwork_to_the_other(tmp_path: Path, postgres_url: str) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = DawrServer(tmp_path / "one", "serve", DAWR_DATABASE_URL=postgres_url)
    two = DawrServer(tmp_path / "two", "serve", DAWR_DATABASE_URL=postgres_url)
    with one, two:
        eventually(lambda: holder(postgres_url)[0] in {one.pid, two.pid})
        first, second = (one, two) if holder(postgres_url) == (one.pid, 1) else (two, one)
        assert holder(postgres_url) == (first.pid, 1)

        os.kill(first.pid, signal.SIGSTOP)
        eventually(lambda: holder(postgres_url) == (second.pid, 2), seconds=TAKEN_OVER_SECONDS)
        os.kill(first.pid, signal.SIGCONT)
        eventually(lambda: "lease.lost" in first.log.read_text(encoding="utf-8"))
        assert holder(postgres_url) == (second.pid, 2)

        second.kill()
        eventually(lambda: holder(postgres_url) == (first.pid, 3), seconds=TAKEN_OVER_SECONDS)
        second.start()
        first.stop()
        eventually(lambda: holder(postgres_url) == (second.pid, 4))
        first.start()


def holder(url: str) -> tuple[int, int]:
    """The process that has the clockwork, and its fence."""
    rows = asyncio.run(PostgresDatabase(url).rows("SELECT holder, fence FROM leases WHERE name = 'clockwork'"))
    return (int(rows[0][0].split()[1]), rows[0][1]) if rows and rows[0][0] else (0, 0)
