"""Open connections by address: one address may hold only so many. Trusted proxies are not counted."""

from collections.abc import Callable

from dawr.reliability.client_address import Clients, limit_key
from dawr.web.problems import BadRequest


class TooManyConnections(BadRequest):
    """The address of the peer has as many connections open as one may have."""

    retryable = True

    def __init__(self, limit: int) -> None:
        super().__init__(429, "too-many-connections", most=limit)


class AddressConnections:
    """Connections of this process. `note` is called with the address of each connection that is refused."""

    def __init__(self, limit: int, clients: Clients, note: Callable[[str], None]) -> None:
        self._limit = limit
        self._clients = clients
        self._note = note
        self._open: dict[str, int] = {}

    def admit(self, peer: tuple[str, int] | None) -> str | None:
        """Count a new connection and return the key to release it by; None if its peer is not counted.

        A Unix socket has no address, and a proxy brings the connections of many clients.
        """
        if peer is None or self._clients.has_trusted_peer({"client": peer}):
            return None
        key = limit_key(peer[0])
        count = self._open.get(key, 0)
        if count >= self._limit:
            self._note(key)
            raise TooManyConnections(self._limit)
        self._open[key] = count + 1
        return key

    def release(self, key: str) -> None:
        if self._open[key] == 1:
            del self._open[key]
        else:
            self._open[key] -= 1
