"""One process of several that do a work under a lease: it takes numbers, as fast as it may, until it is killed.

    python -m tests.reliability.lease_worker DATABASE VENUE NAME LEASE_MS

It does not obey: told to stop, it tries once more under its old fence, and says what came of that.
Every number carries the fence that it was taken under, in the event's actor.
"""

import asyncio
import sys
from pathlib import Path

import msgspec

from dawr.bootstrap.system import SystemIds
from dawr.domain.events import Origin
from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.ports import Store
from dawr.ports.faults import StoreFault
from dawr.reliability.lease import Fence, Lease, LeaseLost
from dawr.stores.postgres import PostgresStore
from dawr.stores.sqlite import SqliteStore
from tests.builders import DrivenClock, issue
from tests.stores.databases import wall_clock

PAUSE_SECONDS = 0.03


class Worker:
    def __init__(self, store: Store, venue_id: VenueId, name: str) -> None:
        self._engine = Engine(store, DrivenClock())
        self._venue_id = venue_id
        self._name = name
        self._ids = SystemIds()

    async def work(self, under: Fence) -> None:
        say("began", under)
        try:
            while True:
                await self._try(under)
                await asyncio.sleep(PAUSE_SECONDS)
        except asyncio.CancelledError:
            while not await self._try(under):
                pass
            say("stored", under)
            raise

    async def _try(self, under: Fence) -> bool:
        try:
            await self._take_number(under)
        except LeaseLost:
            say("refused", under)
            raise
        except StoreFault:  # a process that was frozen while it wrote has lost its connection
            return False
        return True

    async def _take_number(self, under: Fence) -> None:
        token = self._ids.token()
        operation = msgspec.structs.replace(
            issue(), ticket_id=f"ticket-{token}", visit_id=f"visit-{token}", secret_hash=f"hash-{token}"
        )
        origin = Origin(actor=f"{under.number} {self._name}")
        await self._engine.do(self._venue_id, operation, origin=origin, under=under)


def say(word: str, under: Fence) -> None:
    sys.stdout.write(f"{word} {under.number}\n")
    sys.stdout.flush()


async def main(database: str, venue_id: str, name: str, lease_ms: str) -> None:
    store: Store
    if database.startswith("postgresql://"):
        store = await PostgresStore.open(database, clock=wall_clock)
    else:
        store = SqliteStore(Path(database), clock=wall_clock)
    worker = Worker(store, VenueId(venue_id), name)
    await Lease(store.leases, "numbers", holder=name, lease_ms=int(lease_ms)).run(worker.work)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
