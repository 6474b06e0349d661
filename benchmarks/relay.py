"""`python -m benchmarks.relay`: how late a change is seen through another process, and what telling of it costs.

Two servers on one PostgreSQL. Somebody takes a number at one, somebody watches at the other: with Valkey the change is
told of, without it the other one looks every 5 seconds. Then one engine commits in batches of one, with a relay and
without, in turn; the processor time is this process's own.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from statistics import median, quantiles
from urllib.parse import urlsplit

import uvloop

from dawr.bootstrap import system
from dawr.domain.venue import VenueId
from dawr.engine.engine import Engine
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.reliability.channel import Channel
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.shared import Shared
from dawr.stores.postgres import PostgresStore
from tests.builders import a_queue, a_venue, issue
from tests.running import Client, DawrServer, dawr, venue_document
from tests.servers import PostgresServer, ValkeyServer, server_directory
from tests.stores.doing import create_venue

ROUNDS = 5


def delays(postgres: PostgresServer, redis_url: str | None, changes: int) -> list[float]:
    """From the answer to whoever took a number until it is seen at the other server, in milliseconds."""
    settings = {"DAWR_DATABASE_URL": postgres.create_database(f"hints_{redis_url is not None}".lower())}
    settings |= {"DAWR_LOG_LEVEL": "warning"} | ({} if redis_url is None else {"DAWR_REDIS_URL": redis_url})
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), **settings).exit_code == 0
    taken: list[float] = []
    with ExitStack() as stack:
        here, there = (
            stack.enter_context(
                DawrServer(Path(stack.enter_context(tempfile.TemporaryDirectory())), "serve", **settings)
            )
            for _ in range(2)
        )
        address = urlsplit(there.url)
        watching = HTTPConnection(address.hostname or "", address.port, timeout=30)
        watching.request("GET", "/v1/events?venue=clinic")
        stream = watching.getresponse()
        while not stream.readline().startswith(b"event: snapshot"):
            pass
        with Client(here.url) as client:
            for turn in range(changes):
                time.sleep(0.05)
                assert client.enter("lab", f"visitor {turn}").status == 200
                answered = time.perf_counter()
                while not stream.readline().startswith(b"event: ticket.issued"):
                    pass
                taken.append(1000 * max(0.0, time.perf_counter() - answered))
        watching.close()
    return taken


@asynccontextmanager
async def an_engine(store: PostgresStore, redis_url: str | None) -> AsyncIterator[Engine]:
    if redis_url is None:
        yield Engine(store, system.now, listeners=[Hub(store, system.now, Random(1))])
        return
    shared = Shared.open(redis_url, system.ticks, prefix="bench:")
    relay = Relay(Channel(shared, "hints", Random(1)), ProcessCount(shared, "here"), "here")
    yield Engine(store, system.now, listeners=[Hub(store, system.now, Random(1), relays=[relay])])
    await relay.close()
    await shared.close()


async def commits(url: str, redis_url: str | None, venue_id: VenueId, number: int) -> tuple[float, float]:
    """Milliseconds of the clock and of the processor for each commit."""
    store = await PostgresStore.open(url, clock=system.now)
    async with an_engine(store, redis_url) as engine:
        await engine.do(venue_id, issue("lab", None))
        began, worked = time.perf_counter(), time.process_time()
        for _ in range(number):
            await engine.do(venue_id, issue("lab", None))
        took = 1000 * (time.perf_counter() - began) / number, 1000 * (time.process_time() - worked) / number
    await store.close()
    return took


async def a_venue_on(url: str) -> VenueId:
    store = await PostgresStore.open(url, clock=system.now)
    await store.migrate()
    venue = await create_venue(store, a_venue(a_queue("lab")))
    await store.close()
    return venue.id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--commits", type=int, default=500)
    given = parser.parse_args()
    with (
        server_directory() as here,
        PostgresServer(here) as postgres,
        server_directory() as there,
        ValkeyServer(there) as valkey,
    ):
        for name, url, changes in (("told", valkey.url, given.changes), ("looked for", None, 10)):
            taken = delays(postgres, url, changes)
            print(f"{name}: {changes} changes, p50 {median(taken):.1f} ms, p95 {quantiles(taken, n=20)[-1]:.1f} ms")
        database = postgres.create_database("commits")
        venue_id = asyncio.run(a_venue_on(database))
        for turn in range(ROUNDS):
            for name, redis_url in (("alone", None), ("with a relay", valkey.url)):
                clock, processor = uvloop.run(commits(database, redis_url, venue_id, given.commits))
                print(f"round {turn}, {name}: {clock:.2f} ms a commit, {processor:.2f} ms of the processor")


if __name__ == "__main__":
    main()
