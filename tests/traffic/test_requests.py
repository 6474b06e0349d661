"""Whose a request is, and which: by headers only if a trusted proxy sent them. And the family of what asks."""

from itertools import count
from pathlib import Path

import pytest

from dawr.reliability.client_address import Clients, networks
from dawr.traffic.agents import family_of
from dawr.traffic.collector import Collector
from dawr.traffic.event import Event, decoded
from dawr.traffic.keys import VISITOR_DIGITS, VisitorKeys, visitor_hash
from dawr.traffic.requests import Headers, RequestCollector
from dawr.traffic.spool import Spool
from tests.traffic.builders import bodies_in

KEY = b"k" * 32
NOON = 1_730_980_800_000


def collected(directory: Path, peer: str, headers: dict[bytes, bytes], method: str = "GET") -> Event:
    numbers = count(1)
    with Spool(directory / "spool", lambda: f"{next(numbers):032x}") as spool:
        collector = Collector(
            spool,
            VisitorKeys(directory / "key", lambda: KEY),
            clock=lambda: NOON,
            new_id=lambda: f"made-{next(numbers)}",
        )
        requests = RequestCollector(collector, Clients(networks("127.0.0.0/8")), Headers(country="cf-ipcountry"))
        scope = {"client": (peer, 1), "headers": [*headers.items()], "method": method, "path": "/raw"}
        requests.collect(scope, headers, "/template", 200, 1)
    [body] = bodies_in(directory / "spool")
    return decoded(body)


SAID = {b"cf-connecting-ip": b"192.168.1.7", b"cf-ray": b"ray-7", b"cf-ipcountry": b"qa"}


def test_a_trusted_proxy_says_whose_request_it_is_which_and_from_where(tmp_path: Path) -> None:
    event = collected(tmp_path, "127.0.0.1", SAID)

    assert event.client_ip_hash == visitor_hash(KEY, "192.168.1.7")[:VISITOR_DIGITS]
    assert (event.request_id, event.country) == ("ray-7", "QA")


def test_anybody_else_is_who_they_are_and_their_words_do_not_count(tmp_path: Path) -> None:
    event = collected(tmp_path, "203.0.113.9", SAID)

    assert event.client_ip_hash == visitor_hash(KEY, "203.0.113.9")[:VISITOR_DIGITS]
    assert event.request_id.startswith("made-")
    assert not event.country


@pytest.mark.parametrize(
    "said",
    [
        {b"cf-connecting-ip": b"nobody", b"cf-ray": b"a b", b"cf-ipcountry": b"<q"},
        {b"cf-connecting-ip": b"", b"cf-ray": b"x" * 129, b"cf-ipcountry": b"QAT"},
    ],
)
def test_what_a_proxy_says_must_make_sense(tmp_path: Path, said: dict[bytes, bytes]) -> None:
    event = collected(tmp_path, "127.0.0.1", said)

    assert event.client_ip_hash == visitor_hash(KEY, "127.0.0.1")[:VISITOR_DIGITS]
    assert event.request_id.startswith("made-")
    assert not event.country


def test_the_client_is_found_behind_proxies_and_counted_by_its_network(tmp_path: Path) -> None:
    event = collected(tmp_path, "127.0.0.1", {b"x-forwarded-for": b"2001:db8:1:2:3:4:5:6"})

    assert event.client_ip_hash == visitor_hash(KEY, "2001:db8:1:2::/64")[:VISITOR_DIGITS]


def test_a_method_that_was_made_up_is_another(tmp_path: Path) -> None:
    assert collected(tmp_path, "127.0.0.1", {}, method="EVIL").method == "OTHER"


@pytest.mark.parametrize(
    ("text", "family"),
    [
        (
            b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36",
            "Chrome",
        ),
        (b"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0", "Edge"),
        (b"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605 Version/17.5 Safari/604", "Safari"),
        (b"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox"),
        (b"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "bot"),
        (b"curl/8.5.0", "curl"),
        (b"\xff\xfe something", "other"),
        (b"", "none"),
    ],
)
def test_of_what_asks_only_the_family_is_kept(text: bytes, family: str) -> None:
    assert family_of(text) == family
