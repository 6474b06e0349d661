"""The copy from SQLite to PostgreSQL: every table, every value, all or nothing, and proved."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import apsw
import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.ports import Store
from dawr.stores import moving
from dawr.stores.moving import (
    Compared,
    Copy,
    Digest,
    MoveFailed,
    SourceFile,
    canonical,
    copy_to_postgres,
    without_secrets,
)
from dawr.traffic.database import journal
from tests.stores.databases import PostgresDatabase, SqliteDatabase, wall_clock
from tests.stores.full_database import FILL

STAY = {"migrations", "leases"}
"""The schema's own, and who of the processes that have ended might do what."""

ODD_TEXTS = [
    "",
    " ",
    "عيادة المختبر",
    "化验室 · 血",
    "👩‍⚕️🧪🇶🇦",
    "e\u0301 is not \u00e9",
    "\u202eturned\u202c \u2066\u2069",
    "\ufffd\ufffe\uffff\U0010ffff",
    "tab\there, line\nbreak, \r, \x01\x1f\x7f",
    'it\'s "quoted" \\ back, \\N \\. $$',
    "NULL",
    json.dumps({"reason": "\0 in a document", "deep": [1, None, {"é": 1e300}]}),
]
LARGE = [0, -1, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, 2**63 - 1, -(2**63)]


WAITS_TO_MIGRATE = """
SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database
WHERE locktype = 'advisory' AND NOT granted AND d.datname = current_database()
"""


@pytest.fixture
async def full(source: SqliteDatabase) -> SqliteDatabase:
    statements = [statement.replace("BYTES", "BLOB").replace("20000", "300") for statement in FILL]
    connection = apsw.Connection(str(source.path))
    with connection:
        connection.execute(";".join(statements))
    connection.close()
    return source


@pytest.fixture
def target(postgres_url: str) -> PostgresDatabase:
    return PostgresDatabase(postgres_url)


@pytest.fixture
async def target_store(target: PostgresDatabase) -> AsyncIterator[Store]:
    store = await target.open()
    yield store
    await store.close()


async def move(source: SqliteDatabase, target: PostgresDatabase) -> Copy:
    return await copy_to_postgres(source.path, target.url, clock=wall_clock, statistics=no_statistics(source))


def no_statistics(source: SqliteDatabase) -> SourceFile:
    return SourceFile(source.path.with_name("traffic.sqlite"), journal("sqlite"))


async def tables_of(source: SqliteDatabase) -> list[str]:
    found = await source.rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return [name for (name,) in found if not name.startswith("sqlite_") and name not in STAY]


async def rows_in(database: SqliteDatabase | PostgresDatabase, table: str, columns: str) -> list[tuple[Any, ...]]:
    return sorted(await database.rows(f"SELECT {columns} FROM {table}"), key=repr)


async def test_what_the_installation_signed_before_is_good_after(
    source: SqliteDatabase, target: PostgresDatabase, target_store: Store
) -> None:
    store = await source.open()
    secret = await store.secret("the secret")
    await store.close()

    await move(source, target)

    assert await target_store.secret("another") == secret == "the secret"


async def test_no_table_and_no_column_is_forgotten(full: SqliteDatabase, target: PostgresDatabase) -> None:
    tables = await tables_of(full)

    copy = await move(full, target)

    assert len(tables) >= 11
    assert [table.table for table in copy.tables if not table.table.startswith("traffic_")] == tables
    for table in tables:
        columns = [name for (name,) in await full.rows(f"SELECT name FROM pragma_table_info('{table}')")]
        here = await rows_in(full, table, ", ".join(columns))
        assert here, f"{table} is empty: fill it here, or the test says nothing about it"
        assert here == await rows_in(target, table, ", ".join(columns)), table


async def test_a_table_of_a_later_migration_is_copied_too(full: SqliteDatabase, target: PostgresDatabase) -> None:
    store = await target.open()
    await store.migrate()
    await store.close()
    await full.rows("CREATE TABLE later (id INTEGER PRIMARY KEY, note TEXT, weight REAL) STRICT")
    await full.rows("INSERT INTO later VALUES (1, 'نعم', 0.1), (2, NULL, -1e-300)")
    await target.rows("CREATE TABLE later (weight double precision, note text, id bigint PRIMARY KEY)")

    copy = await move(full, target)

    assert ("later", 2) in [(table.table, table.there.rows) for table in copy.tables]
    assert await target.rows("SELECT id, note, weight FROM later ORDER BY id") == [(1, "نعم", 0.1), (2, None, -1e-300)]


async def test_only_the_statistics_have_tables_that_number_their_rows(
    source: SqliteDatabase, target: PostgresDatabase
) -> None:
    """Where they go on counting is in test_moving_statistics.py; whoever adds a sequence must think of it."""
    await move(source, target)

    assert await target.rows("SELECT sequencename FROM pg_sequences ORDER BY 1") == [
        ("traffic_dead_seq_seq",),
        ("traffic_queue_seq_seq",),
    ]


async def test_counts_and_checksums_are_equal_and_not_empty(full: SqliteDatabase, target: PostgresDatabase) -> None:
    copy = await move(full, target)

    assert copy.is_proved
    assert not copy.was_there
    rows = {table.table: (table.here.rows, table.there.rows) for table in copy.tables}
    assert rows["tickets"] == rows["events"] == rows["idempotency"] == (300, 300)
    checksums = [table.here.checksum for table in copy.tables if table.here.rows]
    assert len(set(checksums)) == len(checksums) >= 11


async def test_every_odd_text_and_number_arrives_as_it_was(source: SqliteDatabase, target: PostgresDatabase) -> None:
    connection = apsw.Connection(str(source.path))
    for version, text in enumerate(ODD_TEXTS, start=1):
        event = ("v", version, "odd", LARGE[version % len(LARGE)], text, None, text, None, text, text)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", event)
    for number, large in enumerate(LARGE):
        connection.execute("INSERT INTO heads VALUES (?, ?, 'day', ?, ?)", (f"v{number}", large, large, large))
    for key, body in enumerate([b"", bytes(range(256)), "é\0👩".encode(), b"\x00" * 5000, b"\xff\xfe"]):
        answer = ("s", "p", f"k{key}", "f", "completed", None, 2**62, 200, body, 1)
        connection.execute("INSERT INTO idempotency VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", answer)
    connection.close()

    copy = await move(source, target)

    assert copy.is_proved
    for table in ("events", "heads", "idempotency"):
        assert await rows_in(target, table, "*") == await rows_in(source, table, "*")


@pytest.mark.parametrize(
    ("planted", "sentence"),
    [
        ("UPDATE tickets SET visitor = 'a' || char(0) WHERE number = 7", "tickets .* \\(a NUL character in visitor\\)"),
        ("UPDATE tickets SET recalls = 3000000000 WHERE number = 7", "tickets holds what PostgreSQL does not take: "),
    ],
)
async def test_what_postgresql_cannot_store_is_named_and_nothing_is_moved(
    full: SqliteDatabase, target: PostgresDatabase, planted: str, sentence: str
) -> None:
    await full.rows(planted)

    with pytest.raises(MoveFailed, match=sentence):
        await move(full, target)

    assert await target.rows("SELECT count(*) FROM venues") == [(0,)]


async def test_text_that_is_no_text_is_named(full: SqliteDatabase, target: PostgresDatabase) -> None:
    await full.rows("UPDATE tickets SET visitor = CAST(x'ff' AS TEXT) WHERE number = 7")

    with pytest.raises(MoveFailed, match="cannot be read"):
        await move(full, target)


SPOILS = {
    "changes a row": "NEW.visitor := upper(NEW.visitor); RETURN NEW",
    "drops a row": "RETURN CASE WHEN NEW.number = 7 THEN NULL ELSE NEW END",
    "swaps two columns": "NEW.label := NEW.day; NEW.day := 'A1'; RETURN NEW",
    "forgets a NULL": "NEW.name := coalesce(NEW.name, ''); RETURN NEW",
}


@pytest.mark.parametrize("spoil", SPOILS)
async def test_a_copy_that_is_not_equal_is_taken_back(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store, spoil: str
) -> None:
    await target_store.migrate()
    await target_store.close()
    await target.rows(f"CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {SPOILS[spoil]}; END $$")
    await target.rows("CREATE TRIGGER spoil BEFORE INSERT ON tickets FOR EACH ROW EXECUTE FUNCTION spoil()")

    copy = await move(full, target)

    assert not copy.is_proved
    assert [table.table for table in copy.tables if not table.is_equal] == ["tickets"]
    for table in ("venues", "tickets", "events"):
        assert await target.rows(f"SELECT count(*) FROM {table}") == [(0,)]


async def test_streams_resume_because_the_epoch_stays(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store
) -> None:
    copy = await move(full, target)

    assert not copy.begins_epochs
    assert await target_store.renew_epochs(lambda: 99) == 0
    assert await target.rows("SELECT DISTINCT epoch FROM heads") == [(1,)]


async def test_a_restored_backup_that_nobody_opened_begins_new_epochs_there(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store
) -> None:
    await full.rows("UPDATE installation SET is_copy = 1")

    copy = await move(full, target)

    assert copy.is_proved
    assert copy.begins_epochs
    assert await target_store.renew_epochs(lambda: 99) == 300
    assert await target_store.renew_epochs(lambda: 98) == 0
    assert await target.rows("SELECT DISTINCT epoch FROM heads") == [(99,)]


async def test_a_second_run_finds_that_all_of_it_is_there(full: SqliteDatabase, target: PostgresDatabase) -> None:
    first = await move(full, target)

    second = await move(full, target)

    assert second.was_there
    assert second.tables == first.tables
    assert await target.rows("SELECT count(*) FROM tickets") == [(300,)]


@pytest.mark.parametrize("changed", ["here", "there"])
async def test_a_database_with_other_rows_is_refused_and_keeps_them(
    full: SqliteDatabase, target: PostgresDatabase, changed: str
) -> None:
    await move(full, target)
    database = full if changed == "here" else target
    await database.rows("UPDATE tickets SET recalls = recalls + 1 WHERE number = 7")
    before = await rows_in(target, "tickets", "*")

    with pytest.raises(MoveFailed, match=r"not empty .*tickets.* and is not a copy of this one as it is now"):
        await move(full, target)

    assert await rows_in(target, "tickets", "*") == before


async def test_a_database_that_a_server_was_tried_on_is_still_empty(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store
) -> None:
    await target_store.migrate()
    await target_store.renew_epochs(lambda: 5)
    await target_store.accounts.set_owner_code("a hash", wall_clock())
    await target_store.close()
    await target.rows("INSERT INTO leases (name, holder, fence, until_at) VALUES ('clockwork', 'who tried', 1, 1)")

    copy = await move(full, target)

    assert copy.is_proved
    assert await target.rows("SELECT holder FROM leases") == [("who tried",)]
    assert await target.rows("SELECT owner_code_hash FROM installation") == [(None,)]


async def test_no_lease_of_a_process_that_has_ended_is_held_there(
    full: SqliteDatabase, target: PostgresDatabase
) -> None:
    """One that was killed cannot give it back, and an embedded server has it for an hour."""
    await full.rows("INSERT INTO leases (name, holder, fence, until_at) VALUES ('clockwork', 'killed', 7, 1 << 60)")

    await move(full, target)

    assert await target.rows("SELECT holder FROM leases") == []


async def test_a_database_of_another_program_is_left_alone(full: SqliteDatabase, target: PostgresDatabase) -> None:
    await target.rows("CREATE TABLE invoices (id bigint)")

    with pytest.raises(MoveFailed, match="tables that are not Dawr's \\(invoices\\)"):
        await move(full, target)

    assert await target.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("invoices",)]


async def test_a_database_that_a_server_uses_is_refused(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store
) -> None:
    await target_store.migrate()

    with pytest.raises(MoveFailed, match="A Dawr is connected to that database"):
        await move(full, target)


async def test_a_source_that_is_behind_is_not_touched(full: SqliteDatabase, target: PostgresDatabase) -> None:
    await full.rows("DELETE FROM migrations WHERE owner = 'dawr' AND number = 3")

    with pytest.raises(MoveFailed, match="is behind: run `dawr migrate` first to apply dawr 0003"):
        await move(full, target)


async def test_nobody_writes_there_while_it_is_copied(
    full: SqliteDatabase, target: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = moving._compared
    refused: list[str] = []

    async def meanwhile(*given: Any) -> tuple[Compared, ...]:  # noqa: ANN401 - whatever it is called with
        other: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            target.url, ssl=False, server_settings={"lock_timeout": "50ms"}
        )
        with pytest.raises(asyncpg.LockNotAvailableError):
            await other.execute("INSERT INTO accounts VALUES ('a', 'b', 'c', 1, NULL)")
        await other.close()
        refused.append("once")
        return await compared(*given)

    monkeypatch.setattr(moving, "_compared", meanwhile)
    await move(full, target)

    assert refused == ["once"]


async def test_a_server_that_starts_during_the_copy_waits_for_it(
    full: SqliteDatabase, target: PostgresDatabase, target_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would find the schema it knows and go on, among rows that may yet be taken back."""
    compared = moving._compared
    starting: list[asyncio.Task[list[str]]] = []
    waited: list[bool] = []

    async def meanwhile(*given: Any) -> tuple[Compared, ...]:  # noqa: ANN401 - whatever it is called with
        starting.append(asyncio.create_task(target_store.migrate()))
        async with asyncio.timeout(60):
            while not (starting[0].done() or await target.rows(WAITS_TO_MIGRATE)):
                pass
        waited.append(not starting[0].done())
        return await compared(*given)

    monkeypatch.setattr(moving, "_compared", meanwhile)
    await move(full, target)

    assert waited == [True]
    assert await starting[0] == []


@pytest.mark.parametrize("place", ["127.0.0.1:99999/dawr", "127.0.0.1:port/dawr"])
async def test_an_address_that_cannot_be_is_a_sentence_without_its_password(source: SqliteDatabase, place: str) -> None:
    with pytest.raises(MoveFailed, match="address of PostgreSQL cannot be used") as failed:
        await move(source, PostgresDatabase(f"postgresql://dawr:hunter2@{place}"))

    assert "hunter2" not in str(failed.value)


VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.binary() | st.floats(allow_nan=False)


@given(st.lists(VALUES, max_size=5), st.lists(VALUES, max_size=5))
def test_only_equal_rows_have_the_same_bytes(one: list[object], other: list[object]) -> None:
    same = [(type(value), value) for value in one] == [(type(value), value) for value in other]

    assert (canonical(one) == canonical(other)) >= same
    if [repr(value) for value in one] != [repr(value) for value in other]:
        assert canonical(one) != canonical(other)


@pytest.mark.parametrize("other", ["1", b"1", 1.0, None, "", True], ids=repr)
def test_a_value_of_another_kind_is_another_value(other: object) -> None:
    assert canonical((1,)) != canonical((other,))


def test_a_checksum_does_not_mind_the_order_and_minds_everything_else() -> None:
    rows = [(1, "a"), (2, "b"), (3, None)]
    digest = Digest().plus(rows)

    assert digest == Digest().plus(rows[:1]).plus(rows[2:0:-1])
    for others in (rows[:2], [*rows, rows[0]], [(1, "b"), (2, "a"), (3, None)], [(1, "a"), (2, "b"), (3, "")]):
        assert digest.checksum != Digest().plus(others).checksum


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://dawr:hunter2@db.local:5433/dawr", "postgresql://dawr@db.local:5433/dawr"),
        ("postgresql://dawr:hun%40ter2@db/dawr?password=hunter2&sslmode=require", "postgresql://dawr@db/dawr"),
        ("postgresql://db/dawr", "postgresql://db/dawr"),
        ("postgresql://dawr:hunter2@a,b:5433/dawr", "postgresql://dawr@a,b:5433/dawr"),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
