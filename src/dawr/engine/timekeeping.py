"""How long the installation has run, and whether its clock is believed when it says that something is over.

A clock may be wrong once: a machine without a battery starts in another year. The time that the installation ran is
counted by ticks, which never jump. A clock that jumped by more than a day ends nothing while the system does not say
that it is synchronised, for an hour at most; meanwhile everything else goes on.
"""

from collections.abc import Callable

import msgspec
import structlog

from dawr.domain import Day, Head, Venue
from dawr.ports import Clock, Session, Store

log = structlog.get_logger("dawr.engine")

KEPT_EVERY_SECONDS = 60.0
DAY_MS = 24 * 60 * 60 * 1000
MOST_JUMP_MS = DAY_MS
DOUBTED_MS = 60 * 60 * 1000
"""So long a clock that jumped is doubted while the installation runs; then it is believed, whoever set it."""


class Doubt(msgspec.Struct, frozen=True):
    """Why nothing is ended by the clock now."""

    days: int
    """How far it jumped; below 0, back."""

    @property
    def sentence(self) -> str:
        where = "ahead of" if self.days > 0 else "behind"
        days = "a day" if abs(self.days) == 1 else f"{abs(self.days)} days"
        return (
            f"The clock of this machine is {days} {where} what it said last, and is not synchronised: "
            "set it right. Until it is synchronised, and for an hour at most, nothing expires and nothing is deleted."
        )


class DayAhead(msgspec.Struct, frozen=True):
    """A venue that has reached a day which has not come yet."""

    venue: str
    day: Day
    today: Day

    @property
    def sentence(self) -> str:
        return (
            f"Venue {self.venue} is at {self.day}, and today is {self.today}: a clock was wrong, or the zone was "
            "changed, and a day never goes back by itself. If today's date is right, "
            f"`dawr venue repair-day {self.venue}` brings it back; if not, set the clock right."
        )


class Timekeeper:
    """`ticks` are milliseconds that never jump; `is_synchronised` is what the system says of its clock."""

    def __init__(self, store: Store, clock: Clock, ticks: Clock, is_synchronised: Callable[[], bool]) -> None:
        self.has_begun = False
        self.doubt: Doubt | None = None
        """As it was judged last."""
        self.days_ahead: list[DayAhead] = []
        """As they were when they were looked for, a minute ago at most."""
        self._store = store
        self._clock = clock
        self._ticks = ticks
        self._is_synchronised = is_synchronised
        self._ran_ms = 0
        self._ran_at = 0
        self._believed = (0, 0)
        self._doubted_at = 0

    @property
    def ran_ms(self) -> int:
        """How long the installation has run."""
        return self._ran_ms + self._ticks() - self._ran_at

    async def begin(self) -> None:
        """Go on from what is kept. Others may have counted more."""
        kept_ms, believed_at = await self._store.time_kept()
        ran_ms, ticks = max(kept_ms, self.ran_ms if self.has_begun else 0), self._ticks()
        self._ran_ms, self._ran_at = ran_ms, ticks
        if not self.has_begun:
            self._believed = (self._clock() if believed_at is None else believed_at, ticks)
            self.has_begun = True

    async def keep(self) -> None:
        """One step of what goes on by itself."""
        doubt = await self.judge()
        await self._store.keep_time(self.ran_ms, self._clock() if doubt is None else None)
        await self.begin()
        await self.look()

    async def look(self) -> None:
        self.days_ahead = await days_ahead(self._store, self._clock)

    async def judge(self) -> Doubt | None:
        """Whether the clock is believed. Asked whenever something would end by it."""
        if not self.has_begun:
            await self.begin()
        return self._judge()

    def doubts_now(self) -> bool:
        """The same, once it has begun."""
        return self._judge() is not None

    def nearer(self, now: int, store_now: int) -> int:
        """The time, where the store's clock is another one: the store's, which all hosts share, unless that jumped."""
        believed, at = self._believed
        expected = believed + self._ticks() - at
        if abs(store_now - expected) <= MOST_JUMP_MS:
            return store_now
        return min(store_now, now, key=lambda clock: abs(clock - expected))

    def _judge(self) -> Doubt | None:
        now, ticks = self._clock(), self._ticks()
        believed, at = self._believed
        doubt = doubt_of(now - believed - (ticks - at), self._is_synchronised)
        if doubt is None or (self.doubt is not None and ticks - self._doubted_at >= DOUBTED_MS):
            self._believe(now, ticks)
        elif self.doubt is None:
            self.doubt, self._doubted_at = doubt, ticks
            log.warning("clock.doubted", days=doubt.days, reason=doubt.sentence)
        return self.doubt

    def _believe(self, now: int, ticks: int) -> None:
        self._believed = (now, ticks)
        if self.doubt is not None:
            self.doubt = None
            log.info("clock.believed")


def doubt_of(jumped_ms: int, is_synchronised: Callable[[], bool]) -> Doubt | None:
    """About a clock that is so far ahead of what it should say."""
    if abs(jumped_ms) <= MOST_JUMP_MS or is_synchronised():
        return None
    return Doubt(round(jumped_ms / DAY_MS))


async def days_ahead(store: Store, clock: Clock) -> list[DayAhead]:
    """Of all venues. While this machine's clock and the store's disagree, nobody knows which day it is."""
    slugs = await store.venue_ids()

    async def look(session: Session) -> list[DayAhead]:
        heads, venues = session.heads, session.venues
        if session.clock_error_ms:
            return []
        known = [(heads[venue_id], venues[venue_id]) for venue_id in slugs.values() if venue_id in venues]
        return [ahead for head, venue in known if (ahead := _ahead(head, venue, clock())) is not None]

    return await store.read(slugs.values(), look) if slugs else []


def _ahead(head: Head, venue: Venue, now: int) -> DayAhead | None:
    today = venue.today(now)
    return DayAhead(venue.slug, head.day, today) if head.day > today else None
