"""A PostgreSQL that is frozen: nobody waits for it longer than they said, and what it held is let go."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from dawr.reliability.lease import Fence, Lease, Leases
from dawr.reliability.postgres_records import PostgresRecords
from tests.servers import PostgresServer

CONNECTIONS = 3


@contextmanager
def frozen(server: PostgresServer) -> Iterator[None]:
    """All its processes: the one that starts the others first."""
    stopped = [server.pid]
    os.kill(server.pid, signal.SIGSTOP)
    try:
        for pid in map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()):
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
        yield
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)


@pytest.fixture
async def records(postgres_url: str) -> AsyncIterator[PostgresRecords]:
    async with asyncpg.create_pool(postgres_url, min_size=CONNECTIONS, max_size=CONNECTIONS, ssl=False) as pool:
        records = PostgresRecords(pool)
        await records.create_tables()
        yield records


async def look(records: PostgresRecords) -> object:
    return await records.select_rows("find_answer", "s", "p", "k")


async def test_nobody_waits_for_it_longer_than_their_patience_and_it_is_found_again(
    postgres_server: PostgresServer, records: PostgresRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.reliability.postgres_records.PATIENCE_SECONDS", 0.3)
    with frozen(postgres_server):
        asking = [asyncio.create_task(look(records)) for _ in range(3 * CONNECTIONS)]
        _, waiting = await asyncio.wait(asking, timeout=10)

    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert not waiting
    assert [type(answer) for answer in answers] == [TimeoutError] * len(answers)
    monkeypatch.undo()
    assert await asyncio.gather(*(look(records) for _ in range(3 * CONNECTIONS))) == [[]] * len(answers)


async def test_whoever_goes_away_is_let_go_at_once(
    postgres_server: PostgresServer, records: PostgresRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.reliability.postgres_records.RESET_SECONDS", 60)
    with frozen(postgres_server):
        changing = asyncio.create_task(records.change_rows("fail_claim", "s", "p", "k", 1))
        await asyncio.wait([changing], timeout=0.1)
        changing.cancel()

        ended, _ = await asyncio.wait([changing], timeout=3)  # sooner than its patience ends

    assert ended
    assert changing.cancelled()


async def test_a_holder_of_a_lease_gives_up_when_it_ends(
    postgres_server: PostgresServer, records: PostgresRecords
) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def work(_: Fence) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(Lease(Leases(records, lambda: 0), "work", holder="one", lease_ms=500).run(work))
    await began.wait()
    with frozen(postgres_server):
        async with asyncio.timeout(4):  # sooner than the patience of what it asks
            await ended.wait()
    running.cancel()
    await asyncio.wait([running])


async def test_what_was_answered_is_told_though_its_connection_cannot_be_given_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.reliability.postgres_records.RESET_SECONDS", 0.1)

    async def never(_: object) -> None:
        await asyncio.Event().wait()

    pool = await asyncpg.create_pool(postgres_url, min_size=0, max_size=1, ssl=False, reset=never)
    records = PostgresRecords(pool)
    try:
        async with asyncio.timeout(10):
            await records.create_tables()
            changes = [await records.change_rows("claim_answer", "s", "p", k, "f", 10, 1, 10) for k in "ab"]
    finally:
        pool.terminate()

    assert changes == [1, 1]
