"""A certificate of the test's own, and a client that trusts it."""

import ssl
import subprocess
from collections.abc import Mapping
from http.client import HTTPSConnection
from pathlib import Path

from tests.running import Answer, DawrServer


class Pair:
    """A certificate that this machine made for itself, and its key."""

    def __init__(self, directory: Path, name: str = "here") -> None:
        self.cert, self.key = directory / f"{name}.pem", directory / f"{name}.key"
        openssl(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(self.key), "-out", str(self.cert)),
        )

    @property
    def options(self) -> tuple[str, ...]:
        return ("--tls-cert", str(self.cert), "--tls-key", str(self.key))

    def context(self) -> ssl.SSLContext:
        """That of a client who trusts this certificate and no other."""
        return ssl.create_default_context(cafile=str(self.cert))


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


def ask(
    server: DawrServer, pair: Pair, path: str, *, body: str | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    connection = HTTPSConnection("127.0.0.1", server.port, timeout=60, context=pair.context())
    try:
        given = {"Content-Type": "application/json", **(headers or {})}
        connection.request("GET" if body is None else "POST", path, body, given)
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()
