"""So many in so long, and never one more: the same verdicts, whoever counts."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dawr.reliability.rate_limit import Limiter, Policy, Verdict
from tests.reliability.limiters import DrivenClock, limiter_of
from tests.servers import ValkeyServer

FIVE = Policy("joins", 5, 60)
KINDS = ("local", "shared", "both", "away")
"""In this process; in the store; here and there; here because the store is away."""


@pytest.fixture
def clock(valkey_server: ValkeyServer) -> Iterator[DrivenClock]:
    clock = DrivenClock(valkey_server.url)
    yield clock
    clock.close()


@pytest.fixture(params=KINDS)
async def limiter(
    request: pytest.FixtureRequest, clock: DrivenClock, valkey_server: ValkeyServer
) -> AsyncIterator[Limiter]:
    async with limiter_of(request.param, clock, valkey_server.url) as limiter:
        yield limiter


async def test_the_quota_is_let_in_and_not_one_more(limiter: Limiter) -> None:
    verdicts = [await limiter.charge(FIVE, "a") for _ in range(7)]

    assert [verdict.allowed for verdict in verdicts] == [True] * 5 + [False] * 2
    assert [verdict.remaining for verdict in verdicts] == [4, 3, 2, 1, 0, 0, 0]
    assert {verdict.reset_seconds for verdict in verdicts} == {60}
    assert {verdict.policy for verdict in verdicts} == {FIVE}
    assert (await limiter.charge(FIVE, "b")).allowed
    assert (await limiter.charge(Policy("others", 5, 60), "a")).allowed


async def test_of_a_thousand_at_once_the_quota_is_let_in(limiter: Limiter) -> None:
    verdicts = await asyncio.gather(*(limiter.charge(Policy("joins", 100, 60), "a") for _ in range(1000)))

    allowed = [verdict for verdict in verdicts if verdict.allowed]
    assert sorted(verdict.remaining for verdict in allowed) == list(range(100))
    assert len(verdicts) == 1000


async def test_many_at_once_do_not_mix_up_whose_they_are(limiter: Limiter) -> None:
    keys = [f"visitor {number % 300}" for number in range(1200)]

    verdicts = await asyncio.gather(*(limiter.charge(Policy("joins", 3, 60), key) for key in keys))

    assert [verdict.key for verdict in verdicts] == keys
    for key in set(keys):
        theirs = [verdict for verdict in verdicts if verdict.key == key]
        assert [verdict.remaining for verdict in theirs if verdict.allowed] == [2, 1, 0]


async def test_whoever_is_refused_is_let_in_when_they_were_told_to_come_again(
    limiter: Limiter, clock: DrivenClock
) -> None:
    for _ in range(5):
        await limiter.charge(FIVE, "a")
        clock.ms += 1500

    refused = await limiter.charge(FIVE, "a")
    clock.ms += (refused.reset_seconds - 1) * 1000
    too_early = await limiter.charge(FIVE, "a")
    clock.ms += 1000
    in_time = await limiter.charge(FIVE, "a")

    assert [verdict.allowed for verdict in (refused, too_early, in_time)] == [False, False, True]


async def test_no_window_holds_more_than_the_quota_also_over_the_turn_of_the_minute(
    limiter: Limiter, clock: DrivenClock
) -> None:
    clock.ms = 59_999
    before = [(await limiter.charge(FIVE, "a")).allowed for _ in range(5)]
    clock.ms = 60_001

    assert before == [True] * 5
    assert not (await limiter.charge(FIVE, "a")).allowed


async def test_what_is_given_back_was_not_charged(limiter: Limiter) -> None:
    verdicts = [await limiter.charge(FIVE, "a") for _ in range(5)]

    await limiter.give_back(verdicts[2])

    assert (await limiter.charge(FIVE, "a")).allowed
    assert not (await limiter.charge(FIVE, "a")).allowed


async def test_whoever_gives_an_old_charge_back_is_still_charged_for_the_later_ones(
    limiter: Limiter, clock: DrivenClock
) -> None:
    """A slow retry that is given back at last must not make the joins after it look older than they are."""
    slow = [await limiter.charge(FIVE, "a") for _ in range(2)]
    clock.ms += 40_000
    for _ in range(3):
        await limiter.charge(FIVE, "a")
    for verdict in slow:
        await limiter.give_back(verdict)

    clock.ms += 30_000
    later = [(await limiter.charge(FIVE, "a")).allowed for _ in range(3)]

    assert later == [True, True, False]


async def test_nobody_gets_back_what_they_never_paid(limiter: Limiter) -> None:
    paid = await limiter.charge(FIVE, "a")
    for _ in range(3):
        await limiter.give_back(paid)
    refused = Verdict(allowed=False, remaining=0, reset_seconds=1, policy=FIVE, key="a")
    await limiter.give_back(refused)

    assert [(await limiter.charge(FIVE, "a")).allowed for _ in range(6)] == [True] * 5 + [False]


async def test_a_quota_of_none_lets_nobody_in(limiter: Limiter) -> None:
    verdict = await limiter.charge(Policy("nothing", 0, 30), "a")

    assert (verdict.allowed, verdict.remaining, verdict.reset_seconds) == (False, 0, 30)


async def test_a_quota_that_is_lowered_counts_what_was_let_in_before(limiter: Limiter, clock: DrivenClock) -> None:
    """And whoever is refused is told when enough of it is gone."""
    for _ in range(5):
        await limiter.charge(FIVE, "a")
        clock.ms += 10_000

    refused = await limiter.charge(Policy("joins", 2, 60), "a")

    assert (refused.allowed, refused.reset_seconds) == (False, 40)


async def test_whoever_goes_away_takes_nobodys_charge_with_them(limiter: Limiter) -> None:
    policy = Policy("joins", 40, 60)
    asking = [asyncio.create_task(limiter.charge(policy, "a")) for _ in range(60)]
    for turn, task in enumerate(asking):
        if turn % 10 == 0:
            await asyncio.sleep(0)
        if turn % 3 == 0:
            task.cancel()

    told = await asyncio.gather(*asking, return_exceptions=True)

    went_away = sum(isinstance(verdict, asyncio.CancelledError) for verdict in told)
    let_in = sorted(verdict.remaining for verdict in told if isinstance(verdict, Verdict) and verdict.allowed)
    after = [(await limiter.charge(policy, "a")).allowed for _ in range(41)]
    assert len(let_in) + went_away + sum(isinstance(v, Verdict) and not v.allowed for v in told) == 60
    assert len(set(let_in)) == len(let_in)
    assert 40 - went_away <= len(let_in) + sum(after) <= 40


later = st.one_of(st.integers(0, 4000), st.sampled_from([0, 500, 1000, 2000]))
# Which charge is given back, if it is none that is made; whose; how much later.
steps = st.lists(
    st.tuples(st.sampled_from([None, None, None, 0, 1, 2]), st.sampled_from("ab"), later),
    max_size=40,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(quota=st.integers(0, 4), window=st.integers(1, 5), steps=steps)
async def test_it_says_what_counting_by_hand_says(
    *,
    kind: str,
    clock: DrivenClock,
    valkey_server: ValkeyServer,
    quota: int,
    window: int,
    steps: list[tuple[int | None, str, int]],
) -> None:
    policy = Policy("any", quota, window)
    kept: dict[str, list[Verdict]] = {"a": [], "b": []}
    times: dict[str, list[int]] = {"a": [], "b": []}
    async with limiter_of(kind, clock, valkey_server.url) as limiter:
        for given_back, key, later in steps:
            clock.ms += later
            if given_back is not None:
                if kept[key]:
                    place = given_back % len(kept[key])
                    await limiter.give_back(kept[key].pop(place))
                    del times[key][place]
                continue

            verdict = await limiter.charge(policy, key)

            recent = [at for at in times[key] if at > clock.ms - window * 1000]
            assert verdict.allowed == (len(recent) < quota)
            if verdict.allowed:
                kept[key].append(verdict)
                times[key].append(clock.ms)
                recent.append(clock.ms)
            assert verdict.remaining == quota - len(recent)
            oldest = recent[0] if recent else clock.ms
            assert verdict.reset_seconds == max(1, -(-(oldest + window * 1000 - clock.ms) // 1000))

    for those in times.values():
        assert all(sum(start <= at < start + window * 1000 for at in those) <= quota for start in those)
