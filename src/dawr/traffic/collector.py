"""Writes down each answered request, before its last bytes leave: a few microseconds, and no network.

A request that is repeated under the same id of a trusted proxy, within ten minutes and in this process, is written
down under the id of the first time. What came through another process is settled by the consumer.
"""

from collections import deque
from collections.abc import Callable

import msgspec

from dawr.reliability.log import log
from dawr.traffic.agents import family_of
from dawr.traffic.event import REPEATED_MS, Event, encoded, outcome_of
from dawr.traffic.identity import id_of, whole_hash
from dawr.traffic.keys import VISITOR_DIGITS, DayKeys, VisitorKeys, visitor_hash
from dawr.traffic.spool import Spool

MOST_PATHS = 1000
OTHER_PATH = "(other)"
MOST_REMEMBERED = 50_000
MOST_VISITORS = 10_000
NS_PER_US = 1000
US_PER_MS = 1000
LONGEST_ID = 200


class Answered(msgspec.Struct, frozen=True, gc=False):
    """What the collector is told of a request."""

    method: str
    path: str
    """The route's template."""
    raw_path: str
    status: int
    took_ns: int
    client: str
    request_id: str | None = None
    """From a trusted proxy; None: a new one is made."""
    correlation_id: str = ""
    user_agent: bytes = b""
    country: str = ""
    by_rule: bool = False
    """Refused by a rule, whatever the status is."""
    is_stream: bool = False


class Kept(msgspec.Struct, frozen=True):
    """What is kept of a request besides what it was."""

    visitors: bool = True
    agents: bool = True
    details: float = 1.0
    """The share that is kept in detail. All are counted."""


class Collector:
    """`told` hears in a sentence of everything that was written down, if anybody wants to follow it."""

    def __init__(
        self,
        spool: Spool,
        keys: VisitorKeys,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        kept: Kept | None = None,
        told: Callable[[str], None] | None = None,
    ) -> None:
        self.spool = spool
        self._all_keys = keys
        self._clock = clock
        self._new_id = new_id
        self._kept = kept or Kept()
        self._told = told
        self._has_failed = False
        self._keys = DayKeys(0, b"", None, 0)
        self._visitors: dict[str, str] = {}
        self._paths = set[str]()
        self._first: dict[str, tuple[int, str]] = {}
        self._by_age: deque[tuple[int, str]] = deque()

    def collect(self, answered: Answered) -> str:
        """The id that it is counted under."""
        event, at = self._now(answered)
        is_spooled = self.spool.append(encoded(event), at)
        if self._told is not None:
            done = "Queue sent" if is_spooled else "Queue fallback to memory"
            self._told(f"{done}: {event.idempotent_id} | Path: {event.path} | Status: {event.status}")
        return event.idempotent_id

    def collect_soon(self, answered: Answered) -> None:
        """The same in one write with others; the answer waits for the spool's `when_written`."""
        if self._told is not None:
            self.collect(answered)
            return
        event, at = self._now(answered)
        self.spool.append_soon(encoded(event), at)

    def count_answer(self) -> None:
        """For whoever sends the bytes, beside `collect` and without it."""
        self.spool.count_answer()

    def lose(self, fault: Exception) -> None:
        """What could not be collected, by a fault of ours: counted as lost, and logged once."""
        self.spool.lose(self._clock())
        if not self._has_failed:
            self._has_failed = True
            log.error("traffic.collector-failed", exc_info=fault)

    def _now(self, answered: Answered) -> tuple[Event, int]:
        at = self._clock()
        if not self._keys.day <= at < self._keys.until:
            self._keys = self._all_keys.at(at)
            self._visitors.clear()
        return self._event(answered, at), at

    def _event(self, answered: Answered, at: int) -> Event:
        visitor = self._visitor(answered.client)
        request_id = answered.request_id or self._new_id()
        hashed, hash_before = whole_hash(visitor, answered.raw_path, request_id), None
        timestamp = at
        if answered.request_id is not None:
            hash_before = self._hash_before(answered)
            timestamp, hashed, visitor = self._first_time(at, hashed, hash_before, visitor)
        kept = self._kept
        return Event(
            id_of(timestamp, hashed),
            timestamp,
            self._path(answered.path),
            answered.method,
            answered.status,
            answered.took_ns // NS_PER_US / US_PER_MS,
            hashed,
            visitor[:VISITOR_DIGITS] if kept.visitors else "",
            request_id[:LONGEST_ID],
            answered.correlation_id,
            family_of(answered.user_agent) if kept.agents else "",
            answered.country,
            outcome_of(answered.status, by_rule=answered.by_rule),
            msgspec.UNSET if hash_before is None or hash_before == hashed else hash_before,
            kept.details < 1 and int(hashed[8:16], 16) >= kept.details * 2**32,
            answered.request_id is not None,
            answered.is_stream,
        )

    def _visitor(self, client: str) -> str:
        visitor = self._visitors.get(client)
        if visitor is None:
            if len(self._visitors) >= MOST_VISITORS:
                self._visitors.clear()
            visitor = self._visitors[client] = visitor_hash(self._keys.today, client)
        return visitor

    def _hash_before(self, answered: Answered) -> str | None:
        """Of the same request if it had come yesterday; while it may be a repeat from then."""
        if self._keys.yesterday is None:
            return None
        before = visitor_hash(self._keys.yesterday, answered.client)
        return whole_hash(before, answered.raw_path, answered.request_id or "")

    def _first_time(self, at: int, hashed: str, hash_before: str | None, visitor: str) -> tuple[int, str, str]:
        """When this request came first, and its hash and visitor then."""
        by_age = self._by_age
        while by_age and (by_age[0][0] < at - REPEATED_MS or len(by_age) >= MOST_REMEMBERED):
            _, oldest = by_age.popleft()
            self._first.pop(oldest, None)
        for known in (hashed, hash_before):
            if known is not None and known in self._first:
                first_at, first_visitor = self._first[known]
                if at - first_at <= REPEATED_MS:
                    return first_at, known, first_visitor
        self._first[hashed] = (at, visitor)
        by_age.append((at, hashed))
        return at, hashed, visitor

    def _path(self, path: str) -> str:
        if path in self._paths:
            return path
        if len(self._paths) >= MOST_PATHS:
            return OTHER_PATH
        self._paths.add(path)
        return path
