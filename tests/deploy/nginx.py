"""nginx: a reader of its files, and a real one in front of a real Dawr."""

import http.client
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.deploy.files import DEPLOY, text_of
from tests.running import Answer, eventually
from tests.servers.place import free_port
from tests.servers.process import Child

PROGRAM = os.environ.get("DAWR_TEST_NGINX") or shutil.which("nginx")
OPENSSL = shutil.which("openssl")
HOST = "queue.example.org"

_WORD = re.compile(r"""#[^\n]*|"[^"]*"|'[^']*'|[{};]|(?:[^\s{};"'#]|(?<=\S)[{](?=\d))+""")

MAIN = """
daemon off;
user {user};
pid {directory}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include {directory}/conf.d/*.conf;
}}
"""


class Directive(NamedTuple):
    """`name words… ;` or `name words… { inside }`."""

    name: str
    words: tuple[str, ...]
    inside: "tuple[Directive, ...]" = ()

    def all(self, name: str) -> list["Directive"]:
        return [each for each in self.inside if each.name == name]

    def words_of(self, name: str) -> tuple[str, ...]:
        """Of the one directive of this name."""
        (found,) = self.all(name)
        return found.words


def read(name: str) -> Directive:
    """A file as one directive that holds the others."""
    words = iter(word for word in _WORD.findall(text_of(f"nginx/{name}")) if not word.startswith("#"))
    return Directive(name, (), tuple(_block(words)))


def _block(words: Iterator[str]) -> Iterator[Directive]:
    statement: list[str] = []
    for word in words:
        if word == "}":
            assert not statement, f"{statement} has no end."
            return
        if word not in {";", "{"}:
            statement.append(word.strip("\"'"))
            continue
        name, *rest = statement
        yield Directive(name, tuple(rest), tuple(_block(words)) if word == "{" else ())
        statement = []
    assert not statement, f"{statement} has no end."


class Nginx:
    """Our files as they are, but for names and ports that this machine has not."""

    def __init__(self, directory: Path, upstream: str, servers: Mapping[str, int]) -> None:
        """`servers` are the addresses in the upstream's file, and the ports that stand for them here."""
        self.directory = directory
        self.plain, self.secure = free_port(), free_port()
        self.certificate = directory / "queue.pem"
        places = directory / "conf.d"
        places.mkdir(parents=True)
        text = text_of(f"nginx/{upstream}")
        for address, port in servers.items():
            assert f" {address}" in text
            text = text.replace(f" {address}", f" 127.0.0.1:{port}")
        (places / "upstream.conf").write_text(text)
        (places / "dawr.conf").write_text(self._on_this_machine(text_of("nginx/dawr.conf")))
        user = "root" if os.geteuid() == 0 else "nobody"
        (directory / "nginx.conf").write_text(MAIN.format(directory=directory, user=user))
        self._make_certificate()

    def test(self) -> str:
        """What `nginx -t` complains about."""
        done = subprocess.run([*self._command(), "-t", "-q"], capture_output=True, text=True, check=False, timeout=30)
        return done.stderr if done.returncode or done.stderr else ""

    @contextmanager
    def running(self) -> Iterator[None]:
        child = Child(self._command(), self.directory, uid=None, abort=signal.SIGKILL)
        try:
            eventually(self._listens)
            yield
        finally:
            child.send(signal.SIGTERM)
            child.wait()
            child.release()

    def connection(self, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
        """From an address of this machine; the certificate is ours, and is checked."""
        connection = http.client.HTTPSConnection(HOST, self.secure, timeout=60, context=self.trusting())
        connection._create_connection = lambda *_: socket.create_connection(  # type: ignore[attr-defined]
            ("127.0.0.1", self.secure), 15, (source, 0)
        )
        return connection

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, source: str = "127.0.0.1", **headers: str
    ) -> Answer:
        connection = self.connection(source)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body=body, headers=sent | {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def _command(self) -> list[str]:
        return [str(PROGRAM), "-p", str(self.directory), "-c", str(self.directory / "nginx.conf")]

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.secure)) == 0

    def _on_this_machine(self, text: str) -> str:
        text = re.sub(r"listen (\[::\]:)?80;", lambda at: f"listen {at[1] or '127.0.0.1:'}{self.plain};", text)
        text = re.sub(r"listen (\[::\]:)?443 ", lambda at: f"listen {at[1] or '127.0.0.1:'}{self.secure} ", text)
        text = re.sub(r"\n +listen \[::\]:[^\n]*", "", text)
        return text.replace("/etc/nginx/tls", str(self.directory))

    def _make_certificate(self) -> None:
        command = [str(OPENSSL), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
        command += ["-keyout", str(self.directory / "queue.key"), "-out", str(self.certificate)]
        subprocess.run(command, check=True, capture_output=True, timeout=30)


def files() -> list[str]:
    return sorted(path.name for path in (DEPLOY / "nginx").iterdir())
