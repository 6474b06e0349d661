"""`dawr check` on PostgreSQL: deadlocks, waits, open transactions, and a server that would forget."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg
import pytest

from dawr.cli.check import locks
from dawr.cli.check.database import look_at_facts
from dawr.cli.check.findings import Report
from dawr.cli.check.locks import look_at_wait
from dawr.settings import Settings
from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import Finished, venue_document

FACTS = (180_000, "18.0", "on", "on", "on", "read committed", 100)


@pytest.fixture
def two_venues(scaled: Installation) -> Installation:
    for slug in ("clinic", "other"):
        applied = run_here(scaled, "venue", "apply", "-", stdin=venue_document({"id": "lab"}, slug=slug))
        assert applied.exit_code == 0
    return scaled


async def check(installation: Installation) -> Finished:
    return await asyncio.to_thread(run_here, installation, "check", DAWR_PORT="0")


@asynccontextmanager
async def session(installation: Installation, program: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
        str(installation.database), ssl=False, server_settings={"application_name": program, "deadlock_timeout": "50ms"}
    )
    try:
        yield connection
    finally:
        await connection.close()


async def lock(connection: "asyncpg.Connection[asyncpg.Record]", slug: str) -> None:
    await connection.execute(
        "SELECT * FROM heads WHERE venue_id = (SELECT venue_id FROM venues WHERE slug = $1) FOR UPDATE", slug
    )


async def test_a_deadlock_is_named(two_venues: Installation) -> None:
    async with session(two_venues, "by hand") as administrator:
        await administrator.execute("SELECT pg_stat_reset()")  # the database was lent to others before
    before = await check(two_venues)
    async with session(two_venues, "by hand") as one, session(two_venues, "by hand") as other:
        await one.execute("BEGIN")
        await other.execute("BEGIN")
        await lock(one, "clinic")
        await lock(other, "other")
        done = await asyncio.gather(lock(one, "other"), lock(other, "clinic"), return_exceptions=True)
        assert [type(each) for each in done if each is not None] == [asyncpg.DeadlockDetectedError]
    async with asyncio.timeout(60), session(two_venues, "by hand") as administrator:
        while "deadlocks" not in (after := await check(two_venues)).said:  # the server counts a moment later
            pass
        await administrator.execute("SELECT pg_stat_reset()")

    assert "✓  No deadlock, and nobody waits for a lock." in before.said
    assert "!  PostgreSQL ended 1 deadlocks in this database" in after.said
    assert after.exit_code == 0


async def test_who_waits_for_whom_is_named(two_venues: Installation) -> None:
    async with session(two_venues, "psql") as holder, session(two_venues, "report tool") as waiter:
        await holder.execute("BEGIN")
        await lock(holder, "clinic")
        waiting = asyncio.create_task(lock(waiter, "clinic"))
        async with asyncio.timeout(60):
            while "has waited" not in (done := await check(two_venues)).said:
                pass
        holder_pid, waiter_pid = holder.get_server_pid(), waiter.get_server_pid()
        await holder.execute("ROLLBACK")
        await waiting

    assert done.exit_code == 1
    assert f"✗  Session {waiter_pid} (report tool) has waited " in done.said
    assert f" s for a lock that session {holder_pid} (psql, idle in transaction) holds." in done.said
    assert f"`SELECT pg_terminate_backend({holder_pid})`" in done.said


@pytest.mark.parametrize(
    ("waited_ms", "stays", "levels"),
    [(0, False, []), (249, False, []), (250, False, ["warning"]), (1000, False, ["wrong"]), (0, True, ["wrong"])],
)
def test_only_who_waits_for_long_is_worth_a_word(waited_ms: int, *, stays: bool, levels: list[str]) -> None:
    report = Report()

    look_at_wait((1, "dawr", waited_ms, "psql", "idle in transaction", 2), report, stays=stays)

    assert [found.level for found in report.findings] == levels


@asynccontextmanager
async def ordinary(installation: Installation) -> AsyncIterator[Installation]:
    """The same one, as a role that may use the tables and nothing else."""
    url = urlsplit(str(installation.database))
    role = f"plain_{os.getpid()}"
    async with session(installation, "by hand") as administrator:
        await administrator.execute(
            f"CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA public TO {role}; "
            f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}"
        )
        address = url._replace(netloc=f"{role}@{url.netloc.rpartition('@')[2]}").geturl()
        try:
            yield Installation({"DAWR_DATABASE_URL": address}, address, installation.directory)
        finally:
            await administrator.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_role_that_sees_little_still_finds_who_keeps_a_head(two_venues: Installation) -> None:
    """Nobody waits, and another role's sessions do not say what they do: their locks do."""
    async with ordinary(two_venues) as plain, session(two_venues, "psql") as holder:
        role = urlsplit(str(plain.database)).username
        before = await check(plain)
        await holder.execute("BEGIN")
        await lock(holder, "clinic")
        held = await check(plain)
        await holder.execute("ROLLBACK")
        after = await check(plain)

    assert [before.exit_code, held.exit_code, after.exit_code] == [0, 1, 0]
    assert f"✗  Session {holder.get_server_pid()} (psql, of role " in held.said
    assert "has kept a lock on the heads of venues for more than 1 s" in held.said
    for done in (before, held, after):
        assert f'`GRANT pg_monitor TO "{role}"`' in done.said


async def test_a_role_that_sees_little_still_finds_who_waits(two_venues: Installation) -> None:
    async with (
        ordinary(two_venues) as plain,
        session(two_venues, "psql") as holder,
        session(two_venues, "report tool") as waiter,
    ):
        await holder.execute("BEGIN")
        await holder.execute("LOCK TABLE staff")
        waiting = asyncio.create_task(waiter.execute("INSERT INTO staff SELECT * FROM staff"))
        async with asyncio.timeout(60):
            while "has waited" not in (done := await check(plain)).said:
                pass
        holder_pid, waiter_pid = holder.get_server_pid(), waiter.get_server_pid()
        await holder.execute("ROLLBACK")
        await waiting

    assert done.exit_code == 1
    assert f"✗  Session {waiter_pid} (report tool) has waited " in done.said
    assert f" s for a lock that session {holder_pid} (psql, of role " in done.said


async def test_who_is_in_the_way_of_sessions_that_give_up_and_begin_again_is_named(two_venues: Installation) -> None:
    """As Dawr's do: none of them ever waits for long."""
    async with session(two_venues, "psql") as holder, session(two_venues, "dawr") as waiter, asyncio.timeout(60):
        await holder.execute("BEGIN; LOCK TABLE staff")
        await waiter.execute("SET lock_timeout = '200ms'")
        looking = asyncio.create_task(check(two_venues))
        while not (looking.done() and "has waited" in looking.result().said):
            if looking.done():
                looking = asyncio.create_task(check(two_venues))
            with pytest.raises(asyncpg.LockNotAvailableError):
                await waiter.execute("INSERT INTO staff SELECT * FROM staff")
        done = looking.result()

    assert done.exit_code == 1
    assert f"✗  Session {waiter.get_server_pid()} (dawr) has waited 0." in done.said


async def test_who_takes_a_head_again_and_again_does_not_keep_it(two_venues: Installation) -> None:
    """A session under load has some head at every look, each time in another transaction."""
    async with session(two_venues, "busy") as busy, asyncio.timeout(60):
        looking = asyncio.create_task(check(two_venues))
        while not looking.done():
            await busy.execute("BEGIN")
            await lock(busy, "clinic")
            await asyncio.sleep(0.02)
            await busy.execute("COMMIT")

    assert looking.result().exit_code == 0
    assert "busy" not in looking.result().said


async def test_a_transaction_that_somebody_left_open_is_named(
    two_venues: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(two_venues, "psql") as idle:
        await idle.execute("BEGIN")
        soon = await check(two_venues)
        monkeypatch.setattr(locks, "LONG_IDLE_MS", 0)
        late = await check(two_venues)
        pid = idle.get_server_pid()

    assert soon.exit_code == 0
    assert "transaction open" not in soon.said
    assert late.exit_code == 1
    assert f"✗  Session {pid} (psql) has left a transaction open for " in late.said


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("synchronous_commit = off", "✗  PostgreSQL's synchronous_commit is off: a power cut can take numbers"),
        (
            "default_transaction_isolation = 'serializable'",
            "!  PostgreSQL's default_transaction_isolation is serializable",
        ),
    ],
)
async def test_a_database_that_is_set_up_unsafely_is_named(
    two_venues: Installation, setting: str, sentence: str
) -> None:
    async with session(two_venues, "psql") as administrator:
        name = await administrator.fetchval("SELECT current_database()")
        await administrator.execute(f'ALTER DATABASE "{name}" SET {setting}')
        done = await check(two_venues)
        await administrator.execute(f'ALTER DATABASE "{name}" RESET ALL')

    assert sentence in done.said
    assert done.exit_code == (1 if sentence[0] == "✗" else 0)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
async def test_a_server_that_would_lose_numbers_in_a_power_cut_is_named(two_venues: Installation, setting: str) -> None:
    async with session(two_venues, "psql") as administrator:
        await administrator.execute(f"ALTER SYSTEM SET {setting} = off")
        try:
            await reloaded(administrator, setting, "off")
            done = await check(two_venues)
        finally:
            await administrator.execute(f"ALTER SYSTEM RESET {setting}")
            await reloaded(administrator, setting, "on")

    assert done.exit_code == 1
    assert f"✗  PostgreSQL's {setting} is off: a power cut can take numbers" in done.said


async def reloaded(connection: "asyncpg.Connection[asyncpg.Record]", setting: str, value: str) -> None:
    await connection.execute("SELECT pg_reload_conf()")
    async with asyncio.timeout(60):
        while await connection.fetchval("SELECT current_setting($1)", setting) != value:
            pass


@pytest.mark.parametrize(
    ("changed", "level", "sentence"),
    [
        ({0: 130_000, 1: "13.9"}, "wrong", "PostgreSQL is version 13.9: Dawr needs 14 or newer."),
        ({6: 15}, "warning", "PostgreSQL lets in 15 connections, and all processes together may want 16"),
    ],
    ids=["version", "max_connections"],
)
def test_a_server_that_is_unfit_is_named(changed: dict[int, object], level: str, sentence: str) -> None:
    report = Report()
    row = [changed.get(place, fact) for place, fact in enumerate(FACTS)]

    look_at_facts(row, Settings(workers=2), report)

    assert [found.level for found in report.findings] == [level]
    assert report.findings[0].sentence.startswith(sentence)


def test_a_server_that_is_fit_is_not_complained_about() -> None:
    report = Report()

    look_at_facts(FACTS, Settings(workers=4), report)

    assert report.findings == []


async def test_who_holds_a_lease_is_said(scaled: Installation) -> None:
    await asyncio.to_thread(run_here, scaled, "migrate")
    async with session(scaled, "psql") as administrator:
        await administrator.execute("DELETE FROM leases")
        await administrator.execute("INSERT INTO leases VALUES ('clockwork', 'host-2:117', 7, 1::bigint << 60)")

    done = await check(scaled)

    assert "✓  The lease clockwork is held by host-2:117 (fence 7)." in done.said
