"""Two processes could do what is due, and both try. Everything is done once, whichever of them did it."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dawr.domain.venue import Venue
from dawr.engine.clockwork import Ringer
from dawr.engine.engine import Engine
from dawr.ports import Store
from dawr.reliability.lease import Fence, Lease
from dawr.reliability.works import Work, Works
from tests.builders import DrivenClock, a_desk, a_venue, call_next, issue
from tests.cli.databases import rows_of
from tests.domain.builders import a_queue
from tests.running import Client, DawrServer, at_once, dawr, eventually, set_up, venue_document
from tests.stores.databases import PostgresDatabase
from tests.stores.doing import create_venue, events_of

CALLED = 200
AT_A_TIME = 8
MISS_SECONDS = 120
TAKEN_OVER_SECONDS = 30.0


class Two:
    """Two stores, engines and ringers on one database, with one clock; and many who were called and do not come."""

    def __init__(self, stores: list[Store], venue: Venue, clock: DrivenClock) -> None:
        self.venue = venue
        self.clock = clock
        self.stores = stores
        self.engines = [Engine(store, clock) for store in stores]
        self.ringers = [Ringer(*pair, clock) for pair in zip(self.engines, stores, strict=True)]

    async def call_everybody(self) -> None:
        for turn in range(CALLED):
            await self.engines[turn % 2].do(self.venue.id, issue("lab"))
        for turn in range(CALLED):
            await self.engines[turn % 2].do(self.venue.id, call_next("lab", desk="room-1"))

    async def missed(self) -> list[str | None]:
        events = await events_of(self.engines[0], self.venue)
        assert [event.version for event in events] == list(range(1, len(events) + 1))
        return [event.ticket_id for event in events if event.kind == "ticket.missed"]


@pytest.fixture
async def both(migrated_url: str) -> AsyncIterator[Two]:
    stores = [await PostgresDatabase(migrated_url).open() for _ in range(2)]
    queue = a_queue("lab", miss_after=MISS_SECONDS)
    venue = await create_venue(stores[0], a_venue(queue, desks=(a_desk("room-1", "lab"),)))
    both = Two(stores, venue, DrivenClock())
    await both.call_everybody()
    yield both
    for engine, store in zip(both.engines, stores, strict=True):
        await engine.stop()
        await store.close()


async def test_what_two_ringers_find_due_at_once_happens_once(both: Two) -> None:
    """Even without a lease: whoever comes second finds that it was done."""
    early = [await ringer.ring_due() for ringer in both.ringers]
    both.clock.advance(seconds=MISS_SECONDS)
    rung = await asyncio.gather(*(ringer.ring_due() for ringer in both.ringers))
    again = await asyncio.gather(*(ringer.ring_due() for ringer in both.ringers))

    missed = await both.missed()
    assert (len(missed), len(set(missed))) == (CALLED, CALLED)
    assert (early, sum(rung), again) == ([0, 0], CALLED, [0, 0])
    assert await both.stores[0].faults() == []


async def test_of_two_processes_that_do_what_is_due_one_does_it(both: Two) -> None:
    """As a server does it, under the lease: the other stands by, and is not needed."""
    by = Counter[int]()
    one, two = (_works(both, which, by) for which in (0, 1))
    async with one.running(), two.running():
        both.clock.advance(seconds=MISS_SECONDS)
        async with asyncio.timeout(30):
            while sum(by.values()) < CALLED:  # noqa: ASYNC110 - what two works do meanwhile
                await asyncio.sleep(0.01)

    assert list(by.values()) == [CALLED]
    assert len(await both.missed()) == CALLED


def _works(both: Two, which: int, by: Counter[int]) -> Works:
    """Counts who did how much."""
    lease = Lease(both.stores[which].leases, "alarms", holder=f"process {which}")

    async def ring(fence: Fence) -> None:
        if rung := await both.ringers[which].ring_due(fence):
            by[which] += rung

    return Works([Work(name="alarms", run=ring, every=0.01, lease=lease)])


class Servers:
    """`dawr serve` twice on one PostgreSQL, with many at one desk who do not come."""

    def __init__(self, directory: Path, url: str) -> None:
        for name in ("one", "two"):
            (directory / name).mkdir()
        self.database = url
        self.settings = {"DAWR_DATABASE_URL": url}
        self.both = [DawrServer(directory / name, "serve", **self.settings) for name in ("one", "two")]
        document = json.loads(venue_document({"id": "lab", "miss_after": MISS_SECONDS}))
        desk = {"id": "room-1", "name": {"en": "Room 1"}, "queues": ["lab"]}
        set_up("venue", "apply", "-", stdin=json.dumps(document | {"desks": [desk]}), **self.settings)
        token = ("token", "new", "--kind", "api", "--role", "staff", "--name", "Desk")
        self.bearer = set_up(*token, **self.settings).split()[-1]

    def call_everybody(self) -> None:
        at_once(self._call_some, range(AT_A_TIME))
        assert len(rows_of(self.database, "SELECT 1 FROM alarms WHERE kind = 'miss'")) == CALLED

    def _call_some(self, lane: int) -> None:
        with Client(self.both[lane % 2].url) as client:
            for turn in range(CALLED // AT_A_TIME):
                assert client.enter("lab", f"visitor {lane}-{turn}").status == 200
                called = client.post("/v1/desks/clinic:room-1/call-next", {}, bearer=self.bearer)
                assert called.json["ticket"] is not None

    def make_all_due(self) -> None:
        """As if the minutes had gone by."""
        rows_of(self.database, "UPDATE alarms SET due_at = 1 WHERE kind = 'miss'")

    def missed(self) -> list[str]:
        return [
            ticket for (ticket,) in rows_of(self.database, "SELECT ticket_id FROM events WHERE kind = 'ticket.missed'")
        ]

    def ringer(self) -> DawrServer:
        """The one that has the lease."""
        rows = rows_of(self.database, "SELECT holder FROM leases WHERE name = 'alarms'")
        return next(server for server in self.both if str(server.pid) == rows[0][0].split()[1])

    def must_be_whole(self) -> None:
        missed = self.missed()
        assert (len(missed), len(set(missed))) == (CALLED, CALLED)
        versions = [version for (version,) in rows_of(self.database, "SELECT version FROM events ORDER BY version")]
        assert versions == list(range(1, len(versions) + 1))
        assert rows_of(self.database, "SELECT 1 FROM alarms WHERE kind = 'miss' AND due_at IS NOT NULL") == []
        assert dawr("check", **self.settings).exit_code == 0


def test_two_servers_miss_everybody_once(tmp_path: Path, migrated_url: str) -> None:
    servers = Servers(tmp_path, migrated_url)
    with servers.both[0], servers.both[1]:
        servers.call_everybody()
        servers.make_all_due()
        eventually(lambda: len(servers.missed()) >= CALLED, seconds=30)
    servers.must_be_whole()


@pytest.mark.slow
def test_when_the_server_that_rings_is_killed_the_other_goes_on_where_it_was(tmp_path: Path, migrated_url: str) -> None:
    servers = Servers(tmp_path, migrated_url)
    with servers.both[0], servers.both[1]:
        servers.call_everybody()
        servers.make_all_due()
        servers.ringer().kill()
        eventually(lambda: len(servers.missed()) >= CALLED, seconds=TAKEN_OVER_SECONDS)
        assert sum(server.is_running() for server in servers.both) == 1
    servers.must_be_whole()
