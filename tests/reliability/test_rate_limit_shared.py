"""A limit that all processes share, whatever becomes of the store that counts it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import redis.asyncio as redis
from structlog.testing import capture_logs

from dawr.bootstrap.system import ticks
from dawr.reliability.rate_limit import Policy
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.rate_limit.shared_log import SharedLog
from dawr.reliability.shared import Shared
from tests.reliability.limiters import PATIENCE_SECONDS, SECRET, DrivenClock, driven_log, sharing
from tests.servers import ValkeyServer, server_directory

TWELVE = Policy("joins", 12, 600)
BACK_WITHIN_SECONDS = 30.0


@pytest.fixture
def valkey() -> Iterator[ValkeyServer]:
    """One that the test may kill."""
    with server_directory() as directory, ValkeyServer(directory) as server:
        yield server


@asynccontextmanager
async def several(
    url: str, count: int, *, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[list[SharedLimiter]]:
    """As many processes would have, each looking after itself."""
    async with AsyncExitStack() as stack:
        limiters = []
        for _ in range(count):
            shared = await stack.enter_async_context(sharing(url, "several:", patience_seconds=patience_seconds))
            limiter = SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: count)
            limiters.append(await stack.enter_async_context(limiter.running()))
        yield limiters


async def eventually(holds: Callable[[], bool], *, seconds: float = BACK_WITHIN_SECONDS) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  what is waited for tells nobody
            await asyncio.sleep(0.01)


async def all_share(limiters: list[SharedLimiter], *, since: str = "") -> None:
    """In another life of the store than that one."""
    await eventually(lambda: not any(limiter.is_local or limiter._life == since for limiter in limiters))


async def let_in(limiter: SharedLimiter, *, asked: int = 20, key: str = "a", policy: Policy = TWELVE) -> int:
    verdicts = await asyncio.gather(*(limiter.charge(policy, key) for _ in range(asked)))
    return sum(verdict.allowed for verdict in verdicts)


async def test_several_share_one_quota_and_use_all_of_it(valkey_server: ValkeyServer) -> None:
    async with several(valkey_server.url, 3) as limiters:
        await all_share(limiters)

        got = [await let_in(limiter, asked=5) for limiter in limiters]

    assert got == [5, 5, 2]


async def test_one_gives_back_and_another_may_have_it(valkey_server: ValkeyServer) -> None:
    async with several(valkey_server.url, 2) as (one, other):
        await all_share([one, other])
        verdicts = [await one.charge(Policy("given", 2, 600), "a") for _ in range(2)]

        await one.give_back(verdicts[0])
        await one.charge(Policy("given", 2, 600), "somebody else")  # goes with what was given back, or after it

        assert (await other.charge(Policy("given", 2, 600), "a")).allowed
        assert not (await other.charge(Policy("given", 2, 600), "a")).allowed


async def test_the_whole_quota_is_shown_where_it_is_shared_and_the_share_where_it_is_not(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 3) as limiters:
        await all_share(limiters)
        shared = await limiters[0].charge(TWELVE, "a")
        valkey.kill()

        alone = await limiters[0].charge(TWELVE, "a")

    assert (shared.policy.quota, shared.remaining) == (12, 11)
    assert (alone.policy.quota, alone.remaining) == (4, 2)
    assert limiters[0].is_local


async def test_nothing_is_kept_without_an_end_and_no_key_can_be_read(valkey_server: ValkeyServer) -> None:
    async with sharing(valkey_server.url, "ends:") as shared:
        limiter = SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 1)
        await limiter.charge(Policy("unreported", 5, 60), "198.51.100.7")
        await limiter.check_store()
        await limiter.charge(Policy("looks", 5, 60), "198.51.100.7")
        await limiter.charge(Policy("tries", 5, 900), "account amna")

        async def kept(client: redis.Redis) -> dict[str, int]:
            return {key.decode(): await client.pttl(key) async for key in client.scan_iter("ends:*")}

        left = await shared.ask(kept)

    assert len(left) == 4
    assert all(life > 0 for life in left.values())
    logs = sorted(life for name, life in left.items() if "limit:" in name)
    assert logs[-1] in range(895_000, 901_001)
    assert logs[0] in range(55_000, 61_001)
    assert not [name for name in left if "198.51" in name or "amna" in name]


async def test_another_application_on_the_same_store_is_counted_apart(valkey_server: ValkeyServer) -> None:
    async with sharing(valkey_server.url, "one:") as one, sharing(valkey_server.url, "other:") as other:
        limiters = [SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 1) for shared in (one, other)]
        for limiter in limiters:
            await limiter.check_store()

        assert [await let_in(limiter) for limiter in limiters] == [12, 12]


async def test_a_store_whose_clock_is_set_back_neither_opens_nor_shuts_for_longer_than_a_window(
    valkey_server: ValkeyServer,
) -> None:
    clock = DrivenClock(valkey_server.url)
    clock.ms = 10_000_000
    async with sharing(valkey_server.url) as shared:
        limiter = SharedLimiter(driven_log(shared), clock, lambda: 1)
        await limiter.check_store()
        policy = Policy("joins", 3, 60)
        for _ in range(3):
            await limiter.charge(policy, "a")
            clock.ms += 5_000
        an_hour_before = clock.ms - 3_600_000

        clock.set_store(an_hour_before)
        at_once = await limiter.charge(policy, "a")
        clock.set_store(an_hour_before + at_once.reset_seconds * 1000)
        in_time = [(await limiter.charge(policy, "a")).allowed for _ in range(2)]
    clock.close()

    assert (at_once.allowed, at_once.reset_seconds) == (False, 50)
    assert in_time == [True, False]


async def test_absent_from_the_start_each_has_its_share_and_what_it_let_in_counts_when_the_store_comes(
    valkey: ValkeyServer,
) -> None:
    valkey.stop()
    async with several(valkey.url, 3) as limiters:
        before = [await let_in(limiter) for limiter in limiters]

        valkey.start()
        await all_share(limiters)
        after = [await let_in(limiter) for limiter in limiters]

    assert before == [4, 4, 4]
    assert after == [0, 0, 0]


async def test_what_was_used_of_a_quota_is_used_when_the_store_comes_back_empty(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 3) as limiters:
        await all_share(limiters)
        used = [await let_in(limiters[0], asked=2), await let_in(limiters[1], asked=3)]
        valkey.kill()
        alone = [await let_in(limiter) for limiter in limiters]

        valkey.start()
        await all_share(limiters)
        after = sum([await let_in(limiter) for limiter in limiters])

    assert used == [2, 3]
    assert alone == [2, 1, 4]
    assert after == 0


async def test_a_store_that_comes_back_with_an_old_memory_is_told_what_it_forgot(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 2) as limiters:
        await all_share(limiters)
        await let_in(limiters[0], asked=2)
        await limiters[0]._log._shared.ask(lambda client: client.save())
        await let_in(limiters[1], asked=10)
        valkey.kill()
        valkey.start()

        await all_share(limiters, since=limiters[0]._life)

        assert [await let_in(limiter) for limiter in limiters] == [0, 0]


async def test_a_store_that_is_emptied_while_it_runs_is_told_again(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 2) as limiters:
        await all_share(limiters)
        await let_in(limiters[0], asked=7)
        life = limiters[0]._life
        await limiters[0]._log._shared.ask(lambda client: client.flushall())

        at_once = await let_in(limiters[0], asked=5)
        await all_share(limiters, since=life)
        after = [await let_in(limiter) for limiter in limiters]

    assert at_once == 0, "it has used more than its share already, and does not believe an empty store"
    assert after == [5, 0]


async def test_a_store_that_forgot_the_script_only_is_met_again(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 1) as limiters:
        await all_share(limiters)
        await let_in(limiters[0], asked=5)
        await limiters[0]._log._shared.ask(lambda client: client.script_flush())

        first = await let_in(limiters[0], asked=2)
        assert not limiters[0]._log._shared.is_away
        await all_share(limiters)

        assert (first, await let_in(limiters[0])) == (2, 5)


async def test_whoever_is_late_holds_the_others_to_their_share_only_for_a_while(valkey: ValkeyServer) -> None:
    """Two are expected and one comes: it judges by the store when the other has had its time."""
    async with (
        sharing(valkey.url) as shared,
        SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 2).running() as limiter,
    ):
        is_local = limiter.is_local
        of_its_share = await let_in(limiter, asked=10)
        await all_share([limiter])
        of_the_rest = await let_in(limiter, asked=10)

    assert is_local
    assert (of_its_share, of_the_rest) == (6, 6)


async def test_here_and_there_means_that_the_store_may_refuse_too(valkey_server: ValkeyServer) -> None:
    async with several(valkey_server.url, 2) as (one, other):
        await all_share([one, other])
        policy, key = Policy("both", 12, 600), "here and there"
        await let_in(one, asked=10, key=key, policy=policy)

        other._state = "both"
        got = await let_in(other, key=key, policy=policy)
        own = other._own.judge(policy, key)

    assert got == 2
    assert own.remaining == 9, "what the store refused holds no place here"


async def test_a_store_that_hangs_delays_nobody_for_long(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 2, patience_seconds=0.5) as limiters:
        await all_share(limiters)
        os.kill(valkey.pid, signal.SIGSTOP)
        try:
            async with asyncio.timeout(20):
                during = [await let_in(limiter) for limiter in limiters]
            async with asyncio.timeout(3):
                refused = [await let_in(limiter) for limiter in limiters]
        finally:
            os.kill(valkey.pid, signal.SIGCONT)
        await all_share(limiters)
        after = [await let_in(limiter) for limiter in limiters]

    assert (during, refused, after) == ([6, 6], [0, 0], [0, 0])


async def test_a_store_that_is_full_is_away(valkey: ValkeyServer) -> None:
    async with several(valkey.url, 2) as limiters:
        await all_share(limiters)
        await limiters[0]._log._shared.ask(lambda client: client.config_set("maxmemory", "1"))

        assert [await let_in(limiter) for limiter in limiters] == [6, 6]
        assert [limiter.is_local for limiter in limiters] == [True, True]


async def test_what_could_not_be_put_back_is_put_back_later_but_for_what_was_given_back(valkey: ValkeyServer) -> None:
    """In one life of the store: it is full, is found all the same, and takes nothing."""
    async with sharing(valkey.url) as shared:
        limiter = SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 1)
        await limiter.check_store()
        await let_in(limiter, asked=5)
        await shared.ask(lambda client: client.config_set("maxmemory", "1"))
        alone = [await limiter.charge(TWELVE, "a") for _ in range(4)]
        await limiter.give_back(alone[0])

        shared._next_try = 0
        await limiter.check_store()
        still_local = limiter.is_local
        shared._next_try = 0
        await shared.ask(lambda client: client.config_set("maxmemory", "0"))
        await limiter.check_store()

        assert all(verdict.allowed for verdict in alone)
        assert still_local
        assert not limiter.is_local
        assert await let_in(limiter) == 12 - 5 - 3


async def test_what_is_given_back_while_the_store_is_away_is_not_put_back(valkey: ValkeyServer) -> None:
    valkey.stop()
    async with several(valkey.url, 1) as (limiter,):
        verdicts = [await limiter.charge(TWELVE, "a") for _ in range(12)]
        for verdict in verdicts[:5]:
            await limiter.give_back(verdict)

        valkey.start()
        await all_share([limiter])

        assert await let_in(limiter) == 5


async def test_thousands_of_charges_are_put_back(valkey: ValkeyServer) -> None:
    """More than go in one call, of many keys and of one."""
    policy = Policy("looks", 2500, 600)
    valkey.stop()
    async with several(valkey.url, 1) as (limiter,):
        assert await let_in(limiter, asked=2400, policy=policy) == 2400
        for number in range(600):
            await limiter.charge(policy, f"visitor {number}")

        valkey.start()
        await all_share([limiter])
        of_one = await let_in(limiter, asked=300, policy=policy)
        left = [(await limiter.charge(policy, f"visitor {number}")).remaining for number in range(0, 600, 50)]

    assert of_one == 100
    assert set(left) == {2498}


async def test_those_who_go_away_while_the_store_is_asked_cost_nobody_else_anything(
    valkey_server: ValkeyServer,
) -> None:
    async with several(valkey_server.url, 1) as (limiter,):
        await all_share([limiter])
        policy, key = Policy("gone", 10, 600), "left"
        first = asyncio.create_task(limiter.charge(policy, key))
        await asyncio.sleep(0)  # it is on its way
        others = [asyncio.create_task(limiter.charge(policy, key)) for _ in range(4)]
        await asyncio.sleep(0)
        for task in (first, *others[:2]):
            task.cancel()

        await asyncio.wait([first, *others])
        stayed = [task.result().allowed for task in others[2:]]
        rest = await let_in(limiter, key=key, policy=policy)

    # The first was on its way; of those behind it, who left before they were sent are charged nothing.
    assert stayed == [True, True]
    assert rest in {7, 8}


async def test_losing_the_store_and_finding_it_is_said_once(valkey: ValkeyServer) -> None:
    with capture_logs() as lines:
        async with several(valkey.url, 1) as limiters:
            await all_share(limiters)
            valkey.kill()
            for _ in range(5):
                await let_in(limiters[0])
            valkey.start()
            await all_share(limiters)

    said = [line["event"] for line in lines if line["event"].startswith("limits.")]
    assert said == ["limits.shared", "limits.local", "limits.shared"]


async def test_a_fault_of_ours_reaches_who_asked_and_the_next_are_served(
    valkey_server: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sharing(valkey_server.url) as shared:
        limiter = SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: 1)
        await limiter.check_store()
        with monkeypatch.context() as broken:
            broken.setattr(Shared, "ask", _fault)
            with pytest.raises(ZeroDivisionError):
                await limiter.charge(TWELVE, "a")

        assert await let_in(limiter) == 12


async def _fault(*_: object) -> None:
    raise ZeroDivisionError


def test_the_scripts_are_the_ones_that_are_installed() -> None:
    """They lie beside the code, and are read when a log is made."""
    folder = Path(__file__).parents[2] / "src" / "dawr" / "reliability" / "rate_limit"

    assert sorted(file.stem for file in folder.glob("*.lua")) == ["charge", "meet", "report"]
