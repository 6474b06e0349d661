"""One line per request, in a buffer that is written ten times a second.

Nothing a client sends can forge a line: the method is one of a known few, the route is our
own template, and the rest is escaped until it is printable ASCII.
"""

import asyncio
import atexit
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import msgspec

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER_METHOD = "OTHER"
NO_ROUTE = "-"
FLUSH_SECONDS = 0.1
LARGEST_BUFFER = 64 * 1024
WRITTEN_WHOLE = 4096
"""A pipe takes this much in one piece (PIPE_BUF), so that the lines of several workers do not mix."""
NS_PER_SECOND = 1_000_000_000
NS_PER_MS = 1_000_000


class Line(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag="request", gc=False):
    at: str
    method: str
    route: str
    status: int
    ms: float
    correlation_id: str
    actor: str | None = None
    bytes: int | None = None


class AccessLog:
    """`now` gives nanoseconds since 1970 UTC."""

    def __init__(self, write: Callable[[bytes], None], now: Callable[[], int], *, readable: bool = False) -> None:
        self._write = write
        self._now = now
        self._buffer = bytearray()
        self._encode_into = msgspec.json.Encoder().encode_into
        self._readable = readable
        self._second = -1
        self._prefix = ""

    def begin(self) -> int:
        """When a request began, as `record` wants to know it."""
        return self._now()

    def record(  # noqa: PLR0917 - called for every request; names would cost as much as the line
        self,
        method: str,
        route: str,
        status: int,
        began: int,
        correlation_id: str,
        actor: str | None = None,
        size: int | None = None,
    ) -> None:
        now = self._now()
        second, rest = divmod(now, NS_PER_SECOND)
        if second != self._second:
            self._second = second
            self._prefix = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        line = Line(
            f"{self._prefix}.{rest // NS_PER_MS:03d}Z",
            method if method in METHODS else OTHER_METHOD,
            route,
            status,
            max(0, now - began) // 10_000 / 100,
            correlation_id,
            actor,
            size,
        )
        buffer = self._buffer
        self._encode_into(line, buffer, -1)
        buffer.append(10)
        if len(buffer) >= LARGEST_BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write what is there. A log that cannot be written stops nobody from being served."""
        if not self._buffer:
            return
        lines = bytes(self._buffer)
        self._buffer.clear()
        if not lines.isascii() or b"\x7f" in lines:
            lines = b"".join(map(_escaped, lines.splitlines(keepends=True)))
        if self._readable:
            lines = b"".join(map(_readable, lines.splitlines()))
        with suppress(OSError, ValueError):
            for piece in _pieces(lines):
                self._write(piece)

    @asynccontextmanager
    async def flushing(self) -> AsyncIterator[None]:
        """Write ten times a second while this lasts, and the rest at its end."""
        atexit.register(self.flush)
        task = asyncio.create_task(self._flush_for_ever())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])
            self.flush()
            atexit.unregister(self.flush)

    async def _flush_for_ever(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            self.flush()


class NoAccessLog(AccessLog):
    """For whoever logs warnings only."""

    def record(self, *_: object, **__: object) -> None:
        pass


def _escaped(line: bytes) -> bytes:
    """The same JSON in printable ASCII."""
    return json.dumps(json.loads(line), separators=(",", ":")).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def _readable(line: bytes) -> bytes:
    """For eyes. What was escaped stays escaped."""
    entry = {name: json.dumps(value).strip('"') for name, value in json.loads(line).items()}
    words = [entry["at"], entry["method"], entry["route"], entry["status"], f"{entry['ms']} ms"]
    return " ".join([*words, entry["correlation_id"], entry.get("actor", "")]).rstrip().encode("ascii") + b"\n"


def _pieces(lines: bytes) -> list[bytes]:
    """Whole lines in pieces that a pipe takes whole; a longer line is a piece of its own."""
    pieces = []
    start = 0
    while len(lines) - start > WRITTEN_WHOLE:
        end = lines.rfind(b"\n", start, start + WRITTEN_WHOLE) + 1 or lines.find(b"\n", start) + 1
        pieces.append(lines[start:end])
        start = end
    return [*pieces, lines[start:]]
