"""Who asks: the peer, unless a proxy that is trusted says on whose behalf."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dawr.reliability.client_address import Clients, limit_key, networks
from dawr.reliability.rate_limit import LocalLimiter, Policy

PROXY = "10.0.0.1"
CLIENTS = Clients(networks("10.0.0.0/8, 127.0.0.0/8,::1/128"))


def scope(peer: str | None, *forwarded: str, proto: str | None = None, scheme: str = "http") -> dict[str, Any]:
    headers = [(b"host", b"x"), *((b"x-forwarded-for", line.encode("latin-1")) for line in forwarded)]
    if proto is not None:
        headers.append((b"x-forwarded-proto", proto.encode()))
    return {"type": "http", "client": peer and (peer, 12345), "headers": headers, "scheme": scheme}


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ([], PROXY),
        (["203.0.113.7"], "203.0.113.7"),
        (["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
        (["198.51.100.1, 203.0.113.7, 10.0.0.9"], "203.0.113.7"),
        (["198.51.100.1", "203.0.113.7", "10.0.0.9"], "203.0.113.7"),
        (["203.0.113.7:4711"], "203.0.113.7"),
        (["2001:db8::7"], "2001:db8::7"),
        (["[2001:db8::7]"], "2001:db8::7"),
        (["[2001:DB8:0::7]:4711"], "2001:db8::7"),
        (['"[2001:db8::7]:4711"'], "2001:db8::7"),
        (["::ffff:203.0.113.7"], "203.0.113.7"),
        (["203.0.113.7, , 10.0.0.9,"], "203.0.113.7"),
        (["10.0.0.3, 10.0.0.9"], "10.0.0.3"),
        (["garbage, 203.0.113.7"], "203.0.113.7"),
        (["203.0.113.7, garbage"], PROXY),
        (["203.0.113.7, garbage, 10.0.0.9"], PROXY),
        (["unknown"], PROXY),
        ([""], PROXY),
        ([" , ,"], PROXY),
        (["203.0.113.999"], PROXY),
        (["2001:db8::7%x\x1b[2J"], PROXY),
        (["٢٠٣.0.113.7".encode().decode("latin-1")], PROXY),
        (["203.0.113.7" + ", 10.0.0.9" * 40], "10.0.0.9"),
    ],
)
def test_the_client_is_the_last_that_is_no_proxy(forwarded: list[str], client: str) -> None:
    assert CLIENTS.client_of(scope(PROXY, *forwarded)) == client


@pytest.mark.parametrize("peer", ["203.0.113.7", "2001:db8::7", "::ffff:203.0.113.7"])
def test_what_a_stranger_says_of_itself_means_nothing(peer: str) -> None:
    asked = scope(peer, "198.51.100.1", proto="https")

    assert CLIENTS.client_of(asked) == peer.removeprefix("::ffff:")
    assert not CLIENTS.is_secure(asked)


def test_a_proxy_is_known_by_each_of_its_spellings() -> None:
    assert CLIENTS.client_of(scope("::ffff:10.0.0.1", "203.0.113.7")) == "203.0.113.7"
    assert CLIENTS.client_of(scope("::1", "203.0.113.7")) == "203.0.113.7"
    assert CLIENTS.client_of(scope("fe80::1%eth0", "203.0.113.7")) == "fe80::1"


def test_nobody_is_trusted_when_nobody_is_named() -> None:
    alone = Clients(networks(""))

    assert alone.client_of(scope("127.0.0.1", "203.0.113.7")) == "127.0.0.1"
    assert alone.client_of(scope(None, "203.0.113.7")) == ""


@pytest.mark.parametrize(
    ("asked", "secure"),
    [
        (scope(PROXY), False),
        (scope("203.0.113.7", scheme="https"), True),
        (scope(PROXY, proto="https"), True),
        (scope(PROXY, proto="HTTPS "), True),
        (scope(PROXY, proto="http"), False),
        (scope(PROXY, proto="https, http"), False),
        (scope(PROXY, proto="http, https"), True),
        (scope(PROXY, proto=""), False),
        (scope("203.0.113.7", proto="https"), False),
    ],
)
def test_the_way_is_encrypted_when_we_see_it_or_our_proxy_says_so(asked: dict[str, Any], secure: bool) -> None:  # noqa: FBT001
    assert CLIENTS.is_secure(asked) is secure


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", ""),
        ("what: ever", "what: ever"),
    ],
)
def test_a_limit_counts_an_ipv6_network_as_one(address: str, key: str) -> None:
    assert limit_key(address) == key


async def test_a_thousand_spoofed_addresses_of_a_stranger_are_one_client() -> None:
    limiter, policy = LocalLimiter(lambda: 0), Policy("look", 20, 60)

    verdicts = []
    for number in range(1000):
        asked = scope("203.0.113.7", f"198.51.{number // 250}.{number % 250}")
        verdicts.append(await limiter.charge(policy, limit_key(CLIENTS.client_of(asked))))

    assert sum(verdict.allowed for verdict in verdicts) == 20


async def test_a_thousand_spoofed_addresses_through_our_proxy_are_one_client() -> None:
    limiter, policy = LocalLimiter(lambda: 0), Policy("look", 20, 60)

    verdicts = []
    for number in range(1000):
        asked = scope(PROXY, f"198.51.{number // 250}.{number % 250}", "203.0.113.7")
        verdicts.append(await limiter.charge(policy, limit_key(CLIENTS.client_of(asked))))

    assert sum(verdict.allowed for verdict in verdicts) == 20


@given(st.lists(st.text(st.characters(max_codepoint=255, exclude_characters=","), max_size=30), max_size=6))
def test_whatever_stands_before_it_the_address_our_proxy_saw_is_the_client(before: list[str]) -> None:
    assert CLIENTS.client_of(scope(PROXY, *before, "203.0.113.7")) == "203.0.113.7"


def test_more_peers_than_are_remembered_are_still_told_apart() -> None:
    clients = Clients(networks("10.0.0.0/8"))
    strangers = [f"203.0.{number // 256}.{number % 256}" for number in range(5000)]

    assert [clients.client_of(scope(peer, "198.51.100.1")) for peer in strangers] == strangers
    assert clients.client_of(scope(PROXY, "198.51.100.1")) == "198.51.100.1"


@pytest.mark.parametrize("text", ["10.0.0.0/33", "proxy.example", "10.0.0.1/8", "*"])
def test_what_is_no_network_is_not_trusted(text: str) -> None:
    with pytest.raises(ValueError, match=r"\d|network"):
        networks(text)
