"""Whoever sends a whole request and goes away at once has asked all the same: it is done."""

import asyncio
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from dawr.observe.access_log import AccessLog
from dawr.web.problems import BadRequest
from dawr.web.raw_request import RawRequest, read_body
from tests.web.serving import CHUNKED, POST, Wire, serving, until


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop that serves."""
    return "asyncio", {"use_uvloop": True}


class ReadsLate:
    """Looks something up before it reads, as an app does that must know who asks."""

    def __init__(self, _: AccessLog) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.read: list[bytes | str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked.set()
        await self.go.wait()
        try:
            self.read.append(await read_body(RawRequest(scope, receive, {}, {}, "late")))
        except BadRequest as refusal:
            self.read.append(refusal.code)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        pytest.param(POST + b"hello", b"hello", id="whole"),
        pytest.param(CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"hello", id="whole, in chunks"),
        pytest.param(POST + b"hell", "disconnected", id="all but the last byte"),
        pytest.param(CHUNKED + b"5\r\nhello\r\n", "disconnected", id="without the last chunk"),
    ],
)
async def test_what_came_whole_is_read_though_its_sender_has_gone(sent: bytes, read: bytes | str) -> None:
    async with serving(ReadsLate) as served, await Wire.to(served) as wire:
        app = served.app
        assert isinstance(app, ReadsLate)
        await wire.say(sent)
        await app.asked.wait()
        await wire.close()
        await until(lambda: served.connections() == 0)

        app.go.set()

        await until(lambda: len(app.read) == 1)
        assert app.read == [read]
