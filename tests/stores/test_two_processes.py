"""Two processes on one PostgreSQL: every number once, no hole among the events, everybody called once."""

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.stores.postgres import PostgresStore
from tests.builders import DrivenClock, a_venue
from tests.stores.databases import PostgresDatabase, wall_clock
from tests.stores.doing import create_venue, events_of
from tests.stores.hammer import Report

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
COUNT = 400


async def test_two_processes_give_every_number_once_and_call_everybody_once(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url, clock=wall_clock)
    await store.migrate()
    venue = await create_venue(store, a_venue())

    reports = await asyncio.gather(hammer(postgres_url, venue, "one"), hammer(postgres_url, venue, "two"))

    everyone = list(range(1, 2 * COUNT + 1))
    assert sorted(number for report in reports for number in report.given) == everyone
    assert sorted(number for report in reports for number in report.called) == everyone
    events = await events_of(Engine(store, DrivenClock()), venue)
    assert [event.version for event in events] == list(range(1, 4 * COUNT + 1))
    assert await database_order_of_calls(postgres_url) == everyone
    assert await store.faults() == []
    await store.close()


async def hammer(url: str, venue: Venue, process: str) -> Report:
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.stores.hammer",
        url,
        venue.id,
        str(COUNT),
        process,
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await running.communicate()
    assert running.returncode == 0
    return msgspec.json.decode(said, type=Report)


async def database_order_of_calls(url: str) -> list[int]:
    """Whoever came first was called first, whichever process called."""
    rows = await PostgresDatabase(url).rows(
        "SELECT t.number FROM events e JOIN tickets t USING (venue_id, ticket_id) "
        "WHERE e.kind = 'ticket.called' ORDER BY e.version"
    )
    return [number for (number,) in rows]
