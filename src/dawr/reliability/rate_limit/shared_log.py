"""The logs of all processes, in a Redis or Valkey.

Each life of the store has logs of its own. A life ends when the store is another server than
before, or was emptied: then it no longer knows what had been charged, and says so.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import redis.asyncio as redis
from redis.exceptions import NoScriptError

from dawr.reliability.lua import Script
from dawr.reliability.rate_limit.policy import Policy
from dawr.reliability.shared import Shared

US_PER_MS = 1000
US_PER_SECOND = 1_000_000
SETTLED_AFTER_US = 2_500_000
"""By then every process has found a store that came back: each tries once a second, and waits half a second."""
REGISTER_KEPT_MS = 7 * 24 * 60 * 60 * 1000
DIGEST_BYTES = 16
HASH_KEY_BYTES = 64


class Wanted(NamedTuple):
    policy: Policy
    key: str
    charges: int


class Counted(NamedTuple):
    there: int
    """Before."""
    charged: int
    wait_us: int
    """Until there is room for one more than there is after."""


class Charged(NamedTuple):
    at_us: int
    """By the store's clock."""
    counted: list[Counted]


class Meeting(NamedTuple):
    life: str
    judges: bool
    """All processes have reported what they had charged, or have had the time to."""


class Aged(NamedTuple):
    """What a process has charged by itself."""

    name: str
    window_seconds: int
    key: str
    ages_ms: Sequence[int]


def script(name: str) -> Script:
    return Script.beside(__file__, name)


class SharedLog:
    """What is asked raises `SharedAway` when the store is. Another life is answered by nothing."""

    def __init__(
        self,
        shared: Shared,
        *,
        charge: Script | None = None,
        meet: Script | None = None,
        report: Script | None = None,
    ) -> None:
        self._shared = shared
        self._charge = charge or script("charge")
        self._meet = meet or script("meet")
        self._report = report or script("report")
        self._register = f"{shared.prefix}limits"
        self._hash_key = shared.prefix.encode()[:HASH_KEY_BYTES]

    async def meet(self, *, processes: int) -> Meeting:
        """Which life it is now. It may not be the store that was known: one that began anew has another run id."""

        async def asked(client: redis.Redis) -> list[bytes]:
            info = await client.info("server")
            await client.script_load(self._charge.text)
            return await self._met(client, str(info.get("run_id", "unknown")), "", processes)

        return _meeting(await self._shared.ask(asked))

    async def say_reported(self, life: str, *, processes: int) -> Meeting:
        """This process has reported everything to this life."""
        return _meeting(await self._shared.ask(lambda client: self._met(client, "", life, processes)))

    async def charge(
        self, life: str, wanted: Sequence[Wanted], given_back: Sequence[tuple[Policy, str, int]]
    ) -> Charged | None:
        """What is given back comes first, so that whoever gave it back may have it again."""
        packed: list[str | int] = []
        for policy, key, at_us in given_back:
            packed += (self._name(life, policy.name, policy.window_seconds, key), 0, 0, -at_us)
        for policy, key, charges in wanted:
            window_us = policy.window_seconds * US_PER_SECOND
            packed += (self._name(life, policy.name, policy.window_seconds, key), policy.quota, window_us, charges)
        # The client takes longer over many arguments than over everything else, so there is one.
        arguments = (self._register, life, msgspec.msgpack.encode(packed))

        async def asked(client: redis.Redis) -> list[int]:
            try:
                return list(await client.evalsha(self._charge.sha, 1, *arguments))
            except NoScriptError:
                return []  # a server that does not know the script is not the one that was met

        answer = await self._shared.ask(asked)
        if not answer:
            return None
        first = 1 + 3 * len(given_back)
        return Charged(answer[0], [Counted(*answer[n : n + 3]) for n in range(first, len(answer), 3)])

    async def report(self, life: str, logs: Iterable[Aged]) -> bool:
        packed: list[str | int | list[int]] = []
        for log in logs:
            ages_us = [age * US_PER_MS for age in log.ages_ms]
            name = self._name(life, log.name, log.window_seconds, log.key)
            packed += (name, log.window_seconds * US_PER_SECOND, ages_us)
        given = (life, msgspec.msgpack.encode(packed))
        return bool(await self._shared.ask(lambda client: self._report.run(client, [self._register], *given)))

    async def _met(self, client: redis.Redis, server: str, reported_to: str, processes: int) -> list[bytes]:
        given = [server, reported_to, str(processes), str(SETTLED_AFTER_US), str(REGISTER_KEPT_MS)]
        return list(await self._meet.run(client, [self._register], *given))

    def _name(self, life: str, policy: str, window_seconds: int, key: str) -> str:
        """A key may be long, or a secret: only its hash leaves this process."""
        digest = hashlib.blake2b(key.encode(), digest_size=DIGEST_BYTES, key=self._hash_key).hexdigest()
        return f"{self._shared.prefix}limit:{life}:{policy}:{window_seconds}:{digest}"


def _meeting(answer: Sequence[bytes]) -> Meeting:
    life, judges = answer
    return Meeting(life.decode(), bool(judges))
