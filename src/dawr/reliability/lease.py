"""Of many processes that could do a work, one does it: a lease, and its fence.

A lease is had for a time, and renewed while its holder lives. Every taking has a higher fence
than the one before. What is written under a lease names its fence, and is refused in its own
transaction once somebody else took over: a holder that was frozen, slow or cut off changes nothing.

Time is the database's where several hosts share it. What was seen is changed only if it is
still as it was seen, so no clock and no pause between the two can give one lease to two holders.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from dawr.reliability.log import log
from dawr.reliability.records import OpenTransaction, Records

T = TypeVar("T")

LEASE_MS = 8_000
POLLS_PER_LEASE = 4
"""How often a lease is renewed within its time, and polled by those who wait for it."""
LONGEST_POLL_SECONDS = 2.0
"""However long a lease is, whoever could not ask for it asks again soon."""
RELEASE_SECONDS = 0.5
MOST_LEASES_AHEAD = 10
"""Not one, because those who ask for the same may ask for different times."""


class Fence(NamedTuple):
    """The right to write under a lease, until somebody takes it again."""

    lease: str
    number: int


Work = Callable[[Fence], Coroutine[Any, Any, None]]


class LeaseLost(Exception):
    """Somebody else has taken over the work that this belongs to."""


class Seen(NamedTuple):
    """A lease as it was, and when by the clock that counts."""

    holder: str
    fence: int
    until_at: int
    now: int


class Leases:
    """All leases of one database. `clock` gives milliseconds; it counts only where the database has none to share."""

    def __init__(self, records: Records, clock: Callable[[], int]) -> None:
        self._records = records
        self._clock = clock

    async def take(self, name: str, holder: str, *, lease_ms: int = LEASE_MS) -> Fence | None:
        """One of all who ask gets it. Whoever comes back under the name it is held by gets it at once, anew.

        One that is held for much longer than any is given was taken by a clock that was ahead. Whoever has it loses it
        by its fence, like everybody who is slow.
        """
        seen = await self._see(name)
        longest_ms = MOST_LEASES_AHEAD * max(lease_ms, LEASE_MS)
        if 0 < seen.until_at - seen.now <= longest_ms and seen.holder != holder:
            return None
        until_at = seen.now + lease_ms
        taken = await self._records.change_rows("take_lease", name, holder, until_at, seen.fence, seen.until_at)
        return Fence(name, seen.fence + 1) if taken else None

    async def renew(self, fence: Fence, *, lease_ms: int = LEASE_MS) -> bool:
        """False: somebody took it."""
        seen = await self._see(fence.lease)
        if seen.fence != fence.number:
            return False
        return await self._records.change_rows("renew_lease", *fence, seen.now + lease_ms) == 1

    async def release(self, fence: Fence) -> None:
        """Let the next one have it now. Nothing happens if somebody has it already."""
        await self._records.change_rows("release_lease", *fence)

    async def _see(self, name: str) -> Seen:
        rows = await self._records.select_rows("find_lease", name)
        if not rows:
            await self._records.change_rows("add_lease", name)
            rows = await self._records.select_rows("find_lease", name)
        holder, fence, until_at, now = rows[0]
        return Seen(holder, fence, until_at, self._clock() if now is None else now)


class Lease:
    """One process's part in a work that one of many does. `holder` says who that is, and is nobody else's."""

    def __init__(
        self,
        leases: Leases,
        name: str,
        *,
        holder: str,
        lease_ms: int = LEASE_MS,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.name = name
        self.fence: Fence | None = None
        """What is held now."""
        self._leases = leases
        self._holder = holder
        self._lease_ms = lease_ms
        self._seconds = lease_ms / 1000
        self._count = count
        self.is_reachable = True
        """Whether the database said whose it is when it was last asked."""

    async def run(self, work: Work) -> None:
        """Do the work whenever the lease is ours, and cancel it when it no longer is, until it ends by itself.

        Whoever stops gives the lease back, so that the next one need not wait for its end.
        """
        while not await self._act(work, *await self._stand_by()):
            pass

    async def _stand_by(self) -> tuple[Fence, float]:
        """Wait for the lease; until when it is ours, counted from before it was asked for."""
        loop = asyncio.get_running_loop()
        while True:
            until = loop.time() + self._seconds
            fence = await self._asked(self._leases.take(self.name, self._holder, lease_ms=self._lease_ms), until)
            if fence is not None:
                self._count("taken")
                log.info("lease.taken", lease=self.name, fence=fence.number)
                return fence, until
            await asyncio.sleep(min(self._seconds / POLLS_PER_LEASE, LONGEST_POLL_SECONDS))

    async def _act(self, work: Work, fence: Fence, until: float) -> bool:
        """Whether the work ended by itself."""
        self.fence = fence

        def renew(by: float) -> Coroutine[Any, Any, bool | None]:
            return self._asked(self._leases.renew(fence, lease_ms=self._lease_ms), by)

        working = asyncio.create_task(work(fence))
        keeping = asyncio.create_task(keep_renewed(renew, until, seconds=self._seconds, times=POLLS_PER_LEASE))
        try:
            await asyncio.wait((working, keeping), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                with suppress(LeaseLost):
                    working.result()
                    return True
            self._count("lost")
            log.warning("lease.lost", lease=self.name, fence=fence.number)
            return False
        finally:
            self.fence = None
            await _stop(keeping)
            await _stop(working)
            await self._asked(self._leases.release(fence), asyncio.get_running_loop().time() + RELEASE_SECONDS)

    async def _asked(self, question: Awaitable[T], by: float) -> T | None:
        """None: the database did not say, or not in time. It is asked again."""
        try:
            async with asyncio.timeout_at(by):
                answer = await question
        except Exception as error:  # noqa: BLE001 - whatever it raises: what was not confirmed is not held
            if self.is_reachable:
                log.warning("lease.unreachable", lease=self.name, reason=str(error) or type(error).__name__)
            self.is_reachable = False
            return None
        self.is_reachable = True
        return answer


async def keep_renewed(
    renew: Callable[[float], Awaitable[bool | None]], until: float, *, seconds: float, times: int
) -> None:
    """Renew what is held, so many times in so many seconds, and return when it is lost.

    That is when somebody else took it, or when it was not renewed in time. `renew` is told by when; it says False if
    somebody took it, and None if whoever should know did not say.
    """
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(seconds / times, max(0.0, until - loop.time())))
        asked_at = loop.time()
        if asked_at >= until:
            return
        renewed = await renew(until)
        if renewed is False:
            return
        if renewed:
            until = asked_at + seconds


async def hold(fence: Fence, transaction: OpenTransaction) -> None:
    """For what the caller writes in its own open transaction: nobody takes the lease over until that has ended.

    Raises `LeaseLost` if somebody did: then roll back.
    """
    transaction.must_be_open()
    rows = await transaction.select_rows("hold_fence", fence.lease)
    if [number for (number,) in rows] != [fence.number]:
        raise LeaseLost


async def _stop(task: asyncio.Task[None]) -> None:
    """Told to stop and waited for. What it fails with then is logged: nobody else asks."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, LeaseLost):
        log.warning("work.failed", reason=str(error) or type(error).__name__)
