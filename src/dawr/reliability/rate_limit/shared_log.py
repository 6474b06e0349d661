"""The logs of all processes, in a Redis or Valkey.

Each life of the store has logs of its own. A life ends when the store is another server than
before, or was emptied: then it no longer knows what had been charged, and says so.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from dawr.reliability import redis_driver as redis
from dawr.reliability.lua import Script
from dawr.reliability.rate_limit.local import Piece
from dawr.reliability.rate_limit.policy import Policy
from dawr.reliability.shared import Shared

US_PER_MS = 1000
US_PER_SECOND = 1_000_000
SETTLED_AFTER_US = 2_500_000
"""By then every process has found a store that came back: each tries once a second, and waits half a second."""
REGISTER_KEPT_MS = 7 * 24 * 60 * 60 * 1000
DIGEST_BYTES = 16


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


def script(name: str) -> Script:
    return Script.beside(__file__, name)


class SharedLog:
    """What is asked raises `SharedAway` when the store is. Another life is answered by nothing.

    `secret` is the same in all processes, 64 bytes at most, and nowhere in the store: without it nobody can tell by
    trying whose a log is.
    """

    def __init__(self, shared: Shared, secret: bytes, *, script: Callable[[str], Script] = script) -> None:
        self._shared = shared
        self._charge, self._meet, self._report = map(script, ("charge", "meet", "report"))
        self._register = f"{shared.prefix}limits"
        self._hash = hashlib.blake2b(digest_size=DIGEST_BYTES, key=secret, person=b"shared log")

    async def meet(self, *, processes: int) -> Meeting:
        """Which life it is now. It may not be the store that was known: one that began anew has another run id."""

        async def asked(client: "redis.Redis") -> Meeting:
            info = await client.info("server")
            await client.script_load(self._charge.text)
            return await self._met(client, str(info.get("run_id", "unknown")), "", processes)

        return await self._shared.ask(asked)

    async def say_reported(self, life: str, *, processes: int) -> Meeting:
        """This process has reported everything to this life."""
        return await self._shared.ask(lambda client: self._met(client, "", life, processes))

    async def charge(
        self, life: str, wanted: Mapping[tuple[Policy, str], int], given_back: Sequence[tuple[Policy, str, int]]
    ) -> Charged | None:
        """So many as are wanted for each policy and key, if they fit.

        What is given back, by when it was charged, comes first, so that whoever gave it back may have it again.
        """
        packed: list[str | int] = []
        for policy, key, at_us in given_back:
            packed += (self._name(life, policy.name, policy.window_seconds, key), 0, 0, -at_us)
        for (policy, key), charges in wanted.items():
            window_us = policy.window_seconds * US_PER_SECOND
            packed += (self._name(life, policy.name, policy.window_seconds, key), policy.quota, window_us, charges)
        # The client takes longer over many arguments than over everything else, so there is one.
        arguments = (self._register, life, msgspec.msgpack.encode(packed))

        async def asked(client: "redis.Redis") -> list[int]:
            try:
                return list(await client.evalsha(self._charge.sha, 1, *arguments))
            except redis.NoScriptError:
                return []  # a server that does not know the script is not the one that was met

        answer = await self._shared.ask(asked)
        if not answer:
            return None
        first = 1 + 3 * len(given_back)
        return Charged(answer[0], [Counted(*answer[n : n + 3]) for n in range(first, len(answer), 3)])

    async def report(self, life: str, pieces: Iterable[Piece], now: int) -> bool:
        """What a process has charged by itself; `now` is by its own clock."""
        packed: list[str | int | list[int]] = []
        for (name, window_seconds), key, times in pieces:
            # A millisecond younger than measured, and so never too old.
            ages_us = [max(0, now - at - 1) * US_PER_MS for at in times]
            packed += (self._name(life, name, window_seconds, key), window_seconds * US_PER_SECOND, ages_us)
        given = (life, msgspec.msgpack.encode(packed))
        return bool(await self._shared.ask(lambda client: self._report.run(client, [self._register], *given)))

    async def _met(self, client: "redis.Redis", server: str, reported_to: str, processes: int) -> Meeting:
        given = [server, reported_to, str(processes), str(SETTLED_AFTER_US), str(REGISTER_KEPT_MS)]
        life, judges = await self._meet.run(client, [self._register], *given)
        return Meeting(life.decode(), bool(judges))

    def _name(self, life: str, policy: str, window_seconds: int, key: str) -> str:
        """A key may be long, an address or a secret: only its hash leaves this process."""
        hashed = self._hash.copy()
        hashed.update(key.encode())
        return f"{self._shared.prefix}limit:{life}:{policy}:{window_seconds}:{hashed.hexdigest()}"
