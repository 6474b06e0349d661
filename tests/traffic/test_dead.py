"""Dead letters: looked at, dropped and replayed, each once, on both databases."""

import asyncio

import pytest

from dawr.traffic.database import Database
from dawr.traffic.dead import STEP, DeadLetterRefused, Done, drop, drop_all, list_dead, replay, replay_all, show
from dawr.traffic.event import MS_PER_HOUR
from tests.traffic.builders import NOON
from tests.traffic.tables import a_damaged_line, a_dead_letter, in_ledger, rows_of

LATER = NOON + 5_000
WAITING = "SELECT hour, body, tries, due_at FROM traffic_queue ORDER BY seq"
LEFT = "SELECT seq FROM traffic_dead ORDER BY seq"
DEAD = "SELECT hour, dead FROM traffic_ledger ORDER BY hour"


@pytest.fixture
async def three_dead(database: Database) -> Database:
    """Two messages of two hours, and a damaged line between them."""
    await a_dead_letter(database, "first", hour=NOON)
    await a_damaged_line(database, "torn")
    await a_dead_letter(database, "second", hour=NOON + MS_PER_HOUR, reason="ValidationError: no path")
    for hour in (NOON, NOON + MS_PER_HOUR):
        await in_ledger(database, hour=hour, dead=1)
    return database


async def test_they_are_listed_in_pages_and_shown_with_their_reason(three_dead: Database) -> None:
    first = await list_dead(three_dead, limit=2)
    rest = await list_dead(three_dead, after=first[-1].seq, limit=2)

    assert [(letter.seq, letter.kind, letter.body) for letter in (*first, *rest)] == [
        (1, "poison", "first"),
        (2, "damaged", "torn"),
        (3, "poison", "second"),
    ]
    assert await show(three_dead, 3) == rest[0]
    assert (rest[0].reason, rest[0].tries, rest[0].at) == ("ValidationError: no path", 4, NOON)


async def test_what_is_replayed_waits_again_and_is_dead_no_more(three_dead: Database) -> None:
    done = await replay(three_dead, [3], LATER)

    assert done == Done(1)
    assert await rows_of(three_dead, WAITING) == [(NOON + MS_PER_HOUR, "second", 0, LATER)]
    assert await rows_of(three_dead, LEFT) == [(1,), (2,)]
    assert await rows_of(three_dead, DEAD) == [(NOON, 1), (NOON + MS_PER_HOUR, 0)]


async def test_what_is_dropped_stays_in_the_ledger(three_dead: Database) -> None:
    done = await drop(three_dead, [1, 2])

    assert done == Done(2)
    assert await rows_of(three_dead, LEFT) == [(3,)]
    assert await rows_of(three_dead, DEAD) == [(NOON, 1), (NOON + MS_PER_HOUR, 1)]


async def test_all_are_replayed_but_damaged_lines(three_dead: Database) -> None:
    seen: list[int] = []

    done = await replay_all(three_dead, LATER, seen.append)

    assert (done, seen) == (Done(2, damaged=1), [3])
    assert [body for _, body, _, _ in await rows_of(three_dead, WAITING)] == ["first", "second"]
    assert await rows_of(three_dead, LEFT) == [(2,)]
    assert await rows_of(three_dead, DEAD) == [(NOON, 0), (NOON + MS_PER_HOUR, 0)]


async def test_all_are_dropped(three_dead: Database) -> None:
    assert await drop_all(three_dead) == Done(3)
    assert await drop_all(three_dead) == Done(0)
    assert await rows_of(three_dead, LEFT) == []


async def test_more_than_fit_into_one_step_are_all_replayed(database: Database) -> None:
    await database.transact(
        lambda transaction: transaction.change_each("add_dead", [(NOON, NOON, "", 4, "x")] * (2 * STEP + 1))
    )
    seen: list[int] = []

    done = await replay_all(database, LATER, seen.append)

    assert (done.letters, seen) == (2 * STEP + 1, [STEP, 2 * STEP, 2 * STEP + 1])


@pytest.mark.parametrize(
    ("seqs", "sentence"),
    [
        ([1, 99, 98], "There is no dead letter 99, 98."),
        ([1, 2], "Dead letter 2 is a damaged line: nobody knows what it was, so it cannot be replayed. "),
    ],
)
async def test_what_cannot_be_replayed_is_named_and_nothing_is(
    three_dead: Database, seqs: list[int], sentence: str
) -> None:
    with pytest.raises(DeadLetterRefused, match=sentence):
        await replay(three_dead, seqs, LATER)

    assert await rows_of(three_dead, WAITING) == []
    assert len(await rows_of(three_dead, LEFT)) == 3


async def test_an_id_that_is_not_there_is_named_when_it_is_dropped_or_shown(three_dead: Database) -> None:
    with pytest.raises(DeadLetterRefused, match="There is no dead letter 7"):
        await drop(three_dead, [1, 7])
    with pytest.raises(DeadLetterRefused, match="There is no dead letter 7"):
        await show(three_dead, 7)

    assert len(await rows_of(three_dead, LEFT)) == 3


async def test_two_who_replay_the_same_at_once_put_it_back_once(three_dead: Database) -> None:
    done = await asyncio.gather(*(replay_all(three_dead, LATER) for _ in range(2)))

    assert sum(each.letters for each in done) == 2
    assert len(await rows_of(three_dead, WAITING)) == 2
    assert await rows_of(three_dead, DEAD) == [(NOON, 0), (NOON + MS_PER_HOUR, 0)]


async def test_an_id_that_is_named_twice_is_replayed_once(three_dead: Database) -> None:
    assert await replay(three_dead, [1, 1], LATER) == Done(1)
