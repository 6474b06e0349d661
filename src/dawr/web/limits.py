"""How often one address, token or account may ask. Which class a request is in, and what it is told."""

from dawr.reliability.rate_limit import Limiter, Policy, Verdict, headers
from dawr.settings import Settings
from dawr.web.call import Request
from dawr.web.caller import Caller
from dawr.web.client_address import Clients, limit_key
from dawr.web.problems import BadRequest

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
    """Signed-in callers and tokens have a class of their own: a kiosk is not held up by the phones around it."""

    def __init__(self, limiter: Limiter, clients: Clients, settings: Settings) -> None:
        self._limiter = limiter
        self._clients = clients
        self._on = settings.rate_limits == "on"
        self._by_address = {
            "clinic-join": _policy("clinic-join", settings.limit_clinic_join, MINUTE, settings.workers),
            "join": _policy("join", settings.limit_join, MINUTE, settings.workers),
            "look": _policy("look", settings.limit_look, MINUTE, settings.workers),
            "stream": _policy("stream", 4 * settings.most_streams_per_address, MINUTE, settings.workers),
        }
        self._caller = _policy("caller", settings.limit_caller, MINUTE, settings.workers)
        self._login = _policy("login", settings.limit_login, QUARTER, settings.workers)

    async def charge(self, limit: str, caller: Caller, request: Request) -> Verdict | None:
        """None: nothing is limited. A verdict that is not allowed was not charged."""
        if not self._on:
            return None
        return await self._limiter.charge(*self._whose(limit, caller, request))

    async def give_back(self, limit: str, caller: Caller, request: Request) -> None:
        await self._limiter.give_back(*self._whose(limit, caller, request))

    async def try_login(self, username: str, request: Request) -> None:
        """Charge a try to the account and to the address, whichever is used up first; a success gives it back."""
        if not self._on:
            return
        charged: list[str] = []
        for key in self._login_keys(username, request):
            verdict = await self._limiter.charge(self._login, key)
            if not verdict.allowed:
                for other in charged:
                    await self._limiter.give_back(self._login, other)
                raise TooMany(verdict)
            charged.append(key)

    async def login_succeeded(self, username: str, request: Request) -> None:
        if self._on:
            for key in self._login_keys(username, request):
                await self._limiter.give_back(self._login, key)

    def _whose(self, limit: str, caller: Caller, request: Request) -> tuple[Policy, str]:
        if caller.is_known:
            return self._caller, caller.actor
        return self._by_address[limit], self._address(request)

    def _login_keys(self, username: str, request: Request) -> tuple[str, str]:
        return (f"account {username.strip().lower()}", f"address {self._address(request)}")

    def _address(self, request: Request) -> str:
        return limit_key(self._clients.client_of(request.scope))


def _policy(name: str, quota: int, seconds: int, workers: int) -> Policy:
    """Each of several processes counts alone, so each has its share of the whole."""
    return Policy(name, quota, seconds).shared_by(workers)
