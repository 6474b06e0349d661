"""A limit that is counted for all processes together, and by each for itself while the shared store is away.

Whatever the store allows is also remembered here. So when it is away this process goes on
with its share of the quota, and what it had allowed before counts; and when it comes back, this
process first reports what the store does not know. It is never open.

A process is in one of three states:

- alone: the store is away, or does not know yet what this process has charged. Its share is judged here.
- both: it knows, but others may not have reported theirs yet. Whoever is let in must fit here and there.
- shared: the store judges.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Literal, NamedTuple, NoReturn, Self

from dawr.reliability.drain import Drain, settle
from dawr.reliability.log import log
from dawr.reliability.rate_limit.local import LocalLimiter, Unreported, refused
from dawr.reliability.rate_limit.policy import Policy, Verdict, whole_seconds
from dawr.reliability.rate_limit.shared_log import US_PER_MS, Charged, Meeting, SharedLog
from dawr.reliability.shared import SharedAway

POLL_SECONDS = 1.0
POLL_ALONE_SECONDS = 0.25
MOST_LOGS_AT_ONCE = 256
"""In one call: the store does nothing else meanwhile."""
MOST_REPORTED_AT_ONCE = 1000

State = Literal["alone", "both", "shared"]


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
    """Charges that waited for a call that was under way go together in the next one."""

    charges: dict[tuple[Policy, str], list[Charge]]
    """Those of one key under one policy are one entry."""
    returned: list[StoreVerdict]

    def fail(self, error: BaseException) -> None:
        for charges in self.charges.values():
            for one in charges:
                settle(one.answer, error)


class SharedLimiter:
    """`ticks` gives milliseconds that never go back; `processes` how many share a quota when the store is away.

    It has to be `running`: until it has met the store, this process counts alone.
    """

    def __init__(
        self,
        shared_log: SharedLog,
        ticks: Callable[[], int],
        processes: Callable[[], int],
        *,
        most_keys: int = 100_000,
    ) -> None:
        self._log = shared_log
        self._ticks = ticks
        self._processes = processes
        self._own = LocalLimiter(ticks, most_keys=most_keys)
        self._unreported = Unreported(ticks, most_keys=most_keys)
        self._drain: Drain[Charge | StoreVerdict, Batch] = Drain(self._take, self._send, Batch.fail)
        self._state: State = "alone"
        self._life = ""
        self._known_in = ""
        self._went_alone = asyncio.Event()

    @property
    def is_local(self) -> bool:
        """Whether this process judges by its own share now."""
        return self._state != "shared"

    async def charge(self, policy: Policy, key: str) -> Verdict:
        if self._state == "alone":
            return self._judge_alone(policy, key)
        held = None
        if self._state == "both":
            held = self._own.judge(policy.shared_by(self._processes()), key)
            if not held.allowed:
                return held
        charge = Charge(policy, key, held, asyncio.get_running_loop().create_future())
        self._drain.add(charge)
        return await charge.answer

    async def give_back(self, verdict: Verdict) -> None:
        """The store hears of it with the next charges. If it cannot, it counts one too many for a window."""
        self._own.take_back(verdict)
        if not isinstance(verdict, StoreVerdict):
            self._unreported.take_back(verdict)
        elif verdict.life == self._life and self._state != "alone":
            self._drain.add(verdict)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Check the store once, and then poll it beside what is done."""
        await self.check_store()
        polling = asyncio.create_task(self.poll())
        try:
            yield self
        finally:
            polling.cancel()
            await asyncio.wait([polling])

    async def poll(self) -> NoReturn:
        while True:
            self._went_alone.clear()
            await self.check_store()
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_ALONE_SECONDS if self.is_local else POLL_SECONDS):
                    await self._went_alone.wait()

    async def check_store(self) -> None:
        """See whether the store is there, whether it is the one that was known, and judge by it when that is right."""
        try:
            if self._state == "alone":
                await self._find()
            else:
                self._go_on(await self._log.meet(processes=self._processes()))
        except SharedAway:
            self._count_alone()

    async def _find(self) -> None:
        met = await self._log.meet(processes=self._processes())
        if met.life != self._life:
            self._life = met.life
            self._unreported.report_all_again(self._own)
        while self._unreported.keys():
            if not await self._report(met.life):
                return
        # Nothing is awaited since it was seen that nothing is unreported: from here on the store hears of every charge.
        self._state = "both"
        if self._known_in != met.life:
            # Said once only: should it be lost, all wait as long as they would for the slowest.
            self._known_in = met.life
            met = await self._log.say_reported(met.life, processes=self._processes())
        self._go_on(met)

    def _go_on(self, met: Meeting) -> None:
        if met.life != self._life:
            self._count_alone()
        elif met.judges and self._state == "both":
            self._state = "shared"
            log.info("limits.shared")

    def _count_alone(self) -> None:
        if self._state != "alone":
            self._state = "alone"
            self._went_alone.set()
            log.warning("limits.local", processes=self._processes())

    async def _report(self, life: str) -> bool:
        """Some of what is unreported. What was on its way when the store went away is unreported still."""
        pieces = self._unreported.take(most_logs=MOST_LOGS_AT_ONCE, most_times=MOST_REPORTED_AT_ONCE)
        try:
            return await self._log.report(life, pieces, self._ticks())
        except BaseException:
            self._unreported.put_back(pieces)
            raise

    def _judge_alone(self, policy: Policy, key: str) -> Verdict:
        verdict = self._own.judge(policy.shared_by(self._processes()), key)
        if verdict.allowed:
            self._unreported.keep(verdict.policy, key, verdict.at)
        return verdict

    def _take(self, waiting: deque[Charge | StoreVerdict]) -> Batch:
        """Those who went away meanwhile are charged nothing."""
        batch = Batch({}, [])
        while waiting and len(batch.charges) < MOST_LOGS_AT_ONCE:
            one = waiting.popleft()
            if isinstance(one, StoreVerdict):
                batch.returned.append(one)
            elif not one.answer.cancelled():
                batch.charges.setdefault((one.policy, one.key), []).append(one)
            elif one.held is not None:
                self._own.take_back(one.held)
        return batch

    async def _send(self, batch: Batch) -> None:
        life = self._life
        wanted = {entry: len(those) for entry, those in batch.charges.items()}
        given_back = [(one.policy, one.key, one.at_us) for one in batch.returned if one.life == life]
        charged = None
        with suppress(SharedAway):
            charged = await self._log.charge(life, wanted, given_back)
        if charged is None:
            self._count_alone()
            self._resolve_alone(batch)
        else:
            self._resolve(batch, charged, life)

    def _resolve_alone(self, batch: Batch) -> None:
        for (policy, key), those in batch.charges.items():
            for one in those:
                if one.held is not None:
                    self._unreported.keep(one.held.policy, key, one.held.at)
                settle(one.answer, one.held or self._judge_alone(policy, key))

    def _resolve(self, batch: Batch, charged: Charged, life: str) -> None:
        now = self._ticks()
        for ((policy, key), those), counted in zip(batch.charges.items(), charged.counted, strict=True):
            reset_seconds = whole_seconds(counted.wait_us / US_PER_MS)
            for place, one in enumerate(those):
                if place < counted.charged:
                    verdict = one.held or Verdict(
                        allowed=True,
                        remaining=policy.quota - counted.there - place - 1,
                        reset_seconds=reset_seconds,
                        policy=policy,
                        key=key,
                        at=now,
                    )
                    if one.held is None:
                        self._own.keep(policy, key, now)
                    settle(one.answer, self._store_verdict(verdict, life, charged.at_us))
                else:
                    if one.held is not None:
                        self._own.take_back(one.held)
                    settle(one.answer, refused(policy, key, reset_seconds))

    def _store_verdict(self, verdict: Verdict, life: str, at_us: int) -> Verdict:
        if life != self._life:  # the life in which it was charged ended before its answer was read
            self._unreported.keep(verdict.policy, verdict.key, verdict.at)
            return verdict
        return StoreVerdict(
            allowed=True,
            remaining=verdict.remaining,
            reset_seconds=verdict.reset_seconds,
            policy=verdict.policy,
            key=verdict.key,
            at=verdict.at,
            life=life,
            at_us=at_us,
        )
