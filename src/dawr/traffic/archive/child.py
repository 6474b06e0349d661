"""A process of its own for DuckDB, which needs more memory than whoever asks it may take.

It ends when its parent does, and can be killed at any moment.
"""

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TypeVar

import msgspec

from dawr.traffic.archive.messages import Problem

T = TypeVar("T", bound=msgspec.Struct)

LONGEST_LINE = 64 * 1024 * 1024
MISSING = "This needs DuckDB, which is not installed here: pip install 'dawr[archive]'"


class ChildFailed(Exception):
    """What the process said that it could not do; or it ended without a word."""


def has_duckdb() -> bool:
    """Whether the extra `archive` is installed. Does not import it."""
    return find_spec("duckdb") is not None


class Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def tell(self, message: msgspec.Struct) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was started with a pipe
        with suppress(ConnectionError):  # it ended: reading its answer says so
            self._process.stdin.write(msgspec.json.encode(message) + b"\n")
            await self._process.stdin.drain()

    async def hear(self, kind: type[T]) -> T:
        assert self._process.stdout is not None  # noqa: S101 - it was started with a pipe
        line = await self._process.stdout.readline()
        if not line:
            raise ChildFailed(f"DuckDB's process ended without an answer ({await self._process.wait()})")
        answer: T | Problem = msgspec.json.decode(line, type=kind | Problem)
        if isinstance(answer, Problem):
            raise ChildFailed(answer.sentence)
        return answer


@asynccontextmanager
async def started(module: str) -> AsyncIterator[Child]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", module),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=LONGEST_LINE,
    )
    try:
        yield Child(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


def serve(answers: Callable[[Callable[[type[T]], T]], Iterator[msgspec.Struct]], *, hears: int) -> None:
    """The other side: answer one parent, from whom so many messages come, and end with it."""
    heard = 0

    def hear(kind: type[T]) -> T:
        nonlocal heard
        heard += 1
        line = sys.stdin.buffer.readline()
        if not line:
            raise SystemExit(1)
        if heard == hears:
            threading.Thread(target=_end_with_parent, daemon=True).start()
        return msgspec.json.decode(line, type=kind)

    try:
        for answer in answers(hear):
            _say(answer)
    except Exception as error:  # noqa: BLE001 - the parent has to be told, whatever it was
        _say(Problem(first_line(error)))


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _say(answer: msgspec.Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


def _end_with_parent() -> None:
    """Nothing more comes from it: when the pipe ends, the parent has ended."""
    with suppress(OSError):
        while os.read(0, 1):
            pass
    os._exit(1)
