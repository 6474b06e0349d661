"""A clinic in the test's own process: asked over HTTP, and driven from inside."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from dawr.bootstrap.installation import COMMAND_LINE, Dawr
from dawr.domain.staff import Role
from dawr.domain.venue import Venue
from dawr.engine.engine import Engine
from dawr.operations.operation import Operation
from tests.builders import DrivenClock
from tests.running import Answer, Client

R = TypeVar("R")


class Here(msgspec.Struct, frozen=True):
    url: str
    dawr: Dawr
    venue: Venue
    clock: DrivenClock

    @property
    def engine(self) -> Engine:
        return self.dawr.engine

    async def enter(self, clinic: str, user: str, *, key: str | None = None) -> Answer:
        return await self.ask(lambda client: client.enter(clinic, user, key=key))

    async def status(self, clinic: str) -> Answer:
        return await self.ask(lambda client: client.status(clinic))

    async def post(self, path: str, given: object, *, bearer: str | None = None, key: str | None = None) -> Answer:
        """To the clinic's door."""
        return await self.ask(lambda client: client.post(f"/api/v1/queue/{path}", given, bearer=bearer, key=key))

    async def position(self, clinic: str, user: str) -> Answer:
        return await self.ask(lambda client: client.get("/api/v1/queue/position", clinic=clinic, user=user))

    async def do(self, operation: Operation[R]) -> R:
        """What the door itself does not offer."""
        return await self.engine.do(self.venue.id, operation)

    async def bearer(self, role: Role = "staff") -> str:
        """A token of this role, made on the command line."""
        making, bearer = self.dawr.accounts.new_token(
            self.venue.id, "api", role, "A program", made_by="command line", account_id=None
        )
        await self.engine.do(self.venue.id, making, origin=COMMAND_LINE)
        return bearer

    async def ask(self, question: Callable[[Client], Answer]) -> Answer:
        def ask() -> Answer:
            with Client(self.url) as client:
                return question(client)

        return await asyncio.to_thread(ask)
