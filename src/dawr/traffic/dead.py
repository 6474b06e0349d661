"""Dead letters: looked at, dropped, or put back into the queue to be tried again.

Whatever is put back leaves the dead letters, enters the queue and is taken out of the ledger's `dead` in one
transaction. What is dropped stays counted there: it was sent, and never counted.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from dawr.traffic.database import Database, Transaction
from dawr.traffic.ledger import Entries, add_to_ledger

PAGE = 50
STEP = 1000

Progress = Callable[[int], None]


class DeadLetter(msgspec.Struct, frozen=True):
    seq: int
    at: int
    """When it was put aside."""
    hour: int
    """Where the ledger counts it."""
    kind: Literal["poison", "damaged"]
    reason: str
    tries: int
    body: str


class DeadLetterRefused(Exception):
    """It cannot be dropped or put back; the sentence says why."""


class Done(msgspec.Struct, frozen=True):
    letters: int
    damaged: int = 0
    """Lines that were left where they are, because nothing can be made of them."""


async def list_dead(database: Database, *, after: int = 0, limit: int = PAGE) -> list[DeadLetter]:
    """In the order in which they died, those behind `after`."""
    return [DeadLetter(*row) for row in await database.select_rows("list_dead", after, limit)]


async def show(database: Database, seq: int) -> DeadLetter:
    (found,) = await database.read(lambda transaction: _find(transaction, [seq]))
    return found


async def drop(database: Database, seqs: Sequence[int]) -> Done:
    """All of these, or none if one of them is not there."""

    async def work(transaction: Transaction) -> Done:
        await _find(transaction, seqs)
        return Done(len(await _take(transaction, seqs)))

    return await database.transact(work)


async def replay(database: Database, seqs: Sequence[int], now: int) -> Done:
    """All of these, or none if one of them is not there or is a damaged line."""

    async def work(transaction: Transaction) -> Done:
        for letter in await _find(transaction, seqs):
            if letter.kind == "damaged":
                raise DeadLetterRefused(
                    f"Dead letter {letter.seq} is a damaged line: nobody knows what it was, so it cannot be replayed. "
                    "`dawr traffic dead drop` removes it."
                )
        return await _put_back(transaction, seqs, now)

    return await database.transact(work)


async def drop_all(database: Database, progress: Progress = lambda _: None) -> Done:
    """Those that are there now, in steps."""

    async def work(transaction: Transaction, rows: Sequence[tuple[int, str]]) -> Done:
        return Done(len(await _take(transaction, [seq for seq, _ in rows])))

    return await _in_steps(database, work, progress)


async def replay_all(database: Database, now: int, progress: Progress = lambda _: None) -> Done:
    """Those that are there now, in steps. Damaged lines stay."""

    async def work(transaction: Transaction, rows: Sequence[tuple[int, str]]) -> Done:
        done = await _put_back(transaction, [seq for seq, kind in rows if kind == "poison"], now)
        return Done(done.letters, damaged=sum(kind == "damaged" for _, kind in rows))

    return await _in_steps(database, work, progress)


async def _in_steps(
    database: Database,
    do: Callable[[Transaction, Sequence[tuple[int, str]]], Awaitable[Done]],
    progress: Progress,
) -> Done:
    """What dies meanwhile is left alone, so that this comes to an end."""
    ((last,),) = await database.select_rows("last_dead")
    after, total = 0, Done(0)

    async def step(transaction: Transaction) -> tuple[int, Done] | None:
        rows = await transaction.select_rows("dead_between", after, last or 0, STEP)
        return (rows[-1][0], await do(transaction, rows)) if rows else None

    while (stepped := await database.transact(step)) is not None:
        after, done = stepped
        total = Done(total.letters + done.letters, total.damaged + done.damaged)
        progress(total.letters + total.damaged)
    return total


async def _find(transaction: Transaction, seqs: Sequence[int]) -> list[DeadLetter]:
    found = {row[0]: DeadLetter(*row) for row in await transaction.select_each("find_dead", [(seq,) for seq in seqs])}
    missing = [seq for seq in seqs if seq not in found]
    if missing:
        raise DeadLetterRefused(f"There is no dead letter {', '.join(map(str, missing))}.")
    return [found[seq] for seq in seqs]


async def _put_back(transaction: Transaction, seqs: Sequence[int], now: int) -> Done:
    taken = await _take(transaction, seqs)
    await transaction.change_each("add_to_queue", [(hour, body, now) for _, hour, body in taken])
    entries: Entries = Counter()
    for _, hour, _ in taken:
        entries[hour, "dead"] -= 1
    await add_to_ledger(transaction, entries)
    return Done(len(taken))


async def _take(transaction: Transaction, seqs: Sequence[int]) -> list[tuple[int, int, str]]:
    """In their order."""
    rows = await transaction.select_each("take_dead", [(seq,) for seq in sorted(seqs)])
    return sorted([(seq, hour, body) for seq, hour, body in rows])
