"""A process that holds a claim, and completes it when it is told to.

    python -m tests.reliability.holder KIND ADDRESS

It says `held` and its fence; on a line of input it completes, and says what came of that.
"""

import asyncio
import sys

from dawr.reliability.idempotency import Claim, ClaimLost, Idempotency, Reply
from tests.reliability.backends import LOG_SECRET, opened
from tests.stores.databases import wall_clock

LEASE_MS = 60_000
CLAIM = Claim.of({"amount": 5}, scope="payments", key="k-1", lease_ms=LEASE_MS)


async def hold(kind: str, address: str) -> str:
    async with opened(kind, address) as records:
        try:
            async with Idempotency(records, wall_clock, secret=LOG_SECRET).claimed(CLAIM) as attempt:
                print("held", attempt.fence, flush=True)  # noqa: T201 - is read by the test
                await asyncio.to_thread(sys.stdin.readline)
                await attempt.complete(Reply(200, b"by the one who was thought dead"))
        except ClaimLost as lost:
            return lost.code
    return "completed"


if __name__ == "__main__":
    print(asyncio.run(hold(*sys.argv[1:])))  # noqa: T201 - is read by the test
