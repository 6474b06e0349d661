"""How many visitors there were: exact while they are few, close when they are many, whatever was trimmed."""

import asyncio
import hmac
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.traffic.counting import ALL_PATHS
from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, day_of
from dawr.traffic.ranges import Range
from dawr.traffic.sqlite import SqliteDatabase
from dawr.traffic.visitors import KEPT, Visitors, count_visitors, estimate, trim_visitors
from tests.traffic.builders import NOON, an_event, counted

DAY = day_of(NOON)
FEW = 8
"""Hashes that are kept of a group, where a test wants to go beyond."""

Group = tuple[int, str, str]
"""Hour, path and visitor."""


def hash_of(visitor: int) -> str:
    """As an address would be hashed, under a key that stays the same."""
    return hmac.digest(b"a fixed key", str(visitor).encode(), "sha256").hex()[:16]


async def add_visitors(database: Database, seen: list[Group]) -> None:
    """As counting does it: a visitor is one of the hour and of the day, of the path and of all paths."""
    rows = {
        (span, start - start % span, group, visitor)
        for start, path, visitor in seen
        for span in (MS_PER_HOUR, MS_PER_DAY)
        for group in (path, ALL_PATHS)
    }
    await database.transact(lambda transaction: transaction.change_each("add_visitors", sorted(rows)))


async def visitors_in(database: Database, path: str, range_: Range, kept: int = KEPT) -> Visitors | None:
    found = await database.read(lambda transaction: count_visitors(transaction, [path], range_, kept=kept))
    return found.get(path)


async def trim_all(database: Database, groups: list[Group], kept: int) -> None:
    """Whatever number of requests they had."""
    for span in (MS_PER_HOUR, MS_PER_DAY):
        for start, group in {(at - at % span, group) for at, path, _ in groups for group in (path, ALL_PATHS)}:
            await database.change_rows("trim_visitors", span, start, group, kept)


def expected(hashes: set[str], kept: int) -> tuple[int, int]:
    """What the smallest hashes say, with nothing trimmed: the figure and its lower bound."""
    ordered = sorted(hashes)
    found = estimate(min(len(ordered), kept), ordered[kept - 1] if len(ordered) >= kept else None, kept)
    return found.count, found.lower_bound


async def test_few_visitors_are_counted_exactly_over_paths_and_hours(database: Database) -> None:
    events = [
        an_event(number, at=DAY + hour * MS_PER_HOUR, path=path, visitor=hash_of(number % 7))
        for number, (hour, path) in enumerate([(3, "/a"), (3, "/b"), (4, "/a"), (5, "/a"), (23, "/b")] * 4)
    ]
    await counted(database, events, now=DAY + MS_PER_DAY)

    for hours in [(3, 4), (3, 5), (4, 6), (0, 24), (22, 24)]:
        range_ = Range(*(DAY + hour * MS_PER_HOUR for hour in hours))
        for path in ("/a", "/b", ALL_PATHS):
            inside = [e for e in events if range_.start <= e.timestamp < range_.end and path in {e.path, ALL_PATHS}]
            truth = len({event.client_ip_hash for event in inside})
            exactly = Visitors(truth, truth, "exact", "day") if truth else None
            assert await visitors_in(database, path, range_) == exactly


async def test_visitors_of_several_days_are_the_sum_of_the_days_and_called_so(database: Database) -> None:
    same = [(DAY + hour * MS_PER_HOUR, "/a", hash_of(visitor)) for hour in (1, 20, 25, 49) for visitor in range(5)]
    await add_visitors(database, same)

    two = await visitors_in(database, "/a", Range(DAY + 20 * MS_PER_HOUR, DAY + 26 * MS_PER_HOUR))
    three = await visitors_in(database, "/a", Range(DAY, DAY + 3 * MS_PER_DAY))

    assert two == Visitors(10, 10, "exact", "sum-of-days")
    assert three == Visitors(15, 15, "exact", "sum-of-days")


async def test_trimmed_groups_say_the_same_as_whole_ones_on_every_database(database: Database) -> None:
    chance = Random(5)
    hours = range(DAY, DAY + 2 * MS_PER_DAY, MS_PER_HOUR)
    seen = [(chance.choice(hours), chance.choice("ab"), hash_of(chance.randrange(300))) for _ in range(2000)]

    for chunk in range(0, len(seen), 500):
        await add_visitors(database, seen[chunk : chunk + 500])
        await trim_all(database, seen, FEW)

    for start, end in [(0, 24), (2, 3), (5, 20), (24, 48), (47, 48)]:
        range_ = Range(DAY + start * MS_PER_HOUR, DAY + end * MS_PER_HOUR)
        for path in ("a", "b", ALL_PATHS):
            hashes = {v for at, p, v in seen if range_.start <= at < range_.end and path in {p, ALL_PATHS}}
            found = await visitors_in(database, path, range_, FEW)
            assert found is not None
            assert (found.count, found.lower_bound) == expected(hashes, FEW)
            assert found.how == ("exact" if len(hashes) < FEW else "estimated")


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, Database, Iterator[int]]]:
    """One database for all examples, each with a day of its own."""
    database = SqliteDatabase(tmp_path_factory.mktemp("visitors") / "traffic.sqlite")
    with asyncio.Runner() as runner:
        runner.run(database.create_tables())
        yield runner, database, count(DAY, MS_PER_DAY)
        runner.run(database.close())


hashes = st.integers(min_value=0, max_value=2**64 - 1).map(lambda number: f"{number:016x}")
visits = st.tuples(st.integers(min_value=0, max_value=23), st.sampled_from("ab"), hashes)


@given(batches=st.lists(st.lists(visits, max_size=25), max_size=5), since=st.integers(0, 23), hours=st.integers(1, 24))
def test_groups_can_be_merged_however_often_they_were_trimmed(
    reused: tuple[asyncio.Runner, Database, Iterator[int]],
    batches: list[list[tuple[int, str, str]]],
    since: int,
    hours: int,
) -> None:
    runner, database, days = reused
    day = next(days)
    seen = [(day + hour * MS_PER_HOUR, path, visitor) for batch in batches for hour, path, visitor in batch]
    range_ = Range(day + since * MS_PER_HOUR, day + min(since + hours, 24) * MS_PER_HOUR)

    async def drive() -> None:
        done = 0
        for batch in batches:
            await add_visitors(database, seen[done : done + len(batch)])
            done += len(batch)
            await trim_all(database, seen[:done], FEW)
        for path in ("a", ALL_PATHS):
            known = {v for at, p, v in seen if range_.start <= at < range_.end and path in {p, ALL_PATHS}}
            found = await visitors_in(database, path, range_, FEW)
            assert ((0, 0) if found is None else (found.count, found.lower_bound)) == expected(known, FEW)

    runner.run(drive())


async def test_only_groups_that_may_have_too_many_visitors_are_trimmed(database: Database) -> None:
    many = [an_event(number, path="/many", visitor=hash_of(number)) for number in range(3 * FEW)]
    few = [an_event(number, path="/few", visitor=hash_of(number)) for number in range(FEW)]
    await counted(database, [*many, *few])

    forgotten = await trim_visitors(database, NOON, kept=FEW)
    again = await trim_visitors(database, NOON, kept=FEW)
    long_ago = await trim_visitors(database, NOON + 2 * MS_PER_DAY, kept=1)

    spans, groups_of_many = 2, 2
    assert forgotten == spans * groups_of_many * 2 * FEW
    assert (again, long_ago) == (0, 0)


@pytest.mark.parametrize(("most", "ranges"), [(40_000, 20), pytest.param(600_000, 300, marks=pytest.mark.prove)])
async def test_many_visitors_are_within_two_per_cent_in_nearly_every_range(
    tmp_path: Path, most: int, ranges: int
) -> None:
    database, chance = SqliteDatabase(tmp_path / "traffic.sqlite"), Random(3)
    await database.create_tables()
    by_hour = [{hash_of(chance.randrange(most)) for _ in range(most // 8)} for _ in range(24)]
    rows = [(MS_PER_HOUR, DAY + h * MS_PER_HOUR, ALL_PATHS, v) for h in range(24) for v in sorted(by_hour[h])[:KEPT]]
    rows += [(MS_PER_DAY, DAY, ALL_PATHS, v) for v in sorted(set[str]().union(*by_hour))[:KEPT]]
    await database.transact(lambda transaction: transaction.change_each("add_visitors", rows))

    close = held = 0
    asked = [(s, e) for s in range(24) for e in range(s + 1, 25)]
    for start, end in chance.sample(asked, ranges):
        truth = len(set[str]().union(*by_hour[start:end]))
        found = await visitors_in(database, ALL_PATHS, Range(DAY + start * MS_PER_HOUR, DAY + end * MS_PER_HOUR))
        assert found is not None
        close += abs(found.count - truth) <= 0.02 * truth
        held += found.lower_bound <= truth

    assert close >= 0.95 * ranges
    assert held == ranges
    await database.close()
