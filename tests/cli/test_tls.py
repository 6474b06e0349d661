"""`dawr serve --tls-cert FILE --tls-key FILE`: the shortest way to TLS."""

import socket
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

from tests.cli.certificates import Pair, ask, openssl
from tests.cli.installations import Installation
from tests.running import dawr
from tests.servers import ValkeyServer
from tests.servers.place import free_port


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_it_speaks_https_and_a_browser_can_sign_in(embedded: Installation, pair: Pair) -> None:
    embedded.create_venue()
    embedded.dawr("staff", "add", "noor", "--role", "owner", "--password-stdin", stdin="a long walk\n")
    with embedded.serve("--host", "0.0.0.0", *pair.options) as server:
        signed_in = ask(server, pair, "/v1/login", body='{"username": "noor", "password": "a long walk"}')
        cookie = signed_in.headers["set-cookie"].partition(";")[0]
        seen = ask(server, pair, "/v1/venues/clinic/set-up", headers={"Cookie": cookie})
        said = server.log.read_text()

    assert f"Dawr is ready at https://0.0.0.0:{server.port}\n" in said
    assert "plain HTTP" not in said
    assert (signed_in.status, seen.status) == (200, 200)
    assert cookie.startswith("__Host-dawr=")
    assert "; Secure" in signed_in.headers["set-cookie"]
    assert "strict-transport-security" in seen.headers


def test_the_link_of_the_first_owner_is_https_too(embedded: Installation, pair: Pair) -> None:
    with embedded.serve(*pair.options) as server:
        said = server.log.read_text()

    assert f"Make the owner's account at https://127.0.0.1:{server.port}/first-run?code=" in said


def test_plain_http_is_not_answered_there_and_garbage_is_refused(embedded: Installation, pair: Pair) -> None:
    with embedded.serve(*pair.options) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
            plain.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            heard = plain.recv(100)
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=60) as raw,
            pair.context().wrap_socket(raw, server_hostname="localhost") as secure,
        ):
            agreed = secure.version()
            secure.sendall(b"NONSENSE\r\n\r\n")
            refused = secure.makefile("rb").read()
        alive = ask(server, pair, "/health/live")

    assert not heard.startswith(b"HTTP/")
    assert agreed in {"TLSv1.2", "TLSv1.3"}
    assert refused.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"malformed-request"' in refused
    assert alive.status == 200


def test_a_stream_goes_through_it_and_ends_when_the_server_stops(embedded: Installation, pair: Pair) -> None:
    embedded.create_venue()
    with embedded.serve(*pair.options) as server:
        stream = HTTPSConnection("127.0.0.1", server.port, timeout=60, context=pair.context())
        stream.request("GET", "/v1/events?queue=clinic:lab")
        answer = stream.getresponse()
        first = answer.readline()

        code = server.stop()
        stream.close()

    assert (answer.status, code) == (200, 0)
    assert first


def test_the_metrics_port_stays_plain_and_tools_go_on(embedded: Installation, pair: Pair) -> None:
    embedded.create_venue()
    port = free_port()
    settings = {**embedded.settings, "DAWR_METRICS_PORT": str(port)}
    with Installation(settings, embedded.database, embedded.directory).serve(*pair.options):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().status
        connection.close()
        paused = embedded.dawr("queue", "pause", "lab")
        checked = embedded.dawr("check")

    assert (metrics, paused.exit_code, checked.exit_code) == (200, 0, 0)
    assert "A server runs here and can store." in checked.said


@pytest.mark.slow
def test_several_workers_show_the_same_certificate_and_check_finds_them(
    scaled: Installation, pair: Pair, valkey_server: ValkeyServer
) -> None:
    scaled.create_venue()
    tls = {"DAWR_TLS_CERT": str(pair.cert), "DAWR_TLS_KEY": str(pair.key)}
    settings = {**scaled.settings, **tls, "DAWR_REDIS_URL": valkey_server.url, "DAWR_WORKERS": "2"}
    secured = Installation(settings, scaled.database, scaled.directory)
    with secured.serve() as server:
        health = [ask(server, pair, "/health").json for _ in range(8)]
        checked = secured.dawr("check", DAWR_PORT=str(server.port))

    assert {answer["status"] for answer in health} == {"healthy"}
    assert f"The server at https://127.0.0.1:{server.port} can store." in checked.said


def test_files_that_cannot_be_used_are_named_before_anything_begins(tmp_path: Path, pair: Pair) -> None:
    other, locked, none = Pair(tmp_path, "other"), tmp_path / "locked.key", tmp_path / "none.pem"
    openssl("pkcs8", "-topk8", "-in", str(pair.key), "-out", str(locked), "-passout", "pass:secret")
    cases = {
        ("--tls-cert", pair.cert): "DAWR_TLS_CERT needs DAWR_TLS_KEY beside it",
        ("--tls-key", pair.key): "DAWR_TLS_KEY needs DAWR_TLS_CERT beside it",
        ("--tls-cert", none, "--tls-key", pair.key): f"DAWR_TLS_CERT names {none}, which cannot be read: No such file",
        ("--tls-cert", pair.cert, "--tls-key", tmp_path): f"DAWR_TLS_KEY names {tmp_path}, which cannot be read: Is a",
        ("--tls-cert", pair.cert, "--tls-key", other.key): f"DAWR_TLS_CERT ({pair.cert}) and DAWR_TLS_KEY",
        ("--tls-cert", pair.key, "--tls-key", pair.key): f"DAWR_TLS_CERT ({pair.key}) and DAWR_TLS_KEY",
        ("--tls-cert", pair.cert, "--tls-key", locked): "DAWR_TLS_KEY names a key with a password",
    }

    done = {options: dawr("serve", "--port", "0", "--data", tmp_path / "data", *options) for options in cases}

    for options, sentence in cases.items():
        assert (done[options].exit_code, done[options].said) == (1, ""), done[options]
        assert done[options].complained.startswith(f"Error: {sentence}")
    assert "the key is another certificate's" in done["--tls-cert", pair.cert, "--tls-key", other.key].complained
    assert not (tmp_path / "data").exists()
