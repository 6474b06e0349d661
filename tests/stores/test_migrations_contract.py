"""Migrations: applied once, forward only; and a restored copy begins new epochs."""

import asyncio
from pathlib import Path

import pytest

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.ports import Store
from dawr.reliability.migrations import Owners, read_migrations
from dawr.stores.migrations import BESIDE, OWNERS, SchemaUnfit, known
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, a_venue, issue
from tests.stores.databases import Database, PostgresDatabase, SqliteDatabase, wall_clock
from tests.stores.doing import create_venue, stored_head, take


async def test_migrations_are_applied_once(database: Database) -> None:
    store = await database.open()

    first, second = await store.migrate(), await store.migrate()
    await store.close()

    assert first == [migration.title for migration in known(database.dialect)]
    assert "dawr 0001 every number once" in first
    assert second == []


async def test_what_is_to_be_applied_can_be_asked_first(database: Database, store: Store) -> None:
    assert await store.pending_migrations() == []

    await database.rows("DELETE FROM migrations WHERE owner = 'reliability'")

    pending = await store.pending_migrations()
    assert pending[:2] == ["reliability 0001 one answer per key", "reliability 0002 one holder at a time"]
    assert all(title.startswith("reliability ") for title in pending)


async def test_a_migration_that_was_changed_after_it_was_applied_is_refused(database: Database, store: Store) -> None:
    await database.rows("UPDATE migrations SET checksum = 'another' WHERE owner = 'dawr'")

    with pytest.raises(SchemaUnfit, match="is not the one that was applied"):
        await store.migrate()


async def test_a_database_of_a_newer_program_is_refused(database: Database, store: Store) -> None:
    await database.rows("INSERT INTO migrations VALUES ('dawr', 9999, 'from_the_future', 'abc', 0)")

    with pytest.raises(SchemaUnfit, match="made by a newer one"):
        await store.migrate()


async def test_both_databases_have_the_same_migrations() -> None:
    """The traffic statistics are in a file of their own, or in the one database."""
    of_statistics = read_migrations("sqlite", BESIDE["postgres"])

    assert [m.title for m in [*known("sqlite"), *of_statistics]] == [m.title for m in known("postgres")]


async def test_two_starts_at_once_migrate_once(database: Database) -> None:
    stores = [await database.open() for _ in range(2)]

    applied = await asyncio.gather(*(store.migrate() for store in stores))
    for store in stores:
        await store.close()

    assert sorted(map(len, applied)) == [0, len(known(database.dialect))]


@pytest.mark.usefixtures("store")
async def test_a_store_takes_further_owners_of_tables(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    owners = {**OWNERS, "guests": a_guest_book(tmp_path / "packages", database.dialect)}
    with_guests = await opened(database, owners)

    pending = await with_guests.pending_migrations()
    applied = await with_guests.migrate()
    try:
        again = await with_guests.migrate()
        added = await with_guests.change_rows("add_guest")
        rows = await database.rows("SELECT name FROM guests")
    finally:
        await with_guests.close()
        await database.rows("DROP TABLE guests")
        await database.rows("DELETE FROM migrations WHERE owner = 'guests'")

    assert applied == pending == ["guests 0001 who was here"]
    assert again == []
    assert (added, rows) == (1, [("Amna",)])


def a_guest_book(packages: Path, dialect: str) -> str:
    """A package that owns a table."""
    name = f"guest_book_{dialect}"
    statements = packages / name / "sql" / dialect
    (statements / "migrations").mkdir(parents=True)
    (statements / "migrations" / "0001_who_was_here.sql").write_text("CREATE TABLE guests (name text);\n")
    (statements / "guests.sql").write_text("-- name: add_guest\nINSERT INTO guests VALUES ('Amna');\n")
    (packages / name / "__init__.py").touch()
    return name


async def opened(database: Database, owners: Owners) -> SqliteStore | PostgresStore:
    if isinstance(database, SqliteDatabase):
        return SqliteStore(database.path, clock=wall_clock, owners=owners)
    assert isinstance(database, PostgresDatabase)
    return await PostgresStore.open(database.url, clock=wall_clock, owners=owners)


async def test_an_open_ticket_of_a_journey_is_found_by_its_visitor_after_an_upgrade(
    database: Database, engine: Engine, store: Store, venue: Venue
) -> None:
    planned = await take(engine, venue, visitor="Amna")
    await take(engine, venue, visitor="Basma")
    await database.rows(f"UPDATE tickets SET open_key = 'lab/Amna' WHERE ticket_id = '{planned.ticket_id}'")
    await database.rows("DROP INDEX tickets_ended")
    await database.rows("DELETE FROM migrations WHERE owner = 'dawr' AND number = 12")

    await store.migrate()

    assert await database.rows("SELECT open_key FROM tickets ORDER BY number") == [("lab:Amna",), ("lab:Basma",)]


async def test_a_restored_copy_begins_new_epochs_once(database: Database, store: Store) -> None:
    venues = [await create_venue(store, a_venue()) for _ in range(2)]
    await store.renew_epochs(lambda: 1)
    await database.rows("UPDATE installation SET is_copy = 1")
    epochs = iter([71, 72, 73])

    renewed = [await store.renew_epochs(lambda: next(epochs)) for _ in range(2)]

    assert renewed == [2, 0]
    assert sorted([(await stored_head(store, venue)).epoch for venue in venues]) == [71, 72]


async def test_a_new_epoch_keeps_the_versions(
    database: Database, engine: Engine, store: Store, clock: DrivenClock, venue: Venue
) -> None:
    await take(engine, venue)
    await database.rows("UPDATE installation SET is_copy = 1")

    await store.renew_epochs(lambda: 99)
    place = await engine.do(venue.id, issue())

    head = await stored_head(store, venue)
    assert (place.ticket.number, head.epoch, head.version) == (2, 99, 2)


async def test_a_sound_database_has_no_faults(engine: Engine, store: Store, venue: Venue) -> None:
    await take(engine, venue)

    assert await store.faults() == []


@pytest.mark.parametrize("lost", ["DELETE FROM events WHERE version = 2", "DELETE FROM tickets WHERE number = 2"])
async def test_what_is_missing_is_found(
    database: Database, engine: Engine, store: Store, venue: Venue, lost: str
) -> None:
    for _ in range(3):
        await take(engine, venue)

    await database.rows(lost)

    (fault,) = await store.faults()
    assert venue.slug in fault
    assert "are missing" in fault
