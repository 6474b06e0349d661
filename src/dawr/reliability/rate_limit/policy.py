"""What a limit is, what it says, and how the caller is told."""

import re
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
    key: str
    at: int = 0
    """When it was charged, by the limiter's own clock: what it is given back by."""


class Limiter(Protocol):
    """Counts what is done under a policy, by key."""

    async def charge(self, policy: Policy, key: str) -> Verdict:
        """One more, if it fits. What does not fit is not charged."""

    async def give_back(self, verdict: Verdict) -> None:
        """Take back this very charge: it was not the kind that is counted.

        To take back the newest instead would leave an older one in its place, which is forgotten sooner.
        """


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


def whole_seconds(milliseconds: float) -> int:
    return max(1, int(-(-milliseconds // MS_PER_SECOND)))
