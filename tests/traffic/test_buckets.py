"""Quantiles are within 1 % of the time itself, whatever was added up, and as another implementation has them."""

from collections import Counter
from math import ceil
from random import Random

import pytest
from ddsketch import DDSketch
from hypothesis import given
from hypothesis import strategies as st

from dawr.traffic.buckets import bucket_of, quantile, value_of

SHARES = (0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0)
EVENTS = 100_000
MANY_EVENTS = 1_000_000

times = st.integers(min_value=0, max_value=10**12)


def exact(ordered: list[int], share: float) -> int:
    return ordered[max(1, ceil(share * len(ordered))) - 1]


@given(times)
def test_a_bucket_is_within_one_per_cent_of_whatever_is_in_it(us: int) -> None:
    assert abs(value_of(bucket_of(us)) - us) <= 0.01 * us


@given(st.lists(times, min_size=1), st.sampled_from(SHARES))
def test_a_quantile_is_within_one_per_cent_of_the_exact_one(found: list[int], share: float) -> None:
    truth = exact(sorted(found), share)

    estimate = quantile(Counter(map(bucket_of, found)), share)

    assert estimate == pytest.approx(truth, rel=0.01)


@given(st.lists(st.lists(times), min_size=1))
def test_histograms_that_are_added_up_are_the_histogram_of_everything(parts: list[list[int]]) -> None:
    together = Counter(bucket_of(us) for part in parts for us in part)

    added = sum((Counter(map(bucket_of, part)) for part in parts), Counter[int]())

    assert added == together


def test_nothing_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None


@pytest.mark.parametrize("events", [EVENTS, pytest.param(MANY_EVENTS, marks=pytest.mark.prove)])
def test_quantiles_of_many_requests_are_exact_to_one_per_cent_and_agree_with_ddsketch(events: int) -> None:
    chance = Random(11)
    found = [round(chance.lognormvariate(9, 1.2)) if chance.random() < 0.98 else 5_000_000 for _ in range(events)]
    oracle = DDSketch(0.01)
    for us in found:
        oracle.add(us)
    ordered, histogram = sorted(found), Counter(map(bucket_of, found))

    for share in SHARES:
        estimate = quantile(histogram, share)

        assert estimate == pytest.approx(exact(ordered, share), rel=0.01)
        assert estimate == pytest.approx(oracle.get_quantile_value(share), rel=0.0201)
