"""What a batch adds to every table: each event once, on both databases."""

import msgspec
import pytest

from dawr.traffic.database import Database
from dawr.traffic.event import MS_PER_HOUR, MS_PER_MINUTE
from tests.traffic.builders import NOON, an_event, counted

TEN_MINUTES = 10 * MS_PER_MINUTE


async def test_an_event_is_counted_once_however_often_it_comes(database: Database) -> None:
    first = await counted(database, [an_event(1), an_event(2), an_event(1)])
    again = await counted(database, [an_event(2), an_event(3)])

    assert [len(settled.stored) for settled in (first, again)] == [2, 1]
    assert [len(settled.duplicates) for settled in (first, again)] == [1, 1]


@pytest.mark.parametrize(("later", "is_another"), [(TEN_MINUTES, False), (TEN_MINUTES + 1, True)])
async def test_a_request_id_that_comes_again_is_the_same_request_for_ten_minutes(
    database: Database, *, later: int, is_another: bool
) -> None:
    await counted(database, [an_event(1)])

    settled = await counted(database, [an_event(1, at=NOON + later)])

    assert bool(settled.stored) is is_another


async def test_an_old_event_is_known_by_its_details_when_its_hash_is_gone(database: Database) -> None:
    await counted(database, [an_event(1)])
    await database.change_rows("purge_seen", NOON + MS_PER_HOUR, 1000)

    settled = await counted(database, [an_event(1)], now=NOON + 3 * MS_PER_HOUR)

    assert not settled.stored


async def test_an_event_is_known_when_its_request_id_was_used_again_since(database: Database) -> None:
    await counted(database, [an_event(1)])
    await counted(database, [an_event(1, at=NOON + TEN_MINUTES + 1)])

    settled = await counted(database, [an_event(1)])

    assert not settled.stored


@pytest.mark.parametrize(("is_repeatable", "counted_only"), [(False, False), (False, True), (True, True)])
async def test_a_line_that_is_delivered_again_counts_once_whatever_it_is(
    database: Database, *, is_repeatable: bool, counted_only: bool
) -> None:
    event = an_event(1, is_repeatable=is_repeatable, counted_only=counted_only)

    first, again = await counted(database, [event]), await counted(database, [event, event])

    assert (len(first.stored), len(again.stored), len(again.duplicates)) == (1, 0, 2)


async def test_two_events_with_one_id_and_different_hashes_are_two(database: Database) -> None:
    one, other = an_event(1), an_event(2)
    same_id = msgspec.structs.replace(other, hash=one.hash[:8] + other.hash[8:], idempotent_id=one.idempotent_id)

    settled = await counted(database, [one, same_id])

    assert len(settled.stored) == 2
