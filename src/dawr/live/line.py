"""A queue's current line as events move it on: its counts, and where everybody stands who waits.

Built once from what is stored, advanced by events, begun anew by a new day or round.
Never counts in the store.
"""

from bisect import bisect_left
from collections.abc import Iterable

from dawr.domain import LineFacts, LineKey, Place, QueueId, Venue
from dawr.live.forms import Published

EMPTY = LineFacts()


class WatchedLine:
    def __init__(self, key: LineKey, *, version: int, facts: LineFacts, places: list[Place]) -> None:
        self.key = key
        self.facts = facts
        self.version = version
        """Of the last event that was in here when it was read."""
        self.places = places

    @property
    def queue_id(self) -> QueueId:
        return self.key.queue_id

    def ahead_of(self, place: Place) -> int:
        return bisect_left(self.places, place)

    def advance(self, published: Published, venue: Venue) -> Place | None:
        """Let the next event count. Says which place became free, if one did."""
        key = published.line_key
        today = venue.day_at(published.event.at, reached=self.key.day)
        if today > self.key.day:
            self._begin(LineKey(self.queue_id, today, 1), published)
        if key is None or key < self.key:
            return None
        if key > self.key:
            self._begin(key, published)
        return self._count(published)

    def trace_back(self, past: Iterable[Published]) -> None:
        """Say of each past event, the newest first, how the line of its time stood after it.

        Which line that was is known from the one after it: a reset begins the next round, the number 1 a new day.
        """
        line: LineKey | None = self.key if self.facts != EMPTY or self.places or self.key.round > 1 else None
        for published in past:
            key = published.line_key
            if published.event.queue_id != self.queue_id or key is None:
                continue
            line = line or key
            published.shown = None
            if published.reset is not None:
                published.shown = EMPTY if key == line else None
                line = key._replace(round=key.round - 1) if key.round > 1 else None
            elif published.facts is not None and key == line:
                published.shown = published.facts.line
                if published.event.kind == "ticket.issued" and published.facts.number == key.round == 1:
                    line = None

    def _begin(self, key: LineKey, published: Published) -> None:
        self.key, self.facts, self.places = key, EMPTY, []
        published.shown = EMPTY

    def _count(self, published: Published) -> Place | None:
        facts, place, before = published.facts, published.place, published.place_before
        if facts is None or place is None or before is None:
            return None
        self.facts = published.shown = facts.line or self.facts
        is_waiting = facts.state == "waiting"
        has_left = (before != place or not is_waiting) and self._remove(before)
        if is_waiting:
            self._insert(place)
        return before if has_left else None

    def _remove(self, place: Place) -> bool:
        at = bisect_left(self.places, place)
        stood = at < len(self.places) and self.places[at] == place
        if stood:
            del self.places[at]
        return stood

    def _insert(self, place: Place) -> None:
        at = bisect_left(self.places, place)
        if at == len(self.places) or self.places[at] != place:
            self.places.insert(at, place)
