"""How often one address, token or account may ask. Which class a request is in, and what it is told."""

from dawr.domain.pin import MOST_OF_ADDRESS
from dawr.reliability.client_address import Clients, limit_key
from dawr.reliability.rate_limit import Hits, Limiter, Policy, Verdict, headers
from dawr.settings import Settings
from dawr.web.problems import BadRequest
from dawr.web.raw_request import ANYBODY, DEVICES, Caller, RawRequest

MINUTE = 60
QUARTER = 15 * 60


class TooMany(BadRequest):
    """Too many requests."""

    retryable = True

    def __init__(self, verdict: Verdict) -> None:
        policy = verdict.policy
        sentence = f"At most {policy.quota} requests in {policy.window_seconds} s are answered here."
        super().__init__(429, "quota-exceeded", sentence, *headers(verdict), violated_policies=[policy.name])


class Limits:
    """Signed-in callers, tokens and devices have classes of their own.

    So a kiosk is not held up by the phones around it.
    """

    def __init__(self, limiter: Limiter, clients: Clients, settings: Settings, hits: Hits) -> None:
        self._limiter = limiter
        self._clients = clients
        self._on = settings.rate_limits == "on"
        self._by_address = {
            "clinic-join": Policy("clinic-join", settings.limit_clinic_join, MINUTE),
            "join": Policy("join", settings.limit_join, MINUTE),
            "look": Policy("look", settings.limit_look, MINUTE),
            "stream": Policy("stream", 4 * settings.most_streams_per_address, MINUTE),
        }
        self._caller = Policy("caller", settings.limit_caller, MINUTE)
        self._device = Policy("device", settings.limit_device, MINUTE)
        self._login = Policy("login", settings.limit_login, QUARTER)
        self._pin = Policy("pin", MOST_OF_ADDRESS, QUARTER)
        self.hits = hits

    async def charge(self, limit: str, caller: Caller, raw: RawRequest) -> Verdict | None:
        """None: nothing is limited. A verdict that is not allowed was not charged."""
        if not self._on:
            return None
        return await self._limiter.charge(*self._whose(limit, caller, raw))

    async def charge_stranger(self, raw: RawRequest) -> None:
        """Credentials that are no good are charged to the address: looking them up is work, too."""
        verdict = await self.charge("look", ANYBODY, raw)
        if verdict is not None and not verdict.allowed:
            raise self.refusal(verdict) from None

    async def give_back(self, *verdicts: Verdict) -> None:
        for verdict in verdicts:
            await self._limiter.give_back(verdict)

    def refusal(self, verdict: Verdict) -> TooMany:
        """What the caller is told, and a hit that is noted."""
        self.hits.note(verdict.policy.name, verdict.key)
        return TooMany(verdict)

    async def try_login(self, username: str, raw: RawRequest) -> list[Verdict]:
        """Charge a try to the account and to the address, whichever is used up first; a success gives it back."""
        charged: list[Verdict] = []
        for key in self._login_keys(username, raw) if self._on else ():
            verdict = await self._limiter.charge(self._login, key)
            if not verdict.allowed:
                await self.give_back(*charged)
                raise self.refusal(verdict)
            charged.append(verdict)
        return charged

    async def may_try_pin(self, raw: RawRequest) -> None:
        """Refuse an address whose failures are used up. It is asked by a charge that is given back at once."""
        if self._on:
            verdict = await self._limiter.charge(self._pin, self._address(raw))
            if not verdict.allowed:
                raise self.refusal(verdict)
            await self.give_back(verdict)

    async def charge_pin(self, raw: RawRequest) -> None:
        if self._on:
            await self._limiter.charge(self._pin, self._address(raw))

    def _whose(self, limit: str, caller: Caller, raw: RawRequest) -> tuple[Policy, str]:
        if not caller.is_known:
            return self._by_address[limit], self._address(raw)
        return self._device if caller.token_kind in DEVICES else self._caller, caller.actor

    def _login_keys(self, username: str, raw: RawRequest) -> tuple[str, str]:
        return (f"account {username.strip().lower()}", f"address {self._address(raw)}")

    def _address(self, raw: RawRequest) -> str:
        return limit_key(self._clients.client_of(raw.scope))
