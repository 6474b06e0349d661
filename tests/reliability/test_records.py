"""Where the kit keeps its rows, when somebody else's application uses it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import asyncpg
import pytest

from dawr.reliability.postgres_records import PostgresRecords
from dawr.reliability.records import Records, kit_journal
from dawr.reliability.sqlite_records import SqliteRecords
from tests.reliability.backends import Backend

ALONE = ("sqlite", "sqlite3", "postgres")
KEYS = "SELECT key FROM idempotency ORDER BY key"


@pytest.fixture(params=ALONE)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    backend = Backend(request.param, path=tmp_path / "kit.db", url=url)
    yield backend
    await backend.close()


async def claim(records: Records, key: str, fingerprint: str | None = "f") -> int:
    return await records.change_rows("claim_answer", "s", "p", key, fingerprint, 10, 1, 10)


async def test_a_statement_that_the_database_refuses_harms_none_that_came_with_it(backend: Backend) -> None:
    records = await backend.open()

    outcomes = await asyncio.gather(
        *(claim(records, f"k{number}", None if number == 5 else "f") for number in range(10)), return_exceptions=True
    )

    refused = outcomes.pop(5)
    assert isinstance(refused, Exception)
    assert outcomes == [1] * 9
    assert len(await backend.rows(KEYS)) == 9


async def test_of_those_who_come_together_one_adds_the_row(backend: Backend) -> None:
    records = await backend.open()

    outcomes = await asyncio.gather(*(claim(records, "k") for _ in range(20)))

    assert sorted(outcomes) == [0] * 19 + [1]


async def test_whoever_went_away_before_it_was_written_leaves_nothing(tmp_path: Path) -> None:
    records, blocker = SqliteRecords(tmp_path / "kit.db"), apsw.Connection(str(tmp_path / "kit.db"))
    await records.create_tables()
    blocker.execute("BEGIN IMMEDIATE")
    first = asyncio.create_task(claim(records, "first"))
    await asyncio.sleep(0)
    gone = asyncio.create_task(claim(records, "gone"))
    await asyncio.sleep(0)

    gone.cancel()
    await asyncio.wait([gone])
    blocker.execute("ROLLBACK")

    assert await first == 1
    assert await claim(records, "last") == 1
    assert not await records.select_rows("find_answer", "s", "p", "gone")
    blocker.close()
    await records.close()


async def test_when_the_file_stays_locked_everybody_is_told_and_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.reliability.sqlite_records.BUSY_MS", 50)
    records, blocker = SqliteRecords(tmp_path / "kit.db"), apsw.Connection(str(tmp_path / "kit.db"))
    await records.create_tables()
    blocker.execute("BEGIN IMMEDIATE")

    outcomes = await asyncio.gather(*(claim(records, f"k{n}") for n in range(3)), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [apsw.BusyError] * 3
    blocker.execute("ROLLBACK")
    assert await claim(records, "k0") == 1
    blocker.close()
    await records.close()


async def test_a_change_is_written_before_it_is_answered_however_many_who_are_gone_left_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dawr.reliability.sqlite_records.MOST_AT_ONCE", 2)
    records = SqliteRecords(tmp_path / "kit.db")
    await records.create_tables()
    leaving = [asyncio.create_task(claim(records, f"gone {number}")) for number in range(20)]
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()

    assert await claim(records, "patient") == 1

    assert await records.select_rows("find_answer", "s", "p", "patient")
    await records.close()


async def test_what_was_refused_because_the_file_cannot_be_opened_is_not_written_later(tmp_path: Path) -> None:
    records = SqliteRecords(tmp_path / "not yet" / "kit.db")
    with pytest.raises(apsw.CantOpenError):
        await claim(records, "refused")
    assert not records._drain.waiting
    (tmp_path / "not yet").mkdir()
    await records.create_tables()

    assert await claim(records, "later") == 1

    assert not await records.select_rows("find_answer", "s", "p", "refused")
    await records.close()


async def test_tables_are_made_in_their_order_and_only_once(backend: Backend, tmp_path: Path) -> None:
    dialect = "postgres" if backend.kind == "postgres" else "sqlite"
    expected = [migration.name for migration in kit_journal(dialect).pending([])]
    if backend.kind == "postgres":
        async with asyncpg.create_pool(backend.address, min_size=0, max_size=2, ssl=False) as pool:
            records = PostgresRecords(pool)
            made = [await records.create_tables() for _ in range(2)]
    else:
        in_file = SqliteRecords(tmp_path / "another.db")
        made = [await in_file.create_tables() for _ in range(2)]
        await in_file.close()

    assert made == [expected, []]
    assert "one_answer_per_key" in expected
