"""One process in which one mobile number joins and cancels, again and again. It says how often it was let in.

python -m tests.stores.joining URL VENUE PROCESS
"""

import asyncio
import sys

from dawr.domain.errors import JoinedTooOften
from dawr.domain.ticket import TicketId, VisitId
from dawr.domain.venue import Unnamed, VenueId
from dawr.engine.engine import Engine
from dawr.operations.visitor import Join, Leave
from dawr.stores.postgres import PostgresStore
from tests.builders import DrivenClock
from tests.stores.databases import wall_clock

TIMES = 25


async def joins(url: str, venue_id: VenueId, process: str) -> int:
    store = await PostgresStore.open(url, clock=wall_clock)
    engine = Engine(store, DrivenClock())
    outcomes = await asyncio.gather(*(join(engine, venue_id, f"{process}-{number}") for number in range(TIMES)))
    await engine.stop()
    await store.close()
    return sum(outcomes)


async def join(engine: Engine, venue_id: VenueId, name: str) -> bool:
    """Once. Somebody who is on the list by this number already waits until they are not."""
    joining = Join(
        Unnamed.WAITLIST,
        "+97433001122",
        TicketId(f"ticket-{name}"),
        VisitId(f"visit-{name}"),
        f"hash-{name}",
        most_per_hour=3,
    )
    while True:
        try:
            place = await engine.do(venue_id, joining)
        except JoinedTooOften:
            return False
        if not place.already:
            await engine.do(venue_id, Leave(place.ticket.ticket_id))
            return True


if __name__ == "__main__":
    url, venue, process = sys.argv[1:]
    sys.stdout.write(str(asyncio.run(joins(url, VenueId(venue), process))))
