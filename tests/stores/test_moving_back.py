"""The moment of going back: whoever starts on PostgreSQL meanwhile gives no number there."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from dawr.ports import Store
from dawr.stores.data_directory import Mark
from dawr.stores.migrations import SchemaUnfit
from dawr.stores.moving import MoveFailed, SourceFile, copy_to_postgres, without_secrets
from dawr.stores.moving_back import leaving
from dawr.traffic.database import journal
from tests.stores.databases import PostgresDatabase, SqliteDatabase, wall_clock
from tests.stores.test_moving import WAITS_TO_MIGRATE


@pytest.fixture
async def target(source: SqliteDatabase, postgres_url: str) -> PostgresDatabase:
    statistics = SourceFile(source.path.with_name("traffic.sqlite"), journal("sqlite"))
    await copy_to_postgres(source.path, postgres_url, clock=wall_clock, statistics=statistics)
    return PostgresDatabase(postgres_url)


@pytest.fixture
async def server(target: PostgresDatabase) -> AsyncIterator[Store]:
    """What a server opens when it starts."""
    store = await target.open()
    yield store
    await store.close()


async def test_a_server_that_starts_meanwhile_waits_and_is_told(
    source: SqliteDatabase, target: PostgresDatabase, server: Store
) -> None:
    async with leaving(
        target.url, source.path, mark=Mark(without_secrets(target.url), ""), left_for="host:/data", clock=wall_clock
    ) as left:
        starting = asyncio.create_task(server.migrate())
        await waits_to_migrate(target)

    assert left.changed is None
    with pytest.raises(SchemaUnfit, match=r"went back to host:/data"):
        await starting


async def test_a_way_back_that_fails_leaves_postgresql_as_it_was(
    source: SqliteDatabase, target: PostgresDatabase, server: Store
) -> None:
    starting: list[asyncio.Task[list[str]]] = []

    async def fail() -> None:
        async with leaving(
            target.url, source.path, mark=Mark(without_secrets(target.url), ""), left_for="host:/data", clock=wall_clock
        ):
            starting.append(asyncio.create_task(server.migrate()))
            await waits_to_migrate(target)
            raise LookupError

    with pytest.raises(LookupError):
        await fail()

    assert await starting[0] == []


async def test_a_server_that_came_first_keeps_the_directory_away(
    source: SqliteDatabase, target: PostgresDatabase, server: Store
) -> None:
    await server.migrate()

    with pytest.raises(MoveFailed, match="A Dawr uses that PostgreSQL database"):
        async with leaving(
            target.url, source.path, mark=Mark(without_secrets(target.url), ""), left_for="host:/data", clock=wall_clock
        ):
            pytest.fail("nobody leaves a database that is in use")


@pytest.mark.parametrize("table", ["accounts", "venues", "heads", "events"])
async def test_whatever_was_stored_there_is_seen(source: SqliteDatabase, target: PostgresDatabase, table: str) -> None:
    await target.rows(STORED[table])

    async with leaving(
        target.url, source.path, mark=Mark(without_secrets(target.url), ""), left_for="host:/data", clock=wall_clock
    ) as left:
        pass

    assert left.changed == table


STORED = {
    "accounts": "INSERT INTO accounts (account_id, username, password_hash, created_at) VALUES ('a', 'b', 'c', 1)",
    "venues": "INSERT INTO venues (venue_id, slug, document) VALUES ('v', 's', '{}')",
    "heads": "INSERT INTO heads (venue_id, epoch, day, version, config_version) VALUES ('v', 1, 'd', 1, 1)",
    "events": "INSERT INTO events (venue_id, version, kind, at, data) VALUES ('v', 1, 'k', 1, '{}')",
}


async def waits_to_migrate(target: PostgresDatabase) -> None:
    async with asyncio.timeout(30):
        while not await target.rows(WAITS_TO_MIGRATE):  # noqa: ASYNC110 - it happens in the server
            await asyncio.sleep(0.01)
