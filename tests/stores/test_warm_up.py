"""The first requests after a start wait for nothing that later ones do not."""

from collections.abc import Sequence
from typing import Any

import pytest

from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import Unnamed, Venue
from dawr.engine.engine import Engine
from dawr.operations.staff import CallNext
from dawr.operations.visitor import Join
from dawr.ports import Store
from dawr.stores import postgres
from dawr.stores.postgres import READERS, WAITED_FOR, PostgresGateway, PostgresStore
from tests.builders import DrivenClock, a_claim, a_venue
from tests.stores.databases import Database, PostgresDatabase, wall_clock
from tests.stores.doing import create_venue, rendered, take

ONCE = {"venues_by_id"}
"""Asked for when a set-up is not known yet."""


async def test_warming_up_changes_nothing(database: Database, store: Store, engine: Engine, venue: Venue) -> None:
    await take(engine, venue)
    tables = ("tickets", "visits", "lines", "events", "heads", "idempotency")
    before = [await database.rows(f"SELECT * FROM {table}") for table in tables]

    await store.warm_up()

    assert [await database.rows(f"SELECT * FROM {table}") for table in tables] == before
    assert (await take(engine, venue)).number == 2


async def test_every_connection_is_open_when_a_store_is_warm(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url, clock=wall_clock, lanes=3)
    await store.migrate()

    await store.warm_up()

    connected = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'dawr'"
    assert await PostgresDatabase(postgres_url).rows(connected) == [(3 + READERS,)]
    await store.close()


async def test_whatever_a_join_and_a_call_wait_for_is_planned_ahead(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()

    class Watched(PostgresGateway):
        async def fetch(self, name: str, keys: Sequence[Any]) -> Any:  # noqa: ANN401 - rows, of whatever kind
            asked.add(name)
            return await super().fetch(name, keys)

        async def write(self, name: str, rows: Sequence[Any]) -> None:
            asked.add(name)
            await super().write(name, rows)

    store = await PostgresStore.open(postgres_url, clock=wall_clock)
    await store.migrate()
    venue = await create_venue(store, a_venue())
    monkeypatch.setattr(postgres, "PostgresGateway", Watched)
    engine = Engine(store, DrivenClock())
    joining = Join(Unnamed.WAITLIST, "+97433001122", TicketId("t"), VisitId("v"), "hash", most_per_hour=3)

    await engine.answer(venue.id, joining, rendered, claim=a_claim("one"))
    called = await engine.do(venue.id, CallNext(queue=Unnamed.WAITLIST))

    assert called.ticket is not None
    assert {"latest_issues", "tickets_waiting", "save_heads"} <= asked
    assert asked - ONCE <= set(WAITED_FOR)
    await engine.stop()
    await store.close()


async def test_a_database_that_is_away_or_has_no_tables_yet_is_left_for_later(postgres_url: str) -> None:
    for url in (postgres_url, "postgresql://dawr@127.0.0.1:1/nowhere"):
        store = await PostgresStore.open(url, clock=wall_clock)

        await store.warm_up()

        await store.close()
