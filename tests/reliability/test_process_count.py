"""How many processes there are: never fewer than expected or than were seen last; the dead do not count for long."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from dawr.bootstrap.system import ticks
from dawr.reliability import process_count as censuses
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.shared import Shared, SharedAway
from tests.servers import ValkeyServer, server_directory

ROOMS = count(1)


@pytest.fixture
async def shared(valkey_server: ValkeyServer) -> AsyncIterator[Shared]:
    shared = Shared.open(valkey_server.url, ticks, prefix=f"test:process_count-{os.getpid()}-{next(ROOMS)}:")
    yield shared
    await shared.close()


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


async def all_send_heartbeats(*everybody: ProcessCount) -> None:
    for one in everybody:
        await one.heartbeat()


async def test_all_who_spoke_are_counted_once(shared: Shared) -> None:
    everybody = [ProcessCount(shared, f"process {number}") for number in range(7)]

    await all_send_heartbeats(*everybody, *everybody)

    assert [one.processes() for one in everybody] == [7] * 7


async def test_fewer_than_expected_are_never_said_to_be(shared: Shared) -> None:
    alone = ProcessCount(shared, "alone", expected=4)

    assert alone.processes() == 4
    await alone.heartbeat()

    assert alone.processes() == 4


async def test_who_leaves_is_not_counted(shared: Shared) -> None:
    staying, leaving = ProcessCount(shared, "staying"), ProcessCount(shared, "leaving")
    await all_send_heartbeats(leaving, staying)
    assert staying.processes() == 2

    await leaving.leave()
    await all_send_heartbeats(*[staying] * censuses.COUNTS_KEPT)

    assert staying.processes() == 1


async def test_who_falls_silent_is_not_counted_for_long(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(censuses, "GONE_AFTER_MS", 300)
    living, dying = ProcessCount(shared, "living"), ProcessCount(shared, "dying")
    await all_send_heartbeats(dying, living)
    assert living.processes() == 2

    async with asyncio.timeout(60):
        while living.processes() != 1:
            await living.heartbeat()
            await asyncio.sleep(0.02)


async def test_other_installations_do_not_count(shared: Shared, valkey_server: ValkeyServer) -> None:
    other = Shared.open(valkey_server.url, ticks, prefix=f"{shared.prefix}other:")
    ours, theirs = ProcessCount(shared, "ours"), ProcessCount(other, "theirs")

    await all_send_heartbeats(ours, theirs, ours)

    assert (ours.processes(), theirs.processes()) == (1, 1)
    await other.close()


async def test_a_server_that_was_lost_or_came_back_empty_makes_nobody_forget_the_others(
    own_valkey: ValkeyServer,
) -> None:
    shared = Shared.open(own_valkey.url, ticks)
    one, two, three = (ProcessCount(shared, name) for name in "123")
    await all_send_heartbeats(one, two, three, one)
    assert one.processes() == 3

    own_valkey.kill()
    with pytest.raises(SharedAway):
        await one.heartbeat()
    assert one.processes() == 3
    own_valkey.start()
    while shared.is_away:
        try:
            await one.heartbeat()
        except SharedAway:
            await asyncio.sleep(0.05)

    assert one.processes() == 3
    await shared.close()


async def test_nothing_stays_behind_when_all_are_gone(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(censuses, "GONE_AFTER_MS", 200)
    await ProcessCount(shared, "the last").heartbeat()

    left_ms = await shared.ask(lambda client: client.pttl(f"{shared.prefix}processes"))

    assert 0 < left_ms <= 200


async def test_a_server_whose_clock_ran_ahead_does_not_keep_the_dead(shared: Shared) -> None:
    process_count = ProcessCount(shared, "living")
    an_hour_from_now = 10**13
    await shared.ask(lambda client: client.zadd(f"{shared.prefix}processes", {"dead": an_hour_from_now}))

    await process_count.heartbeat()

    assert process_count.processes() == 1


async def test_it_speaks_again_and_again(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(censuses, "EVERY_SECONDS", 0.01)
    one, two = ProcessCount(shared, "one"), ProcessCount(shared, "two")
    running = [asyncio.create_task(process_count.run()) for process_count in (one, two)]

    async with asyncio.timeout(60):
        while (one.processes(), two.processes()) != (2, 2):  # noqa: ASYNC110 - the server knows it
            await asyncio.sleep(0.01)

    for task in running:
        task.cancel()
    await asyncio.wait(running)
