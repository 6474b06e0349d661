"""deploy/nginx: read, and where nginx is installed, put in front of a real Dawr."""

import json
import re
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from dawr.settings import Settings
from dawr.web.raw_request import LARGEST_BODY
from dawr.web.table import ROUTES
from tests.deploy.nginx import HOST, OPENSSL, PROGRAM, Directive, Nginx, files, read
from tests.running import DawrServer, dawr, venue_document
from tests.servers.place import free_port

HEARTBEAT_SECONDS = 15

needs_nginx = pytest.mark.skipif(
    PROGRAM is None or OPENSSL is None,
    reason="nginx or openssl is not installed (DAWR_TEST_NGINX names one): its files were read, but not by nginx",
)


def secure_server() -> Directive:
    (server,) = [
        each for each in read("dawr.conf").all("server") if any("443" in way.words for way in each.all("listen"))
    ]
    return server


def location(*words: str) -> Directive:
    (found,) = [each for each in secure_server().all("location") if each.words == words]
    return found


@pytest.mark.parametrize("name", files())
def test_every_file_can_be_read_to_its_end(name: str) -> None:
    assert read(name).inside


@pytest.mark.parametrize("name", ["upstream.conf", "upstream-compose.conf"])
def test_what_is_passed_on_goes_to_where_dawr_listens(name: str) -> None:
    (upstream,) = read(name).all("upstream")
    passed = [word for each in secure_server().all("location") for way in each.all("proxy_pass") for word in way.words]

    assert set(passed) == {f"http://{upstream.words[0]}"}
    assert {server.words[0].rpartition(":")[2] for server in upstream.all("server")} == {str(Settings().port)}


def test_every_stream_and_nothing_else_is_passed_on_unbuffered() -> None:
    (streaming,) = [each for each in secure_server().all("location") if each.words[0] == "~"]
    unbuffered = {route.path for route in ROUTES if re.search(streaming.words[1], route.path)}

    assert unbuffered == {route.path for route in ROUTES if route.kind == "text/event-stream"}
    assert streaming.words_of("proxy_buffering") == ("off",)
    assert streaming.words_of("gzip") == ("off",)
    assert int(streaming.words_of("proxy_read_timeout")[0].rstrip("s")) > 2 * HEARTBEAT_SECONDS
    assert "text/event-stream" not in secure_server().words_of("gzip_types")


def test_dawr_is_told_who_asks_and_how() -> None:
    told = {each.words[0]: each.words[1] for each in secure_server().all("proxy_set_header")}

    assert told == {
        "Connection": "",
        "Host": "$http_host",
        "X-Forwarded-For": "$proxy_add_x_forwarded_for",
        "X-Forwarded-Proto": "$scheme",
        "CF-Connecting-IP": "",
        "CF-Ray": "",
        "CF-IPCountry": "",
    }
    assert secure_server().words_of("proxy_http_version") == ("1.1",)
    assert not [each for each in secure_server().all("location") if each.all("proxy_set_header")]


def test_nginx_takes_what_dawr_takes() -> None:
    assert secure_server().words_of("client_max_body_size") == (f"{LARGEST_BODY // 1024}k",)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DawrServer]:
    """With a laboratory, and three numbers a minute for each address: each test has addresses of its own."""
    directory = tmp_path_factory.mktemp("server")
    data = directory / "data"
    assert dawr("venue", "apply", "-", stdin=venue_document({"id": "lab"}), DAWR_DATA=data).exit_code == 0
    limits = {"DAWR_RATE_LIMITS": "on", "DAWR_LIMIT_CLINIC_JOIN": "3", "DAWR_TRUSTED_PROXIES": "127.0.0.1/32"}
    with DawrServer(directory, "serve", DAWR_DATA=data, **limits) as server:
        yield server


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory, server: DawrServer) -> Iterator[Nginx]:
    nginx = Nginx(tmp_path_factory.mktemp("nginx"), "upstream.conf", {"127.0.0.1:8787": server.port})
    assert nginx.test() == ""
    with nginx.running():
        yield nginx


def entering(visitor: str) -> bytes:
    return json.dumps({"clinic": "lab", "user": visitor}).encode()


@needs_nginx
def test_through_nginx_everybody_has_a_limit_of_their_own_whatever_they_say(nginx: Nginx) -> None:
    def enter(visitor: str, source: str, **headers: str) -> int:
        return nginx.ask("POST", "/api/v1/queue/enter", entering(visitor), source=source, **headers).status

    of_one = [enter(f"one {turn}", "127.0.0.2") for turn in range(4)]
    lied = enter("a liar", "127.0.0.2", X_Forwarded_For="203.0.113.9")
    of_another = enter("another", "127.0.0.3")

    assert (of_one, lied, of_another) == ([200, 200, 200, 429], 429, 200)


@needs_nginx
def test_through_nginx_a_stream_comes_as_it_happens(nginx: Nginx) -> None:
    connection = nginx.connection()
    connection.request("GET", "/v1/events?queue=clinic:lab", headers={"Accept-Encoding": "gzip"})
    stream = connection.getresponse()
    first = next_event(stream)

    nginx.ask("POST", "/api/v1/queue/enter", entering("somebody"))
    then = next_event(stream)
    connection.close()

    assert (stream.status, stream.headers["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert stream.headers["Content-Encoding"] is None
    assert first["event"] == "snapshot"
    assert then["event"] == "ticket.issued"


@needs_nginx
def test_through_nginx_the_way_is_known_to_be_safe(nginx: Nginx) -> None:
    answer = nginx.ask("GET", "/health/live")
    plain = HTTPConnection("127.0.0.1", nginx.plain, timeout=60)
    plain.request("GET", "/v1/queues/clinic:lab?x=1", headers={"Host": HOST})
    sent_on = plain.getresponse()
    sent_on.read()
    plain.close()

    assert answer.status == 200
    assert "max-age" in answer.headers["strict-transport-security"]
    assert (sent_on.status, sent_on.headers["Location"]) == (308, f"https://{HOST}/v1/queues/clinic:lab?x=1")


@needs_nginx
def test_nginx_speaks_http_2_and_keeps_metrics_and_big_bodies_out(nginx: Nginx) -> None:
    context = nginx.trusting()
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", nginx.secure), 15) as bare,
        context.wrap_socket(bare, server_hostname=HOST) as wrapped,
    ):
        spoken = wrapped.selected_alpn_protocol()

    assert spoken == "h2"
    assert nginx.ask("GET", "/metrics").status == 404
    assert nginx.ask("POST", "/api/v1/queue/enter", b" " * (LARGEST_BODY + 1)).status == 413


@needs_nginx
def test_when_one_of_two_is_gone_nginx_asks_the_other(tmp_path: Path, server: DawrServer) -> None:
    servers = {"dawr-1:8787": server.port, "dawr-2:8787": free_port()}
    nginx = Nginx(tmp_path / "nginx", "upstream-compose.conf", servers)
    assert nginx.test() == ""

    with nginx.running():
        looked = {nginx.ask("GET", "/v1/queues/clinic:lab").status for _ in range(10)}
        entered = [
            nginx.ask("POST", "/api/v1/queue/enter", entering(f"visitor {n}"), source="127.0.0.4").status
            for n in range(3)
        ]

    assert (looked, entered) == ({200}, [200, 200, 200])


def next_event(stream: HTTPResponse) -> dict[str, str]:
    """The next block with data."""
    block: dict[str, str] = {}
    for _ in range(200):
        line = stream.readline().decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            block[name] = value
        elif "data" in block:
            return block
        else:
            block = {}
    raise AssertionError(f"No event came: {block}")
