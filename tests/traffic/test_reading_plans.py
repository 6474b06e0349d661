"""Whatever is read for people is found by a key: no table of the statistics is read from end to end."""

import re
from pathlib import Path

import apsw
import asyncpg
import pytest

from dawr.traffic.database import statements
from dawr.traffic.postgres import PostgresDatabase
from dawr.traffic.sqlite import SqliteDatabase

BY_WINDOW = {
    *("counts_by_path", "buckets_together", "counts_by_start", "groups_with_more_requests"),
    *("minutes_between", "minutes_together", "busiest_minute"),
}
"""Read a piece of a table from its beginning to its end."""
BY_KEY = {
    *("buckets_of_path", "counts_of_path_by_start", "buckets_of_path_by_start"),
    *("visitors_of_hours", "visitors_by_start", "trim_visitors"),
}
"""Look for a path at each start."""
OF_DETAILS = {"agents_of_path", "latest_of_path"}
NAMES = sorted({*BY_WINDOW, *BY_KEY, *OF_DETAILS, "buckets_by_start", "traffic_snapshot"})


async def test_sqlite_looks_by_a_key(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "traffic.sqlite")
    await database.create_tables()
    connection = apsw.Connection(str(database.path))
    for name in NAMES:
        sql = statements("sqlite")[name]
        arguments = (0,) * max(map(int, re.findall(r"\?(\d)", sql)))

        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", arguments)]

        looks = [line for line in plan if re.search(r"USING (INTEGER )?PRIMARY KEY|USING INDEX", line)]
        assert looks, name
        assert not [line for line in plan if re.match(r"SCAN (h|b|v|traffic_\w+)\b", line)], name
        if name in BY_KEY:
            assert all("span=? AND start=? AND path=?" in line for line in looks), name
        if name in OF_DETAILS:
            assert all("traffic_events_of_path (path=? AND id>? AND id<?)" in line for line in looks), name
    await database.close()


@pytest.fixture
async def postgres(postgres_url: str) -> str:
    database = await PostgresDatabase.open(postgres_url)
    await database.create_tables()
    await database.close()
    return postgres_url


async def test_postgresql_looks_by_a_key(postgres: str) -> None:
    """Tables that are empty would be read from end to end, so that is made dear; what then remains has no key."""
    connection = await asyncpg.connect(postgres)
    await connection.execute(
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan"
    )
    try:
        for name in NAMES:
            sql = statements("postgres")[name]
            prepared = await connection.prepare(sql)
            arguments = [_something(kind.name) for kind in prepared.get_parameters()]
            plan = [row[0].strip() for row in await connection.fetch(f"EXPLAIN (COSTS OFF) {sql}", *arguments)]

            found = [line for line in plan if line.startswith("Index Cond")]
            assert found, name
            assert not [line for line in plan if "Seq Scan" in line], name
            if name in BY_KEY:
                assert all("span = " in line and "start = " in line and "path = " in line for line in found), name
            if name in OF_DETAILS:
                assert all("path = " in line and "id >= " in line and "id < " in line for line in found), name
    finally:
        await connection.close()


def _something(kind: str) -> object:
    plain: object = "" if kind.startswith("text") else 1
    return [plain] if kind.endswith("[]") else plain
