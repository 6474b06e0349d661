"""The store fails while work is under way: nothing is done twice because of it, and nothing is hidden."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import msgspec
import pytest

from dawr.reliability.idempotency import Claim, ClaimLost, Idempotency, InProgress, Reply
from dawr.reliability.sqlite_records import SqliteRecords
from tests.builders import DrivenClock
from tests.reliability.backends import LOG_SECRET

CLAIM = Claim.of({"amount": 5}, scope="payments", key="k-1")
DONE = Reply(201, b"paid")


class Locked:
    """Somebody else who holds the file and lets nobody write."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))

    def lock(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def release(self) -> None:
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()

    def state(self) -> str:
        return str(self._connection.execute("SELECT state FROM idempotency").fetchall()[0][0])


@pytest.fixture
async def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteRecords]:
    monkeypatch.setattr("dawr.reliability.sqlite_records.BUSY_MS", 20)
    records = SqliteRecords(tmp_path / "kit.db")
    await records.create_tables()
    yield records
    await records.close()


@pytest.fixture
async def file(tmp_path: Path, records: SqliteRecords) -> AsyncIterator[Locked]:
    file = Locked(tmp_path / "kit.db")
    yield file
    file.close()


@pytest.fixture
def clock() -> DrivenClock:
    return DrivenClock()


@pytest.fixture
def idempotency(records: SqliteRecords, clock: DrivenClock) -> Idempotency:
    return Idempotency(records, clock, secret=LOG_SECRET, patience_ms=0)


async def test_work_that_was_done_but_could_not_be_stored_is_not_repeated_before_its_lease_is_over(
    file: Locked, idempotency: Idempotency, clock: DrivenClock
) -> None:
    async def work() -> Reply:
        file.lock()
        return DONE

    with pytest.raises(apsw.BusyError):
        await idempotency.run(CLAIM, work)
    file.release()

    assert file.state() == "started"
    with pytest.raises(InProgress):
        await idempotency.check(CLAIM)
    clock.advance(ms=CLAIM.lease_ms)
    assert await idempotency.check(CLAIM) is None


async def test_why_work_failed_is_told_also_when_that_cannot_be_stored(file: Locked, idempotency: Idempotency) -> None:
    async def work() -> Reply:
        file.lock()
        raise ConnectionError("the bank is closed")

    with pytest.raises(ConnectionError, match="the bank is closed"):
        await idempotency.run(CLAIM, work)
    file.release()

    assert file.state() == "started"


async def test_work_goes_on_while_the_store_is_away_for_less_than_the_lease(
    file: Locked, idempotency: Idempotency
) -> None:
    async def work() -> Reply:
        file.lock()
        await asyncio.sleep(1.1)
        file.release()
        return DONE

    assert await idempotency.run(msgspec.structs.replace(CLAIM, lease_ms=3000), work) == DONE


async def test_work_is_cancelled_when_its_lease_could_not_be_renewed_in_time(
    file: Locked, idempotency: Idempotency
) -> None:
    async def work() -> Reply:
        file.lock()
        await asyncio.sleep(60)
        return DONE

    with pytest.raises(ClaimLost):
        await idempotency.run(msgspec.structs.replace(CLAIM, lease_ms=200), work)
    file.release()

    assert file.state() == "started"
