"""`dawr migrate --to` killed half-way: nothing is there, or all of it, and the next run knows which."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import apsw
import asyncpg
import pytest

from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.cli.killing import Moment, run_killed
from tests.running import PROGRAM, Client, Finished, _environment, venue_document

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


async def _killed_at(source: Installation, target: Installation, trigger: str, *, is_lost: bool = False) -> None:
    """`kill -9` while the copy hangs at that moment. What was sent to PostgreSQL is done all the same, or is lost."""
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
        if is_lost:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dawr migrate'"
            )


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


async def test_killed_while_it_commits_neither_side_serves_until_the_move_is_finished(
    large: Installation, scaled: Installation
) -> None:
    await _killed_at(large, scaled, AT_COMMIT)

    await asyncio.to_thread(must_serve_nobody, large, scaled)
    again = await asyncio.to_thread(move, large, scaled)
    gone = await asyncio.to_thread(run_here, large, "migrate")

    assert again.exit_code == 0, again
    assert "An earlier run had stored all of it; it was compared again." in again.said
    assert await asyncio.to_thread(scaled.rows, "SELECT count(*) FROM tickets") == [(10_000,)]
    assert "has moved to postgresql://" in gone.complained
    assert await asyncio.to_thread(join, scaled) == 200


async def test_or_until_it_goes_back(large: Installation, scaled: Installation) -> None:
    await _killed_at(large, scaled, AT_COMMIT)

    back = await asyncio.to_thread(run_here, large, "migrate", "--back")
    there = await asyncio.to_thread(run_here, scaled, "migrate")

    assert back.exit_code == 0, back
    assert "gives numbers again, from where it stopped" in back.said
    assert "The installation of this database went back to " in there.complained
    assert await asyncio.to_thread(join, large) == 200
    await asyncio.to_thread(large.rows, "DELETE FROM tickets WHERE day <> '2026-03-01'")


async def test_killed_before_postgresql_hears_of_the_mark_the_next_run_tells_it(
    large: Installation, scaled: Installation
) -> None:
    is_told = "OLD.moving_from IS NOT NULL AND NEW.moving_from IS NULL"
    hearing = f"TRIGGER hang BEFORE UPDATE ON installation FOR EACH ROW WHEN ({is_told})"
    await _killed_at(large, scaled, hearing, is_lost=True)

    gone = await asyncio.to_thread(run_here, large, "migrate")
    there = await asyncio.to_thread(run_here, scaled, "migrate")
    again = await asyncio.to_thread(move, large, scaled)
    once_more = await asyncio.to_thread(move, large, scaled)

    assert "has moved to postgresql://" in gone.complained
    assert "to this database was cut short" in there.complained
    assert again.exit_code == 0, again
    assert "An earlier run had stored all of it." in again.said
    assert "has moved to postgresql://" in once_more.complained
    assert await asyncio.to_thread(join, scaled) == 200


# The first two are the preparation and the lock; then each mark gets its name, before the disk is told so.
MARKED = [("dawr.sqlite-moved.partial", nth) for nth in range(1, 9)] + [("data", nth) for nth in (3, 4)]


@pytest.mark.parametrize(("name", "nth"), MARKED)
def test_killed_at_any_moment_of_marking_one_side_serves_at_most(
    embedded: Installation, scaled: Installation, ten_numbers: Path, name: str, nth: int
) -> None:
    data = Path(embedded.settings["DAWR_DATA"])
    shutil.copytree(ten_numbers, data)

    assert run_killed(Moment(data, nth, name=name), "migrate", "--to", str(scaled.database), **embedded.settings)
    here, there = run_here(embedded, "migrate"), run_here(scaled, "migrate")
    stored = scaled.rows("SELECT count(*) FROM tickets")
    again = move(embedded, scaled)

    is_served = (here.exit_code == 0, there.exit_code == 0 and stored == [(10,)])
    assert is_served in {(True, False), (False, False)}
    assert again.exit_code == 0, again
    assert run_here(embedded, "migrate").exit_code == 1
    assert run_here(scaled, "migrate").exit_code == 0
    assert scaled.rows("SELECT count(*), max(number) FROM tickets") == [(10, 10)]


def test_where_nothing_was_stored_the_way_back_leaves_the_database_empty(
    embedded: Installation, scaled: Installation, ten_numbers: Path
) -> None:
    data = Path(embedded.settings["DAWR_DATA"])
    shutil.copytree(ten_numbers, data)
    moment = Moment(data, 2, "open", "data")  # the mark has its name, and the commit is not sent
    assert run_killed(moment, "migrate", "--to", str(scaled.database), **embedded.settings)

    refused = run_here(embedded, "queue", "pause", "lab")
    checked = run_here(embedded, "check")
    back = run_here(embedded, "migrate", "--back")
    written = run_here(embedded, "queue", "pause", "lab")
    again = move(embedded, scaled)

    assert "was cut short: neither side gives numbers" in refused.complained
    assert checked.exit_code == 1
    assert f"✗  A move of the installation in {data} to postgresql://" in checked.said
    assert (back.exit_code, written.exit_code) == (0, 0), back
    assert again.exit_code == 0, again


def test_where_nobody_answers_nothing_was_given_there(
    embedded: Installation, scaled: Installation, ten_numbers: Path
) -> None:
    """The copy may be there, but it serves nobody before the directory is marked as moved."""
    data = Path(embedded.settings["DAWR_DATA"])
    shutil.copytree(ten_numbers, data)
    moment = Moment(data, 2, "open", "data")
    assert run_killed(moment, "migrate", "--to", str(scaled.database), **embedded.settings)
    mark = data / "dawr.sqlite-moved"
    mark.write_text("\n".join(["postgresql://dawr@127.0.0.1:1/dawr", *mark.read_text().splitlines()[1:]]))

    plainly = run_here(embedded, "migrate", "--back")
    back = run_here(embedded, "migrate", "--back", "--even-though-nobody-answers")

    assert (plainly.exit_code, back.exit_code) == (1, 0), back
    assert embedded.rows("SELECT max(round), max(last_number) FROM lines") == [(1, 10)]


def must_serve_nobody(here: Installation, there: Installation) -> None:
    """Neither by a server nor by a tool that writes."""
    for side, sentence in ((here, "A move of the installation in "), (there, "to this database was cut short")):
        served = side.dawr("serve", "--port", "0")
        written = run_here(side, "queue", "pause", "lab")
        for done in (served, written):
            assert done.exit_code == 1
            assert sentence in done.complained
            assert "Run the same `dawr migrate --to`" in done.complained
            assert "`dawr migrate --back`" in done.complained
    checked = run_here(there, "check", DAWR_PORT="0")
    assert checked.exit_code == 1
    assert "✗  PostgreSQL: a move of an installation to this database was cut short." in checked.said


def join(installation: Installation) -> int:
    with installation.serve() as server, Client(server.url) as client:
        return client.enter("lab", "somebody new").status


async def test_a_copy_that_an_earlier_version_left_unmarked_is_not_used_once_numbers_were_given_here(
    large: Installation, scaled: Installation
) -> None:
    await _killed_at(large, scaled, AT_COMMIT)
    (Path(large.settings["DAWR_DATA"]) / "dawr.sqlite-moved").unlink()
    await asyncio.to_thread(scaled.rows, "UPDATE installation SET moving_from = NULL")
    await asyncio.to_thread(run_here, large, "queue", "pause", "lab")

    again = await asyncio.to_thread(move, large, scaled)

    assert again.exit_code == 1
    assert "is not a copy of this one as it is now" in again.complained
