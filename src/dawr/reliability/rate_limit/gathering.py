"""Charges that wait for a call that is under way go together in the next one.

A call costs far more than what it carries. Whoever comes when nothing is under way waits for nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import NamedTuple

from dawr.reliability.rate_limit.policy import Policy, Verdict


class Marked(Verdict, frozen=True):
    """What the store charged: in which life of it, and when by its clock."""

    life: str = ""
    at_us: int = 0


class Waiting(NamedTuple):
    answer: asyncio.Future[Verdict]
    held: Verdict | None
    """The place it has in this process already, when it must fit both here and there."""

    def resolve(self, verdict: Verdict) -> None:
        """Whoever went away meanwhile has been charged all the same."""
        if not self.answer.done():
            self.answer.set_result(verdict)


Charges = dict[tuple[Policy, str], list[Waiting]]
"""Those of one key under one policy are one entry."""


class Gathering:
    """`send` resolves all that it is given; `gone` hears of who went away before they were sent."""

    def __init__(
        self,
        send: Callable[[Charges, list[Marked]], Awaitable[None]],
        gone: Callable[[Verdict], None],
        *,
        most_at_once: int,
    ) -> None:
        self._send = send
        self._gone = gone
        self._most_at_once = most_at_once
        self._charges: Charges = {}
        self._returned: list[Marked] = []
        self._sending: asyncio.Task[None] | None = None

    async def charge(self, policy: Policy, key: str, held: Verdict | None) -> Verdict:
        loop = asyncio.get_running_loop()
        waiting = Waiting(loop.create_future(), held)
        self._charges.setdefault((policy, key), []).append(waiting)
        self._begin(loop)
        # A task of its own sends, so that whoever goes away takes nobody with them.
        return await waiting.answer

    def give_back(self, verdict: Marked) -> None:
        self._returned.append(verdict)
        self._begin(asyncio.get_running_loop())

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sending is None:
            self._sending = loop.create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._charges or self._returned:
                charges, returned = self._next(), self._returned
                self._returned = []
                await self._send_or_fail(charges, returned)
        finally:
            self._sending = None

    async def _send_or_fail(self, charges: Charges, returned: list[Marked]) -> None:
        try:
            await self._send(charges, returned)
        except BaseException as error:
            for waiting in (one for those in charges.values() for one in those if not one.answer.done()):
                if isinstance(error, Exception):
                    waiting.answer.set_exception(error)
                else:
                    waiting.answer.cancel()
            if not isinstance(error, Exception):
                raise

    def _next(self) -> Charges:
        """Those who went away meanwhile are charged nothing."""
        taken: Charges = {}
        for which in list(islice(self._charges, self._most_at_once)):
            still_there = []
            for one in self._charges.pop(which):
                if not one.answer.cancelled():
                    still_there.append(one)
                elif one.held is not None:
                    self._gone(one.held)
            if still_there:
                taken[which] = still_there
        return taken
