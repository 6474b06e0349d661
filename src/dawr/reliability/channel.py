"""Messages from one process to all others, over a Redis or Valkey that they share.

A message is a hint: it may be lost, and nobody waits for it. Whoever listens is told when messages
may have been missed, and finds out elsewhere what they were.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import NoReturn

from dawr.reliability import redis_driver as redis
from dawr.reliability.log import log
from dawr.reliability.shared import Cancellations, Shared

ANSWER_SECONDS = 1.0
QUIET_SECONDS = 2.0
"""So long nothing may come before the server is asked whether it is still there; and as long for its answer."""
SHORTEST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 2.0


class Channel:
    """Listens on a connection of its own, so that a server which is slow to answer is not taken for silent."""

    def __init__(self, shared: Shared, name: str, chance: Random) -> None:
        self._shared = shared
        self._name = f"{shared.prefix}{name}"
        self._chance = chance

    async def publish(self, message: bytes) -> None:
        """To all who listen, the sender too if it does; or `SharedAway`."""
        await self._shared.ask(lambda client: client.publish(self._name, message))

    async def listen(self, received: Callable[[bytes], None], missed: Callable[[], None]) -> NoReturn:
        """Call `received` with each message, and `missed` whenever it begins to listen, at first and after a loss."""
        cancellations = Cancellations()
        pause = SHORTEST_PAUSE_SECONDS
        while True:
            try:
                async with self._subscribed() as subscription:
                    cancellations.check()
                    pause = SHORTEST_PAUSE_SECONDS
                    missed()
                    await _receive(subscription, received, cancellations)
            except (redis.RedisError, OSError, TimeoutError) as error:
                log.debug("channel.lost", reason=str(error) or type(error).__name__)
            cancellations.check()
            await asyncio.sleep(pause * self._chance.uniform(0.5, 1.0))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    @asynccontextmanager
    async def _subscribed(self) -> "AsyncIterator[redis.PubSub]":
        """From when the server has said so: what is said after that is heard."""
        subscription = self._shared.subscription()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await subscription.subscribe(self._name)
                while await subscription.get_message(timeout=ANSWER_SECONDS) is None:
                    pass
            yield subscription
        finally:
            await subscription.aclose()  # type: ignore[no-untyped-call]


async def _receive(
    subscription: "redis.PubSub", received: Callable[[bytes], None], cancellations: Cancellations
) -> NoReturn:
    """Until the connection is lost, or nothing comes though it was asked for a sign."""
    is_asked = False
    while True:
        message = await subscription.get_message(timeout=QUIET_SECONDS)
        cancellations.check()
        if message is not None:
            is_asked = False
            if message["type"] == "message":
                received(message["data"])
        elif is_asked:
            raise TimeoutError("the server gives no sign")
        else:
            async with asyncio.timeout(ANSWER_SECONDS):
                await subscription.ping()
            cancellations.check()
            is_asked = True
