"""The traffic statistics on the way to PostgreSQL: every table, numbers that go on, and no request counted twice."""

from typing import Any

import pytest

from dawr.stores.moving import Copy, MoveFailed, SourceFile, copy_to_postgres
from dawr.traffic.database import journal
from dawr.traffic.directory import TrafficDirectory, traffic_in
from dawr.traffic.postgres import PostgresDatabase as PostgresStatistics
from dawr.traffic.spool import Spool
from dawr.traffic.sqlite import SqliteDatabase as SqliteStatistics
from tests.stores.databases import PostgresDatabase, SqliteDatabase, wall_clock
from tests.stores.statistics import COUNTED, answer, count_all, fill_every_table, ship, spooling

NUMBERED = {
    "traffic_queue": "(hour, body, tries, due_at, reason) VALUES (1, '{}', 0, 1, '')",
    "traffic_dead": "(at, hour, kind, reason, tries, body) VALUES (1, 1, 'poison', '', 4, '')",
}


@pytest.fixture
async def traffic(source: SqliteDatabase) -> TrafficDirectory:
    """With a file of statistics that has its tables, and nothing in them."""
    directory = traffic_in(source.path.parent)
    directory.prepare()
    statistics = SqliteStatistics(directory.database)
    await statistics.create_tables()
    await statistics.close()
    return directory


@pytest.fixture
def target(postgres_url: str) -> PostgresDatabase:
    return PostgresDatabase(postgres_url)


async def move(source: SqliteDatabase, target: PostgresDatabase) -> Copy:
    statistics = SourceFile(traffic_in(source.path.parent).database, journal("sqlite"))
    return await copy_to_postgres(source.path, target.url, clock=wall_clock, statistics=statistics)


async def rows_in(database: SqliteDatabase | PostgresDatabase, table: str, columns: str) -> list[tuple[Any, ...]]:
    return sorted(await database.rows(f"SELECT {columns} FROM {table}"), key=repr)


async def test_no_table_of_the_statistics_is_forgotten(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    tables = fill_every_table(traffic.database)
    statistics = SqliteDatabase(traffic.database)

    copy = await move(source, target)

    assert copy.is_proved
    moved = {table.table: table.there.rows for table in copy.tables if table.table.startswith("traffic_")}
    assert moved == dict.fromkeys(tables, 2)
    assert len(tables) >= 13
    for table in tables:
        names = await statistics.rows(f"SELECT name FROM pragma_table_info('{table}')")
        columns = ", ".join(name for (name,) in names)
        assert await rows_in(statistics, table, columns) == await rows_in(target, table, columns), table


async def test_what_the_kit_keeps_beside_the_statistics_stays(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    statistics = SqliteDatabase(traffic.database)
    await statistics.rows("INSERT INTO leases (name, holder, fence, until_at) VALUES ('consume', 'old', 7, 1 << 60)")
    await statistics.rows("INSERT INTO idempotency VALUES ('s', 'p', 'k', 'f', 'completed', 0, 1, 200, x'00', 1)")

    copy = await move(source, target)

    assert copy.is_proved
    assert await target.rows("SELECT name FROM leases") == []
    assert await target.rows("SELECT key FROM idempotency") == []
    assert not {"traffic_migrations", "kit_migrations"} & {table.table for table in copy.tables}


@pytest.mark.parametrize("table", NUMBERED)
async def test_a_number_of_a_row_that_is_gone_is_not_given_again(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase, table: str
) -> None:
    statistics = SqliteDatabase(traffic.database)
    for _ in range(5):
        await statistics.rows(f"INSERT INTO {table} {NUMBERED[table]}")
    await statistics.rows(f"DELETE FROM {table} WHERE seq > 3")

    await move(source, target)

    assert await target.rows(f"INSERT INTO {table} {NUMBERED[table]} RETURNING seq") == [(6,)]


async def test_a_table_that_gave_no_number_yet_begins_at_one(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    traffic.database.unlink()

    await move(source, target)

    for table, values in NUMBERED.items():
        assert await target.rows(f"INSERT INTO {table} {values} RETURNING seq") == [(1,)]


async def test_spools_that_stay_behind_are_shipped_to_postgresql_from_where_they_were(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    with spooling(traffic) as spool:
        await _shipped_in_part(traffic, spool)
        await move(source, target)
        answer(spool, range(50, 60))
        statistics = await PostgresStatistics.open(target.url)

        shipped = await count_all(statistics, traffic)
    shipped_when_over = await count_all(statistics, traffic)
    await statistics.close()

    assert (shipped, shipped_when_over) == (30, 0)
    assert await target.rows(COUNTED) == [(60, 60, 60, 60, 60)]
    assert await target.rows("SELECT sum(duplicates) FROM traffic_ledger") == [(0,)]
    assert not [*traffic.spools.iterdir()]


async def _shipped_in_part(traffic: TrafficDirectory, spool: Spool) -> None:
    """Of fifty requests twenty are counted, ten wait in the queue, and twenty are only in the spool."""
    statistics = SqliteStatistics(traffic.database)
    answer(spool, range(20))
    await count_all(statistics, traffic)
    answer(spool, range(20, 30))
    await ship(statistics, traffic)
    answer(spool, range(30, 50))
    await statistics.close()


async def test_statistics_without_tables_are_behind(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    traffic.database.write_bytes(b"")

    with pytest.raises(MoveFailed, match=r"traffic\.sqlite is behind: run `dawr migrate` first to apply traffic 0001"):
        await move(source, target)

    assert await target.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == []


async def test_statistics_that_do_not_arrive_as_they_were_take_the_whole_copy_back(
    source: SqliteDatabase, traffic: TrafficDirectory, target: PostgresDatabase
) -> None:
    fill_every_table(traffic.database)
    await source.rows("INSERT INTO venues VALUES ('venue', 'clinic', '{}')")
    store = await target.open()
    await store.migrate()
    await store.close()
    await target.rows(
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.requests := NEW.requests + 1; RETURN NEW; END $$"
    )
    await target.rows("CREATE TRIGGER spoil BEFORE INSERT ON traffic_hours FOR EACH ROW EXECUTE FUNCTION spoil()")

    copy = await move(source, target)

    assert [table.table for table in copy.tables if not table.is_equal] == ["traffic_hours"]
    for table in ("venues", "traffic_hours", "traffic_ledger"):
        assert await target.rows(f"SELECT count(*) FROM {table}") == [(0,)]


async def test_statistics_of_others_are_not_mixed_with_ours(source: SqliteDatabase, target: PostgresDatabase) -> None:
    store = await target.open()
    await store.migrate()
    await store.close()
    await target.rows("INSERT INTO traffic_ledger (hour, stored) VALUES (1, 1)")

    with pytest.raises(MoveFailed, match=r"not empty \(traffic_ledger\)"):
        await move(source, target)
