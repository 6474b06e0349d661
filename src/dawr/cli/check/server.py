"""The server of this host, asked over HTTP how it is."""

import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Literal

import msgspec

from dawr.cli.check.directory import look_at_version
from dawr.cli.check.findings import Report
from dawr.settings import Settings
from dawr.stores import reasons

SECONDS = 8
"""Longer than it may take to find out that PostgreSQL hangs."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - nothing listens there: it is asked
OK = 200


class Health(msgspec.Struct, frozen=True):
    """What `GET /health` answers; a problem has a detail beside it."""

    version: str
    shared: Literal["there", "away", "none"]
    processes: int
    stale: bool
    detail: str = ""


def look_at_server(settings: Settings, report: Report) -> None:
    """Whether one runs on this host is not for this look to judge: it may be meant to run on others."""
    if settings.port == 0:
        return
    place = f"{'https' if settings.tls_cert else 'http'}://{settings.host}:{settings.port}"
    try:
        status, body = _ask(settings)
    except (OSError, HTTPException) as failure:
        look_at_silence(failure, place, report)
        return
    try:
        health = msgspec.json.decode(body, type=Health)
    except msgspec.MsgspecError:
        report.warn(f"Something else than this Dawr answers at {place}.", about="server")
        return
    report.server_answers = True
    if status == OK:
        report.fine(f"The server at {place} can store.", about="server")
    else:
        report.wrong(f"The server at {place} is not well. {health.detail}", about="server")
    look_at_health(health, settings, report)


def look_for_server(settings: Settings, report: Report) -> None:
    """Once all was looked at: one that is not well was named already."""
    if report.server_answers:
        return
    if settings.database_url and settings.port == 0:
        report.wrong(
            "DAWR_PORT is 0, so nobody knows where a server would answer: set it to the server's.", about="server"
        )
    else:
        report.wrong(
            "No server answers, and one is expected (--expect-server): look at its log, and start it. Is this the "
            "right host, with the settings of the server?",
            about="server",
        )


def look_at_silence(failure: Exception, place: str, report: Report) -> None:
    """Only who is refused knows that nobody is there."""
    if isinstance(failure, ConnectionRefusedError):
        report.fine(f"No server answers at {place}.", about="server")
    elif isinstance(failure, TimeoutError):
        report.wrong(
            f"The server at {place} does not answer within {SECONDS} s: it hangs. Look at its log, and restart it.",
            about="server",
        )
    elif isinstance(failure, HTTPException):
        report.warn(f"Something else than this Dawr answers at {place}.", about="server")
    else:
        why = reasons.of_system(failure) if isinstance(failure, OSError) else type(failure).__name__
        report.warn(f"The server at {place} cannot be asked ({why}): look at DAWR_HOST and DAWR_PORT.", about="server")


def look_at_health(health: Health, settings: Settings, report: Report) -> None:
    look_at_version(health.version, report)
    if health.stale:
        report.warn("Streams of that server show what may be out of date: it cannot read the database.", about="server")
    if health.shared == "away":
        report.warn(
            "That server does not reach its Redis or Valkey: each process counts limits by itself, with its share of "
            "them, and tells the others nothing. It comes back by itself.",
            about="limits",
        )
    expected = settings.workers * settings.hosts
    if health.processes > expected:
        report.warn(
            f"{health.processes} processes serve this installation, but DAWR_WORKERS times DAWR_HOSTS is {expected}: "
            "set them right, because limits are divided by them while Redis or Valkey is away.",
            about="limits",
        )


def _ask(settings: Settings) -> tuple[int, bytes]:
    """Whose certificate it shows does not matter: it is asked on this host, and told nothing."""
    host, port = EVERYWHERE.get(settings.host, settings.host), settings.port
    connection = HTTPConnection(host, port, timeout=SECONDS)
    if settings.tls_cert:
        unchecked = ssl._create_unverified_context()  # noqa: S323, SLF001 - as above
        connection = HTTPSConnection(host, port, timeout=SECONDS, context=unchecked)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
