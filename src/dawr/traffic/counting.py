"""What a batch of events adds to every table, in the one transaction of whoever calls: all of it or nothing.

Whether an event was counted before is decided here, by its whole hash. Nothing here waits for a clock or reads a file.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dawr.traffic.buckets import bucket_of
from dawr.traffic.database import Transaction
from dawr.traffic.details import NO_LIMITS, DetailLimits
from dawr.traffic.event import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, REPEATED_MS, Event, day_of, hour_of
from dawr.traffic.ledger import Column

SEEN_MS = MS_PER_HOUR
"""How long hashes are kept to know repeats by, counted from when all that is older was counted."""
SURELY_SEEN_MS = SEEN_MS - REPEATED_MS
"""What is older than this when it is counted may no longer be known by its hash."""
ALL_PATHS = ""
STREAM = "stream"
"""Outcome of a stream among the details: its time is in no sum and in no histogram."""


VisitorKey = tuple[int, int, str, str]
"""Span, start, path and hash."""


class Settled(NamedTuple):
    stored: list[Event]
    duplicates: list[Event]
    visitors: list[VisitorKey]
    """Whom the rows were asked to remember."""
    columns: list[Column]
    """Column of the ledger for each stored event, which says whether it is kept in detail and why not."""


class KnownVisitors:
    """Whom the rows have already, as far as it is remembered: most requests come from somebody who was here before."""

    def __init__(self, most: int = 50_000) -> None:
        self._most = most
        self._hashes = set[int]()

    def unknown(self, keys: Iterable[VisitorKey]) -> list[VisitorKey]:
        return [key for key in keys if hash(key) not in self._hashes]

    def learn(self, keys: Sequence[VisitorKey]) -> None:
        """Once they are committed."""
        if len(self._hashes) + len(keys) > self._most:
            self._hashes.clear()
        self._hashes.update(map(hash, keys))


NOBODY = KnownVisitors()


async def count(
    transaction: Transaction,
    events: Sequence[Event],
    now: int,
    known: KnownVisitors = NOBODY,
    limits: DetailLimits = NO_LIMITS,
) -> Settled:
    """Add these events to details and aggregates, each once; says which were new."""
    settled = await _settled(transaction, events, now)
    stored = settled.stored
    if stored:
        hours = {(hour_of(event.timestamp),) for event in stored}
        detailed = Counter[int](dict(await transaction.select_each("detailed_in_hour", sorted(hours))))
        settled.columns.extend(limits.columns_of(stored, detailed))
        placed = list(zip(stored, settled.columns, strict=True))
        seen = {e.hash: _hash_row(e, now) for e, column in placed if _is_known_by_hash(e) and column != "no_space"}
        await transaction.change_each("save_seen", [*seen.values()])
        await transaction.change_each("add_events", [_detail(e) for e, column in placed if column == "detailed"])
        await _add_to_aggregates(transaction, stored)
        settled.visitors.extend(known.unknown(sorted(_visitors(stored))))
        await transaction.change_each("add_visitors", settled.visitors)
    return settled


async def _settled(transaction: Transaction, events: Sequence[Event], now: int) -> Settled:
    by_hash = [event for event in events if _is_known_by_hash(event)]
    hashes = {h for event in by_hash for h in (event.hash, event.hash_before) if isinstance(h, str)}
    seen = {h: (id_, at) for h, id_, at in await transaction.select_each("seen_by_hash", [(h,) for h in hashes])}
    in_doubt = [(e.idempotent_id, e.hash) for e in events if _is_in_doubt(e, seen, now)]
    counted = {(id_, hashed) for id_, hashed in await transaction.select_each("events_by_key", in_doubt)}
    settled = Settled([], [], [], [])
    for event in events:
        key = (event.idempotent_id, event.hash)
        if key in counted or _is_repeat(event, seen):
            settled.duplicates.append(event)
        else:
            settled.stored.append(event)
            counted.add(key)
            seen[event.hash] = (event.idempotent_id, event.timestamp)
    return settled


def _is_in_doubt(event: Event, seen: dict[str, tuple[str, int]], now: int) -> bool:
    """Whether only the details know if it was counted: its hash may be gone by now, or be that of a later request."""
    if event.hash in seen:
        return seen[event.hash][0] != event.idempotent_id
    return not _is_known_by_hash(event) or event.timestamp < now - SURELY_SEEN_MS


def _is_known_by_hash(event: Event) -> bool:
    """All others have an id that nobody else has, and details to be known by. Hashes cost a page of the disk each."""
    return event.is_repeatable or event.counted_only


def _is_repeat(event: Event, seen: dict[str, tuple[str, int]]) -> bool:
    first = seen.get(event.hash)
    if first is None and isinstance(event.hash_before, str):
        first = seen.get(event.hash_before)
    if first is None:
        return False
    id_, at = first
    return id_ == event.idempotent_id or abs(event.timestamp - at) <= REPEATED_MS


def _hash_row(e: Event, now: int) -> tuple[str, str, int, int]:
    return (e.hash, e.idempotent_id, e.timestamp, now)


def _detail(e: Event) -> tuple[str | int | float, ...]:
    return (
        e.idempotent_id,
        e.hash,
        e.timestamp,
        e.path,
        e.method,
        e.status,
        STREAM if e.is_stream and e.outcome == "ok" else e.outcome,
        e.response_time,
        e.client_ip_hash,
        e.request_id,
        e.correlation_id,
        e.user_agent,
        e.country,
    )


async def _add_to_aggregates(transaction: Transaction, events: Sequence[Event]) -> None:
    """Every event into the rows of its hour and into those of its day. Rows in the order of their keys."""
    hours: dict[tuple[int, int, str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    minutes: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    buckets = Counter[tuple[int, int, str, str, int]]()
    for event in events:
        us = round(event.response_time * 1000)
        at, path, method = event.timestamp, event.path, event.method
        is_error, is_refused = event.outcome == "error", event.outcome == "refused"
        for span, start in ((MS_PER_HOUR, hour_of(at)), (MS_PER_DAY, day_of(at))):
            row = hours[span, start, path, method, f"{event.status // 100}xx"]
            row[0] += 1
            row[1] += is_error
            row[2] += is_refused
            if event.is_stream:
                row[5] += 1
                continue
            row[3] += us
            row[4] = max(row[4], us)
            buckets[span, start, path, method, bucket_of(us)] += 1
        minute = minutes[at - at % MS_PER_MINUTE]
        minute[0] += 1
        minute[1] += is_error
        minute[2] += is_refused
    await transaction.change_each("count_hours", [(*key, *hours[key]) for key in sorted(hours)])
    await transaction.change_each("count_minutes", [(minute, *minutes[minute]) for minute in sorted(minutes)])
    await transaction.change_each("count_buckets", [(*key, buckets[key]) for key in sorted(buckets)])


def _visitors(events: Iterable[Event]) -> set[VisitorKey]:
    return {
        (span, start, path, event.client_ip_hash)
        for event in events
        if event.client_ip_hash
        for span, start in ((MS_PER_HOUR, hour_of(event.timestamp)), (MS_PER_DAY, day_of(event.timestamp)))
        for path in (event.path, ALL_PATHS)
    }
