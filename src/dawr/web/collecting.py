"""Our own requests, as the traffic statistics want to know them.

Whose a request is and which it is are taken from headers only if a trusted proxy sent them.
"""

from collections.abc import Mapping

from dawr.observe.access_log import known_method
from dawr.reliability.asgi import Scope
from dawr.reliability.correlation import FITTING
from dawr.settings import Settings
from dawr.traffic.collector import Answered, Collector
from dawr.web.client_address import Clients, limit_key, parsed

COUNTRY_LETTERS = 2


class Collecting:
    def __init__(self, collector: Collector, clients: Clients, settings: Settings) -> None:
        self._collector = collector
        self._clients = clients
        self._client_header = settings.traffic_client_header.strip().lower().encode()
        self._id_header = settings.traffic_request_id_header.strip().lower().encode()
        self._country_header = settings.traffic_country_header.strip().lower().encode()
        self.count_answer = collector.count_answer
        """For whoever sends the bytes."""

    def collect(  # noqa: PLR0917 - called for every request
        self,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        route: str,
        status: int,
        took_ns: int,
        correlation_id: str,
        by_rule: bool = False,  # noqa: FBT001, FBT002 - as above
    ) -> None:
        """Before the last bytes of the answer leave."""
        client, request_id, country = "", None, ""
        if self._clients.has_trusted_peer(scope):
            client, request_id, country = self._said_by_proxy(headers)
        self._collector.collect(
            Answered(
                known_method(scope["method"]),
                route,
                scope["path"],
                status,
                took_ns,
                limit_key(client or self._clients.client_of(scope)),
                request_id,
                correlation_id,
                headers.get(b"user-agent", b""),
                country,
                by_rule,
            )
        )

    def _said_by_proxy(self, headers: Mapping[bytes, bytes]) -> tuple[str, str | None, str]:
        client = ""
        if self._client_header in headers:
            address = parsed(headers[self._client_header].decode("latin-1"))
            client = "" if address is None else str(address)
        request_id = None
        said = headers.get(self._id_header)
        if said is not None and FITTING.fullmatch(said):
            request_id = said.decode()
        country = headers.get(self._country_header, b"").decode("latin-1").upper()
        is_country = len(country) == COUNTRY_LETTERS and country.isascii() and country.isalpha()
        return client, request_id, country if is_country else ""
