"""One process that takes numbers and calls people as fast as it can, then says what it got.

    python -m tests.stores.hammer URL VENUE COUNT

It calls as many people as it let in, so that two of them end with an empty line.
"""

import asyncio
import sys

import msgspec

from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.stores.postgres import PostgresStore
from tests.builders import DrivenClock, call_next, issue
from tests.stores.databases import wall_clock

DESKS = 8


class Report(msgspec.Struct):
    given: list[int]
    called: list[int]
    """In the order in which this process called them."""


async def hammer(url: str, venue_id: VenueId, count: int, process: str) -> Report:
    store = await PostgresStore.open(url, clock=wall_clock)
    engine = Engine(store, DrivenClock())
    given, called = await asyncio.gather(
        asyncio.gather(*(take_number(engine, venue_id, f"{process}-{number}") for number in range(count))),
        asyncio.gather(*(call(engine, venue_id, count // DESKS) for _ in range(DESKS))),
    )
    await engine.stop()
    await store.close()
    return Report(list(given), [number for desk in called for number in desk])


async def take_number(engine: Engine, venue_id: VenueId, name: str) -> int:
    operation = msgspec.structs.replace(
        issue(), ticket_id=f"ticket-{name}", visit_id=f"visit-{name}", secret_hash=f"hash-{name}"
    )
    return (await engine.do(venue_id, operation)).ticket.number


async def call(engine: Engine, venue_id: VenueId, count: int) -> list[int]:
    called: list[int] = []
    while len(called) < count:
        ticket = (await engine.do(venue_id, call_next())).ticket
        if ticket is not None:
            called.append(ticket.number)
    return called


if __name__ == "__main__":
    url, venue, count, process = sys.argv[1:]
    report = asyncio.run(hammer(url, VenueId(venue), int(count), process))
    sys.stdout.buffer.write(msgspec.json.encode(report))
