"""Work that has its effect elsewhere, done once under a key: claimed, done, answered.

A claim is a lease with a fence. One of many gets it, decided by the row count of one statement.
While the work runs the lease is renewed; when its holder is gone, or said that it failed, one of
those who retry takes over under a higher fence. Whoever lost a claim changes nothing any more.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from hashlib import blake2b
from typing import Any, NamedTuple, ParamSpec

from dawr.reliability.idempotency.answers import Answer, Claim, ClaimLost, InProgress, KeyReused, Reply
from dawr.reliability.lease import keep_renewed
from dawr.reliability.log import log
from dawr.reliability.records import OpenTransaction, Records, RowHeld

P = ParamSpec("P")
Work = Callable[[], Awaitable[Reply]]
Fence = int

PATIENCE_MS = 2000
FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.2
BEATS_PER_LEASE = 3
PURGED_AT_ONCE = 500
MOST_STEPS = 100
DIGEST_BYTES = 8


class Idempotency:
    """Does what is claimed once. `clock` gives milliseconds since 1970.

    `count` is told what happened: run, take_over, replay, conflict, in_progress, failed, lost.
    Log lines have a hash of the key under `secret`, which has 64 bytes at most.
    """

    def __init__(
        self,
        records: Records,
        clock: Callable[[], int],
        *,
        secret: bytes,
        patience_ms: int = PATIENCE_MS,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.records = records
        if not secret:
            raise ValueError("The hashes of keys in log lines need a secret, or keys could be guessed by them.")
        self._secret = secret
        self._clock = clock
        self._patience_ms = patience_ms
        self._count = count
        self._given_up: set[asyncio.Task[None]] = set()

    def named(self, claim: Claim) -> dict[str, str]:
        """For a log line: a key may be a secret, or be guessed, so it is told by a hash that nobody else can make."""
        hashed = blake2b(claim.key.key.encode(), digest_size=DIGEST_BYTES, key=self._secret)
        return {"scope": claim.key.scope, "key_hash": hashed.hexdigest()}

    async def check(self, claim: Claim) -> Reply | None:
        """The answer that a retry would get now. None: there is none yet, and nobody is at work on it."""
        try:
            return self._judge(claim, await self._find(self.records, claim))
        except InProgress:
            self._count("in_progress")
            raise

    async def run(self, claim: Claim, work: Work) -> Reply:
        """The work's reply, or that of whoever did it before."""
        async with self.claimed(claim) as attempt:
            return attempt.reply or await attempt.complete(await work())

    def once(
        self, claim_of: Callable[P, Claim | None]
    ) -> Callable[[Callable[P, Awaitable[Reply]]], Callable[P, Coroutine[Any, Any, Reply]]]:
        """The same as a decorator. A call that has no claim is just made."""

        def decorate(work: Callable[P, Awaitable[Reply]]) -> Callable[P, Coroutine[Any, Any, Reply]]:
            @functools.wraps(work)
            async def under_claim(*args: P.args, **kwargs: P.kwargs) -> Reply:
                claim = claim_of(*args, **kwargs)
                if claim is None:
                    return await work(*args, **kwargs)
                return await self.run(claim, lambda: work(*args, **kwargs))

            return under_claim

        return decorate

    @asynccontextmanager
    async def claimed(self, claim: Claim) -> AsyncIterator["Attempt"]:
        """Either the reply is there already, or the work is to be done here and completed.

        Work that raises has failed, and may be done again at once. Work that is cancelled has not said
        how far it came: its claim stays, and nobody does it again before the lease has run out.
        """
        found = await self._obtain(claim)
        attempt = Attempt(self, claim, found, self._clock)
        if isinstance(found, Reply):
            yield attempt
            return
        try:
            async with attempt.kept_alive():
                yield attempt
                attempt.must_be_completed()
        except ClaimLost:
            self._count("lost")
            log.warning("idempotency.claim_lost", **self.named(claim))
            raise
        except Exception:
            self._count("failed")
            await attempt.fail()
            raise

    async def run_in(self, transaction: OpenTransaction, claim: Claim, work: Work) -> Reply:
        """For an effect in the same database: claim, effect and answer are one commit of the caller's.

        Whoever comes meanwhile waits for that commit, but not for long. Whatever is raised, roll back: nothing
        was claimed.
        """
        transaction.must_be_open()
        found = await self._obtain_in(transaction, claim)
        if isinstance(found, Reply):
            return found
        return await Attempt(self, claim, found, self._clock).complete_in(transaction, await work())

    async def purge(self, *, at_once: int = PURGED_AT_ONCE, most_steps: int = MOST_STEPS) -> int:
        """Delete what has expired, in steps of so many rows, and say how many they were."""
        purged = 0
        for _ in range(most_steps):
            deleted = await self.records.change_rows("purge_answers", self._clock(), at_once)
            purged += deleted
            if deleted < at_once:
                break
        return purged

    async def _obtain(self, claim: Claim) -> Reply | Fence:
        """An answer or the claim. Whoever is at work on it is waited for, but not for long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_ms / 1000
        pause = FIRST_PAUSE_SECONDS
        while True:
            left = deadline - loop.time()
            try:
                return await self._try(claim)
            except InProgress:
                if left <= 0:
                    self._count("in_progress")
                    raise
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def _obtain_in(self, transaction: OpenTransaction, claim: Claim) -> Reply | Fence:
        """Whoever loses a race here has waited for the winner's commit: a second look finds the answer."""
        records = transaction.waiting_at_most(self._patience_ms)
        try:
            with suppress(InProgress):
                return await self._try_in(records, claim)
            return await self._try_in(records, claim)
        except (InProgress, RowHeld):
            self._count("in_progress")
            raise InProgress from None

    async def _try(self, claim: Claim) -> Reply | Fence:
        """`InProgress`: somebody is at work on it, or was quicker."""
        bid = await self._bid(self.records, claim)
        return bid if isinstance(bid, Reply) else self._won(claim, bid, await self._place(claim, bid))

    async def _try_in(self, records: Records, claim: Claim) -> Reply | Fence:
        bid = await self._bid(records, claim)
        return bid if isinstance(bid, Reply) else self._won(claim, bid, await records.change_rows(*bid.change))

    async def _bid(self, records: Records, claim: Claim) -> "Reply | Bid":
        seen = await self._find(records, claim)
        reply = self._judge(claim, seen)
        if reply is not None:
            return reply
        now = self._clock()
        # Higher than every fence before, those of rows that were purged too.
        fence = now if seen is None else max(now, seen.fence + 1)
        lease_until = now + claim.lease_ms
        lease = (claim.fingerprint, lease_until, fence, max(lease_until, now + claim.keep_ms))
        if seen is None:
            return Bid(("claim_answer", *claim.key, *lease), fence)
        change = ("take_over_answer", *claim.key, *lease, seen.fence, now)
        return Bid(change, fence, takes_over=seen.expires_at > now)

    async def _place(self, claim: Claim, bid: "Bid") -> int:
        """Whoever is cancelled meanwhile began no work: if the claim turns out to be theirs, it is given up."""
        placing = asyncio.ensure_future(self.records.change_rows(*bid.change))
        try:
            return await asyncio.shield(placing)
        except asyncio.CancelledError:
            giving_up = asyncio.create_task(self._give_up(claim, bid, placing))
            self._given_up.add(giving_up)
            giving_up.add_done_callback(self._given_up.discard)
            raise

    async def _give_up(self, claim: Claim, bid: "Bid", placing: asyncio.Future[int]) -> None:
        try:
            if await placing:
                await self.records.change_rows("fail_claim", *claim.key, bid.fence)
        except Exception:
            log.exception("idempotency.not_stored", **self.named(claim))

    def _won(self, claim: Claim, bid: "Bid", changed: int) -> Fence:
        if not changed:
            log.info("idempotency.race_lost", **self.named(claim))
            raise InProgress
        self._count("run")
        if bid.takes_over:
            self._count("take_over")
        return bid.fence

    async def _find(self, records: Records, claim: Claim) -> Answer | None:
        rows = await records.select_rows("find_answer", *claim.key)
        return Answer(*rows[0]) if rows else None

    def _judge(self, claim: Claim, seen: Answer | None) -> Reply | None:
        if seen is None:
            return None
        try:
            reply = seen.replay(claim, self._clock())
        except KeyReused:
            self._count("conflict")
            raise
        if reply is not None:
            self._count("replay")
        return reply


class Bid(NamedTuple):
    """A statement that gets the claim, unless somebody else is quicker."""

    change: tuple[Any, ...]
    """Its name, and its arguments."""
    fence: Fence
    takes_over: bool = False


class Attempt:
    """One try at a claim."""

    def __init__(self, idempotency: Idempotency, claim: Claim, found: Reply | Fence, clock: Callable[[], int]) -> None:
        self.reply: Reply | None = found if isinstance(found, Reply) else None
        """There from the start when the work was done before; else once it is completed here."""
        self.fence: Fence = 0 if isinstance(found, Reply) else found
        """Grows with every take-over: a system that remembers the highest can refuse whoever comes late."""
        self._records = idempotency.records
        self._named = idempotency.named(claim)
        self._claim = claim
        self._clock = clock
        self._beating: asyncio.Task[None] | None = None
        self._may_have_failed = True

    async def complete(self, reply: Reply) -> Reply:
        """Store the reply: from now on it is replayed."""
        # If the store fails now, the effect is there all the same: nobody may repeat it before the lease is over.
        self._may_have_failed = False
        return await self._complete(self._records, reply)

    async def complete_in(self, transaction: OpenTransaction, reply: Reply) -> Reply:
        """The same within the caller's transaction, where an effect of the work is, too. On `ClaimLost`, roll back."""
        transaction.must_be_open()
        return await self._complete(transaction, reply)

    async def _complete(self, records: Records, reply: Reply) -> Reply:
        self._stop_beating()
        reply.must_be_bytes()
        expires_at = self._clock() + self._claim.keep_ms
        completed = await records.change_rows(
            "complete_claim", *self._claim.key, self.fence, reply.status, reply.body, expires_at
        )
        if not completed:
            raise ClaimLost
        self.reply = reply
        return reply

    async def fail(self) -> None:
        """Let somebody else try at once, unless it is completed. A store that is away must not hide why it failed."""
        self._stop_beating()
        if self._may_have_failed:
            try:
                await self._records.change_rows("fail_claim", *self._claim.key, self.fence)
            except Exception:
                log.exception("idempotency.not_stored", **self._named)

    def must_be_completed(self) -> None:
        if self.reply is None:
            raise RuntimeError("work under a claim ended without a reply: complete it, or raise")

    @asynccontextmanager
    async def kept_alive(self) -> AsyncIterator[None]:
        """Renew the lease while the work runs; once it is lost the work is cancelled, for another may be at it."""
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._beating = asyncio.create_task(self._beat(limit))
                try:
                    yield
                finally:
                    self._stop_beating()
                    await asyncio.wait([self._beating])
        except TimeoutError:
            if limit.expired():
                raise ClaimLost from None
            raise

    async def _beat(self, limit: asyncio.Timeout) -> None:
        loop, seconds = asyncio.get_running_loop(), self._claim.lease_ms / 1000
        await keep_renewed(self._renewed, loop.time() + seconds, seconds=seconds, times=BEATS_PER_LEASE)
        limit.reschedule(loop.time())

    async def _renewed(self, by: float) -> bool | None:
        """None: the store did not say."""
        try:
            async with asyncio.timeout_at(by):
                lease_until = self._clock() + self._claim.lease_ms
                return await self._records.change_rows("renew_claim", *self._claim.key, self.fence, lease_until) > 0
        except Exception:
            log.exception("idempotency.not_renewed", **self._named)
            return None

    def _stop_beating(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
