"""The HTTP server: says when it is ready, and stops on SIGTERM within three seconds with exit code 0."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dawr.web.http import PROBLEM_JSON
from dawr.web.problems import BadRequest, problem_of

GRACE_SECONDS = 2
BACKLOG = 2048
LARGEST_HEAD = 64 * 1024


class AddressTaken(Exception):
    """The address cannot be listened on; the sentence says why."""


class Server(uvicorn.Server):
    def __init__(self, app: ASGIApp, listener: socket.socket, ready: Callable[[str], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=HttpProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
                backlog=BACKLOG,
            )
        )
        self._listener = listener
        self._ready = ready

    async def run_until_stopped(self) -> None:
        await self.serve(sockets=[self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready(url_of(self._listener))

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal asks to stop; it is not raised again afterwards, so that stopping in order is exit code 0."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


class HttpProtocol(HttpToolsProtocol):
    """What is not HTTP, or never comes to the end of its headers, is refused with a problem like everything else."""

    _bytes_of_head = 0
    _in_head = True

    def data_received(self, data: bytes) -> None:
        self._bytes_of_head += len(data)
        super().data_received(data)
        if self._in_head and self._bytes_of_head > LARGEST_HEAD and not self.transport.is_closing():
            sentence = f"The headers are larger than {LARGEST_HEAD // 1024} KiB."
            self._refuse(BadRequest(431, "headers-too-large", sentence), b"Request Header Fields Too Large")

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._bytes_of_head, self._in_head = 0, True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the server's own words stay in its log
        self._refuse(BadRequest(400, "malformed-request", "This is not a request as HTTP has it."), b"Bad Request")

    def _refuse(self, refusal: BadRequest, phrase: bytes) -> None:
        body = problem_of(refusal).body()
        headers = (PROBLEM_JSON, (b"content-length", b"%d" % len(body)), (b"connection", b"close"))
        first = b"HTTP/1.1 %d %s" % (refusal.status, phrase)
        self.transport.write(b"\r\n".join([first, *(b"%s: %s" % header for header in headers), b"", body]))
        self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressTaken(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from error
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
