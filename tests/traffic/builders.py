"""Events as tests want them: only what a test cares about is given."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from dawr.traffic.counting import Settled, count
from dawr.traffic.database import Database
from dawr.traffic.event import Event, outcome_of
from dawr.traffic.identity import id_of, whole_hash
from dawr.traffic.spool_reader import SpoolReader, spools_in

NOON = 1_730_980_800_000
"""2024-11-07 12:00 UTC, in milliseconds."""


def an_event(
    number: int = 1,
    *,
    at: int = NOON,
    path: str = "/v1/queues/{queue}",
    method: str = "GET",
    status: int = 200,
    ms: float = 5.0,
    visitor: str = "",
    agent: str = "Chrome",
    by_rule: bool = False,
    counted_only: bool = False,
    hash_before: str = "",
    is_repeatable: bool = True,
    is_stream: bool = False,
) -> Event:
    """The number is its request id: two of the same number, visitor and time are the same request."""
    visitor = visitor or f"{number % 1000:016x}"
    hashed = whole_hash(visitor, path, str(number))
    event = Event(
        id_of(at, hashed),
        at,
        path,
        method,
        status,
        ms,
        hashed,
        client_ip_hash=visitor,
        request_id=str(number),
        correlation_id=f"c{number}",
        user_agent=agent,
        outcome=outcome_of(status, by_rule=by_rule),
        counted_only=counted_only,
        is_repeatable=is_repeatable,
        is_stream=is_stream,
    )
    return msgspec.structs.replace(event, hash_before=hash_before) if hash_before else event


def bodies_in(spools: Path) -> list[bytes]:
    """All that was written down in these spools."""
    bodies: list[bytes] = []
    for path in spools_in(spools):
        with closing(SpoolReader(path)) as spool:
            position = 0
            while not (piece := spool.read(position, 0)).is_last:
                bodies += piece.bodies
                position = piece.position
            bodies += piece.bodies
    return bodies


async def counted(database: Database, events: Sequence[Event], *, now: int = NOON) -> Settled:
    """As one batch of the consumer would; the ledger is the consumer's own business."""
    return await database.transact(lambda transaction: count(transaction, events, now))
