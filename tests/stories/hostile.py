"""Clients that nobody wants: they ask without listening, never finish, send rubbish, and guess."""

import asyncio
import contextlib
import os
import secrets
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

HASTE = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * 20_000
FORM = "application/x-www-form-urlencoded"
RESET = struct.pack("ii", 1, 0)
"""So that closing sends RST instead of FIN."""


class Hasty(asyncio.Protocol):
    """Asks over and over on one connection, and reads no answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.pause_reading()
        transport.set_write_buffer_limits(0)
        transport.write(HASTE)

    def resume_writing(self) -> None:
        self._transport.write(HASTE)

    def hang_up(self) -> None:
        self._transport.abort()

    @classmethod
    async def to(cls, port: int) -> "Hasty":
        return (await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port))[1]


def got(path: str, *headers: str) -> bytes:
    return "".join(f"{line}\r\n" for line in (f"GET {path} HTTP/1.1", "Host: x", *headers, "")).encode()


def posted(path: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: x", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers, "")
    return "".join(f"{line}\r\n" for line in lines).encode() + body


def _guess() -> str:
    return secrets.token_hex(8)


REFUSED: Final[Mapping[str, Callable[[], bytes]]] = {
    "an address of nothing": lambda: got(f"/{_guess()}"),
    "an unknown venue": lambda: got(f"/v1/venues/{_guess()}"),
    "an unknown ticket": lambda: got(f"/v1/tickets/{_guess()}-{_guess()}"),
    "a guessed link": lambda: got(f"/t/{_guess()}.{_guess()}"),
    "a guessed token": lambda: got("/v1/me", f"Authorization: Bearer dwt_{_guess()}.{_guess()}"),
    "a guessed session": lambda: got("/v1/me", f"Cookie: dawr=dws_{_guess()}"),
    "a guessed key": lambda: posted("/v1/queues/clinic:none/tickets", b"{}", f'Idempotency-Key: "{_guess()}"'),
    "a field that is none": lambda: posted("/v1/queues/clinic:lab/tickets", b'{"%b": 1}' % _guess().encode()),
    "a form of another site": lambda: posted(
        "/v1/queues/clinic:lab/tickets",
        b"a=b",
        "Origin: https://evil.example",
        kind="application/x-www-form-urlencoded",
    ),
    "a body that is too large": lambda: posted("/v1/queues/clinic:lab/tickets", b"x" * 100_000),
    "rubbish": lambda: secrets.token_bytes(60).replace(b"\0", b"x") + b"\r\n\r\n",
    "a coding that is not known": lambda: got("/health", "Transfer-Encoding: gzip, chunked"),
    "a number from an address of its own": lambda: posted(
        "/api/v1/queue/enter",
        b'{"clinic": "none", "user": "%b"}' % _guess().encode(),
        f"X-Forwarded-For: 203.0.113.{os.urandom(1)[0]}",
    ),
}
"""What is sent, and answered with a refusal."""

BROKEN_OFF: Final[Mapping[str, Callable[[], bytes]]] = {
    "half a head": lambda: got("/health")[:20],
    "half a body": lambda: posted("/v1/queues/clinic:lab/tickets", b"{" * 50)[:-20],
    "a stream": lambda: got("/v1/events?venue=clinic"),
    "several at once": lambda: got("/v1/venues/clinic") * 20,
}
"""What is sent before the connection breaks, with the answer or the rest on its way."""


async def send_and_hear(port: int, said: bytes) -> None:
    """Until the other side ends it, or says nothing more for a moment."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(OSError, TimeoutError):
        writer.write(said)
        async with asyncio.timeout(1):
            await reader.read(1)
    writer.close()


async def break_off(port: int, said: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(said)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(0.05):
            await reader.read(1)
    with contextlib.suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.close()


def megabytes_of(pid: int) -> float:
    """What a process has in memory now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def files_of(pid: int) -> int:
    """How many files and connections a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
