"""Who asks, and whether the way to us is encrypted, when proxies may stand in between.

What a request says about itself (`X-Forwarded-For`, `X-Forwarded-Proto`) counts only when
the peer of the connection is a proxy that we trust. The list is read from its end: each
trusted proxy wrote the address of whom it saw, and the first one that is no proxy of ours
is the client. Whatever stands before it, the client may have written itself.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from dawr.reliability.asgi import Scope

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

FORWARDED_FOR = b"x-forwarded-for"
FORWARDED_PROTO = b"x-forwarded-proto"
MOST_HOPS = 32
MOST_PEERS_REMEMBERED = 4096
IPV6_PREFIX = 64
"""What one customer of a provider has at least; an address below it costs nothing to change."""


def networks(text: str) -> tuple[Network, ...]:
    """Comma-separated networks, such as `127.0.0.0/8,::1/128`. ValueError says which is none."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


class Clients:
    """Finds the client behind the proxies that are trusted."""

    def __init__(self, trusted: Iterable[Network]) -> None:
        self._trusted = tuple(trusted)
        self._trusts = lru_cache(MOST_PEERS_REMEMBERED)(self._is_trusted)

    def client_of(self, scope: Scope) -> str:
        peer = _peer(scope)
        if not self._trusts(peer):
            return peer
        lines = [value for name, value in scope["headers"] if name == FORWARDED_FOR]
        return self._behind(peer, b",".join(lines).decode("latin-1")) if lines else peer

    def has_trusted_peer(self, scope: Scope) -> bool:
        """Whether what the request says about itself counts."""
        return self._trusts(_peer(scope))

    def is_secure(self, scope: Scope) -> bool:
        if scope["scheme"] == "https":
            return True
        said = [value for name, value in scope["headers"] if name == FORWARDED_PROTO]
        # The last word is that of the proxy next to us.
        return bool(said) and said[-1].rpartition(b",")[2].strip().lower() == b"https" and self._trusts(_peer(scope))

    def _is_trusted(self, peer: str) -> bool:
        address = parsed(peer)
        return address is not None and self._is_proxy(address)

    def _is_proxy(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)

    def _behind(self, peer: str, forwarded: str) -> str:
        client = peer
        for hop in reversed(forwarded.rsplit(",", MOST_HOPS)[-MOST_HOPS:]):
            if not hop.strip():
                continue
            address = parsed(hop)
            if address is None:
                return peer
            client = str(address)
            if not self._is_proxy(address):
                return client
        return client


def limit_key(address: str) -> str:
    """Whom a limit counts: an IPv4 address, or the /64 of an IPv6 one."""
    if ":" not in address:
        return address
    known = parsed(address)
    if isinstance(known, IPv6Address):
        return str(IPv6Network((known, IPV6_PREFIX), strict=False))
    return address if known is None else str(known)


def parsed(hop: str) -> Address | None:
    """An address as proxies write it: with a port or not, in brackets or not."""
    text = hop.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    if "%" in text:
        return None  # a zone is free text, and means something on the machine that wrote it only
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _peer(scope: Scope) -> str:
    """The other end of the connection, as the kernel has it; empty when it has no address."""
    client = scope.get("client")
    if client is None:
        return ""
    host: str = client[0]
    if ":" not in host:
        return host
    address = parsed(host.partition("%")[0])
    return host if address is None else str(address)
