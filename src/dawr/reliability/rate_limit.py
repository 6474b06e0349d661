"""So many in so long, and never one more: an exact sliding log.

A request that is refused is not charged, so that whoever waits is let in again. A window
that began before the clock turned the minute is a window too: no `window_seconds` long
stretch of time ever holds more than `quota`.
"""

import re
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

import msgspec

NAME = re.compile(r"[a-z0-9-]{1,64}")
MS_PER_SECOND = 1000


class Policy(msgspec.Struct, frozen=True):
    """A limit by its name, as callers are told it."""

    name: str
    quota: int
    window_seconds: int

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name) or self.quota < 0 or self.window_seconds < 1:
            raise ValueError(f"{self} is no limit: it has a plain name, a quota, and a window.")

    def shared_by(self, processes: int) -> "Policy":
        """The part of one process when several count for themselves: at least one, or few would mean none."""
        return msgspec.structs.replace(self, quota=min(self.quota, max(1, self.quota // processes)))


class Verdict(msgspec.Struct, frozen=True):
    allowed: bool
    remaining: int
    reset_seconds: int
    """Until there is room for one more than there is now; whole seconds, never too early."""
    policy: Policy


class Limiter(Protocol):
    """Counts what is done under a policy, by key."""

    async def charge(self, policy: Policy, key: str) -> Verdict:
        """One more, if it fits. What does not fit is not charged."""
        ...

    async def give_back(self, policy: Policy, key: str) -> None:
        """Take back the newest charge: it was not the kind that is counted."""
        ...


class LocalLimiter:
    """Counts in this process. `clock` gives milliseconds and never goes back.

    Only so many keys are remembered per policy. When all of them are in use, a newcomer is
    refused until one falls idle: to forget somebody would be to let them begin anew.
    """

    def __init__(self, clock: Callable[[], int], *, most_keys: int = 100_000) -> None:
        self._clock = clock
        self._most_keys = most_keys
        self._logs: dict[Policy, OrderedDict[str, array[int]]] = {}

    async def charge(self, policy: Policy, key: str) -> Verdict:
        now = self._clock()
        gone = now - policy.window_seconds * MS_PER_SECOND
        logs = self._logs.setdefault(policy, OrderedDict())
        self._sweep(logs, gone)
        log = logs.get(key)
        if log is None:
            if len(logs) >= self._most_keys:
                longest_idle = next(iter(logs.values()))
                return Verdict(
                    allowed=False, remaining=0, reset_seconds=_seconds(longest_idle[-1] - gone), policy=policy
                )
            log = array("q")
        del log[: bisect_right(log, gone)]
        if len(log) >= policy.quota:
            reset = _seconds(log[0] - gone) if log else policy.window_seconds
            return Verdict(allowed=False, remaining=0, reset_seconds=reset, policy=policy)
        log.append(now)
        logs[key] = log
        logs.move_to_end(key)
        remaining = policy.quota - len(log)
        return Verdict(allowed=True, remaining=remaining, reset_seconds=_seconds(log[0] - gone), policy=policy)

    async def give_back(self, policy: Policy, key: str) -> None:
        logs = self._logs.get(policy)
        log = logs.get(key) if logs else None
        if logs is None or log is None:
            return
        log.pop()
        if not log:
            del logs[key]

    def keys(self) -> int:
        """How many are remembered."""
        return sum(map(len, self._logs.values()))

    def _sweep(self, logs: OrderedDict[str, "array[int]"], gone: int) -> None:
        """Forget who was idle for a window. The longest idle stand first; two for each charge keeps ahead."""
        for _ in range(2):
            if not logs:
                return
            key, log = next(iter(logs.items()))
            if log[-1] > gone:
                return
            del logs[key]


def headers(verdict: Verdict) -> list[tuple[bytes, bytes]]:
    """What the caller is told: the policy, what is left of it, and on refusal when to come again."""
    policy = verdict.policy
    told = [
        (b"ratelimit-policy", b'"%b";q=%d;w=%d' % (policy.name.encode(), policy.quota, policy.window_seconds)),
        (b"ratelimit", b'"%b";r=%d;t=%d' % (policy.name.encode(), verdict.remaining, verdict.reset_seconds)),
    ]
    if not verdict.allowed:
        told.append((b"retry-after", b"%d" % max(1, verdict.reset_seconds)))
    return told


def _seconds(milliseconds: int) -> int:
    return max(1, -(-milliseconds // MS_PER_SECOND))
