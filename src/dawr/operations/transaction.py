"""One venue's rows while its head is held: what was loaded (`loaded.py`), what changed, how to take it back.

A ticket cannot be changed here without its event, its line's counts and its place among
the waiting changing with it: `record` is the way, and `rewrite` for what is no verb's.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dawr.domain import (
    Day,
    Event,
    Head,
    Line,
    LineKey,
    More,
    Origin,
    QueueId,
    Redated,
    Ticket,
    TicketId,
    Venue,
    Verb,
    Visit,
)
from dawr.domain.events import NOTHING_MORE, plain_data, ticket_data
from dawr.domain.ticket import VERBS
from dawr.operations.loaded import Loaded
from dawr.operations.rows import ALARMS, KINDS, VISITS
from dawr.ports import Changes, Kind, R


class Transaction(Loaded):
    @property
    def epoch(self) -> int:
        """Which stream of events this is; a restored copy begins another one."""
        return self._head.epoch

    @property
    def version(self) -> int:
        return self._head.version + len(self._events)

    @property
    def next_version(self) -> int:
        return self.version + 1

    def record(
        self,
        verb: Verb,
        after: Ticket,
        *,
        before: Ticket | None = None,
        line: Line | None = None,
        more: More = NOTHING_MORE,
    ) -> Ticket:
        """Let a ticket change, with everything that must change with it. `line` is its line, if it changed already."""
        first = self.first_waiting(after.queue_id) if verb == "call" else None
        counted = (line or self.line_at(after.line_key)).counting(before, after, announced=not more.unannounced)
        out_of_order = first is not None and first.ticket_id != after.ticket_id
        return self._record(VERBS[verb].event, before, after, counted, out_of_order=out_of_order, more=more)

    def rewrite(self, kind: str, before: Ticket, after: Ticket, line: Line, *, more: More = NOTHING_MORE) -> Ticket:
        """The same for a change that is no verb's, of which the line's counts are known."""
        return self._record(kind, before, after, line, more=more)

    def _record(
        self,
        kind: str,
        before: Ticket | None,
        after: Ticket,
        line: Line,
        *,
        out_of_order: bool = False,
        more: More = NOTHING_MORE,
    ) -> Ticket:
        if after.version != self.next_version:
            after = msgspec.structs.replace(after, version=self.next_version)
        self._set(self._tickets.rows, after.ticket_id, after)
        if before is not None and before.open_key is not None and before.open_key != after.open_key:
            self._set(self._by_open_key, before.open_key, None)
        if after.open_key is not None:
            self._set(self._by_open_key, after.open_key, after.ticket_id)
        self.put_line(line)
        self._move_in_waiting(after.line_key, before, after)
        data = ticket_data(before, after, line, out_of_order=out_of_order, more=more)
        self._happened(kind, after.queue_id, after.ticket_id, data)
        return after

    def happened(self, kind: str, queue_id: QueueId | None = None, **facts: str | int | None) -> None:
        """Record a change that is no ticket's."""
        self._happened(kind, queue_id, None, plain_data(**facts))

    def put_line(self, line: Line) -> None:
        """Whether the line is today's is known only once today's was loaded: one that ended is put here too."""
        self._set(self._lines.rows, line.key, line)
        if line.queue_id in self._current:
            current = self._current[line.queue_id]
            if current is None or current < line.key:
                self._set(self._current, line.queue_id, line.key)

    def go_back_to(self, day: Day, epoch: int, lines: Mapping[LineKey, Line]) -> None:
        """Let an earlier day be today's, and each of these lines become another one. Nobody else's change is here."""
        keys = {before: line.key for before, line in lines.items()}
        self._set(vars(self), "day", day)
        self._set(vars(self), "_head", msgspec.structs.replace(self._head, epoch=epoch))
        self._set(vars(self), "_redated", Redated(keys, self.venue.end_of(day), self.now))
        self._set(vars(self), "_current", {**self._current, **_newest(keys.values())})
        for line in lines.values():
            self.put_line(line)

    def retry_parked(self, within_ms: int) -> None:
        """Let parked visits that are due within this time try to enter a queue now, loaded or not."""
        until = self.now + within_ms
        self._set(vars(self), "_retried", (self.now, until))
        for alarm in [row for row in self._table(ALARMS).rows.values() if row is not None and row.kind == "enter"]:
            if alarm.due_at is not None and self.now < alarm.due_at <= until:
                self.put(ALARMS, msgspec.structs.replace(alarm, due_at=self.now))

    def put_venue(self, venue: Venue) -> None:
        self._set(vars(self), "venue", venue)

    def put(self, kind: Kind[Any, R], row: R) -> None:
        """A new row, or another one in the place of that with its key: the next command of the batch sees it."""
        self._set(self._table(kind).rows, kind.key(row), row)

    def put_visit(self, visit: Visit) -> None:
        """A visit that has a plan, or had one: its visitor has one open at most."""
        before = self._table(VISITS).rows.get(visit.visit_id)
        if before is not None and before.open_key is not None and visit.open_key is None:
            self._set(self._by_visitor, before.open_key, None)
        if visit.open_key is not None:
            self._set(self._by_visitor, visit.open_key, visit.visit_id)
        self.put(VISITS, visit)

    # What a refusal takes back, and what a batch leaves behind

    def begin(self, origin: Origin) -> None:
        """The next command's changes start here."""
        self.origin = origin
        self._undo.clear()
        self._events_before = len(self._events)
        self.has_changed = False

    def take_back(self) -> None:
        """As if the command had never been decided."""
        while self._undo:
            undo, *arguments = self._undo.pop()
            undo(*arguments)
        del self._events[self._events_before :]
        self.has_changed = False

    @property
    def touched(self) -> int:
        """How many tickets were changed so far."""
        return len(self._tickets.changed())

    def changes(self) -> Changes:
        venue_changed = self.venue is not self._venue_before
        tickets = self._tickets.changed()
        return Changes(
            head=Head(
                self._head.venue_id,
                self._head.epoch,
                self.day,
                self._head.version + len(self._events),
                self._head.config_version + venue_changed,
            ),
            venue=self.venue if venue_changed else None,
            new_tickets=[t for t in tickets if self._is_new(t)],
            changed_tickets=[t for t in tickets if not self._is_new(t)],
            lines=self._lines.changed(),
            events=self._events,
            redated=self._redated,
            retried=self._retried,
            rows={kind: self._tables[kind].changed() if kind in self._tables else [] for kind in KINDS},
        )

    # Inside

    def _set(self, rows: dict[Any, Any], key: Any, row: Any) -> None:  # noqa: ANN401 - rows of any kind
        if key in rows:
            self._undo.append((rows.__setitem__, key, rows[key]))
        else:
            self._undo.append((rows.__delitem__, key))
        rows[key] = row
        self.has_changed = True

    def _happened(self, kind: str, queue_id: QueueId | None, ticket_id: TicketId | None, data: str) -> None:
        origin = self.origin
        self._events.append(
            Event(
                self.venue.id,
                self.next_version,
                kind,
                self.now,
                queue_id,
                ticket_id,
                origin.actor,
                origin.correlation_id,
                origin.reason,
                data,
            )
        )
        self.has_changed = True

    def _move_in_waiting(self, key: LineKey, before: Ticket | None, after: Ticket) -> None:
        waiting = self._waiting.get(key)
        if waiting is None:
            return
        if before is not None and before.state == "waiting":
            waiting.remove(before)
            self._undo.append((waiting.add, before))
        if after.state == "waiting":
            waiting.add(after)
            self._undo.append((waiting.remove, after))


def _newest(keys: Iterable[LineKey]) -> dict[QueueId, LineKey]:
    """Of each queue."""
    return {key.queue_id: key for key in sorted(keys)}
