"""A Redis or Valkey that may be away: nobody waits for it long, and it is found again."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from random import Random

import pytest
from redis.asyncio import Redis

from dawr.bootstrap.system import ticks
from dawr.reliability.channel import Channel
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.shared import TRIED_EVERY_MS, Shared, SharedAway
from tests.servers import ValkeyServer, server_directory

MOST_STEPS = 60
PATIENCE_SECONDS = 2.0
"""For a server that hangs; it answers in milliseconds, or on a busy machine in a tenth of this."""
LONG_SECONDS = 30.0
"""For one that answers."""


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


async def ping(shared: Shared) -> bool:
    return bool(await shared.ask(lambda client: client.ping()))


async def until_it_answers(shared: Shared) -> None:
    async with asyncio.timeout(60):
        while shared.is_away:
            try:
                await ping(shared)
            except SharedAway:
                await asyncio.sleep(0.02)


async def test_a_server_that_is_killed_is_away_until_it_is_started_again(own_valkey: ValkeyServer) -> None:
    shared = Shared.open(own_valkey.url, ticks, patience_seconds=LONG_SECONDS)
    assert await ping(shared)

    own_valkey.kill()
    with pytest.raises(SharedAway):
        await ping(shared)
    assert shared.is_away
    own_valkey.start()
    await until_it_answers(shared)

    assert await ping(shared)
    await shared.close()


async def test_a_server_that_is_full_is_away_though_it_answers_this_and_that(own_valkey: ValkeyServer) -> None:
    now = 0
    shared = Shared.open(own_valkey.url, lambda: now, patience_seconds=LONG_SECONDS)
    async with Redis.from_url(own_valkey.url) as by_hand:
        await by_hand.config_set("maxmemory", "1")
        with pytest.raises(SharedAway):
            await shared.ask(lambda client: client.set("a", "b"))

        now += TRIED_EVERY_MS
        with pytest.raises(SharedAway):
            await ping(shared)

        await by_hand.config_set("maxmemory", "0")
        now += TRIED_EVERY_MS
        assert await ping(shared)
    assert not shared.is_away
    await shared.close()


async def test_connections_from_before_it_was_killed_do_no_harm_afterwards(own_valkey: ValkeyServer) -> None:
    shared = Shared.open(own_valkey.url, ticks, patience_seconds=LONG_SECONDS)
    await asyncio.gather(*(ping(shared) for _ in range(20)))

    await asyncio.to_thread(own_valkey.kill)
    await asyncio.to_thread(own_valkey.start)

    assert await asyncio.gather(*(ping(shared) for _ in range(20))) == [True] * 20
    assert not shared.is_away
    await shared.close()


async def test_connections_to_a_server_that_hung_are_not_used_again(own_valkey: ValkeyServer) -> None:
    shared = Shared.open(own_valkey.url, ticks, patience_seconds=PATIENCE_SECONDS)
    await asyncio.gather(*(ping(shared) for _ in range(20)))
    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        with pytest.raises(SharedAway):
            await ping(shared)
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)
    await until_it_answers(shared)

    ids = {await shared.ask(lambda client: client.client_id()) for _ in range(5)}
    assert min(ids) > 20
    await shared.close()


async def test_while_it_is_away_one_a_second_tries_and_the_others_are_told_at_once() -> None:
    now, tried = 0, list[int]()
    shared = Shared.open("redis://127.0.0.1:1", lambda: now)

    async def knock(client: Redis) -> object:
        tried.append(now)
        return await client.ping()

    for now in (0, 999, 1000, 1999, 2000):  # noqa: B007 - the clock
        for _ in range(10):
            with pytest.raises(SharedAway):
                await shared.ask(knock)

    assert tried == [0, 1000, 2000]
    await shared.close()


async def test_a_server_that_hangs_is_not_waited_for(own_valkey: ValkeyServer) -> None:
    shared = Shared.open(own_valkey.url, ticks, patience_seconds=PATIENCE_SECONDS)
    assert await ping(shared)

    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        with pytest.raises(SharedAway):
            await ping(shared)
        async with asyncio.timeout(30):
            await shared.close()
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)


@pytest.mark.parametrize("who", ["one who asks", "one who listens", "one who is counted"])
async def test_whoever_is_cancelled_ends_whatever_was_on_the_way(valkey_server: ValkeyServer, who: str) -> None:
    """At every step: redis-py would swallow the one or other cancellation."""
    for steps in range(MOST_STEPS):
        shared = Shared.open(
            valkey_server.url, ticks, prefix=f"test:cancelled-{os.getpid()}:", patience_seconds=LONG_SECONDS
        )
        works: dict[str, Callable[[], Coroutine[None, None, None]]] = {
            "one who asks": lambda: ask_again_and_again(shared),  # noqa: B023 - called now
            "one who listens": lambda: Channel(shared, "words", Random(1)).listen(print, lambda: None),  # noqa: B023
            "one who is counted": lambda: ProcessCount(shared, "here").run(),  # noqa: B023
        }
        working = asyncio.create_task(works[who]())
        for _ in range(steps):
            await asyncio.sleep(0)

        working.cancel()
        done, _ = await asyncio.wait([working], timeout=60)

        assert done, f"it goes on after {steps} steps"
        assert working.cancelled()
        assert not shared.is_away
        await shared.close()


async def ask_again_and_again(shared: Shared) -> None:
    while True:
        await ping(shared)
