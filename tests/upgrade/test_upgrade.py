"""A database that an older version filled is migrated, found in order, and served as if nothing had happened."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec
import pytest

from dawr.domain import TokenId, VenueId
from dawr.stores.data_directory import DataDirectory
from dawr.stores.migrations import known
from tests.builders import DrivenClock
from tests.cli.here import run_here
from tests.cli.installations import Installation
from tests.running import Answer, Client, must_be_problem
from tests.serving import installed, quiet, served
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase
from tests.upgrade.fill import PASSWORD, Sample, columns_of

HERE = Path(__file__).parent
A_YEAR_MS = 365 * 24 * 60 * 60 * 1000
VERSIONS = sorted(file.stem for file in HERE.glob("*.json"))
MIGRATIONS_OF = {
    "0.1.0": {
        "dawr 0001 every number once",
        "dawr 0002 who may",
        "dawr 0003 parties",
        "dawr 0004 a mobile number joins so often",
        "reliability 0001 one answer per key",
        "reliability 0002 one holder at a time",
    }
}
SCHEMA = {
    "sqlite": ["SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"],
    "postgres": [
        (
            "SELECT table_name, ordinal_position, column_name, data_type, is_nullable, column_default, collation_name "
            "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
        ),
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        (
            "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2"
        ),
        "SELECT relname, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
    ],
}


class Old(msgspec.Struct, frozen=True):
    """An installation as an older version left it."""

    version: str
    sample: Sample
    installation: Installation
    database: Database


class Upgraded(msgspec.Struct, frozen=True):
    """It is served by this one."""

    sample: Sample
    client: Client

    async def post(self, path: str, given: object, *, by: str | None = None, key: str | None = None) -> Answer:
        bearer = None if by is None else self.sample.tokens.get(by, by)
        return await asyncio.to_thread(self.client.post, path, given, bearer=bearer, key=key)

    async def get(self, path: str, *, by: str | None = None) -> Answer:
        return await asyncio.to_thread(self.client.get, path, bearer=by)

    async def verb(self, state: str, verb: str) -> Answer:
        """Of the ticket that is in this state."""
        return await self.post(f"/v1/tickets/{self.sample.tickets[state]}/{verb}", {}, by="staff")


@pytest.fixture(params=[(version, store) for version in VERSIONS for store in SCHEMA], ids=" on ".join)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    version, store = request.param
    sample = msgspec.json.decode((HERE / f"{version}.json").read_bytes(), type=Sample)
    sql = (HERE / f"{version}.{store}.sql").read_text(encoding="utf-8")
    if store == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        asyncio.run(_load_postgres(url, sql))
        return Old(version, sample, Installation({"DAWR_DATABASE_URL": url}, url, tmp_path), PostgresDatabase(url))
    directory = DataDirectory(tmp_path / "data")
    directory.prepare()
    _load_sqlite(directory.database, sql)
    at = Installation({"DAWR_DATA": tmp_path / "data"}, directory.database, tmp_path)
    return Old(version, sample, at, SqliteDatabase(directory.database))


@pytest.fixture
async def upgraded(old: Old) -> AsyncIterator[Upgraded]:
    async with going_on(old) as upgraded:
        yield upgraded


@asynccontextmanager
async def going_on(old: Old) -> AsyncIterator[Upgraded]:
    """A minute after the old one stopped."""
    store = await old.database.open()
    await store.migrate()
    clock = DrivenClock(old.sample.now)
    clock.advance(minutes=1)
    async with installed(store, clock, quiet()) as dawr, served(dawr) as url:
        with Client(url) as client:
            yield Upgraded(old.sample, client)
    assert await store.faults() == []
    await store.close()


def test_what_came_after_the_old_version_is_to_be_applied(old: Old) -> None:
    assert asyncio.run(_pending(old.database)) == [
        migration.title
        for migration in known(old.database.dialect)
        if migration.title not in MIGRATIONS_OF[old.version]
    ]


def test_the_upgraded_database_is_in_order(old: Old) -> None:
    migrated = run_here(old.installation, "migrate")
    checked = run_here(old.installation, "check", "--json")

    assert migrated.exit_code == 0, migrated
    assert checked.exit_code == 0, checked
    findings = {finding["about"]: finding for finding in json.loads(checked.said)["findings"]}
    assert findings["numbers"]["level"] == "fine"
    assert asyncio.run(_pending(old.database)) == []


def test_an_upgraded_database_has_the_schema_of_a_new_one(
    old: Old, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert run_here(old.installation, "migrate").exit_code == 0
    upgraded = asyncio.run(_schema_of(old.database))

    assert upgraded == _new_schema(old, tmp_path, request)


def test_the_sample_has_every_kind_of_row(old: Old) -> None:
    """What is not in it is not tested."""

    async def count() -> dict[str, int]:
        counts = {}
        for table in await columns_of(old.database):
            ((counts[table],),) = await old.database.rows(f"SELECT count(*) FROM {table}")
        return counts

    async def distinct(column: str, table: str) -> set[Any]:
        return {value for (value,) in await old.database.rows(f"SELECT DISTINCT {column} FROM {table}")}

    assert all(asyncio.run(count()).values())
    states = {"waiting", "called", "serving", "held", "missed", "finished", "left", "expired"}
    assert asyncio.run(distinct("state", "tickets")) == states
    assert len(asyncio.run(distinct("day", "lines"))) > 1
    assert len(asyncio.run(distinct("round", "lines"))) > 1
    assert len(asyncio.run(distinct("priority", "tickets"))) > 1


async def test_the_next_number_of_each_line_follows_the_last_one(upgraded: Upgraded) -> None:
    await upgraded.post("/v1/queues/clinic:eye/resume", {}, by=upgraded.sample.session)

    for queue, last in upgraded.sample.last_numbers.items():
        taken = await upgraded.post(f"/v1/queues/{queue}/tickets", {"visitor": "+97433009999"})
        assert (taken.status, taken.json["place"]["number"]) == (201, last + 1)


async def test_tickets_go_on_from_where_they_were(upgraded: Upgraded) -> None:
    went = [
        (await upgraded.verb(state, verb)).json["state"]
        for state, verb in (("serving", "finish"), ("called", "start"), ("missed", "rejoin"), ("held", "resume"))
    ]
    ended = await upgraded.verb("left", "resume")

    assert went == ["finished", "serving", "waiting", "waiting"]
    must_be_problem(ended, 409, "ticket-in-wrong-state")


async def test_whoever_has_priority_is_still_called_first(upgraded: Upgraded) -> None:
    called = [
        (await upgraded.post("/v1/desks/clinic:room-1/call-next", {"queue": "lab"}, by="staff")).json["ticket"]
        for _ in range(2)
    ]

    assert [(ticket["visitor"], ticket["priority"]) for ticket in called] == [("urgent", 2), ("waiting", 0)]


async def test_a_retry_across_the_upgrade_gets_the_same_bytes(upgraded: Upgraded) -> None:
    assert upgraded.sample.keyed

    for first in upgraded.sample.keyed:
        again = await upgraded.post(first.path, first.given, by=first.bearer, key=first.key)
        assert (again.status, again.body.decode()) == (first.status, first.body)
        assert again.headers["idempotency-replayed"] == "true"


async def test_a_retry_across_the_upgrade_gets_the_same_bytes_though_a_clock_had_been_ahead(old: Old) -> None:
    await old.database.rows(f"UPDATE events SET at = at + {A_YEAR_MS}")

    async with going_on(old) as upgraded:
        for first in upgraded.sample.keyed:
            again = await upgraded.post(first.path, first.given, by=first.bearer, key=first.key)
            assert again.body.decode() == first.body

    [(believed_at,)] = await old.database.rows("SELECT believed_at FROM installation")
    assert believed_at is None or believed_at < old.sample.now + A_YEAR_MS // 2


async def test_a_visitors_old_link_opens(upgraded: Upgraded) -> None:
    visit = await upgraded.get(f"/v1/visits/{upgraded.sample.links['L008']}")

    assert visit.status == 200, visit
    assert [ticket["label"] for ticket in visit.json["tickets"]] == ["L008"]


async def test_staff_work_on_with_the_session_they_had(upgraded: Upgraded) -> None:
    me = await upgraded.get("/v1/me", by=upgraded.sample.session)
    staff = await upgraded.get("/v1/venues/clinic/staff", by=upgraded.sample.session)
    audit = await upgraded.get("/v1/venues/clinic/audit?everything=true&limit=100", by=upgraded.sample.session)

    assert {venue["role"] for venue in me.json["venues"]} == {"owner"}
    assert {one["username"]: one["role"] for one in staff.json["items"]} == {
        "owner": "owner",
        "the-owner": "owner",
        "the-manager": "manager",
        "the-staff": "staff",
        "the-viewer": "viewer",
        "the-gone": "staff",
    }
    assert (audit.status, len(audit.json["items"]) > 20) == (200, True)


async def test_an_old_password_still_fits(upgraded: Upgraded) -> None:
    signed_in = await upgraded.post("/v1/login", {"username": "the-staff", "password": PASSWORD})

    me = await upgraded.get("/v1/me", by=signed_in.json["session"])
    assert (me.status, me.json["username"]) == (200, "the-staff")


async def test_whoever_was_shut_out_stays_out(upgraded: Upgraded) -> None:
    revoked = await upgraded.get("/v1/me", by=upgraded.sample.tokens["revoked"])
    disabled = await upgraded.post("/v1/login", {"username": "the-gone", "password": PASSWORD})

    must_be_problem(revoked, 401, "credentials-invalid")
    assert disabled.status == 401


async def test_who_made_an_old_token_answers_for_it_and_for_what_it_made(old: Old) -> None:
    made_by = {
        "1": "staff:the-manager",
        "2": "token:va501a-1",
        "3": "token:va501a-2",
        "4": "command line",
        "5": "token:va501a-4",
        "6": "token:va501a-7",
        "7": "token:va501a-6",
        "8": "staff:nobody",
    }
    for number, maker in made_by.items():
        await old.database.rows(
            "INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at) "
            f"VALUES ('va501a', 'va501a-{number}', 'hash', 'api', 'viewer', 'A token', '{maker}', 1)"
        )
    store = await old.database.open()
    await store.migrate()
    await store.close()

    answering = await old.database.rows(
        "SELECT tokens.token_id, tokens.account_id IS NULL, accounts.username FROM tokens "
        "LEFT JOIN accounts ON accounts.account_id = tokens.account_id WHERE tokens.secret_hash = 'hash' ORDER BY 1"
    )
    assert [(bool(is_nobodys), name) for _, is_nobodys, name in answering] == [
        *[(False, "the-manager")] * 3,
        *[(True, None)] * 2,
        *[(False, None)] * 3,
    ]


async def test_what_an_old_server_makes_meanwhile_opens_nothing(old: Old) -> None:
    store = await old.database.open()
    await store.migrate()
    await old.database.rows(
        "INSERT INTO tokens (venue_id, token_id, secret_hash, kind, role, name, made_by, made_at) "
        "VALUES ('va501a', 'va501a-1', 'hash', 'api', 'owner', 'A token', 'staff:owner', 1)"
    )

    found = await store.accounts.token(VenueId("va501a"), TokenId("va501a-1"))
    await store.close()

    assert found is not None
    assert found[0].role_now(found[1]) is None


async def test_a_party_still_stands_in_line(upgraded: Upgraded) -> None:
    entry = upgraded.sample.entry
    path = f"/api/public/bistro/queue-status?entryId={entry['id']}&secret={entry['secret']}"
    before = (await upgraded.get(path)).json["data"]["status"]

    await upgraded.post("/api/admin/bistro/queue/call-next", {}, by="bistro")

    assert (before, (await upgraded.get(path)).json["data"]["status"]) == ("WAITING", "CALLED")


def _load_sqlite(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    try:
        with connection:
            connection.execute(sql)
    finally:
        connection.close()
    path.chmod(0o600)


async def _load_postgres(url: str, sql: str) -> None:
    connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(url, ssl=False, timeout=5)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


async def _pending(database: Database) -> list[str]:
    store = await database.open()
    try:
        return await store.pending_migrations()
    finally:
        await store.close()


async def _schema_of(database: Database) -> list[Any]:
    return [await database.rows(sql) for sql in SCHEMA[database.dialect]]


def _new_schema(old: Old, tmp_path: Path, request: pytest.FixtureRequest) -> list[Any]:
    async def made(database: Database) -> list[Any]:
        store = await database.open()
        await store.migrate()
        await store.close()
        return await _schema_of(database)

    if old.database.dialect == "sqlite":
        return asyncio.run(made(SqliteDatabase(tmp_path / "new.sqlite")))
    with request.getfixturevalue("postgres_server").lend_database() as url:
        return asyncio.run(made(PostgresDatabase(url)))
