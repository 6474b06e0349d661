"""Several processes of one installation, in one: each with a hub, an engine and a relay of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import cast

import msgspec

from dawr.bootstrap import system
from dawr.engine.engine import Engine
from dawr.live.hub import Hub
from dawr.live.relay import Relay
from dawr.live.watcher import Watcher
from dawr.ports import Store
from dawr.reliability.channel import Channel
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.shared import Shared
from dawr.reliability.works import Work, Works
from tests.live.seams import SlowStore
from tests.live.watching import Sent, Watched, read, versions

SECONDS = 60.0
NAMES = count(1)


class Process(msgspec.Struct, frozen=True):
    watched: Watched
    relay: Relay
    shared: Shared
    reads: SlowStore
    """What its hub reads."""


@asynccontextmanager
async def process(watched: Watched, valkey_url: str, *, installation: str = "here") -> AsyncIterator[Process]:
    """One more process of the installation. Its hub never looks by itself: what comes, comes by a hint."""
    name = f"process {next(NAMES)}"
    shared = Shared.open(valkey_url, system.ticks, prefix=f"test:{watched.venue.id}:{installation}:")
    relay = Relay(Channel(shared, "hints", Random(name)), ProcessCount(shared, name), name)
    reads = SlowStore(watched.store)
    hub = Hub(cast("Store", reads), watched.clock, Random(name), relays=[relay])
    engine = Engine(watched.store, watched.clock, listeners=[hub])
    works = [Work(name="hints", run=lambda: relay.listen(hub)), Work(name="count", run=relay.be_counted, every=1.0)]
    try:
        async with Works(works).running():
            yield Process(Watched(hub, engine, watched.store, watched.venue, watched.clock), relay, shared, reads)
    finally:
        hub.close()
        await engine.stop()
        await relay.close()
        await shared.close()


async def all_hear(*processes: Process) -> None:
    """Until each is counted and listens. Then nothing is hidden in what a new listener looks up by itself."""
    first = processes[0].shared
    channel = f"{first.prefix}hints"

    async def listeners() -> int:
        [(_, number)] = await first.ask(lambda client: client.pubsub_numsub(channel))
        return int(number)

    async def are_silent() -> bool:
        return await listeners() < len(processes) or any(process.watched.hub._background for process in processes)

    async with asyncio.timeout(SECONDS):
        while await are_silent():  # noqa: ASYNC110 - the server knows it
            await asyncio.sleep(0.01)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():  # noqa: ASYNC110 - whatever it is
            await asyncio.sleep(0.005)


async def read_until(watcher: Watcher, version: int) -> list[Sent]:
    """Everything up to this version; it must come by itself."""
    sent: list[Sent] = []
    while not sent or max(versions(sent), default=-1) < version:
        await until(lambda: bool(watcher._frames) or watcher.is_ended)
        assert not watcher.is_ended
        sent += await read(watcher)
    return sent
