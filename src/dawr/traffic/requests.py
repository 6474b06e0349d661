"""A request and its answer, as the collector wants to know them: the same for our own server and for any ASGI app.

Whose a request is, which it is and from where are taken from headers only if a trusted proxy sent them.
"""

from collections.abc import Mapping

import msgspec

from dawr.reliability.asgi import Scope, known_method
from dawr.reliability.client_address import Clients, limit_key, parsed
from dawr.reliability.correlation import FITTING
from dawr.traffic.collector import Answered, Collector

COUNTRY_LETTERS = 2


class Headers(msgspec.Struct, frozen=True):
    """Names of headers in which a trusted proxy says things; empty: it does not."""

    client: str = "cf-connecting-ip"
    request_id: str = "cf-ray"
    country: str = ""


class RequestCollector:
    def __init__(self, collector: Collector, clients: Clients, names: Headers | None = None) -> None:
        names = names or Headers()
        self._collector = collector
        self._clients = clients
        self._client, self._request_id, self._country = (
            name.strip().lower().encode() for name in (names.client, names.request_id, names.country)
        )
        self.count_answer = collector.count_answer
        """For whoever sends the bytes."""
        self.when_written = collector.spool.when_written

    def collect(  # noqa: PLR0917 - called for every request
        self,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        route: str,
        status: int,
        took_ns: int,
        correlation_id: str = "",
        by_rule: bool = False,  # noqa: FBT001, FBT002 - as above
        soon: bool = False,  # noqa: FBT001, FBT002 - as above
        is_stream: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> None:
        """Before the last bytes of the answer leave. What goes wrong here is no fault of the request.

        `soon` writes it with all others of this turn of the loop: the answer waits for `when_written`.
        """
        collect = self._collector.collect_soon if soon else self._collector.collect
        try:
            client, request_id, country = self._said_by_proxy(scope, headers)
            answered = Answered(
                known_method(scope["method"]),
                route,
                scope["path"],
                status,
                max(0, took_ns),
                limit_key(client or self._clients.client_of(scope)),
                request_id,
                correlation_id,
                headers.get(b"user-agent", b""),
                country,
                by_rule,
                is_stream,
            )
            collect(answered)
        except Exception as fault:  # noqa: BLE001 - as above
            self._collector.lose(fault)

    def _said_by_proxy(self, scope: Scope, headers: Mapping[bytes, bytes]) -> tuple[str, str | None, str]:
        """The client's address, the request's id and the country, as far as a trusted proxy says them."""
        if not self._clients.has_trusted_peer(scope):
            return "", None, ""
        client = ""
        if self._client in headers:
            address = parsed(headers[self._client].decode("latin-1"))
            client = "" if address is None else str(address)
        said = headers.get(self._request_id)
        request_id = said.decode() if said is not None and FITTING.fullmatch(said) else None
        return client, request_id, self._country_in(headers) if self._country else ""

    def _country_in(self, headers: Mapping[bytes, bytes]) -> str:
        country = headers.get(self._country, b"").decode("latin-1").upper()
        is_country = len(country) == COUNTRY_LETTERS and country.isascii() and country.isalpha()
        return country if is_country else ""
