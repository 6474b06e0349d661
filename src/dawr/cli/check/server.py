"""The server of this host, asked over HTTP how it is."""

from http.client import HTTPConnection, HTTPException
from typing import Literal

import msgspec

from dawr.cli.check.directory import look_at_version
from dawr.cli.check.findings import Report
from dawr.settings import Settings

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
    place = f"http://{settings.host}:{settings.port}"
    try:
        status, body = _ask(EVERYWHERE.get(settings.host, settings.host), settings.port)
    except (OSError, HTTPException) as failure:
        look_at_silence(failure, place, report)
        return
    try:
        health = msgspec.json.decode(body, type=Health)
    except msgspec.MsgspecError:
        report.warn(f"Something else than this Dawr answers at {place}.", about="server")
        return
    if status == OK:
        report.fine(f"The server at {place} can store.", about="server")
    else:
        report.wrong(f"The server at {place} is not well. {health.detail}", about="server")
    look_at_health(health, settings, report)


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
        report.warn(f"The server at {place} cannot be asked: {str(failure) or type(failure).__name__}.", about="server")


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


def _ask(host: str, port: int) -> tuple[int, bytes]:
    connection = HTTPConnection(host, port, timeout=SECONDS)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
