"""A process that charges to a shared limit as it is told, one JSON line at a time.

python -m tests.reliability.limiting_process URL PROCESSES
"""

import asyncio
import json
import sys
import time
from typing import Any

import structlog

from dawr.bootstrap.system import ticks
from dawr.reliability.rate_limit import Policy
from dawr.reliability.rate_limit.shared_limiter import SharedLimiter
from dawr.reliability.rate_limit.shared_log import SharedLog
from dawr.reliability.shared import Shared
from tests.reliability.limiters import PATIENCE_SECONDS, SECRET

ASKED_AT_ONCE = 4


class Process:
    def __init__(self, limiter: SharedLimiter) -> None:
        self._limiter = limiter
        self._asked = 0
        self._let_in: list[tuple[int, int]] = []

    async def do(self, told: dict[str, Any]) -> dict[str, Any]:
        """Charge so many times, spread over so many seconds: who was let in, and when."""
        self._asked, self._let_in = 0, []
        policy = Policy("joins", told.get("quota", 1), told.get("window", 1))
        each, seconds = told.get("times", 0) // ASKED_AT_ONCE, told.get("seconds", 0)
        await asyncio.gather(*(self._ask(policy, each, seconds) for _ in range(ASKED_AT_ONCE)))
        return {"is_local": self._limiter.is_local, "asked": self._asked, "let_in": self._let_in}

    async def _ask(self, policy: Policy, times: int, seconds: float) -> None:
        began = time.monotonic()
        for number in range(times):
            await asyncio.sleep(max(0, began + seconds * number / times - time.monotonic()))
            sent = time.monotonic_ns()
            verdict = await self._limiter.charge(policy, "one address")
            self._asked += 1
            if verdict.allowed:
                self._let_in.append((sent, time.monotonic_ns()))


async def main(url: str, processes: int) -> None:
    shared = Shared.open(url, ticks, prefix="processes:", patience_seconds=PATIENCE_SECONDS)
    limiter = SharedLimiter(SharedLog(shared, SECRET), ticks, lambda: processes)
    process = Process(limiter)
    async with limiter.running():
        while line := await asyncio.to_thread(sys.stdin.readline):
            sys.stdout.write(json.dumps(await process.do(json.loads(line))) + "\n")
            sys.stdout.flush()
    await shared.close()


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
