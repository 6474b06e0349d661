"""Charges that wait for a call that is under way go together in the next one."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from dawr.reliability.drain import settle
from dawr.reliability.rate_limit.policy import Policy, Verdict


class StoreVerdict(Verdict, frozen=True):
    """What the store charged: in which life of it, and when by its clock."""

    life: str = ""
    at_us: int = 0


class Charge(NamedTuple):
    policy: Policy
    key: str
    held: Verdict | None
    """The place it has in this process already, when it must fit both here and there."""
    answer: asyncio.Future[Verdict]
    """Whoever went away before it came has been charged all the same."""


class Batch(NamedTuple):
    charges: dict[tuple[Policy, str], list[Charge]]
    """Those of one key under one policy are one entry."""
    returned: list[StoreVerdict]

    @classmethod
    def take(
        cls, waiting: "deque[Charge | StoreVerdict]", *, most_logs: int, take_back: Callable[[Verdict], None]
    ) -> "Batch":
        """Those who went away meanwhile are charged nothing."""
        batch = cls({}, [])
        while waiting and len(batch.charges) < most_logs:
            one = waiting.popleft()
            if isinstance(one, StoreVerdict):
                batch.returned.append(one)
            elif not one.answer.cancelled():
                batch.charges.setdefault((one.policy, one.key), []).append(one)
            elif one.held is not None:
                take_back(one.held)
        return batch

    def fail(self, error: BaseException) -> None:
        for charges in self.charges.values():
            for one in charges:
                settle(one.answer, error)
