"""What is asked of the server, in few trips: while one is under way, the next is gathered.

A trip costs about the same however much it carries. What is to be taken away goes first, and
goes again until the server has said that it is gone.
"""

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from contextvars import Context
from hashlib import sha1
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec
import redis.asyncio as redis
from redis.exceptions import NoScriptError, RedisError

from dawr.reliability.cache.entries import CacheAway
from dawr.reliability.shared import Shared, SharedAway

MOST_PER_TRIP = 200
MOST_OWED = 10_000
AGAIN_AFTER_SECONDS = 1.0


class Script(msgspec.Struct, frozen=True):
    text: str
    sha: str

    @classmethod
    def read(cls, name: str) -> "Script":
        text = Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8")
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


class Command(msgspec.Struct, frozen=True):
    """A script, and what it is run on."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[str | bytes | int]


class Asked(msgspec.Struct, frozen=True):
    command: Command | None
    """None: only that everything owed is gone."""
    futures: list[asyncio.Future[Any]]


class RedisPipeline:
    """`everything` is the key to take away when too many are owed to name them all."""

    def __init__(self, shared: Shared, everything: str) -> None:
        self._shared = shared
        self._everything = everything
        self._asked: dict[Hashable, Asked] = {}
        self._owed: dict[str, int] = {}
        self._numbers = count(1)
        self._talking: asyncio.Task[None] | None = None
        self._again: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def ask(self, command: Command, *, alike: Hashable = None) -> Any:  # noqa: ANN401 - what a script returns
        """Its answer, or `CacheAway`. Alike ones that have not set out yet are asked as one."""
        return await self._ask(command, alike)

    async def take_away(self, keys: Iterable[str]) -> bool:
        """Now, or as soon as the server is back, and whether it was now. No later question is answered before it."""
        self._owed.update((key, next(self._numbers)) for key in keys)
        if len(self._owed) > MOST_OWED:
            self._owed = {self._everything: next(self._numbers)}
        try:
            await self._ask(None, "owed")
        except CacheAway:
            return False
        return True

    async def close(self) -> None:
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
        if self._talking is not None:
            await asyncio.wait([self._talking])

    async def _ask(self, command: Command | None, alike: Hashable) -> Any:  # noqa: ANN401
        if self._is_closed:
            raise CacheAway("closed")
        if self._talking is not None and self._shared.is_away:
            raise CacheAway("one tries already")  # the others need not wait for what comes of it
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        asked = self._asked.get(alike) if alike is not None else None
        if asked is None:
            self._asked[future if alike is None else alike] = Asked(command, [future])
        else:
            asked.futures.append(future)
        if self._talking is None:
            # In a context of its own: a trip is not the doing of whoever asked first.
            self._talking = loop.create_task(self._talk(), context=Context())
        return await future

    async def _talk(self) -> None:
        # Nothing is awaited between the last look at what is asked and giving the task up: nobody is left behind.
        try:
            while self._asked:
                gathered = {alike: self._asked.pop(alike) for alike in tuple(islice(self._asked, MOST_PER_TRIP))}
                await self._go(list(gathered.values()))
        finally:
            self._talking = None
            self._go_again_later()

    async def _go(self, asked: list[Asked]) -> None:
        """Everybody is answered, whatever happens on the way."""
        owed = dict(self._owed)
        commands = [one.command for one in asked if one.command is not None]
        try:
            answers = iter(await self._shared.ask(lambda client: _trip(client, list(owed), commands)))
        except SharedAway as away:
            _resolve(asked, [CacheAway(str(away))] * len(asked))
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is for those who asked
            _resolve(asked, [fault] * len(asked))
        else:
            for key, number in owed.items():
                if self._owed.get(key) == number:
                    del self._owed[key]
            _resolve(asked, [None if one.command is None else next(answers) for one in asked])

    def _go_again_later(self) -> None:
        """What is owed must reach the others, too, even if nobody asks here any more."""
        if self._owed and self._again is None and not self._is_closed:
            self._again = asyncio.get_running_loop().call_later(AGAIN_AFTER_SECONDS, self._pay)

    def _pay(self) -> None:
        self._again = None
        if self._talking is None and not self._is_closed:
            self._asked["owed"] = Asked(None, [])
            self._talking = asyncio.get_running_loop().create_task(self._talk(), context=Context())


async def _trip(client: redis.Redis, owed: list[str], commands: list[Command]) -> list[Any]:
    """The answers to the commands; one that failed is its own."""
    answers = await _sent(client, owed, commands)
    unknown = {
        command.script.text
        for command, answer in zip(commands, answers, strict=True)
        if isinstance(answer, NoScriptError)
    }
    if unknown:
        # The server is new, or came back empty. To ask all of it once more changes nothing that was done.
        for text in unknown:
            await client.script_load(text)
        answers = await _sent(client, owed, commands)
    return answers


async def _sent(client: redis.Redis, owed: list[str], commands: list[Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    if owed:
        pipeline.delete(*owed)
    for command in commands:
        pipeline.evalsha(command.script.sha, len(command.keys), *command.keys, *command.arguments)
    answers = await pipeline.execute(raise_on_error=False)
    if owed and isinstance(taken_away := answers.pop(0), RedisError):
        raise taken_away
    return answers


def _resolve(asked: Iterable[Asked], answers: Iterable[object]) -> None:
    for one, answer in zip(asked, answers, strict=True):
        for future in one.futures:
            if future.done():
                continue
            if isinstance(answer, RedisError):
                future.set_exception(CacheAway(str(answer)))
            elif isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
