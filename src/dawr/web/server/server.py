"""The HTTP server: says when it is ready, and stops on SIGTERM within three seconds with exit code 0."""

import asyncio
import resource
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import cast

import uvicorn

from dawr.observe.access_log import AccessLog
from dawr.reliability.asgi import ASGIApp
from dawr.traffic.requests import RequestCollector
from dawr.web.server.addresses import AddressConnections
from dawr.web.server.protocol import HttpProtocol
from dawr.web.server.shared import Shared
from dawr.web.server.tls import TlsProtocol

GRACE_SECONDS = 2
LAST_WORDS_SECONDS = 0.3
PATIENCE_SECONDS = 15
BACKLOG = 2048
MOST_UNREAD = 16 * 1024
"""What the system takes in of a connection while we do not read: nobody has much to say to us."""
MOST_UNSENT = 64 * 1024
"""What the system takes of our answers before the client has room for them: it would take megabytes."""
TICKS_PER_SECOND = 10


class AddressTaken(Exception):
    """The address cannot be listened on; the sentence says why."""


class Server(uvicorn.Server):
    """`ready` is told the URL; `stopping` is called first of all when a signal says stop, to end what has no end.

    `also` is another listener of the same app, always without TLS.
    """

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        access_log: AccessLog,
        new_id: Callable[[], str],
        ready: Callable[[str], None],
        stopping: Callable[[], None],
        patience_seconds: int = PATIENCE_SECONDS,
        also: socket.socket | None = None,
        tls: ssl.SSLContext | None = None,
        collecting: RequestCollector | None = None,
        addresses: AddressConnections | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="uvloop",
                http=HttpProtocol,
                ws="none",
                lifespan="off",
                log_config=None,
                # What a client does wrong is an access line; as a warning it would be a second one.
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
                backlog=BACKLOG,
            )
        )
        self._listener = listener
        self._also = also
        self._tls = tls
        self._ready = ready
        self._stopping = stopping
        self._shared = Shared(access_log, new_id, patience_seconds, collecting, addresses)
        self.server_state = self._shared

    async def run_until_stopped(self) -> None:
        await self.serve(sockets=[self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        plain, secure = ([], sockets or []) if self._tls is not None else (sockets or [], [])
        await super().startup(plain if self._also is None else [*plain, self._also])
        loop = asyncio.get_running_loop()
        for listener in secure:
            self.servers.append(await loop.create_server(self._tls_protocol, sock=listener, backlog=BACKLOG))
        self._ready(url_of(self._listener, secure=self._tls is not None))

    def _tls_protocol(self) -> asyncio.Protocol:
        context = cast("ssl.SSLContext", self._tls)
        given = {"config": self.config, "server_state": self.server_state, "app_state": self.lifespan.state}
        return cast("asyncio.Protocol", TlsProtocol(context, **given))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._stopping()
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        self._shared.tick()
        if counter % TICKS_PER_SECOND == 0:
            self._shared.one_second_passed()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Whoever is still there after the grace has a moment to be told so, and is cut off then."""
        await super().shutdown(sockets)
        if self.server_state.tasks:
            await asyncio.wait(self.server_state.tasks, timeout=LAST_WORDS_SECONDS)
        self._shared.abort_all()

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


def listen(host: str, port: int) -> socket.socket:
    """A socket that is listened on. Each connection is an open file: the system may let us have more of them."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _bound_buffers(listener)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressTaken(f"Cannot listen on {host}:{port}: {error.strerror or error}.") from error
    return listener


def _bound_buffers(listener: socket.socket) -> None:
    """Of every connection that is accepted: they have them from their listener."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST_UNREAD)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, MOST_UNSENT)


def url_of(listener: socket.socket, *, secure: bool = False) -> str:
    host, port = listener.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"
