"""The SQL itself: the same names in both dialects, and every statement finds its rows by key.

A statement that reads a whole venue, a whole table or a whole line is fast in a test and slow after a
year. So the plan of each is read, in an empty database and in one that was in use.
"""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import asyncpg
import msgspec
import pytest

from dawr.domain.account import Account, Session
from dawr.domain.alarm import Alarm
from dawr.domain.desk import DeskNow
from dawr.domain.events import Event
from dawr.domain.line import Line
from dawr.domain.overtaking import Overtakings
from dawr.domain.pin import Pin
from dawr.domain.staff import StaffMember
from dawr.domain.ticket import Ticket
from dawr.domain.token import Token
from dawr.domain.venue import Head
from dawr.domain.visit import Visit
from dawr.reliability.idempotency import Answer
from dawr.stores.postgres import SERVER_SETTINGS
from dawr.stores.session import all_statements
from dawr.stores.sqlite_connections import open_writing
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.stores.full_database import FILL

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
Access = tuple[str, str]
"""A table or index, and the columns it is searched by."""

GUARDED = {"tickets", "events", "lines", "visits", "idempotency", "heads", "venues"} | {
    "accounts",
    "sessions",
    "staff",
    "tokens",
    "leases",
    "pins",
    "desks",
    "alarms",
    "overtakings",
}

READ_WHOLE = {
    "create_migrations": "makes a table",
    "applied_migrations": "a handful of rows, at the start",
    "is_copy": "one row",
    "mark_copy": "one row",
    "settle": "one row",
    "store_now": "no row",
    "identity": "one row",
    "make_secret": "one row",
    "secret": "one row",
    "time_kept": "one row",
    "keep_time": "one row",
    "set_owner_code": "one row",
    "right_owner_code": "one row",
    "take_owner_code": "one row",
    "first_active_owner": "stops at the first one",
    "venue_slugs": "all the venues are what it is asked for",
    "all_heads": "all the venues are what it is asked for, once after a restore",
    "create_kit_migrations": "makes a table in a database that is not Dawr's",
    "applied_kit_migrations": "a handful of rows, in a database that is not Dawr's",
    "add_kit_migration": "one row, in a database that is not Dawr's",
    "queues_with_history": "every plan of the venue, when a queue that never gave a number is removed",
    "check_events": "looks at every row, when nobody is in a hurry",
    "check_lines": "looks at every row, when nobody is in a hurry",
    "check_doubles": "looks at every row, when nobody is in a hurry",
    "check_heads": "looks at every row, when nobody is in a hurry",
    "check_strays": "looks at every row, when nobody is in a hurry",
    "check_waiting": "looks at every row, when nobody is in a hurry",
    "check_stranded": "looks at every row, when nobody is in a hurry",
    "check_torn": "looks at every row, when nobody is in a hurry",
    "check_stages": "looks at every row, when nobody is in a hurry",
    "check_left_over": "looks at every row, when nobody is in a hurry",
    "check_ownerless": "looks at every row, when nobody is in a hurry",
    "check_documents": "looks at every row, when nobody is in a hurry",
    "index_names": "the schema, when it is looked over",
    "all_leases": "a handful of rows, when it is looked over",
    "server_facts": "no row",
    "deadlocks": "the server's counters",
    "lock_waits": "the server's sessions",
    "head_holders": "the server's sessions",
    "hidden_sessions": "the server's sessions",
    "idle_transactions": "the server's sessions",
    "tables_to_move": "the schema, once in a move",
    "lock_tables": "every table, once in a move",
    "servers_here": "the server's sessions, once in a move",
    "forget_installation": "one row",
    "last_numbers": "a handful of rows, once in a move",
    "go_on_behind": "the schema, once in a move",
    "lines_reached": "every line, once on the way back",
    "leave": "one row",
    "shut": "the schema",
    "served_elsewhere": "one row",
    "begin_move": "one row",
    "end_move": "one row",
    "this_database": "one row",
}

LINE = "venue_id queue_id day round"

KEYS: dict[str, list[Access]] = {
    "tickets_by_id": [("tickets_pkey", "venue_id ticket_id")],
    "tickets_by_open_key": [("tickets_one_open_per_visitor", "venue_id open_key")],
    "waiting_places": [("tickets_waiting", LINE)],
    "latest_issues": [("tickets_by_mobile_number", "venue_id visitor")],
    "tickets_waiting": [("lines_pkey", "venue_id queue_id"), ("tickets_waiting", LINE)],
    "tickets_longest": [("lines_pkey", "venue_id queue_id"), ("tickets_waiting", LINE)],
    "tickets_ended": [("tickets_open", "venue_id queue_id day")],
    "tickets_open": [("tickets_open", f"{LINE} priority")],
    "tickets_in_states": [("tickets_each_number_once", f"{LINE} number")],
    "tickets_at_desk": [("tickets_at_desk", "venue_id desk_id")],
    "tickets_called": [("tickets_called", "venue_id day")],
    "tickets_aside": [("tickets_aside", f"{LINE} state")],
    "tickets_left_desk": [("tickets_left_desk", "venue_id expr")],
    "tickets_found": [("tickets_open", LINE)],
    "tickets_finished_in": [("tickets_ended", "venue_id visitor day")],
    "tickets_ended_stages": [("tickets_ended", "venue_id visitor day")],
    "tickets_noted": [("tickets_pkey", "venue_id ticket_id"), ("visits_noted", "venue_id")],
    "tickets_by_number": [("lines_pkey", "venue_id queue_id day"), ("tickets_each_number_once", f"{LINE} number")],
    "tickets_by_name": [("tickets_each_number_once", LINE)],
    "visits_by_key": [("visits_pkey", "venue_id visit_id")],
    "visits_by_open_key": [("visits_one_open_plan_per_visitor", "venue_id open_key")],
    "pins_of_venue": [("pins_pkey", "venue_id")],
    "desks_of_venue": [("desks_pkey", "venue_id")],
    "alarms_by_key": [("alarms_pkey", "venue_id kind subject")],
    "due_alarms": [("alarms_by_due_time", "due_at")],
    "ring_far_alarms": [("alarms_by_due_time", "due_at")],
    "purge_alarms": [("alarms_by_due_time", "due_at")],
    "overtakings_by_key": [("overtakings_pkey", "venue_id day")],
    "change_tickets": [("tickets_pkey", "venue_id ticket_id")],
    "lines_by_key": [("lines_pkey", LINE)],
    "lines_since": [("lines_pkey", "venue_id queue_id day")],
    "redate_lines": [("lines_pkey", LINE)],
    "redate_tickets": [("tickets_each_number_once", f"{LINE} number")],
    "bring_alarms_back": [("alarms_pkey", "venue_id")],
    "retry_parked_visits": [("alarms_pkey", "venue_id kind")],
    "lines_current": [("lines_pkey", "venue_id queue_id")],
    "events_after": [("events_pkey", "venue_id version")],
    "lock_heads": [("heads_pkey", "venue_id")],
    "read_heads": [("heads_pkey", "venue_id")],
    "save_heads": [("heads_pkey", "venue_id")],
    "begin_epoch": [("heads_pkey", "venue_id")],
    "venues_by_id": [("venues_pkey", "venue_id")],
    "venues_called": [("venues_pkey", "venue_id"), ("venues_slug_key", "slug")],
    "save_venues": [("venues_slug_key", "slug")],
    "answers_by_key": [("idempotency_pkey", "scope principal key")],
    "purge_answers": [("idempotency_by_expiry", "expires_at")],
    "find_answer": [("idempotency_pkey", "scope principal key")],
    "take_over_answer": [("idempotency_pkey", "scope principal key")],
    "renew_claim": [("idempotency_pkey", "scope principal key")],
    "complete_claim": [("idempotency_pkey", "scope principal key")],
    "fail_claim": [("idempotency_pkey", "scope principal key")],
    "find_lease": [("leases_pkey", "name")],
    "take_lease": [("leases_pkey", "name")],
    "renew_lease": [("leases_pkey", "name")],
    "release_lease": [("leases_pkey", "name")],
    "hold_fence": [("leases_pkey", "name")],
    "hold_fences": [("leases_pkey", "name")],
    "staff_of_venue": [("staff_pkey", "venue_id")],
    "staff_of_account": [("staff_by_account", "account_id")],
    "tokens_of_venue": [("tokens_pkey", "venue_id")],
    "token_by_id": [
        ("accounts_pkey", "account_id"),
        ("staff_pkey", "venue_id account_id"),
        ("tokens_pkey", "venue_id token_id"),
    ],
    "account_by_username": [("accounts_username_key", "username")],
    "account_by_id": [("accounts_pkey", "account_id")],
    "set_password": [("accounts_pkey", "account_id")],
    "set_disabled": [("accounts_pkey", "account_id")],
    "set_unlocked": [("accounts_pkey", "account_id")],
    "add_session": [("accounts_pkey", "account_id")],
    "signed_in": [
        ("accounts_pkey", "account_id"),
        ("sessions_pkey", "session_hash"),
        ("staff_by_account", "account_id"),
    ],
    "touch_session": [("sessions_pkey", "session_hash")],
    "end_session": [("sessions_pkey", "session_hash")],
    "end_sessions": [("sessions_by_account", "account_id")],
    "end_sessions_unless_member": [("sessions_by_account", "account_id"), ("staff_by_account", "account_id")],
    "purge_sessions": [("sessions_by_expiry", "expires_at"), ("sessions_pkey", "session_hash")],
}

KEYS_OF_SQLITE = {"purge_alarms": [*KEYS["purge_alarms"], ("alarms_pkey", "venue_id kind subject")]}
"""Where it goes another way: rows of this table have nothing but their key."""

INSERTS = {
    "add_migration",
    "add_venues",
    "add_heads",
    "add_tickets",
    "save_visits",
    "add_events",
    "save_lines",
    "save_answers",
    "add_lease",
    "claim_answer",
    "add_account",
    "save_staff",
    "save_tokens",
    "save_pins",
    "save_desks",
    "save_alarms",
    "save_overtakings",
}

TABLES: dict[str, type[msgspec.Struct]] = {
    "tickets": Ticket,
    "lines": Line,
    "visits": Visit,
    "events": Event,
    "idempotency": Answer,
    "heads": Head,
    "accounts": Account,
    "sessions": Session,
    "staff": StaffMember,
    "tokens": Token,
    "pins": Pin,
    "desks": DeskNow,
    "alarms": Alarm,
    "overtakings": Overtakings,
}


def test_both_dialects_have_the_same_statements() -> None:
    assert all_statements("sqlite").keys() == all_statements("postgres").keys()


def test_every_statement_is_accounted_for_here() -> None:
    assert all_statements("sqlite").keys() == KEYS.keys() | INSERTS | READ_WHOLE.keys()


@pytest.mark.parametrize("table", TABLES)
async def test_the_fields_are_the_columns_in_their_order(database: Database, store: object, table: str) -> None:
    columns = {
        "sqlite": f"SELECT name FROM pragma_table_info('{table}') ORDER BY cid",
        "postgres": "SELECT column_name FROM information_schema.columns "
        f"WHERE table_schema = 'public' AND table_name = '{table}' ORDER BY ordinal_position",
    }

    found = [name for (name,) in await database.rows(columns[database.dialect])]

    assert found == list(TABLES[table].__struct_fields__)


@pytest.fixture(params=["empty", "full", "full and analysed"])
async def database_in_use(request: pytest.FixtureRequest, database: Database, store: object) -> Database:
    if request.param != "empty":
        for statement in FILL:
            await database.rows(statement.replace("BYTES", {"sqlite": "BLOB", "postgres": "bytea"}[database.dialect]))
    if request.param == "full and analysed":
        await database.rows("ANALYZE")
    return database


async def test_every_statement_finds_its_rows_by_key(database_in_use: Database) -> None:
    by_key: dict[str, list[Access]] = {**KEYS, **{name: [] for name in INSERTS}}

    if isinstance(database_in_use, SqliteDatabase):
        assert sqlite_plans(database_in_use.path) == by_key | KEYS_OF_SQLITE
    if isinstance(database_in_use, PostgresDatabase):
        assert await postgres_plans(database_in_use.url, "force_generic_plan") == by_key
        assert await postgres_plans(database_in_use.url, "force_custom_plan") == by_key


# SQLite says it in sentences: SEARCH t USING INDEX tickets_waiting (venue_id=? AND queue_id=?)

SEARCH = re.compile(
    r"SEARCH (\w+) USING (?:COVERING )?(?:INDEX (\w+)|(?:INTEGER )?PRIMARY KEY) \((.*)\)(?: LEFT-JOIN)?"
)

SQLITE_NAMES = {
    "sqlite_autoindex_tickets_1": "tickets_pkey",
    "sqlite_autoindex_idempotency_1": "idempotency_pkey",
    "sqlite_autoindex_venues_2": "venues_slug_key",
    "sqlite_autoindex_accounts_2": "accounts_username_key",
}


def sqlite_plans(path: Path) -> dict[str, list[Access]]:
    connection = open_writing(path)
    try:
        return {
            name: sqlite_accesses(connection, sql)
            for name, sql in all_statements("sqlite").items()
            if name not in READ_WHOLE
        }
    finally:
        connection.close()


def sqlite_accesses(connection: apsw.Connection, sql: str) -> list[Access]:
    arguments = (None,) * max((int(number) for number in re.findall(r"\?(\d+)", sql)), default=0)
    sentences = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", arguments)]
    for sentence in sentences:
        assert not sentence.startswith("SCAN"), f"reads all of something: {sentences}"
        assert "TEMP B-TREE" not in sentence, f"sorts: {sentences}"
    searches = [found.groups() for sentence in sentences if (found := SEARCH.fullmatch(sentence))]
    return sorted(
        (SQLITE_NAMES.get(index, index) if index else f"{table}_pkey", " ".join(re.findall(r"(\w+)[=<>]", columns)))
        for table, index, columns in searches
        if columns != "rowid=?"
    )


# PostgreSQL says it as a tree: Index Scan, its index, its condition

EXPRESSION = re.compile(r"\(COALESCE\(.*?\)\)(?= =)")


async def postgres_plans(url: str, mode: str) -> dict[str, list[Access]]:
    settings = {**SERVER_SETTINGS, "plan_cache_mode": mode}
    connection: Connection = await asyncpg.connect(url, server_settings=settings, ssl=False)
    try:
        return {
            name: [access async for access in postgres_accesses(connection, sql)]
            for name, sql in all_statements("postgres").items()
            if name not in READ_WHOLE
        }
    finally:
        await connection.close()


async def postgres_accesses(connection: Connection, sql: str) -> AsyncIterator[Access]:
    await connection.execute(f"PREPARE it AS {sql}")
    types = await connection.fetchval("SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'it'")
    arguments = ", ".join(an_argument(kind) for kind in types)
    (plan,) = msgspec.json.decode(
        await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE it{f'({arguments})' if arguments else ''}")
    )
    await connection.execute("DEALLOCATE it")
    for access in sorted(tree_accesses(plan["Plan"])):
        yield access


def an_argument(kind: str) -> str:
    """Three keys, as text, numbers or bytes."""
    one = "'{1,2,3}'" if kind.endswith("[]") else "'1'"
    return f"{one}::{kind}"


def tree_accesses(node: dict[str, Any]) -> list[Access]:
    kind, table = node["Node Type"], node.get("Relation Name")
    assert not (kind == "Seq Scan" and table in GUARDED), f"reads all of {table}"
    assert kind not in {"Hash Join", "Merge Join", "Materialize"}, f"reads all of something for a {kind}"
    found = [access for part in node.get("Plans", ()) for access in tree_accesses(part)]
    if "Index Name" in node:
        condition = EXPRESSION.sub("(expr", node.get("Index Cond", ""))
        columns = re.findall(r"\((\w+) (?:=|<|>|<=|>=|IS NULL)", condition)
        found.append((node["Index Name"], " ".join(columns)))
    return found
