"""The comparison: one transaction per ticket, as a careful programmer writes it without a batch.

Lock the head, read the line, see that the visitor has no open ticket and the key no answer, then write the
same rows as the engine: visit, ticket, line, event, answer, head. Commit, and only then answer.

The statements are those of the SQLite store, on both databases: one row at a time, they are plain SQL.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from benchmarks.arrivals import QUEUE, Arrival, receipt
from dawr.bootstrap.system import now
from dawr.domain.venue import Venue
from dawr.reliability.idempotency import Reply
from dawr.stores.postgres import SERVER_SETTINGS
from dawr.stores.session import Row, all_statements
from dawr.stores.sqlite_connections import open_writing

if TYPE_CHECKING:
    Pool = asyncpg.Pool[asyncpg.Record]
else:
    Pool = asyncpg.Pool

_encode = msgspec.json.Encoder().encode


class SqliteOneByOne:
    """One connection in one thread, which is all that SQLite lets write."""

    def __init__(self, path: Path, venue: Venue) -> None:
        self._venue = venue
        self._connection = open_writing(path)
        self._statements = all_statements("sqlite")
        self._writer = ThreadPoolExecutor(1)

    async def issue(self, arrival: Arrival) -> Reply:
        return await asyncio.get_running_loop().run_in_executor(self._writer, self.issue_now, arrival)

    def issue_now(self, arrival: Arrival) -> Reply:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            found = {name: self._first(name, keys) for name, keys in reads(self._venue, arrival).items()}
            reply, writes = decide(self._venue, arrival, found)
            for name, row in writes.items():
                self._connection.execute(self._statements[name], row)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return reply

    def _first(self, name: str, keys: Row) -> Row:
        return next(self._connection.execute(self._statements[name], keys), None)

    def close(self) -> None:
        self._writer.shutdown()
        self._connection.close()


class PostgresOneByOne:
    """As many connections as are given, all waiting for the same head."""

    def __init__(self, pool: Pool, venue: Venue) -> None:
        self._pool = pool
        self._venue = venue
        self._statements = {name: sql.replace("?", "$") for name, sql in all_statements("sqlite").items()}
        self._statements["lock_heads"] += " FOR UPDATE"

    async def issue(self, arrival: Arrival) -> Reply:
        async with self._pool.acquire() as connection, connection.transaction():
            found = {
                name: await connection.fetchrow(self._statements[name], *keys)
                for name, keys in reads(self._venue, arrival).items()
            }
            reply, writes = decide(self._venue, arrival, found)
            for name, row in writes.items():
                await connection.execute(self._statements[name], *row)
        return reply


@asynccontextmanager
async def postgres_one_by_one(url: str, venue: Venue, *, connections: int) -> AsyncIterator[PostgresOneByOne]:
    async with asyncpg.create_pool(
        url, min_size=connections, max_size=connections, server_settings=SERVER_SETTINGS
    ) as pool:
        yield PostgresOneByOne(pool, venue)


def reads(venue: Venue, arrival: Arrival) -> dict[str, Row]:
    return {
        "lock_heads": (venue.id,),
        "lines_current": (venue.id, QUEUE),
        "tickets_by_open_key": (venue.id, f"{QUEUE}:{arrival.issue.visitor}"),
        "answers_by_key": arrival.claim.key,
    }


def decide(venue: Venue, arrival: Arrival, found: Mapping[str, Row]) -> tuple[Reply, dict[str, Row]]:
    """The answer, and the rows to write."""
    if found["tickets_by_open_key"] is not None or found["answers_by_key"] is not None:
        raise LookupError("everybody comes once")
    at, issue, visitor = now(), arrival.issue, arrival.issue.visitor
    _, epoch, day, version, config_version, _ = found["lock_heads"]
    version += 1
    number, waiting = _next_number(found["lines_current"])
    label = f"A{number:03}"
    facts = {"number": number, "label": label, "day": day, "round": 1, "priority": 0, "sequence": version}
    data = _encode(facts | {"state": "waiting", "line": {"waiting": waiting}}).decode()
    reply = receipt(number=number, label=label, visitor=visitor, ahead=waiting - 1, ticket_id=issue.ticket_id)
    return reply, {
        "save_visits": (venue.id, issue.visit_id, issue.secret_hash, visitor, "open", at, None, None, issue.ticket_id),
        "add_tickets": (
            *(venue.id, issue.ticket_id, QUEUE, day, 1, number, label, 0, version, "waiting", visitor),
            *(f"{QUEUE}:{visitor}", issue.visit_id, at, version, None, 0, *[None] * 13, 1, None),
        ),
        "save_lines": (venue.id, QUEUE, day, 1, number, 0, f"[{waiting},0,0,0]", *[0] * 5, None, 0, 0, 0),
        "add_events": (venue.id, version, "ticket.issued", at, QUEUE, issue.ticket_id, None, None, None, data),
        "save_answers": msgspec.structs.astuple(reply.kept(arrival.claim, at)),
        "save_heads": (venue.id, epoch, day, version, config_version),
    }


def _next_number(line: Row) -> tuple[int, int]:
    """The number to give, and how many wait then."""
    if line is None:
        return 1, 1
    return line[4] + 1, msgspec.json.decode(line[6])[0] + 1
