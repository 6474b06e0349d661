"""Between the processes of one installation: a hint of every commit, so that watchers elsewhere need not wait.

A hint says which venue changed and how far it is, never what happened: that is read from the
store. A lost one costs time, not truth, for every hub polls the store now and then.
Telling waits for nobody and fails nobody.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from contextvars import Context

import msgspec
import structlog

from dawr.domain.venue import VenueId
from dawr.live.hub import Hub
from dawr.ports import Changes
from dawr.reliability.channel import Channel
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
        self._reached: dict[VenueId, Reached] = {}
        self._judged: set[VenueId] = set()
        self._telling: asyncio.Task[None] | None = None
        self._is_closed = False
        self._decoder = msgspec.msgpack.Decoder(Hint)

    @property
    def processes(self) -> int:
        """How many serve this installation, at least."""
        return self._process_count.processes()

    def committed(self, changed: Iterable[Changes]) -> None:
        for changes in changed:
            head = changes.head
            self._reached[head.venue_id] = Reached(head.venue_id, head.epoch, head.version)
        self._tell_soon()

    def judge_again(self, venue_id: VenueId) -> None:
        self._judged.add(venue_id)
        self._tell_soon()

    async def listen(self, hub: Hub) -> None:
        """Pass on to the hub what others say, for as long as the server runs."""
        await self._channel.listen(lambda word: self._hear(hub, word), hub.poll_soon)

    async def be_counted(self) -> None:
        """Once a second, while the shared store is there."""
        with suppress(SharedAway):
            await self._process_count.speak()

    async def close(self) -> None:
        """Say what is still to be said, if it can be said soon, and leave."""
        self._is_closed = True
        if self._telling is not None:
            await asyncio.wait([self._telling])
        await self._process_count.leave()

    def _hear(self, hub: Hub, word: bytes) -> None:
        try:
            hint = self._decoder.decode(word)
        except msgspec.DecodeError as error:
            log.warning("relay.not-understood", reason=str(error))
            return
        if hint.sender == self._name:
            return
        for reached in hint.reached:
            hub.hear_of(reached.venue_id, reached.epoch, reached.version)
        for venue_id in hint.judged:
            hub.judge_here(venue_id)

    def _tell_soon(self) -> None:
        if self._telling is None or self._telling.done():
            # In a context of its own: what it logs is not the doing of whoever committed first.
            self._telling = asyncio.get_running_loop().create_task(self._tell(), context=Context())

    async def _tell(self) -> None:
        """One hint at a time; what commits meanwhile is gathered into the next."""
        while self._reached or self._judged:
            hint = Hint(self._name, list(self._reached.values()), sorted(self._judged))
            self._reached, self._judged = {}, set()
            try:
                await self._channel.say(msgspec.msgpack.encode(hint))
            except SharedAway:
                # The others find it in the store with their next poll.
                continue
            if not self._is_closed:
                await asyncio.sleep(GATHERING_SECONDS)
