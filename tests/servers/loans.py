"""Databases that are lent to one test after the other: making them anew would take longer than most tests.

The next borrower gets it under another name, so whoever still holds the old one is cut off for good.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Protocol

CUT_OFF_AND_RENAME = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{old}';
    ALTER DATABASE "{old}" RENAME TO "{new}";
"""
EMPTY = """
    DO $$
    DECLARE schema text;
    BEGIN
        FOR schema IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)' LOOP
            EXECUTE format('DROP SCHEMA %I CASCADE', schema);
        END LOOP;
        CREATE SCHEMA public;
    END $$
"""
REMOVE_ROWS = """
    DO $$
    DECLARE part text;
    BEGIN
        SET LOCAL session_replication_role = replica; -- in any order, whatever refers to what
        FOR part IN SELECT relname FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'migrations'
        LOOP
            EXECUTE format('DELETE FROM %I', part);
        END LOOP;
        INSERT INTO installation (only_row) VALUES (1);
    END $$
"""
SHAPE = """
    WITH ours AS (
        SELECT c.oid, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname !~ '^(pg_|information_schema)'
    ), described AS (
        SELECT format('%s %s', relname, relkind) AS part FROM ours
        UNION ALL SELECT format('%s.%s %s %s %s', relname, attname, atttypid, attnotnull, attisdropped)
            FROM ours JOIN pg_attribute ON attrelid = ours.oid
        UNION ALL SELECT format('%s %s %s', conname, contype, convalidated) FROM pg_constraint
            JOIN ours ON conrelid = ours.oid
        UNION ALL SELECT tgname FROM pg_trigger JOIN ours ON tgrelid = ours.oid
        UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        UNION ALL SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema)'
        UNION ALL SELECT format('%s %s %s %s', owner, number, name, checksum) FROM migrations
        UNION ALL SELECT setconfig::text FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase
            WHERE datname = current_database()
        -- The planner must not remember a borrower who had many rows.
        UNION ALL SELECT format('%s is large or was counted', relname) FROM ours
            WHERE relkind = 'r'
                AND (pg_relation_size(oid) > 65536 OR EXISTS (SELECT FROM pg_statistic WHERE starelid = oid))
    )
    SELECT md5(string_agg(part, ';' ORDER BY part)) FROM described
"""


class Lender(Protocol):
    def create_database(self, name: str) -> str: ...
    def run(self, statement: str, *, database: str = "postgres") -> None: ...
    def ask(self, question: str, *, database: str = "postgres") -> str: ...


class Loans:
    """Of empty databases, or, with `migrate`, of ones that have their tables."""

    def __init__(self, server: Lender, name: str, migrate: Callable[[str], None] | None = None) -> None:
        self._server = server
        self._names = (f"{name}_{number}" for number in itertools.count(1))
        self._migrate = migrate
        self._returned: list[str] = []
        self._shape = ""

    @contextlib.contextmanager
    def lend(self) -> Iterator[str]:
        name = next(self._names)
        if self._returned:
            self._server.run(CUT_OFF_AND_RENAME.format(old=self._returned.pop(), new=name))
            self._renew(name)
        else:
            self._server.create_database(name)
            self._fill(name)
        yield name
        self._returned.append(name)

    def _renew(self, name: str) -> None:
        """Tables stay where nobody changed them; only their rows go."""
        if self._migrate is not None and self._server.ask(SHAPE, database=name) == self._shape:
            self._server.run(REMOVE_ROWS, database=name)
        else:
            self._server.run(EMPTY, database=name)
            self._fill(name)

    def _fill(self, name: str) -> None:
        if self._migrate is not None:
            self._migrate(name)
            self._shape = self._server.ask(SHAPE, database=name)
