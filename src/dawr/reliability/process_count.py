"""How many processes there are, on all hosts: each sends a heartbeat every second.

It is asked for when the shared store is away, so it never answers with fewer than were
expected, nor with fewer than were seen last.
"""

import asyncio
from collections import deque
from contextlib import suppress
from typing import NoReturn

from dawr.reliability.lua import Script
from dawr.reliability.shared import Shared, SharedAway

EVERY_SECONDS = 1.0
GONE_AFTER_MS = 5000
COUNTS_KEPT = 5
"""After the store came back empty, the first counts are too low: all have to send a heartbeat first."""


class ProcessCount:
    """`name` is this process's own; `expected` is how many there should be at least."""

    def __init__(self, shared: Shared, name: str, *, expected: int = 1) -> None:
        self._shared = shared
        self._name = name
        self._key = f"{shared.prefix}processes"
        self._script = Script.beside(__file__, "process_count")
        self._counts = deque([expected], maxlen=COUNTS_KEPT)
        self._expected = expected

    def processes(self) -> int:
        return max(self._expected, *self._counts)

    async def run(self) -> NoReturn:
        while True:
            with suppress(SharedAway):
                await self.heartbeat()
            await asyncio.sleep(EVERY_SECONDS)

    async def heartbeat(self) -> None:
        """Say that this process lives, and count; or `SharedAway`."""
        count = await self._shared.ask(lambda client: self._script.run(client, [self._key], self._name, GONE_AFTER_MS))
        self._counts.append(int(count))

    async def leave(self) -> None:
        """It ends in order, so the others need not wait until its heartbeats are missed."""
        with suppress(SharedAway):
            await self._shared.ask(lambda client: client.zrem(self._key, self._name))
