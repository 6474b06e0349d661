"""How command-line tools reach the running server of an embedded installation.

The server is the one writer; a tool that wants to write asks it through
`control.sock` in the data directory, which only its owner can open. One JSON line
each way.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from dawr.domain import QueueVerb
from dawr.domain.errors import Fact, InvalidValue, Refused
from dawr.ports.faults import Busy, StoreFault
from dawr.web.wording import sentence_of

MEBIBYTE = 1024 * 1024
MAX_LINE_BYTES = 16 * MEBIBYTE
"""Room for every set-up within the limits of a venue, and for one far beyond them, which is then refused by name."""
ANSWER_SECONDS = 30
LONGEST_SOCKET_PATH = 100

Handler = Callable[[msgspec.Raw], Awaitable[object]]


class Request(msgspec.Struct):
    command: str
    argument: msgspec.Raw = msgspec.Raw(b"null")


class Response(msgspec.Struct):
    answer: msgspec.Raw = msgspec.Raw(b"null")
    problem: str | None = None
    invalid: dict[str, Fact] | None = None
    """The facts of an invalid value, so that the tool can say where it stands."""


class QueueChange(msgspec.Struct, frozen=True):
    """What `dawr queue` asks for."""

    venue: str
    queue: str
    verb: QueueVerb | Literal["reset"]


class DayRepair(msgspec.Struct, frozen=True):
    """What `dawr venue repair-day` asks for."""

    venue: str
    today: str | None = None


class ControlFailed(Exception):
    """The server did not do it; the sentence says why."""


@asynccontextmanager
async def listening(path: Path, handlers: Mapping[str, Handler]) -> AsyncIterator[None]:
    """Answer tools until the block ends."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(msgspec.json.encode(await _respond(await reader.readline(), handlers)) + b"\n")
            await writer.drain()
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # the tool went away, or we stop: nobody is left to answer
        finally:
            writer.close()

    _remove(path)
    with _short(path) as address:
        inherited = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(serve, address, limit=MAX_LINE_BYTES)
        finally:
            os.umask(inherited)
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()
        _remove(path)


async def _respond(line: bytes, handlers: Mapping[str, Handler]) -> Response:
    try:
        request = msgspec.json.decode(line, type=Request)
        if request.command not in handlers:
            return Response(problem=f"This server knows no command {request.command!r}; is it older than the tool?")
        answer = await handlers[request.command](request.argument)
    except Refused as refusal:
        invalid = dict(refusal.facts) if isinstance(refusal, InvalidValue) else None
        return Response(problem=sentence_of(refusal), invalid=invalid)
    except (StoreFault, Busy, msgspec.MsgspecError, RecursionError) as error:
        return Response(problem=str(error) or error.__doc__)
    return Response(answer=msgspec.Raw(msgspec.json.encode(answer)))


def ask(path: Path, command: str, argument: object = None, *, seconds: float = ANSWER_SECONDS) -> bytes:
    """Return the running server's answer as JSON. A value that it refuses is refused here in the same way."""
    request = msgspec.json.encode({"command": command, "argument": argument}) + b"\n"
    if len(request) > MAX_LINE_BYTES:
        raise ControlFailed(f"This is larger than the {MAX_LINE_BYTES // MEBIBYTE} MiB that a running server reads.")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection, _short(path) as address:
            connection.settimeout(seconds)
            connection.connect(address)
            connection.sendall(request)
            line = connection.makefile("rb").readline()
        response = msgspec.json.decode(line, type=Response)
    except (OSError, msgspec.MsgspecError) as error:
        why = (error.strerror or "no answer in time") if isinstance(error, OSError) else "it broke off"
        raise ControlFailed(f"The server does not answer at {path}: {why}. Look at its log, and restart it.") from error
    if response.invalid is not None:
        field, rule = str(response.invalid.pop("field")), str(response.invalid.pop("rule"))
        raise InvalidValue(field, rule, **response.invalid)
    if response.problem is not None:
        raise ControlFailed(response.problem)
    return bytes(response.answer)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


@contextmanager
def _short(path: Path) -> Iterator[str]:
    """An address for the socket that fits, although a socket's path may have 108 bytes only."""
    if len(os.fsencode(path)) < LONGEST_SOCKET_PATH:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        with suppress(OSError):
            os.close(directory)
