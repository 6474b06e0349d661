"""What is asked of a venue: commands go into its lane, reads to the store at once.

A refused command leaves nothing behind but what it says, a failing one does not harm its batch
mates, and a caller who goes away never cancels half of anything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast
from zlib import crc32

import structlog

from dawr.domain import NOBODY, Event, Origin, Venue, VenueId
from dawr.domain.errors import Refused, UnknownVenue
from dawr.domain.venue import clinic_among
from dawr.engine.deciding import Command, look_at
from dawr.engine.lane import Cached, Lane, Listener
from dawr.engine.timekeeping import Doubt, Timekeeper
from dawr.engine.venue_names import VenueNames
from dawr.operations.operation import Operation, R, View
from dawr.ports import Clock, Session, Store
from dawr.ports.faults import Busy, Stopping, StoreDamaged, StoreFault
from dawr.reliability.correlation import current_trace
from dawr.reliability.idempotency import Claim, Reply
from dawr.reliability.lease import Fence

log = structlog.get_logger("dawr.engine")

V = TypeVar("V")

LONGEST_SLUG = 32
LATEST_SECONDS = 1.0
LONGEST_LATEST_SECONDS = 10.0
REST = 20
"""So many times as long as a look took it is left alone: with however many venues, it is a small part of the work."""
READY_SECONDS = 1.0
"""How long it stays believed that the store takes commands: to ask it is a commit, and anybody may ask us."""


class Latest(Generic[V]):
    """What was looked up a second ago at most, by one for all who ask; longer ago where a look takes long.

    What is empty, or failed, is not kept.
    """

    def __init__(self, look: Callable[[], Awaitable[V]]) -> None:
        self._look = look
        self._kept: V | None = None
        self._until = 0.0
        self._forgotten = 0

    @property
    def at_hand(self) -> V | None:
        return self._kept if asyncio.get_running_loop().time() < self._until else None

    async def get(self) -> V:
        kept = self.at_hand
        if kept is not None:
            return kept
        began, forgotten = asyncio.get_running_loop().time(), self._forgotten
        self._keep(self._kept, began)
        try:
            found = await self._look()
        except (Refused, StoreFault):
            self.forget()
            raise
        if forgotten == self._forgotten:
            self._keep(found, began)
        return found

    def forget(self) -> None:
        self._kept, self._until = None, 0.0
        self._forgotten += 1

    def _keep(self, value: V | None, began: float) -> None:
        now = asyncio.get_running_loop().time()
        seconds = min(max(LATEST_SECONDS, REST * (now - began)), LONGEST_LATEST_SECONDS)
        self._kept, self._until = value, now + seconds if value else 0.0


class Engine:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        lanes: int = 1,
        batch_limit: int = 256,
        most_waiting: int = 10_000,
        caches: Sequence[Cached] = (),
        listeners: Sequence[Listener] = (),
        time: Timekeeper | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._time = time
        self._most_waiting = most_waiting
        self._lanes = [
            Lane(store, clock, batch_limit=batch_limit, caches=caches, listeners=listeners, time=time)
            for _ in range(lanes)
        ]
        self._stopping = False
        self._pinging = asyncio.Lock()
        self._ready_until = 0.0
        self._is_damaged = False
        self._known_loop: asyncio.AbstractEventLoop | None = None
        self._names = VenueNames(store)
        self._only_clinic = Latest(self._look_for_clinic)
        self._door_closed: Mapping[str, object] = {}
        self._latest_venues = Latest(self.venues)

    async def do(
        self, venue_id: VenueId, operation: Operation[R], *, origin: Origin = NOBODY, under: Fence | None = None
    ) -> R:
        """Have an operation decided and stored; what came of it, or the refusal raised.

        Under a fence: only while it is the current one, else `LeaseLost`.
        """
        loop = self._loop()
        command = Command(venue_id, operation, origin, loop.create_future(), loop.time(), current_trace(), under=under)
        return cast("R", await self._enqueue(command))

    async def answer(
        self,
        venue_id: VenueId,
        operation: Operation[R],
        render: Callable[[R], Reply],
        *,
        claim: Claim | None = None,
        origin: Origin = NOBODY,
    ) -> Reply:
        """The same, rendered. Under a claim the reply is stored with its effect, and replayed to a retry."""
        loop = self._loop()
        since, trace = loop.time(), current_trace()
        command = Command(venue_id, operation, origin, loop.create_future(), since, trace, render, claim)
        return cast("Reply", await self._enqueue(command))

    async def read(self, venue_id: VenueId, view: View[R]) -> R:
        """Look at one consistent picture of a venue, without waiting for writers."""
        time = self._time
        if time is not None and not time.has_begun:
            await time.begin()
        seen = await self._store.read(
            [venue_id],
            lambda session: look_at(session, venue_id, view, self._clock(), time),
        )
        if isinstance(seen, Refused):
            raise seen
        return seen

    async def ran_ms(self) -> int:
        """How long the installation ran, by which answers are kept; where nobody counts that, its clock."""
        time = self._time
        if time is None:
            return self._clock()
        if not time.has_begun:
            await time.begin()
        return time.ran_ms

    async def events_after(self, venue_id: VenueId, version: int, *, most: int) -> list[Event]:
        return await self._store.read([venue_id], lambda session: session.events_after(venue_id, version, most=most))

    async def find_venue(self, name: str) -> VenueId:
        """By its slug or its id. One that another process made is found within a second."""
        return _known(await self._names.find(name), name)

    async def find_venue_now(self, name: str) -> VenueId:
        """The same, asked of the store."""
        return _known(await self._names.find_now(name), name)

    def knows(self, name: str) -> bool:
        """Whether `find_venue` asks nobody."""
        return self._names.is_known(name)

    async def slug_of(self, venue_id: VenueId) -> str:
        """What people call the venue."""
        return _known(await self._names.slug_of(venue_id), venue_id)

    def meet(self, venue: Venue) -> None:
        """It was made here: from now on it is found."""
        self._names.meet(venue.slug, venue.id)
        self.look_again()

    def look_again(self) -> None:
        """At all venues: somebody who runs the server has changed one."""
        self._only_clinic.forget()
        self._latest_venues.forget()

    async def venues(self) -> list[Venue]:
        """Every venue as it is set up now, by slug."""
        return await self.venues_of((await self._store.venue_ids()).values())

    async def venues_of(self, venue_ids: Collection[VenueId]) -> list[Venue]:
        """These, as they are set up now."""

        async def look(session: Session) -> list[Venue]:
            return [session.venues[venue_id] for venue_id in venue_ids if venue_id in session.venues]

        return await self._store.read(venue_ids, look) if venue_ids else []

    async def latest_venues(self) -> list[Venue]:
        """The same a moment ago: anybody may ask, and there may be hundreds. One that was made here is seen at once."""
        return await self._latest_venues.get()

    async def clinic(self, *, called: str) -> VenueId:
        """The venue that the clinic door opens to. That it opens to none is logged once, and when why changes."""
        try:
            clinic = await (self._clinic_called(called) if called else self._the_only_clinic())
        except UnknownVenue as refusal:
            if refusal.facts != self._door_closed:
                self._door_closed = refusal.facts
                log.warning("clinic-door.closed", **refusal.facts)
            raise
        self._door_closed = {}
        return clinic

    def clinic_at_hand(self, *, called: str) -> tuple[VenueId, str] | None:
        """The same and its slug, while both are known: nobody who takes a number waits for what is."""
        clinic = self._names.at_hand(called) if called else self._only_clinic.at_hand
        if clinic is None or isinstance(clinic, UnknownVenue):
            return None
        slug = self._names.slug_at_hand(clinic)
        return None if slug is None else (clinic, slug)

    async def _the_only_clinic(self) -> VenueId:
        found = await self._only_clinic.get()
        if isinstance(found, UnknownVenue):
            raise UnknownVenue(**found.facts)  # type: ignore[arg-type]
        return found

    async def _look_for_clinic(self) -> VenueId | UnknownVenue:
        """A venue may be added, or become another kind. That there is none is an answer too: anybody may ask again."""
        try:
            return clinic_among(await self.venues(), called="").id
        except UnknownVenue as refusal:
            return refusal.with_traceback(None)

    async def _clinic_called(self, called: str) -> VenueId:
        try:
            return await self.find_venue(called)
        except UnknownVenue:
            raise UnknownVenue(called[:LONGEST_SLUG], why="setting") from None

    def name_of(self, venue_id: VenueId) -> str:
        """The same without asking the store: of a venue that nobody asked for yet, its id."""
        return self._names.slug_at_hand(venue_id) or venue_id

    def now(self) -> int:
        """By the clock that decides."""
        return self._clock()

    async def doubt(self) -> Doubt | None:
        """Why nothing may end by the clock now. Without a timekeeper it is believed."""
        return None if self._time is None else await self._time.judge()

    async def doubts_clock(self) -> bool:
        return await self.doubt() is not None

    @property
    def depth(self) -> int:
        """How many commands wait."""
        return sum(map(len, self._lanes))

    async def ready(self) -> None:
        """Raise unless a command could be stored now."""
        if self._stopping:
            raise Stopping
        async with self._pinging:
            if self._loop().time() >= self._ready_until:
                await self._ping()
                self._ready_until = self._loop().time() + READY_SECONDS

    async def _ping(self) -> None:
        """A server asks every second, and damage stays: it is logged once."""
        try:
            await self._store.ping()
        except StoreDamaged as damage:
            if not self._is_damaged:
                self._is_damaged = True
                log.error("store.damaged", reason=str(damage))  # noqa: TRY400 - where it was met says nothing
            raise

    async def stop(self) -> None:
        """Take nothing new, and finish what was accepted."""
        self._stopping = True
        await asyncio.gather(*(lane.stop() for lane in self._lanes))

    def _loop(self) -> asyncio.AbstractEventLoop:
        """The one that this engine runs on. Asking for it anew asks the system for the process's id each time."""
        if self._known_loop is None or not self._known_loop.is_running():
            self._known_loop = asyncio.get_running_loop()
        return self._known_loop

    async def _enqueue(self, command: Command[Any]) -> object:
        if self._stopping:
            raise Stopping
        lane = self._lanes[crc32(command.venue_id.encode()) % len(self._lanes)]
        if len(lane) >= self._most_waiting:
            raise Busy
        lane.add(command)
        try:
            return await command.future
        except StoreFault:
            self._ready_until = 0.0
            raise


def _known(found: V | None, name: str) -> V:
    if found is None:
        raise UnknownVenue(name[:LONGEST_SLUG])
    return found
