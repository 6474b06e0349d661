"""How often one address, token or account may ask. Which class a request is in, and what it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from hashlib import blake2b
from weakref import WeakValueDictionary

from dawr.domain.pin import MOST_OF_ADDRESS
from dawr.domain.secret import hash_of
from dawr.reliability.client_address import Clients, limit_key
from dawr.reliability.rate_limit import Hits, Limiter, Policy, Verdict, headers
from dawr.settings import Settings
from dawr.web.join_cost import JOIN_CLASSES, counts_as_look
from dawr.web.problems import BadRequest, Fact
from dawr.web.raw_request import DEVICES, Caller, RawRequest

MINUTE = 60
QUARTER = 15 * 60
HOUR = 60 * 60
DAY = 24 * HOUR
GUESSED_AT_ONCE = 16
MARKS = 65_536
"""What is counted for a day by names and addresses that anybody can make up is counted under so many at most."""


class TooMany(BadRequest):
    """Too many requests."""

    retryable = True

    def __init__(self, verdict: Verdict, **more: Fact) -> None:
        policy = verdict.policy
        facts: dict[str, Fact] = {"violated-policies": [policy.name], "policy": policy.name, "most": policy.quota}
        facts |= {"seconds": policy.window_seconds, "again_seconds": max(1, verdict.reset_seconds)}
        super().__init__(429, "quota-exceeded", *headers(verdict), **facts, **more)


class Limits:
    """Where they have a role, accounts, tokens and devices have classes of their own. Elsewhere they are anybody.

    So a kiosk is not held up by the phones around it. The tokens of a venue have a bound together, so that many of
    them are no way around the limit of one. `secret` is the installation's own: all of its
    processes give a name or an address the same mark, and nobody else can tell which.
    """

    def __init__(self, limiter: Limiter, clients: Clients, settings: Settings, hits: Hits, secret: str) -> None:
        self._limiter = limiter
        self._clients = clients
        self._on = settings.rate_limits == "on"
        self._by_address = {
            "clinic-join": Policy("clinic-join", settings.limit_clinic_join, MINUTE),
            "join": Policy("join", settings.limit_join, MINUTE),
            "look": Policy("look", settings.limit_look, MINUTE),
            "stream": Policy("stream", 4 * settings.most_streams_per_address, MINUTE),
        }
        self._visit = Policy("visit", settings.limit_visit, MINUTE)
        self._caller = Policy("caller", settings.limit_caller, MINUTE)
        self._device = Policy("device", settings.limit_device, MINUTE)
        self._venue_tokens = Policy("venue-tokens", settings.limit_venue_tokens, MINUTE)
        self._retry = Policy("retry", settings.limit_retry, MINUTE)
        self._guess = Policy("guess", settings.limit_guess, MINUTE)
        self._login = Policy("login", settings.limit_login, QUARTER)
        self._login_account = Policy("login-account", settings.limit_login_account, DAY)
        self._login_address = Policy("login-address", settings.limit_login_address, DAY)
        self._secret = secret.encode()
        self._pin = Policy("pin", MOST_OF_ADDRESS, QUARTER)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._guessing: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.hits = hits

    @property
    def are_on(self) -> bool:
        return self._on

    async def charge(self, limit: str, raw: RawRequest) -> Verdict | None:
        """What anybody asks, by their address. None: nothing is limited. What is not allowed was not charged."""
        return await self._limiter.charge(self._by_address[limit], self._address(raw)) if self._on else None

    async def charge_caller(self, caller: Caller) -> Verdict | None:
        """What somebody asks where they have a role. A token counts for its venue's together, too."""
        if not self._on:
            return None
        policy = self._device if caller.token_kind in DEVICES else self._caller
        verdict = await self._limiter.charge(policy, caller.actor)
        if caller.token_kind is None or not verdict.allowed:
            return verdict
        together = await self._limiter.charge(self._venue_tokens, next(iter(caller.roles)))
        if together.allowed:
            return verdict
        await self._limiter.give_back(verdict)
        return together

    async def charge_visit(self, link: str) -> Verdict | None:
        """What the holder of a link asks, wherever they are."""
        return await self._limiter.charge(self._visit, hash_of(link)[:32]) if self._on else None

    async def charge_retry(self, past: Verdict) -> Verdict:
        """What may have been answered before, although this limit is used up: it is looked up so many times."""
        return await self._limiter.charge(self._retry, past.key)

    async def guess(self, raw: RawRequest, opens: Callable[[], Awaitable[bool]]) -> bool:
        """Whether a link opens a visit. One that opens none is charged to the address; past that nothing is read.

        It is charged before it is looked up, and given back if it was no guess. Only so many are under way at once:
        right ones that come together would seem to be guesses while they last.
        """
        if not self._on:
            return False
        address = self._address(raw)
        async with self._guessing.setdefault(address, asyncio.Semaphore(GUESSED_AT_ONCE)):
            verdict = await self._limiter.charge(self._guess, address)
            if not verdict.allowed:
                raise self.refusal(verdict)
            is_guess = False
            try:
                is_guess = not await opens()
            finally:
                if not is_guess:
                    await self.give_back(verdict)
            return not is_guess

    async def charge_stranger(self, raw: RawRequest) -> None:
        """Credentials that are no good are charged to the address: looking them up is work, too."""
        verdict = await self.charge("look", raw)
        if verdict is not None and not verdict.allowed:
            raise self.refusal(verdict) from None

    async def charge_refused(self, refusal: Exception, charged: Verdict, raw: RawRequest) -> None:
        """Charge a refused join as a look if its refusal allows that. It stays a join once no looks are left."""
        if charged.policy.name in JOIN_CLASSES and counts_as_look(refusal):
            look = await self.charge("look", raw)
            if look is not None and look.allowed:
                await self.give_back(charged)

    async def give_back(self, *verdicts: Verdict) -> None:
        for verdict in verdicts:
            await self._limiter.give_back(verdict)

    def refusal(self, verdict: Verdict, **more: Fact) -> TooMany:
        """What the caller is told, and a hit that is noted."""
        self.hits.note(verdict.policy.name, verdict.key)
        return TooMany(verdict, **more)

    def turn_to_try(self, whose: str, raw: RawRequest, browser: str | None) -> asyncio.Lock:
        """For one try after the other: right ones that come together would seem to be wrong ones while they last."""
        (_, key), *_ = self._of_password(whose, raw, browser, vouched_for=False)
        return self._turns.setdefault(key, asyncio.Lock())

    async def charge_password(
        self, whose: str, raw: RawRequest, browser: str | None, *, vouched_for: bool
    ) -> list[Verdict]:
        """A try of a password, before it is judged. A `browser` that is known counts by itself, and for itself only."""
        charged: list[Verdict] = []
        async with AsyncExitStack() as otherwise:
            otherwise.push_async_callback(lambda: self.give_back(*charged))
            for policy, key in self._of_password(whose, raw, browser, vouched_for=vouched_for) if self._on else ():
                verdict = await self._limiter.charge(policy, key)
                if not verdict.allowed:
                    seconds = verdict.reset_seconds
                    raise self.refusal(verdict, minutes=-(-seconds // MINUTE), hours=-(-seconds // HOUR))
                charged.append(verdict)
            otherwise.pop_all()
        return charged

    def mark(self, text: str) -> str:
        """One of a bounded number, so that what anybody can make up takes a bounded place for a day."""
        digest = blake2b(text.encode(errors="replace"), digest_size=8, key=self._secret, person=b"limits").digest()
        return f"mark {int.from_bytes(digest) % MARKS}"

    @asynccontextmanager
    async def guessing_by_name(self, raw: RawRequest, failures: tuple[type[Exception], ...]) -> AsyncIterator[None]:
        """Charge a guess to the address before it is judged, and give it back unless it ends in one of these failures.

        Few are under way at once, so that right ones that come together do not use up the address's failures.
        """
        if not self._on:
            yield
            return
        address = self._address(raw)
        async with self._guessing.setdefault(address, asyncio.Semaphore(GUESSED_AT_ONCE)):
            verdict = await self._limiter.charge(self._pin, address)
            if not verdict.allowed:
                raise self.refusal(verdict, minutes=-(-verdict.reset_seconds // MINUTE))
            has_failed = False
            try:
                yield
            except failures:
                has_failed = True
                raise
            finally:
                if not has_failed:
                    await self.give_back(verdict)

    def _of_password(
        self, whose: str, raw: RawRequest, browser: str | None, *, vouched_for: bool
    ) -> tuple[tuple[Policy, str], ...]:
        if browser is not None:
            return ((self._login, f"{whose} browser {browser}"),)
        address = self._address(raw)
        of_account = ((self._login, f"{whose} address {address}"), (self._login_account, whose))
        return of_account if vouched_for else (*of_account, (self._login_address, self.mark(address)))

    def _address(self, raw: RawRequest) -> str:
        return limit_key(self._clients.client_of(raw.scope))
