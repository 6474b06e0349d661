"""`dawr migrate --to` killed half-way: nothing is there, or all of it, and the next run knows which."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import asyncpg
import pytest

from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import PROGRAM, Finished, _environment, venue_document

pytestmark = pytest.mark.slow

MOMENTS = {
    "before the first row": "BEFORE INSERT ON accounts FOR EACH STATEMENT",
    "in the middle of a table": "BEFORE INSERT ON tickets FOR EACH ROW WHEN (NEW.number = 7000)",
    "behind the last row": "AFTER INSERT ON visits FOR EACH STATEMENT",
}
AT_COMMIT = "CONSTRAINT TRIGGER hang AFTER INSERT ON heads DEFERRABLE INITIALLY DEFERRED FOR EACH ROW"
HELD = 42


@pytest.fixture
def large(embedded: Installation) -> Iterator[Installation]:
    """Ten thousand numbers were given."""
    run_here(embedded, "venue", "apply", "-", stdin=venue_document({"id": "lab"}))
    assert isinstance(embedded.database, Path)
    connection = apsw.Connection(str(embedded.database))
    connection.execute(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO tickets (
            venue_id, ticket_id, queue_id, day, round, number, label, priority, sequence, state, visitor, visit_id,
            issued_at, version, recalls
        )
        SELECT venue_id, 'ticket-' || i, 'lab', '2026-03-01', 1, i, 'A' || i, 0, i, 'finished', 'visitor', 'v', i, i, 0
        FROM n, heads
        """
    )
    connection.close()
    yield embedded
    assert embedded.rows("SELECT count(*), sum(number) FROM tickets") == [(10_000, 50_005_000)]


def move(source: Installation, target: Installation) -> Finished:
    return run_here(source, "migrate", "--to", str(target.database))


@asynccontextmanager
async def hanging(url: str, trigger: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Whoever copies into the database stops at this moment, until the block ends."""
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url, ssl=False)
    await connection.execute(
        "CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN PERFORM pg_advisory_xact_lock({HELD}); RETURN NEW; END $$"
    )
    await connection.execute(f"CREATE {trigger} EXECUTE FUNCTION hang()")
    await connection.execute(f"SELECT pg_advisory_lock({HELD})")
    try:
        yield connection
    finally:
        await connection.execute(f"SELECT pg_advisory_unlock({HELD})")
        await _until(connection, "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'dawr migrate'")
        await connection.execute("DROP FUNCTION hang() CASCADE")
        await connection.close()


async def _until(connection: "asyncpg.Connection[asyncpg.Record]", holds: str) -> None:
    async with asyncio.timeout(30):
        while not await connection.fetchval(holds):  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.01)


async def _killed_at(source: Installation, target: Installation, trigger: str) -> None:
    """`kill -9` while the copy hangs at that moment."""
    assert (await asyncio.to_thread(run_here, target, "migrate")).exit_code == 0
    async with hanging(str(target.database), trigger) as connection:
        process = await asyncio.create_subprocess_exec(
            *[PROGRAM, "migrate", "--to", str(target.database)],
            env=_environment(source.settings),
            stdout=asyncio.subprocess.DEVNULL,
        )
        await _until(connection, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        process.kill()
        assert await process.wait() == -9


@pytest.mark.parametrize("moment", MOMENTS)
async def test_killed_half_way_nothing_is_there_and_the_next_run_works(
    large: Installation, scaled: Installation, moment: str
) -> None:
    await _killed_at(large, scaled, f"TRIGGER hang {MOMENTS[moment]}")

    left = await asyncio.to_thread(scaled.rows, "SELECT (SELECT count(*) FROM tickets), (SELECT count(*) FROM venues)")
    here = await asyncio.to_thread(run_here, large, "migrate")
    again = await asyncio.to_thread(move, large, scaled)

    assert left == [(0, 0)]
    assert (here.exit_code, here.said) == (0, "The schema is up to date.\n")
    assert again.exit_code == 0, again
    assert "An earlier run" not in again.said
    assert await asyncio.to_thread(scaled.rows, "SELECT count(*) FROM tickets") == [(10_000,)]


async def test_a_server_that_goes_away_in_the_middle_is_a_sentence(large: Installation, scaled: Installation) -> None:
    await asyncio.to_thread(run_here, scaled, "migrate")
    async with hanging(str(scaled.database), f"TRIGGER hang {MOMENTS['in the middle of a table']}") as connection:
        moving = asyncio.create_task(asyncio.to_thread(move, large, scaled))
        await _until(connection, "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dawr migrate'"
        )
        done = await moving

    assert done.exit_code == 1
    assert done.complained.startswith("Error: PostgreSQL did not take the copy: ")
    assert "Run the same command again" in done.complained
    assert (await asyncio.to_thread(move, large, scaled)).exit_code == 0


async def test_killed_between_the_commit_and_the_mark_the_next_run_finds_it_proved(
    large: Installation, scaled: Installation
) -> None:
    await _killed_at(large, scaled, AT_COMMIT)

    here = await asyncio.to_thread(run_here, large, "migrate")
    again = await asyncio.to_thread(move, large, scaled)

    assert here.exit_code == 0
    assert again.exit_code == 0, again
    assert "An earlier run had stored all of it; it was compared again." in again.said
    assert await asyncio.to_thread(scaled.rows, "SELECT count(*) FROM tickets") == [(10_000,)]


async def test_numbers_given_after_such_a_kill_keep_the_copy_from_being_used(
    large: Installation, scaled: Installation
) -> None:
    await _killed_at(large, scaled, AT_COMMIT)
    await asyncio.to_thread(run_here, large, "queue", "pause", "lab")

    again = await asyncio.to_thread(move, large, scaled)

    assert again.exit_code == 1
    assert "is not a copy of this one as it is now" in again.complained
