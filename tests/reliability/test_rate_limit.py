"""So many in so long, and never one more."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.reliability.rate_limit import LocalLimiter, Policy, Verdict, headers

FIVE = Policy("joins", 5, 60)


class DrivenClock:
    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


async def test_the_quota_is_let_in_and_not_one_more() -> None:
    limiter = LocalLimiter(DrivenClock())

    verdicts = [await limiter.charge(FIVE, "a") for _ in range(7)]

    assert [verdict.allowed for verdict in verdicts] == [True] * 5 + [False] * 2
    assert [verdict.remaining for verdict in verdicts] == [4, 3, 2, 1, 0, 0, 0]
    assert (await limiter.charge(FIVE, "b")).allowed
    assert (await limiter.charge(Policy("others", 5, 60), "a")).allowed


async def test_whoever_is_refused_is_let_in_when_they_were_told_to_come_again() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock)
    for _ in range(5):
        await limiter.charge(FIVE, "a")
        clock.ms += 1500

    refused = await limiter.charge(FIVE, "a")
    clock.ms += (refused.reset_seconds - 1) * 1000
    too_early = await limiter.charge(FIVE, "a")
    clock.ms += 1000
    in_time = await limiter.charge(FIVE, "a")

    assert [verdict.allowed for verdict in (refused, too_early, in_time)] == [False, False, True]


async def test_no_window_holds_more_than_the_quota_also_over_the_turn_of_the_minute() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock)
    clock.ms = 59_999
    before = [(await limiter.charge(FIVE, "a")).allowed for _ in range(5)]
    clock.ms = 60_001

    assert before == [True] * 5
    assert not (await limiter.charge(FIVE, "a")).allowed


async def test_what_is_given_back_was_not_charged() -> None:
    limiter = LocalLimiter(DrivenClock())
    for _ in range(5):
        await limiter.charge(FIVE, "a")

    await limiter.give_back(FIVE, "a")

    assert (await limiter.charge(FIVE, "a")).allowed
    assert not (await limiter.charge(FIVE, "a")).allowed


async def test_nobody_gets_back_what_they_never_paid() -> None:
    limiter = LocalLimiter(DrivenClock())

    await limiter.give_back(FIVE, "a")
    await limiter.charge(FIVE, "a")
    await limiter.give_back(FIVE, "a")
    await limiter.give_back(FIVE, "a")

    assert limiter.keys() == 0
    assert [(await limiter.charge(FIVE, "a")).allowed for _ in range(6)] == [True] * 5 + [False]


async def test_a_quota_of_none_lets_nobody_in() -> None:
    verdict = await LocalLimiter(DrivenClock()).charge(Policy("nothing", 0, 30), "a")

    assert verdict == Verdict(allowed=False, remaining=0, reset_seconds=30, policy=Policy("nothing", 0, 30))


async def test_whoever_was_idle_for_a_window_is_forgotten() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock)
    for number in range(1000):
        await limiter.charge(FIVE, f"visitor {number}")
    clock.ms += 60_000

    for _ in range(500):
        clock.ms += 60_000
        await limiter.charge(FIVE, "one that stays")

    assert limiter.keys() == 1


async def test_when_all_places_are_taken_a_newcomer_waits_and_nobody_is_forgotten() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock, most_keys=3)
    for key in "abc":
        for _ in range(5):
            await limiter.charge(FIVE, key)
        clock.ms += 1000

    refused = await limiter.charge(FIVE, "d")
    again = [await limiter.charge(FIVE, key) for key in "abc"]
    clock.ms += refused.reset_seconds * 1000
    later = await limiter.charge(FIVE, "d")

    assert refused == Verdict(allowed=False, remaining=0, reset_seconds=57, policy=FIVE)
    assert not any(verdict.allowed for verdict in again)
    assert later.allowed
    assert limiter.keys() == 3


steps = st.lists(
    st.tuples(
        st.sampled_from(["charge", "charge", "charge", "give back"]), st.sampled_from("ab"), st.integers(0, 4000)
    ),
    max_size=60,
)


@given(st.integers(0, 4), st.integers(1, 5), steps)
async def test_it_says_what_counting_by_hand_says(quota: int, window: int, steps: list[tuple[str, str, int]]) -> None:
    clock = DrivenClock()
    limiter, policy = LocalLimiter(clock), Policy("any", quota, window)
    charged: dict[str, list[int]] = {"a": [], "b": []}
    kept: dict[str, list[int]] = {"a": [], "b": []}

    for step, key, later in steps:
        clock.ms += later
        if step == "give back":
            await limiter.give_back(policy, key)
            recent = [at for at in kept[key] if at > clock.ms - window * 1000]
            if recent:
                kept[key].remove(recent[-1])
            continue
        verdict = await limiter.charge(policy, key)
        recent = [at for at in kept[key] if at > clock.ms - window * 1000]
        assert verdict.allowed == (len(recent) < quota)
        if verdict.allowed:
            kept[key].append(clock.ms)
            charged[key].append(clock.ms)
        assert verdict.remaining == max(0, quota - len(recent) - verdict.allowed)

    for times in kept.values():
        assert all(sum(start <= at < start + window * 1000 for at in times) <= quota for start in times)


def test_several_processes_share_a_quota() -> None:
    assert FIVE.shared_by(2).quota == 2
    assert FIVE.shared_by(9).quota == 1
    assert Policy("nothing", 0, 1).shared_by(2).quota == 0
    assert FIVE.shared_by(1) == FIVE


@pytest.mark.parametrize(("name", "quota", "window"), [("", 1, 1), ('a"b', 1, 1), ("a", -1, 1), ("a", 1, 0)])
def test_a_limit_that_makes_no_sense_is_none(name: str, quota: int, window: int) -> None:
    with pytest.raises(ValueError, match="is no limit"):
        Policy(name, quota, window)


def test_the_caller_is_told_the_policy_and_what_is_left() -> None:
    allowed = Verdict(allowed=True, remaining=3, reset_seconds=30, policy=FIVE)

    assert headers(allowed) == [(b"ratelimit-policy", b'"joins";q=5;w=60'), (b"ratelimit", b'"joins";r=3;t=30')]
    assert headers(msgspec.structs.replace(allowed, allowed=False, remaining=0, reset_seconds=0)) == [
        (b"ratelimit-policy", b'"joins";q=5;w=60'),
        (b"ratelimit", b'"joins";r=0;t=0'),
        (b"retry-after", b"1"),
    ]
