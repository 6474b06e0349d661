"""What is asked of the server, in few round trips: while one is under way, the next is gathered.

A round trip costs about the same however much it carries. Keys to delete go first, and go again
until the server has said that they are gone.
"""

import asyncio
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, count
from typing import Any

import msgspec

from dawr.reliability import redis_driver as redis
from dawr.reliability.cache.entries import CacheAway
from dawr.reliability.drain import Drain, settle
from dawr.reliability.lua import Script
from dawr.reliability.shared import Shared, SharedAway

MOST_AT_ONCE = 200
MOST_TO_DELETE = 10_000
RETRY_SECONDS = 1.0


class Command(msgspec.Struct, frozen=True):
    """A script, and what it is run on."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[str | bytes | int]


class Request(msgspec.Struct, frozen=True):
    command: Command | None
    """None: only to delete what is to be deleted."""
    group: Hashable
    """Those of one group that go in one round trip go as one."""
    answer: asyncio.Future[Any] | None
    """None: nobody waits for it."""


Groups = list[list[Request]]


class RedisPipeline:
    """`everything` is the key to delete when too many are to be deleted to name them all."""

    def __init__(self, shared: Shared, everything: str) -> None:
        self._shared = shared
        self._everything = everything
        self._to_delete: dict[str, int] = {}
        self._numbers = count(1)
        self._drain: Drain[Request, Groups] = Drain(_take, self._send, _tell)
        self._retry: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def run(self, command: Command | None, *, group: Hashable = None) -> Any:  # noqa: ANN401
        """What its script returns, or `CacheAway`. Those of one group that wait together are run as one."""
        if self._is_closed:
            raise CacheAway("closed")
        if self._drain.is_running and self._shared.is_away:
            raise CacheAway("one tries already")  # the others need not wait for what comes of it
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._drain.add(Request(command, answer if group is None else group, answer))
        return await answer

    async def delete(self, keys: Iterable[str]) -> bool:
        """Now, or as soon as the server is back, and whether it was now. Nothing later is answered before it."""
        self._to_delete.update((key, next(self._numbers)) for key in keys)
        if len(self._to_delete) > MOST_TO_DELETE:
            self._to_delete = {self._everything: next(self._numbers)}
        try:
            await self.run(None, group="delete")
        except CacheAway:
            return False
        return True

    async def close(self) -> None:
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        await self._drain.join()

    async def _send(self, groups: Groups) -> None:
        deleting = dict(self._to_delete)
        commands = [group[0].command for group in groups if group[0].command is not None]
        try:
            answers = iter(await self._shared.ask(lambda client: _round_trip(client, list(deleting), commands)))
            # What was to be deleted once more meanwhile has another number, and is still to be.
            self._to_delete = dict(self._to_delete.items() - deleting.items())
        finally:
            self._retry_later()
        for group in groups:
            _tell([group], None if group[0].command is None else next(answers))

    def _retry_later(self) -> None:
        """What is to be deleted must be gone for others, too, even if nobody asks here any more."""
        if self._to_delete and self._retry is None and not self._is_closed:
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._retry_now)

    def _retry_now(self) -> None:
        self._retry = None
        if self._to_delete and not self._is_closed:
            self._drain.add(Request(None, "delete", None))


def _take(waiting: deque[Request]) -> Groups:
    groups: dict[Hashable, list[Request]] = {}
    while waiting and len(groups) < MOST_AT_ONCE:
        request = waiting.popleft()
        groups.setdefault(request.group, []).append(request)
    return list(groups.values())


async def _round_trip(client: "redis.Redis", deleting: list[str], commands: list[Command]) -> list[Any]:
    """The answers to the commands; one that failed is its own."""
    answers = await _answers(client, deleting, commands)
    unknown = {
        command.script.text
        for command, answer in zip(commands, answers, strict=True)
        if isinstance(answer, redis.NoScriptError)
    }
    if unknown:
        # The server is new, or came back empty. To ask all of it once more changes nothing that was done.
        for text in unknown:
            await client.script_load(text)
        answers = await _answers(client, deleting, commands)
    return answers


async def _answers(client: "redis.Redis", deleting: list[str], commands: list[Command]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    if deleting:
        pipeline.delete(*deleting)
    for command in commands:
        pipeline.evalsha(command.script.sha, len(command.keys), *command.keys, *command.arguments)
    answers = await pipeline.execute(raise_on_error=False)
    if deleting and isinstance(deleted := answers.pop(0), redis.RedisError):
        raise deleted
    return answers


def _tell(groups: Groups, outcome: object) -> None:
    told = CacheAway(str(outcome)) if isinstance(outcome, redis.RedisError | SharedAway) else outcome
    for request in chain.from_iterable(groups):
        if request.answer is not None:
            settle(request.answer, told)
