"""Real processes that are frozen, thawed and killed: one works at a time, and no work is done under an old fence."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dawr.domain.venue import Venue
from tests.builders import a_venue
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.doing import create_venue

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
LEASE_MS = 3000
"""A process that is starved for so long has lost it, though nobody froze it."""
SECONDS = 90.0
"""A process that is frozen while it writes is cut off by the server after five seconds."""


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "sqlite":
        return SqliteDatabase(tmp_path / "dawr.db")
    return PostgresDatabase(request.getfixturevalue("postgres_url"))


@pytest.fixture
async def venue(database: Database) -> Venue:
    store = await database.open()
    await store.migrate()
    venue = await create_venue(store, a_venue())
    await store.close()
    return venue


class Worker:
    """`tests.reliability.lease_worker` in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def said(self, word: str) -> int:
        """Wait for the word; the fence it was said with."""
        assert self._process.stdout is not None
        async with asyncio.timeout(SECONDS):
            async for line in self._process.stdout:
                if line.startswith(word.encode()):
                    return int(line.split()[1])
        raise AssertionError(f"The worker ended and never said {word}.")

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)


@asynccontextmanager
async def a_worker(database: Database, venue: Venue, name: str) -> AsyncIterator[Worker]:
    where = database.url if isinstance(database, PostgresDatabase) else str(getattr(database, "path", ""))
    given = ("-m", "tests.reliability.lease_worker", where, venue.id, name, str(LEASE_MS))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *given, cwd=REPOSITORY, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield Worker(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_whoever_was_frozen_past_its_lease_changes_nothing_when_it_thaws(
    postgres_url: str,
) -> None:
    database = PostgresDatabase(postgres_url)
    store = await database.open()
    await store.migrate()
    venue = await create_venue(store, a_venue())
    await store.close()
    async with a_worker(database, venue, "first") as first:
        assert await first.said("began") == 1
        await until_there_are(database, 3, under=1)

        first.send(signal.SIGSTOP)
        async with a_worker(database, venue, "second") as second:
            assert await second.said("began") == 2
            await until_there_are(database, 3, under=2)
            before = await fences_of_numbers(database)
            first.send(signal.SIGCONT)

            assert await first.said("refused") == 1
            await until_there_are(database, before.count(2) + 3, under=2)

            after = await fences_of_numbers(database)
            assert after.count(1) == before.count(1)
            assert after == sorted(after)
            second.send(signal.SIGKILL)
            assert await first.said("began") == 3


async def test_whoever_was_killed_is_followed_by_the_other_after_its_lease(database: Database, venue: Venue) -> None:
    async with a_worker(database, venue, "one") as one, a_worker(database, venue, "two") as two:
        began = [asyncio.create_task(worker.said("began")) for worker in (one, two)]
        (done,), (waiting,) = await asyncio.wait(began, return_when=asyncio.FIRST_COMPLETED)
        first = (one, two)[began.index(done)]
        await until_there_are(database, 3, under=1)

        first.send(signal.SIGKILL)

        assert (await done, await waiting) == (1, 2)
        await until_there_are(database, 3, under=2)
        fences = await fences_of_numbers(database)
        assert fences == sorted(fences)


async def fences_of_numbers(database: Database) -> list[int]:
    """In the order in which they were stored."""
    return [int(actor.split()[0]) for (actor,) in await database.rows("SELECT actor FROM events ORDER BY version")]


async def until_there_are(database: Database, count: int, *, under: int) -> None:
    async with asyncio.timeout(SECONDS):
        while (await fences_of_numbers(database)).count(under) < count:  # noqa: ASYNC110 - a database tells nobody
            await asyncio.sleep(0.05)
