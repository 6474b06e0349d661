"""A Redis or Valkey server that several processes share, and that may be away.

Nobody waits for it longer than `patience_seconds`. Once it failed it is away: one caller a
second tries it again, and everybody else is told at once, so that what can be done
without it is done without delay.

Several applications may share one server: every key and channel of ours begins with `prefix`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Self, TypeVar

from dawr.reliability import redis_driver as redis
from dawr.reliability.log import log

T = TypeVar("T")

PATIENCE_SECONDS = 0.5
TRIED_EVERY_MS = 1000


class SharedAway(Exception):
    """The shared Redis or Valkey cannot be reached now."""


class Cancellations:
    """Of the task that makes it, from then on: none is lost, though redis-py may swallow one.

    It sends through `asyncio.wait_for`, which before Python 3.12 returns as if nothing had happened when the
    cancellation comes in the moment of success.
    """

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._before = self._asked_for()

    def check(self) -> None:
        """Raise the one that came meanwhile, if it is still to be raised."""
        if self._asked_for() > self._before:
            raise asyncio.CancelledError

    def _asked_for(self) -> int:
        return 0 if self._task is None else self._task.cancelling()


class Shared:
    """`ticks` gives milliseconds that never go back."""

    def __init__(
        self,
        client: "redis.Redis",
        ticks: Callable[[], int],
        *,
        prefix: str = "",
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.prefix = prefix
        self._client = client
        self._ticks = ticks
        self._patience_seconds = patience_seconds
        self._next_try = 0
        self.is_away = False

    @classmethod
    def open(
        cls, url: str, ticks: Callable[[], int], *, prefix: str = "", patience_seconds: float = PATIENCE_SECONDS
    ) -> Self:
        """Connects when it is first asked, so that it can be opened while the server is away."""
        client = redis.Redis.from_url(
            url,
            socket_timeout=patience_seconds,
            socket_connect_timeout=patience_seconds,
            retry=None,
            retry_on_timeout=False,
            # With them on, redis-py hands out idle connections that the server has closed.
            maint_notifications_config=redis.MaintNotificationsConfig(enabled=False),
        )
        return cls(client, ticks, prefix=prefix, patience_seconds=patience_seconds)

    async def ask(self, question: "Callable[[redis.Redis], Awaitable[T]]") -> T:
        """The server's answer, soon, or `SharedAway`. What was asked may have been done all the same."""
        if self.is_away:
            if self._ticks() < self._next_try:
                raise SharedAway
            self._next_try = self._ticks() + TRIED_EVERY_MS
        cancellations = Cancellations()
        try:
            async with asyncio.timeout(self._patience_seconds):
                answer = await question(self._client)
                if self.is_away:
                    # One that takes no writes (it is full, or a replica) answers this or that, and is of no use.
                    await self._client.set(f"{self.prefix}here", b"", px=TRIED_EVERY_MS)
            cancellations.check()
        except (redis.RedisError, OSError, TimeoutError) as error:
            cancellations.check()
            await self._note_away(error)
            raise SharedAway(str(error) or type(error).__name__) from error
        if self.is_away:
            self.is_away = False
            log.info("shared.back")
        return answer

    def subscription(self) -> "redis.PubSub":
        """A connection of its own, for one who listens. It says nothing about `is_away`."""
        return self._client.pubsub()

    async def close(self) -> None:
        await self._client.aclose()

    async def _note_away(self, error: Exception) -> None:
        self._next_try = self._ticks() + TRIED_EVERY_MS
        if not self.is_away:
            self.is_away = True
            log.warning("shared.away", reason=str(error) or type(error).__name__)
            # Nobody will answer on the connections that are idle either: when it is back, each would fail once.
            with suppress(redis.RedisError, OSError, TimeoutError):
                async with asyncio.timeout(self._patience_seconds):
                    await self._client.connection_pool.disconnect(inuse_connections=False)
