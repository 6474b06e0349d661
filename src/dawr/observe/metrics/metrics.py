"""Counts what happens, for a few hundred nanoseconds each; whoever scrapes pays for the rest.

A label is a route's template, a code, a venue, a queue: never anything that a caller made up.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from dawr.domain import Ticket, VenueId
from dawr.observe.metrics import families, text
from dawr.observe.metrics.families import Family
from dawr.observe.metrics.region import Key, Region
from dawr.ports import Changes

MOST_SERIES = 1000
"""Of one family. Later ones share a series whose labels are all `other`."""
LONGEST_LABEL = 100
OTHER = "other"
NS_PER_SECOND = 1_000_000_000
MS_PER_SECOND = 1000

Gauge = Family | tuple[Family, str]
"""What is measured; with its label, if it has one."""


class Metrics:
    """`slot` is which of the regions this process counts in."""

    def __init__(
        self, regions: Sequence[Region] | None = None, slot: int = 0, *, untimed: Collection[str] = ()
    ) -> None:
        self._regions = regions or (Region(),)
        self._region = self._regions[slot]
        self._words = self._region.words
        self._offsets = dict(self._region.offsets())
        self._series = Counter(key[0] for key in self._offsets)
        self._untimed = frozenset(untimed)
        self._tables: dict[Family, set[int]] = {}
        self._by_request: dict[tuple[str, str, int], tuple[int, int | None]] = {}
        self.name_of: Callable[[VenueId], str] = str
        """What a venue is called. The engine knows, once it has met it."""
        self._forget_measures()
        self._batch = self._offset(families.BATCH_COMMANDS)
        self._commit = self._offset(families.COMMIT_SECONDS)
        self._lag = self._offset(families.EVENT_LAG_SECONDS)

    # What happens

    def answered(self, method: str, route: str, status: int, took_ns: int) -> None:
        """A request, with the line in the access log."""
        offsets = self._by_request.get((method, route, status))
        if offsets is None:
            offsets = self._by_request[method, route, status] = self._offsets_of_request(method, route, status)
        words, (count, histogram) = self._words, offsets
        words[count] += 1.0
        if histogram is not None:
            seconds = took_ns / NS_PER_SECOND
            words[histogram] += seconds
            words[histogram + 1 + bisect_left(families.REQUEST_BOUNDS, seconds)] += 1.0

    def refused(self, code: str) -> None:
        self._add(families.REFUSALS, code)

    def failed(self, code: str) -> None:
        self._add(families.ERRORS, code)

    def committed(self, changed: Iterable[Changes]) -> None:
        """What a batch changed: who joined, and who was called."""
        for changes in changed:
            venue = self.name_of(changes.head.venue_id)
            joins, calls, called = Counter[str](), Counter[str](), set()
            for event in changes.events:
                if event.kind == "ticket.issued":
                    joins[event.queue_id or ""] += 1
                elif event.kind == "ticket.called":
                    calls[event.queue_id or ""] += 1
                    called.add(event.ticket_id)
            for family, counted in ((families.JOINS, joins), (families.CALLS, calls)):
                for queue, count in counted.items():
                    self._words[self._offset(family, venue, queue)] += count
            if called:
                self._waited(
                    venue, (t for t in (*changes.changed_tickets, *changes.new_tickets) if t.ticket_id in called)
                )

    def ran(self, commands: int, seconds: float) -> None:
        """A batch, whether or not it could be stored."""
        self._observe(self._batch, families.BATCH_BOUNDS, commands)
        self._observe(self._commit, families.COMMIT_BOUNDS, seconds)

    def published(self, lag_ms: int) -> None:
        """An event, to those who watch. Two hosts' clocks may differ: never less than nothing."""
        self._observe(self._lag, families.LAG_BOUNDS, max(0, lag_ms) / MS_PER_SECOND)

    def limit_hit(self, policy: str) -> None:
        self._add(families.LIMIT_HITS, policy)

    def cache_read(self, outcome: str) -> None:
        self._add(families.CACHE_READS, outcome)

    def idempotency(self, outcome: str) -> None:
        self._add(families.IDEMPOTENCY, outcome)

    def work_failed(self, name: str) -> None:
        self._add(families.WORK_FAILURES, name)

    # What is measured

    def measure(self, measured: Mapping[Gauge, float]) -> None:
        """How things stand in this process now; from then on it is one of those that serve."""
        for gauge, value in measured.items():
            family, labels = (gauge, ()) if isinstance(gauge, Family) else (gauge[0], gauge[1:])
            self._words[self._offset(family, *labels)] = value
        self._region.live()

    def tabulate(self, family: Family, table: Mapping[tuple[str, ...], float]) -> None:
        """All that is measured of a family with labels nobody knew before: what is not in the table is told no more."""
        values: dict[int, float] = {}
        for labels, value in table.items():
            offset = self._offset(family, *labels)
            before = values.get(offset, 0.0)
            values[offset] = before + value if family.shared == "sum" else max(before, value)
        for gone in self._tables.get(family, set()) - values.keys():
            self._words[gone] = text.UNTOLD
        for offset, value in values.items():
            self._words[offset] = value
        self._tables[family] = set(values)

    def text(self, version: str) -> bytes:
        """Everything, of all processes on this host."""
        living = sum(region.is_alive for region in self._regions)
        alone: dict[Family, text.Samples] = {
            families.WORKERS: {(): [float(living)]},
            families.BUILD_INFO: {(version,): [1.0]},
        }
        return text.text(self._regions, alone)

    # Inside

    def _add(self, family: Family, *labels: str) -> None:
        self._words[self._offset(family, *labels)] += 1.0

    def _waited(self, venue: str, tickets: Iterable[Ticket]) -> None:
        """A ticket that was called; a call that was undone in the same batch has no wait."""
        offset = self._offset(families.WAIT_SECONDS, venue)
        for ticket in tickets:
            if ticket.waited_ms is not None:
                self._observe(offset, families.WAIT_BOUNDS, ticket.waited_ms / MS_PER_SECOND)

    def _observe(self, offset: int, bounds: tuple[float, ...], value: float) -> None:
        words = self._words
        words[offset] += value
        words[offset + 1 + bisect_left(bounds, value)] += 1.0

    def _offset(self, family: Family, *labels: str) -> int:
        offset = self._offsets.get((family.name, *labels))
        return self._new_offset(family, labels) if offset is None else offset

    def _new_offset(self, family: Family, labels: tuple[str, ...]) -> int:
        """Counted as `other` when there are too many, and so is what comes next: this is not remembered."""
        key: Key = (family.name, *(label[:LONGEST_LABEL] for label in labels))
        if self._series[family.name] >= MOST_SERIES:
            key = (family.name, *(OTHER for _ in labels))
        if key not in self._offsets:
            self._series[family.name] += 1
            self._offsets[key] = self._region.add(key, family.width)
        return self._offsets[key]

    def _offsets_of_request(self, method: str, route: str, status: int) -> tuple[int, int | None]:
        count = self._offset(families.REQUESTS, route, method, str(status))
        return count, None if route in self._untimed else self._offset(families.REQUEST_SECONDS, route)

    def _forget_measures(self) -> None:
        """What somebody measured who was in this slot before."""
        self._region.die()
        gauges = {family.name for family in families.FAMILIES if family.kind == "gauge"}
        for (name, *_), offset in self._offsets.items():
            if name in gauges:
                self._words[offset] = text.UNTOLD
