"""Everything that talks HTTP, around a running installation."""

import secrets
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from time import time_ns
from typing import NamedTuple

from dawr.bootstrap.fitness import environment
from dawr.bootstrap.installation import Dawr
from dawr.bootstrap.system import correlation_id, ticks
from dawr.bootstrap.tls import tls_of
from dawr.domain.session_code import SessionCodes
from dawr.observe import logs, tracing
from dawr.observe.access_log import AccessLog
from dawr.observe.instruments import Instruments
from dawr.observe.metrics.metrics import Metrics
from dawr.observe.metrics.region import Region
from dawr.reliability.asgi import ASGIApp
from dawr.reliability.client_address import Clients, networks
from dawr.reliability.rate_limit import Hits
from dawr.settings import Settings
from dawr.traffic.requests import Headers, RequestCollector
from dawr.web.app import App
from dawr.web.auth import Auth
from dawr.web.known_links import KnownLinks
from dawr.web.limits import Limits
from dawr.web.metrics import ByPort, MetricsEndpoint
from dawr.web.routes import Parts
from dawr.web.server.addresses import AddressConnections
from dawr.web.server.server import Server, listen, url_of
from dawr.web.table import ROUTES

SECONDS_PER_HOUR = 60 * 60
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def shuts_browsers_out(settings: Settings) -> bool:
    """Others are let in, and no way in is encrypted: then no browser keeps the cookie of who signs in."""
    proxies_elsewhere = any(not network.is_loopback for network in networks(settings.trusted_proxies))
    return settings.host not in LOOPBACK and not settings.tls_cert and not proxies_elsewhere


def web_app(
    dawr: Dawr,
    log: AccessLog,
    metrics_listener: socket.socket | None = None,
    collecting: RequestCollector | None = None,
) -> ASGIApp:
    """Everything that talks HTTP, around a running installation."""
    settings, instruments = dawr.settings, dawr.instruments
    metrics = instruments.metrics
    log.count, log.count_refusal, log.count_error = metrics.answered, metrics.refused, metrics.failed
    parts = _parts_of(dawr)
    guarded = [MetricsEndpoint(parts, instruments, token=settings.metrics_token)] if settings.metrics_token else []
    app = App(
        (*ROUTES, *dawr.routes), parts, log, instruments, new_id=correlation_id, others=guarded, collecting=collecting
    )
    if metrics_listener is None:
        return app
    open_to_all = MetricsEndpoint(parts, instruments, token=None)
    beside = App((), parts, log, instruments, new_id=correlation_id, others=[open_to_all], collecting=collecting)
    return ByPort(app, metrics_listener, beside)


def _parts_of(dawr: Dawr) -> Parts:
    settings = dawr.settings
    clients = Clients(networks(settings.trusted_proxies))
    auth = Auth(
        dawr.accounts,
        clients,
        dawr.browsers,
        on_loopback=settings.host in LOOPBACK,
        session_seconds=settings.session_hours * SECONDS_PER_HOUR,
    )
    hits = Hits(ticks, secrets.token_bytes(32), count=dawr.instruments.metrics.limit_hit)
    limits = Limits(dawr.limiter, clients, settings, hits, dawr.prepared.secret)
    return Parts(
        engine=dawr.engine,
        status_cache=dawr.status_cache,
        ids=dawr.ids,
        accounts=dawr.accounts,
        hub=dawr.hub,
        auth=auth,
        limits=limits,
        links=KnownLinks(dawr.engine),
        codes=SessionCodes(dawr.prepared.secret),
        clients=clients,
        settings=settings,
        shared=dawr.shared,
        processes=lambda: dawr.processes,
        works=dawr.works,
        time=dawr.time,
        traffic=None if dawr.traffic is None else dawr.traffic.view,
        is_demo=dawr.is_demo,
        venue_ids=dawr.store.venue_ids,
    )


class Listeners(NamedTuple):
    requests: socket.socket
    metrics: socket.socket | None
    """It speaks plain HTTP, whatever the other does."""
    tls: ssl.SSLContext | None = None

    @property
    def url(self) -> str:
        return url_of(self.requests, secure=self.tls is not None)

    def close(self) -> None:
        self.requests.close()
        if self.metrics is not None:
            self.metrics.close()


@contextmanager
def listened(settings: Settings) -> Iterator[Listeners]:
    """The addresses first: when one is taken, nothing was begun."""
    host, port, tls = settings.metrics_host, settings.metrics_port, tls_of(settings)
    with listen(settings.host, settings.port) as requests, listen(host, port) if port else nullcontext() as metrics:
        yield Listeners(requests, metrics, tls)


def web_server(dawr: Dawr, listeners: Listeners, ready: Callable[[str], None]) -> Server:
    log = dawr.instruments.log
    collecting = collecting_of(dawr)
    return Server(
        web_app(dawr, log, listeners.metrics, collecting),
        listeners.requests,
        tls=listeners.tls,
        also=listeners.metrics,
        access_log=log,
        new_id=correlation_id,
        ready=ready,
        stopping=dawr.hub.close,
        collecting=collecting,
        addresses=connections_of(dawr),
    )


def connections_of(dawr: Dawr) -> AddressConnections | None:
    """Count the connections of an address; not in load runs, which have all their connections from one."""
    settings = dawr.settings
    if settings.rate_limits == "off":
        return None
    hits = Hits(ticks, secrets.token_bytes(32), count=dawr.instruments.metrics.limit_hit)
    clients = Clients(networks(settings.trusted_proxies))
    return AddressConnections(settings.max_connections_per_address, clients, partial(hits.note, "connections"))


def collecting_of(dawr: Dawr) -> RequestCollector | None:
    if dawr.traffic is None:
        return None
    settings = dawr.settings
    names = Headers(settings.traffic_client_header, settings.traffic_request_id_header, settings.traffic_country_header)
    return RequestCollector(dawr.traffic.collector, Clients(networks(settings.trusted_proxies)), names)


def instruments_of(settings: Settings, regions: Sequence[Region] | None = None, slot: int = 0) -> Instruments:
    """Of a process that serves: `slot` is which of the workers it is, and `regions` where all of them count."""
    streams = {route.path for route in ROUTES if route.limit == "stream"}
    metrics = Metrics(regions, slot, untimed=streams)
    return Instruments(logs.access_log_of_server(settings), metrics, tracing.from_environment(environment(), time_ns))
