"""What nobody may ask. Every statement is refused before it runs; and where it would run, it could reach no file."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dawr.traffic.archive.child import Child, ChildFailed
from dawr.traffic.archive.messages import Columns, Question, Sources, Wanted
from dawr.traffic.archive.parquet import CONFIG
from dawr.traffic.archive.query import SANDBOX
from dawr.traffic.archive.sandbox import shut_in

READ_A_FILE = """
SELECT * FROM read_csv('SECRET')
SELECT * FROM read_csv_auto('SECRET')
SELECT * FROM read_text('SECRET')
SELECT * FROM read_blob('SECRET')
SELECT * FROM read_json('SECRET')
SELECT * FROM read_json_objects('SECRET')
SELECT * FROM read_ndjson('SECRET')
SELECT * FROM read_parquet('SECRET')
SELECT * FROM parquet_scan('SECRET')
SELECT * FROM parquet_metadata('SECRET')
SELECT * FROM parquet_schema('SECRET')
SELECT * FROM read_duckdb('SECRET')
SELECT * FROM sniff_csv('SECRET')
SELECT * FROM glob('FOLDER/*')
SELECT * FROM 'SECRET'
SELECT * FROM "SECRET"
FROM 'SECRET'
TABLE "SECRET"
DESCRIBE 'SECRET'
SUMMARIZE 'SECRET'
SELECT * FROM 'FOLDER/*.csv'
SELECT * FROM 'file:SECRET'
SELECT * FROM traffic_events, 'SECRET'
SELECT (SELECT count(*) FROM 'SECRET')
SELECT 1 WHERE EXISTS (FROM read_text('SECRET'))
SELECT * FROM range((SELECT count(*) FROM 'SECRET'))
SELECT 1 UNION ALL SELECT count(*) FROM 'SECRET'
SELECT 1 ORDER BY (SELECT count(*) FROM 'SECRET')
SELECT 1 LIMIT (SELECT count(*) FROM 'SECRET')
SELECT list_transform([1], lambda x: (SELECT count(*) FROM 'SECRET'))
WITH a AS (FROM 'SECRET') SELECT * FROM a
WITH a AS MATERIALIZED (SELECT * FROM read_text('SECRET')) SELECT * FROM a
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t, 'SECRET' WHERE n < 3) SELECT * FROM t
SELECT * FROM (WITH "SECRET" AS (SELECT 1) SELECT 1), "SECRET"
SELECT * FROM (PIVOT 'SECRET' ON word IN ('x'))
SELECT * FROM (VALUES (1)) AS v JOIN LATERAL (FROM read_text('SECRET')) AS t ON true
SELECT /* harmless */ * FROM /* */ read_text/**/('SECRET') --
SELECT * FROM query('SELECT * FROM read_text(''SECRET'')')
SELECT * FROM query_table(['SECRET'])
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('FROM ''SECRET'''))
SELECT * FROM 'https://example.com/a.parquet'
SELECT * FROM read_csv('http://127.0.0.1:1/a.csv')
SELECT * FROM 's3://bucket/a.parquet'
EXPLAIN ANALYZE SELECT * FROM 'SECRET'
CREATE TABLE stolen AS FROM 'SECRET'
""".strip().splitlines()

WRITE_OR_CHANGE = """
COPY (SELECT 1) TO 'FOLDER/out.csv'
COPY traffic_events TO 'FOLDER/out.parquet'
COPY traffic_events FROM 'SECRET'
EXPORT DATABASE 'FOLDER/out'
IMPORT DATABASE 'FOLDER'
ATTACH 'FOLDER/out.db' AS other
DETACH memory
USE memory
INSTALL httpfs
LOAD httpfs
FORCE INSTALL httpfs FROM 'http://127.0.0.1:1'
PRAGMA database_list
PRAGMA enable_profiling
SET enable_external_access = true
SET lock_configuration = false
SET VARIABLE traffic_events = ['SECRET']
RESET enable_external_access
CALL enable_logging()
CALL pragma_version()
CHECKPOINT
VACUUM
BEGIN
INSERT INTO traffic_events SELECT * FROM traffic_events
UPDATE traffic_events SET status = 1
DELETE FROM traffic_events
MERGE INTO traffic_events USING traffic_hours ON true WHEN MATCHED THEN DELETE
TRUNCATE traffic_events
DROP VIEW traffic_events
ALTER VIEW traffic_events RENAME TO x
CREATE VIEW x AS SELECT 1
CREATE MACRO f() AS 1
CREATE secret s (TYPE http)
CREATE OR REPLACE TEMP TABLE traffic_events (a INT)
PREPARE p AS SELECT 1
EXECUTE p
EXPLAIN SELECT 1
SELECT 1; SELECT 2
SELECT 1; DROP VIEW traffic_events
SELECT 1 /* ; */; COPY (SELECT 1) TO 'FOLDER/out.csv' -- ;
;DELETE FROM traffic_events
WITH gone AS (DELETE FROM traffic_events RETURNING *) SELECT * FROM gone
WITH more AS (INSERT INTO traffic_events SELECT * FROM traffic_events RETURNING *) SELECT * FROM more
WITH other AS (UPDATE traffic_events SET status = 1 RETURNING *) SELECT * FROM other
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_secrets()
SELECT * FROM which_secret('s3://bucket', 's3')
SELECT * FROM test_all_types()
SELECT * FROM icu_calendar_names()
SELECT * FROM histogram(traffic_events, status)
SELECT * FROM duckdb_variables()
SELECT * FROM duckdb_extensions()
SELECT * FROM enable_logging()
SELECT * FROM pragma_version()
SELECT * FROM information_schema.tables
SELECT * FROM pg_catalog.pg_class
SELECT * FROM main.traffic_events
SELECT * FROM duckdb_tables
SELECT * FROM sqlite_master
SHOW TABLES
SHOW DATABASES
SELECT getenv('HOME')
SELECT getvariable('traffic_events')
SELECT current_setting('temp_directory')
SELECT write_log('x')
SELECT sleep_ms(100000)
SELECT nextval('s')
SELECT * FROM python_variable
""".strip().splitlines()

ENDS = re.compile("BEGIN|DETACH|DROP|ALTER|SELECT sleep")
"""After these, or with them, the others would show nothing."""


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret.csv"
    file.write_text("word\nswordfish\n")
    return file


def with_paths(statements: list[str], secret: Path) -> Iterator[str]:
    for statement in statements:
        yield statement.replace("SECRET", str(secret)).replace("FOLDER", str(secret.parent))


async def test_nothing_is_run_that_does_more_than_read_our_tables(secret: Path) -> None:
    hostile = list(with_paths([*READ_A_FILE, *WRITE_OR_CHANGE], secret))
    assert len(set(hostile)) >= 100

    async with Child(SANDBOX) as child:
        allowed = [sql for sql in hostile if not await is_refused(child, sql)]

    assert allowed == []
    assert list(secret.parent.iterdir()) == [secret]


async def is_refused(child: Child, sql: str) -> bool:
    try:
        await child.ask(Question(sql), Wanted)
    except ChildFailed as error:
        return "ended without an answer" not in str(error)
    return False


def test_even_what_was_not_refused_could_reach_no_file(secret: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The second wall alone: as if the first one had a hole."""
    folder = tmp_path_factory.mktemp("query")
    lines = folder / "1.lines"
    lines.touch()
    hostile = [sql for sql in with_paths([*READ_A_FILE, *WRITE_OR_CHANGE], secret) if not ENDS.match(sql)]
    with duckdb.connect(":memory:", config=CONFIG) as connection:
        assert "swordfish" in answered(connection, f"FROM '{secret}'")
        shut_in(connection, Sources(str(folder), {"traffic_events": [str(lines)]}, [], [], [], 10))
        words = [answered(connection, sql) for sql in hostile]

    assert not [word for word in words if "swordfish" in word]
    assert list(secret.parent.iterdir()) == [secret]


def answered(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    try:
        return str(connection.execute(sql).fetchall())
    except duckdb.Error as error:
        return str(error)


async def test_a_query_whose_asker_is_gone_ends(tmp_path: Path) -> None:
    async with Child(SANDBOX) as child:
        await child.ask(Question("SELECT count(*) FROM range(1000000000000)"), Wanted)
        process = child._process
        assert process is not None
        assert process.stdin is not None
        asked = asyncio.create_task(child.ask(Sources(str(tmp_path), {}, [], [], [], 10), Columns))
        await asyncio.sleep(0)

        process.stdin.close()

        with pytest.raises(ChildFailed, match="ended without an answer"):
            await asked


ALLOWED = """
SELECT 1
select count(*) from traffic_events;
SELECT e.at, "at" FROM Traffic_Events AS e WHERE path LIKE '/v1/%' AND ms > 10 ORDER BY ms DESC LIMIT 10
FROM traffic_hours
VALUES (1)
DESCRIBE traffic_ledger
SUMMARIZE traffic_events
WITH a AS (SELECT path FROM traffic_events), b AS (FROM a) SELECT * FROM b
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n) FROM t
SELECT path, quantile_cont(ms, 0.99), count(*) FILTER (WHERE status >= 500) FROM traffic_events GROUP BY ALL
SELECT *, row_number() OVER (PARTITION BY path ORDER BY ms) FROM traffic_events QUALIFY row_number() OVER () < 3
SELECT * FROM traffic_minutes JOIN traffic_ledger ON minute // 3600000 = hour // 3600000
SELECT make_timestamp_ms(minute), requests FROM traffic_minutes WHERE minute IN (SELECT hour FROM traffic_ledger)
SELECT * FROM range(10) AS t(n), unnest([1, 2]) AS u(m)
SELECT 'read_csv(''/etc/passwd'')' AS text -- COPY; SELECT
SELECT * FROM traffic_events PIVOT (count(*) FOR method IN ('GET', 'POST'))
(SELECT 1) UNION (SELECT 2) EXCEPT (SELECT 3)
""".strip().splitlines()


async def test_whatever_reads_our_tables_may_be_asked() -> None:
    async with Child(SANDBOX) as child:
        refused = [sql for sql in ALLOWED if await is_refused(child, sql)]

    assert refused == []
