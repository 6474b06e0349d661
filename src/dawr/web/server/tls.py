"""TLS connections of Dawr itself. Each counts for its address since it was accepted, not since its handshake."""

import asyncio
import ssl
from typing import Any, cast

from uvicorn.protocols.utils import get_remote_addr
from uvloop.loop import SSLProtocol  # type: ignore[attr-defined] # its stub leaves it out

from dawr.web.server.addresses import TooManyConnections
from dawr.web.server.protocol import HttpProtocol
from dawr.web.server.shared import Shared

HANDSHAKE_SECONDS = 10
"""How long a handshake may take. The head of the first request has its own time after it."""


class TlsProtocol(SSLProtocol):  # type: ignore[misc] # no types are there
    """The TLS layer of a connection. With `ssl=` the server would know a connection only after its handshake."""

    def __init__(self, context: ssl.SSLContext, **given: Any) -> None:  # noqa: ANN401 - what uvicorn gives to each protocol
        http = HttpProtocol(**given)
        http.is_counted = True
        super().__init__(
            asyncio.get_running_loop(),
            http,
            context,
            None,
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
        )
        self._shared = cast("Shared", http.server_state)
        self._counted_as: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Close a connection beyond the limit without a word, because nothing can be said before the handshake."""
        addresses = self._shared.addresses
        if addresses is not None:
            try:
                self._counted_as = addresses.admit(get_remote_addr(transport))
            except TooManyConnections as refusal:
                self._shared.access_log.count_refusal(refusal.code)
                transport.abort()
                return
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called once for each connection, also when the handshake failed, was late or was cut off."""
        if self._counted_as is not None and self._shared.addresses is not None:
            self._shared.addresses.release(self._counted_as)
        super().connection_lost(exc)
