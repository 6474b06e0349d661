"""From the queue to details and aggregates, one batch at a time, under a lease.

Messages, details, aggregates and the ledger change in one transaction, so that a crash neither loses nor doubles.
What cannot be stored is found by halving its batch: it is tried again later, alone, and put aside as a dead letter
when that has failed often enough. Its mates do not wait for it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from dawr.reliability.lease import Fence, LeaseLost, hold
from dawr.reliability.log import log
from dawr.traffic.counting import KnownVisitors, Settled, count
from dawr.traffic.database import Database, DatabaseAway, Transaction
from dawr.traffic.details import NO_LIMITS, DetailLimits
from dawr.traffic.event import decoded
from dawr.traffic.ledger import Entries, add_to_ledger

BATCH = 100
WAIT_MS = 5_000
RETRIES = 3
FIRST_RETRY_MS = 1_000
RETRY_GROWTH = 4
LONGEST_REASON = 300


class Message(NamedTuple):
    seq: int
    hour: int
    body: str
    tries: int


class Names(NamedTuple):
    """What the queue and its dead letters are called in the log."""

    queue: str = "traffic-events"
    dead_letters: str = "traffic-events-dlq"


THE_SEEDS = Names()


class Consumer:
    """`told` hears every event and batch in a sentence, if anybody wants to follow them."""

    def __init__(
        self,
        database: Database,
        clock: Callable[[], int],
        *,
        batch: int = BATCH,
        wait_ms: int = WAIT_MS,
        retries: int = RETRIES,
        names: Names = THE_SEEDS,
        limits: DetailLimits = NO_LIMITS,
        told: Callable[[str], None] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._batch = batch
        self._wait_ms = wait_ms
        self._retries = retries
        self._names = names
        self._limits = limits
        self._told = told
        self._known = KnownVisitors()

    async def consume(self, fence: Fence) -> None:
        """All batches that are full, or have waited long enough."""
        try:
            while await self._is_due():
                while await self._consume_batch(fence) == self._batch:  # noqa: ASYNC110 - it waits for nothing
                    # Nothing is waited for when a file is written to: whoever ships has a turn, too.
                    await asyncio.sleep(0)
        except DatabaseAway:
            # A crash may have taken back what was committed last.
            self._known = KnownVisitors()
            raise

    async def _is_due(self) -> bool:
        now = self._clock()
        [(waiting, ripe_at)] = await self._database.select_rows("due_messages", now, self._batch, self._wait_ms)
        return bool(waiting >= self._batch or (waiting and ripe_at <= now))

    async def _consume_batch(self, fence: Fence) -> int:
        """How many messages it had."""
        taken: list[Message] = []

        async def work(transaction: Transaction) -> Settled:
            await hold(fence, transaction)
            rows = await transaction.select_rows("take_messages", self._clock(), self._batch)
            taken[:] = [Message(*row) for row in rows]
            return await self._settle(transaction, taken)

        try:
            settled = await self._database.transact(work)
        except (DatabaseAway, LeaseLost):
            raise
        except Exception as fault:
            if not taken:
                raise
            # Whatever one of them did, the others are stored.
            await self._halve(fence, taken, fault)
        else:
            self._is_stored(taken, settled)
        return len(taken)

    async def _halve(self, fence: Fence, messages: Sequence[Message], fault: Exception) -> None:
        """Again in two parts, until what cannot be stored is alone."""
        if len(messages) <= 1:
            await self._database.transact(lambda transaction: self._fail_alone(transaction, fence, messages, fault))
            return
        middle = len(messages) // 2
        for half in (messages[:middle], messages[middle:]):
            try:
                settled = await self._settle_again(fence, half)
            except (DatabaseAway, LeaseLost):
                raise
            except Exception as error:  # noqa: BLE001 - as above
                await self._halve(fence, half, error)
            else:
                self._is_stored(half, settled)

    async def _settle_again(self, fence: Fence, half: Sequence[Message]) -> Settled:
        async def work(transaction: Transaction) -> Settled:
            await hold(fence, transaction)
            return await self._settle(transaction, half)

        return await self._database.transact(work)

    async def _fail_alone(
        self, transaction: Transaction, fence: Fence, messages: Sequence[Message], fault: Exception
    ) -> None:
        await hold(fence, transaction)
        entries: Entries = Counter()
        await self._fail(transaction, [(message, _reason(fault)) for message in messages], entries)
        await add_to_ledger(transaction, entries)

    async def _settle(self, transaction: Transaction, messages: Sequence[Message]) -> Settled:
        """Store what is an event, and put off or aside what is none."""
        entries: Entries = Counter()
        events, hours, failed = [], {}, []
        for message in messages:
            try:
                event = decoded(message.body)
            except (msgspec.MsgspecError, RecursionError) as error:
                failed.append((message, _reason(error)))
            else:
                events.append(event)
                hours[id(event)] = message.hour
        settled = await count(transaction, events, self._clock(), self._known, self._limits)
        for event, column in zip(settled.stored, settled.columns, strict=True):
            entries[hours[id(event)], "stored"] += 1
            entries[hours[id(event)], column] += 1
        for event in settled.duplicates:
            entries[hours[id(event)], "duplicates"] += 1
        unreadable = {message.seq for message, _ in failed}
        done = [(message.seq,) for message in messages if message.seq not in unreadable]
        await transaction.change_each("remove_messages", done)
        await self._fail(transaction, failed, entries)
        await add_to_ledger(transaction, entries)
        return settled

    async def _fail(self, transaction: Transaction, failed: Sequence[tuple[Message, str]], entries: Entries) -> None:
        now = self._clock()
        later = [(m.seq, now + self._pause(m.tries), reason) for m, reason in failed if m.tries < self._retries]
        dead = [(m, reason) for m, reason in failed if m.tries >= self._retries]
        await transaction.change_each("put_off_messages", later)
        await transaction.change_each("add_dead", [(now, m.hour, reason, m.tries + 1, m.body) for m, reason in dead])
        await transaction.change_each("remove_messages", [(m.seq,) for m, _ in dead])
        for message, reason in failed:
            is_dead = message.tries >= self._retries
            entries[message.hour, "dead"] += is_dead
            facts = {"seq": message.seq, "tries": message.tries + 1, "reason": reason}
            if is_dead:
                log.warning("traffic.message-dead", queue=self._names.dead_letters, **facts)
            else:
                log.warning("traffic.message-failed", queue=self._names.queue, **facts)

    def _pause(self, tries: int) -> int:
        return FIRST_RETRY_MS * int(RETRY_GROWTH**tries)

    def _is_stored(self, taken: Sequence[Message], settled: Settled) -> None:
        self._known.learn(settled.visitors)
        if self._told is None:
            return
        stored = settled.stored
        self._told(f"Received {len(taken)} messages from {self._names.queue}")
        for event in stored:
            self._told(
                f"Event: {event.idempotent_id} | Path: {event.path} | Status: {event.status} | "
                f"Time: {event.response_time}ms"
            )
        self._told(f"Batch processed: {len(stored)} of {len(taken)} messages are new")


def _reason(fault: Exception) -> str:
    """Its kind, and its words as far as they quote nothing that a caller sent."""
    text = str(fault).partition("'")[0].partition('"')[0].strip()
    return f"{type(fault).__name__}: {text}"[:LONGEST_REASON].replace("\0", "")
