"""A process of its own for DuckDB, which needs more memory than whoever asks it may take.

It answers one message after the other, ends when its parent does, and can be killed at any moment.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, Self, TypeVar

import msgspec

from dawr.traffic.archive.messages import Problem

T = TypeVar("T", bound=msgspec.Struct)

LONGEST_LINE = 64 * 1024 * 1024
MISSING = "This needs DuckDB, which is not installed here: `make install EXTRAS=archive`, or pip install '.[archive]'"


class ChildFailed(Exception):
    """What the process said that it could not do; or it ended without a word."""


def has_duckdb() -> bool:
    """Whether the extra `archive` is installed. Does not import it."""
    return find_spec("duckdb") is not None


class Child:
    """Started when it is first asked, and anew if it has ended. An answer that nobody waited for ends it."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def ask(self, message: msgspec.Struct, kind: type[T]) -> T:
        process = self._process = self._process or await _started(self._module)
        try:
            line = await _asked(process, msgspec.json.encode(message) + b"\n")
        except BaseException:
            await self._end()
            raise
        if not line:
            await self._end()
            raise ChildFailed(f"DuckDB's process ended without an answer ({process.returncode})")
        answer: T | Problem = msgspec.json.decode(line, type=kind | Problem)
        if isinstance(answer, Problem):
            raise ChildFailed(answer.sentence)
        return answer

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.communicate()


async def _started(module: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST_LINE,
    )


async def _asked(process: asyncio.subprocess.Process, message: bytes) -> bytes:
    assert process.stdin is not None  # noqa: S101 - it was started with pipes
    assert process.stdout is not None  # noqa: S101
    with suppress(ConnectionError):  # it has ended: there will be no answer
        process.stdin.write(message)
        await process.stdin.drain()
    return await process.stdout.readline()


def serve(kinds: Any, answer: Callable[[Any], msgspec.Struct]) -> None:  # noqa: ANN401 - a union of messages
    """The other side: answer one message after the other, until the parent ends."""
    lines = SimpleQueue[bytes]()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    while True:
        message = msgspec.json.decode(lines.get(), type=kinds)
        try:
            answered = answer(message)
        except Exception as error:  # noqa: BLE001 - the parent has to be told, whatever it was
            answered = Problem(first_line(error))
        sys.stdout.buffer.write(msgspec.json.encode(answered) + b"\n")
        sys.stdout.buffer.flush()


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _listen(lines: SimpleQueue[bytes]) -> None:
    """Also while something is computed: then it is not wanted any longer."""
    while line := sys.stdin.buffer.readline():
        lines.put(line)
    os._exit(0)
