"""Rows put into the tables of the statistics, as shipping, the consumer and the process do; and how they are read."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dawr.reliability.lease import Leases
from dawr.traffic.consumer import Consumer
from dawr.traffic.database import Database, Transaction, statements
from dawr.traffic.details import NO_LIMITS, DetailLimits
from dawr.traffic.event import Event, encoded, hour_of
from dawr.traffic.ledger import Entries, add_to_ledger
from dawr.traffic.postgres import PostgresTransaction
from dawr.traffic.sqlite import SqliteTransaction
from dawr.traffic.status import Heartbeat, Status
from tests.traffic.builders import NOON

WELL = Status(
    at=NOON,
    backlog=0,
    lag_seconds=0,
    dead_letters=0,
    damaged=0,
    lost=0,
    sent=1000,
    consumed=1000,
    requests=0,
    errors=0,
    rpm=0,
    peak_rpm=0,
    snapshot_age_seconds=None,
    heartbeats=(Heartbeat("one", 1, "1", 5.0, 60.0, 0, 0, ""),),
    alerts=(),
)


async def a_message(database: Database, body: str = "{}", *, hour: int = NOON, due_at: int = NOON) -> None:
    await database.transact(lambda transaction: transaction.change_each("add_to_queue", [(hour, body, due_at)]))


async def a_dead_letter(database: Database, body: str = "{}", *, hour: int = NOON, reason: str = "no event") -> None:
    await database.transact(lambda transaction: transaction.change_each("add_dead", [(NOON, hour, reason, 4, body)]))


async def a_damaged_line(database: Database, line: str = "x", *, hour: int = NOON) -> None:
    await database.transact(lambda transaction: transaction.change_each("add_damaged", [(NOON, hour, line)]))


async def a_heartbeat(
    database: Database,
    host: str = "one",
    *,
    beat_at: int = NOON,
    began_at: int = NOON,
    spool_bytes: int = 0,
    key_check: str = "",
    unspooled: int = 0,
    unwritable: int = 0,
) -> None:
    unwell = (unspooled, unwritable)
    await database.change_rows(
        "save_heartbeat", host, 1, "1.0", began_at, beat_at, spool_bytes, 0, beat_at, NOON, key_check, *unwell
    )


async def in_ledger(database: Database, *, hour: int = NOON, **columns: int) -> None:
    entries: Entries = Counter({(hour, column): count for column, count in columns.items()})  # type: ignore[misc]
    await database.transact(lambda transaction: add_to_ledger(transaction, entries))


async def shipped(database: Database, events: Sequence[Event], *, poison: int = 0, now: int = NOON) -> None:
    """As the shipper does, with an answer for each."""
    entries: Entries = Counter()
    rows = [(hour_of(event.timestamp), encoded(event).decode(), now) for event in events]
    rows += [(hour_of(now), '{"idempotentId": 1}', now)] * poison
    for hour, _, _ in rows:
        for column in ("answered", "spooled", "queued"):
            entries[hour, column] += 1

    async def ship(transaction: Transaction) -> None:
        await transaction.change_each("add_to_queue", rows)
        await add_to_ledger(transaction, entries)

    await database.transact(ship)


async def consumed(database: Database, *, now: int = NOON, limits: DetailLimits = NO_LIMITS) -> None:
    """All retries included."""
    fence = await Leases(database, lambda: now).take("traffic", "test")
    assert fence is not None
    clock = [now]
    consumer = Consumer(database, lambda: clock[0], limits=limits)
    for _ in range(6):
        clock[0] += 100_000
        await consumer.consume(fence)


async def rows_of(database: Database, sql: str) -> list[tuple[Any, ...]]:
    """Any statement, committed: a look from outside, or a row that somebody spoiled."""

    async def run(transaction: Transaction) -> list[tuple[Any, ...]]:
        if isinstance(transaction, SqliteTransaction):
            return list(await transaction.do(lambda connection: list(connection.execute(sql))))
        assert isinstance(transaction, PostgresTransaction)
        return [tuple(row) for row in await transaction.connection.fetch(sql)]

    return await database.transact(run)


async def plan_of(database: Database, name: str, *arguments: int) -> str:
    """How the database would run a statement with these arguments."""
    is_sqlite = "Sqlite" in type(database).__name__
    sql = statements("sqlite" if is_sqlite else "postgres")[name]
    for number, argument in enumerate(arguments, start=1):
        sql = sql.replace(f"{'?' if is_sqlite else '$'}{number}", str(argument))
    rows = await rows_of(database, f"{'EXPLAIN QUERY PLAN' if is_sqlite else 'EXPLAIN'} {sql}")
    return "\n".join(str(row[-1]) for row in rows)


async def many_messages(database: Database, count: int, *, due_at: int = NOON) -> None:
    """Made by the database itself, which is quick."""
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    await rows_of(
        database,
        "INSERT INTO traffic_queue (hour, body, tries, due_at, reason) "
        f"{numbers} SELECT {NOON}, '{{}}', 0, {due_at}, '' FROM n",
    )
    await rows_of(database, "ANALYZE traffic_queue")
