"""Between the processes of one installation: a hint of every commit, so that watchers elsewhere need not wait.

A hint says which venue changed and how far it is, never what happened: that is read from the
store. A lost one costs time, not truth, for every hub polls the store now and then.
Telling waits for nobody and fails nobody.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

import msgspec
import structlog

from dawr.domain import VenueId
from dawr.live.hub import Hub
from dawr.ports import Changes
from dawr.reliability.channel import Channel
from dawr.reliability.drain import Drain, take_all
from dawr.reliability.process_count import ProcessCount
from dawr.reliability.shared import SharedAway

log = structlog.get_logger("dawr.live")

GATHERING_SECONDS = 0.01
"""What commits within this time of a hint goes out with the next one."""


class Reached(msgspec.Struct, frozen=True, array_like=True):
    """How far a venue is."""

    venue_id: VenueId
    epoch: int
    version: int


class Hint(msgspec.Struct, frozen=True, array_like=True):
    sender: str
    reached: list[Reached]
    judged: list[VenueId]
    """Where staff must show again that they still may watch."""


class Relay:
    """`name` is this process's own."""

    def __init__(self, channel: Channel, process_count: ProcessCount, name: str) -> None:
        self._channel = channel
        self._process_count = process_count
        self._name = name
        self._drain: Drain[Reached | VenueId, Hint] = Drain(self._hint, self._tell, self._not_told)
        self._is_closed = False
        self._decoder = msgspec.msgpack.Decoder(Hint)

    @property
    def processes(self) -> int:
        """How many serve this installation, at least."""
        return self._process_count.processes()

    def committed(self, changed: Iterable[Changes]) -> None:
        for changes in changed:
            head = changes.head
            self._drain.add(Reached(head.venue_id, head.epoch, head.version))

    def judge_again(self, venue_id: VenueId) -> None:
        self._drain.add(venue_id)

    async def listen(self, hub: Hub) -> None:
        """Pass on to the hub what others say, for as long as the server runs."""
        await self._channel.listen(lambda message: self._hear(hub, message), hub.poll_soon)

    async def be_counted(self) -> None:
        """Once a second, while the shared store is there."""
        with suppress(SharedAway):
            await self._process_count.heartbeat()

    async def close(self) -> None:
        """Say what is still to be said, if it can be said soon, and leave."""
        self._is_closed = True
        await self._drain.join()
        await self._process_count.leave()

    def _hear(self, hub: Hub, message: bytes) -> None:
        try:
            hint = self._decoder.decode(message)
        except msgspec.DecodeError as error:
            log.warning("relay.not-understood", reason=str(error))
            return
        if hint.sender == self._name:
            return
        for reached in hint.reached:
            hub.hear_of(reached.venue_id, reached.epoch, reached.version)
        for venue_id in hint.judged:
            hub.judge_here(venue_id)

    def _hint(self, waiting: deque[Reached | VenueId]) -> Hint:
        """One at a time; what commits meanwhile is gathered into the next. How far a venue is now is enough."""
        said = take_all(waiting)
        reached = {one.venue_id: one for one in said if isinstance(one, Reached)}
        return Hint(self._name, list(reached.values()), sorted({one for one in said if not isinstance(one, Reached)}))

    async def _tell(self, hint: Hint) -> None:
        await self._channel.publish(msgspec.msgpack.encode(hint))
        if not self._is_closed:
            await asyncio.sleep(GATHERING_SECONDS)

    def _not_told(self, hint: Hint, error: BaseException) -> None:
        """The others find it in the store with their next poll."""
        if not isinstance(error, SharedAway | asyncio.CancelledError):
            log.warning("relay.not-told", venues=len(hint.reached), fault=type(error).__name__)
