"""One request and its answer, beyond what ASGI tells an app of them."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from dawr.web.response import Header, as_bytes
from dawr.web.server.shared import Shared

CLOSE: Header = (b"connection", b"close")
LARGEST_PIECE = 16 * 1024
"""Of an answer, that is written at once."""


def cycle_of(scope: Mapping[str, Any]) -> RequestResponseCycle | None:
    """The request and its answer, if they are of this server."""
    cycle: RequestResponseCycle | None = (scope.get("extensions") or {}).get("dawr.cycle")
    return cycle


def rest_of_body(scope: Mapping[str, Any]) -> bytes | None:
    """What had come before the client went away, if that was all of it; the parent tells only that they went."""
    cycle = cycle_of(scope)
    return None if cycle is None or cycle.more_body else bytes(cycle.body)


def count_if_unanswered(scope: Mapping[str, Any]) -> None:
    """A request whose client went away before its answer was sent has ended, too."""
    cycle = cycle_of(scope)
    if cycle is not None and not cycle.response_complete:
        scope["extensions"]["dawr.shared"].count_answer()


async def respond(cycle: RequestResponseCycle, head: bytes, body: bytes) -> None:
    """A whole answer in one write, where ASGI's two messages would be two: status line and headers, then the body.

    A large one goes out as it is read.
    """
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    shared: Shared = cast("Any", cycle.scope)["extensions"]["dawr.shared"]
    if cycle.disconnected:
        shared.count_answer()
        return
    cycle.response_started, cycle.waiting_for_100_continue = True, False
    last = as_bytes(cycle.default_headers if cycle.keep_alive else [*cycle.default_headers, CLOSE])
    body = b"" if cycle.scope["method"] == "HEAD" else body
    if len(body) > LARGEST_PIECE:
        await _written(shared)
        rest = await _send_most(cycle, b"".join((head, last, b"\r\n")), memoryview(body))
        if rest is None:
            shared.count_answer()
            return
        answer = rest
    else:
        answer = b"".join((head, last, b"\r\n", body))
    cycle.response_complete = True
    # The scope holds the cycle and the cycle the scope: without this, both wait for the garbage collector.
    cycle.scope.pop("extensions", None)
    if shared.collecting is None:
        _send(cycle, answer, cycle.on_response)
    else:
        # The cycle forgets whom to tell when its task ends, which may be before the answer leaves.
        shared.when_written(partial(_send, cycle, answer, cycle.on_response))


async def _written(shared: Shared) -> None:
    """Until what is answered is written down in the statistics."""
    written = asyncio.Event()
    shared.when_written(written.set)
    await written.wait()


async def _send_most(cycle: RequestResponseCycle, head: bytes, body: memoryview) -> bytes | None:
    """All but the last piece, which is returned; None: the client went. Little lies here while nobody reads."""
    cycle.transport.write(head)
    while len(body) > LARGEST_PIECE and not cycle.disconnected:
        cycle.transport.write(body[:LARGEST_PIECE])
        body = body[LARGEST_PIECE:]
        if cycle.flow.write_paused:
            await cycle.flow.drain()
    return None if cycle.disconnected else bytes(body)


def _send(cycle: RequestResponseCycle, answer: bytes, on_response: Callable[[], None]) -> None:
    cycle.transport.write(answer)
    cycle.message_event.set()
    on_response()
