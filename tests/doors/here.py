"""A clinic in the test's own process: asked over HTTP, and driven from inside."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from dawr.domain.venue import Venue
from dawr.engine import Engine
from dawr.operations.operation import Operation
from tests.builders import DrivenClock
from tests.running import Answer, Client

R = TypeVar("R")


class Here(msgspec.Struct, frozen=True):
    url: str
    engine: Engine
    venue: Venue
    clock: DrivenClock

    async def enter(self, clinic: str, user: str, *, key: str | None = None) -> Answer:
        return await self._ask(lambda client: client.enter(clinic, user, key=key))

    async def status(self, clinic: str) -> Answer:
        return await self._ask(lambda client: client.status(clinic))

    async def do(self, operation: Operation[R]) -> R:
        """What staff do, for whom there is no door yet."""
        return await self.engine.do(self.venue.id, operation)

    async def _ask(self, question: Callable[[Client], Answer]) -> Answer:
        def ask() -> Answer:
            with Client(self.url) as client:
                return question(client)

        return await asyncio.to_thread(ask)
