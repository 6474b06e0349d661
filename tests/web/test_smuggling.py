"""Where one request ends and the next begins: nobody hides a request in another one, past the proxy in front."""

import contextlib
from typing import Any

import pytest

from tests.web.serving import GET, Echo, Slow, Wire, must_be_refusal, serving, until

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
"""What the proxy takes for a body, or for nothing at all."""

CHUNKED_BODY = b"%x\r\n%b\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
WEBSOCKET = b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n"
H2C = b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
FOO = b"Connection: Upgrade\r\nUpgrade: foo\r\n"


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop that serves."""
    return "asyncio", {"use_uvloop": True}


def post(headers: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"


def get(headers: bytes) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: x\r\n" + headers + b"\r\n"


async def must_be_refused_once(*connections: tuple[bytes, bytes]) -> None:
    """One answer, that it is no HTTP, and one line; whatever comes in a second packet is not even looked at."""
    async with serving(Echo) as served:
        for number, (first, second) in enumerate(connections, 1):
            async with await Wire.to(served) as wire:
                await wire.say(first)
                must_be_refusal(await wire.hear(), 400, "malformed-request")
                assert await wire.rest() == b""
                await wire.say(second)
                await wire.close()

            await until(lambda: served.connections() == 0)
            assert served.statuses() == [400] * number


UPGRADES_WITH_A_BODY = {
    "something": (post(FOO + b"Content-Length: %d\r\n" % len(HIDDEN)), HIDDEN),
    "something, in chunks": (post(FOO + b"Transfer-Encoding: chunked\r\n"), CHUNKED_BODY),
    "a websocket": (post(WEBSOCKET + b"Content-Length: %d\r\n" % len(HIDDEN)), HIDDEN),
    "a websocket by GET": (get(WEBSOCKET + b"Content-Length: %d\r\n" % len(HIDDEN)), HIDDEN),
    "h2c": (post(H2C + b"Content-Length: %d\r\n" % len(HIDDEN)), HIDDEN),
    "h2c, in chunks": (post(b"Transfer-Encoding: chunked\r\n" + H2C), CHUNKED_BODY),
}
TUNNELS = {
    "a tunnel": (b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", HIDDEN),
    "a tunnel to an address": (b"CONNECT http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", HIDDEN),
    "a tunnel with a body": (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n", HIDDEN),
    "HTTP/2 at once": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", HIDDEN),
}


@pytest.mark.parametrize("what", [*UPGRADES_WITH_A_BODY, *TUNNELS])
async def test_an_upgrade_with_a_body_and_a_tunnel_are_refused_and_nothing_in_them_is_a_request(what: str) -> None:
    head, body = (UPGRADES_WITH_A_BODY | TUNNELS)[what]

    await must_be_refused_once((head + body, b""), (head, body))


UPGRADES_WITHOUT_A_BODY = {
    "something": get(FOO),
    "a websocket": get(WEBSOCKET),
    "h2c": get(H2C),
    "h2c, with a length of nothing": post(H2C + b"Content-Length: 0\r\n"),
}


@pytest.mark.parametrize("what", UPGRADES_WITHOUT_A_BODY)
async def test_an_upgrade_without_a_body_is_answered_as_the_plain_request_it_also_is(what: str) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(UPGRADES_WITHOUT_A_BODY[what] + HIDDEN)

        first, headers, body = await wire.hear()
        assert (first, headers[b"connection"], body) == (b"HTTP/1.1 200 OK", b"close", b"nothing")
        assert await wire.rest() == b""
        assert served.statuses() == [200]


@pytest.mark.parametrize("what", UPGRADES_WITHOUT_A_BODY)
@pytest.mark.parametrize("later", [HIDDEN, b"nonsense\r\n\r\n"], ids=["a request", "nonsense"])
async def test_what_comes_after_an_upgrade_is_not_heard(what: str, later: bytes) -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire, await Wire.to(served) as another:
        app = served.app
        assert isinstance(app, Slow)
        await wire.say(UPGRADES_WITHOUT_A_BODY[what])
        await app.asked.wait()
        await wire.say(later)
        # This one comes after it, so when it is refused the other one has been heard, or not.
        await another.say(b"nonsense\r\n\r\n")
        must_be_refusal(await another.hear(), 400, "malformed-request")
        app.go.set()

        first, headers, _ = await wire.hear()
        assert (first, headers[b"connection"]) == (b"HTTP/1.1 200 OK", b"close")
        assert await wire.rest() == b""
        assert served.statuses() == [400, 200]


async def test_an_upgrade_behind_another_request_ends_the_connection_after_both_answers() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(GET + get(FOO) + HIDDEN)

        _, before, _ = await wire.hear()
        _, after, _ = await wire.hear()
        assert (b"connection" in before, after[b"connection"]) == (False, b"close")
        assert await wire.rest() == b""
        assert served.statuses() == [200, 200]


async def test_who_only_says_what_they_could_upgrade_to_is_answered_as_everybody() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(post(b"Upgrade: h2c\r\nContent-Length: 5\r\n") + b"hello" + GET)

        assert [(await wire.hear())[2] for _ in range(2)] == [b"hello", b"nothing"]


CLASSICS = {
    "a length and chunks": post(b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n" + HIDDEN,
    "chunks and a length": post(b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n") + b"0\r\n\r\n" + HIDDEN,
    "two lengths": post(b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(HIDDEN)) + HIDDEN,
    "the same length twice": post(b"Content-Length: 5\r\nContent-Length: 5\r\n") + b"hello" + HIDDEN,
    "a list of lengths": post(b"Content-Length: 5, 5\r\n") + b"hello" + HIDDEN,
    "a length with a sign": post(b"Content-Length: +5\r\n") + b"hello" + HIDDEN,
    "a length with a space before its colon": post(b"Content-Length : 5\r\n") + b"hello" + HIDDEN,
    "a length beyond all numbers": post(b"Content-Length: 18446744073709551621\r\n") + b"hello" + HIDDEN,
    "chunks with a space before the colon": post(b"Transfer-Encoding : chunked\r\n") + b"0\r\n\r\n" + HIDDEN,
    "chunks, but not last": post(b"Transfer-Encoding: chunked, identity\r\n") + b"0\r\n\r\n" + HIDDEN,
    "chunks and something else": post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n")
    + b"0\r\n\r\n"
    + HIDDEN,
    "chunks behind a control character": post(b"Transfer-Encoding: \x0bchunked\r\n") + b"0\r\n\r\n" + HIDDEN,
    "lines that end in LF": b"POST / HTTP/1.1\nHost: x\nContent-Length: 5\n\nhello" + HIDDEN,
    "one header that ends in LF": post(b"X: a\nContent-Length: %d\r\n" % len(HIDDEN)) + HIDDEN,
    "one header that ends in CR": post(b"X: a\rContent-Length: %d\r\n" % len(HIDDEN)) + HIDDEN,
    "a head that ends in LF": b"POST / HTTP/1.1\r\nHost: x\r\n\n" + HIDDEN,
    "a folded header": post(b"X: a\r\n b\r\n") + HIDDEN,
    "folded chunks": post(b"Transfer-Encoding:\r\n chunked\r\n") + b"0\r\n\r\n" + HIDDEN,
    "a folded first header": b"POST / HTTP/1.1\r\n X: a\r\nHost: x\r\n\r\n" + HIDDEN,
}
CHUNKS = {
    "a size that ends in LF": b"5\nhello\r\n0\r\n\r\n",
    "a chunk that ends in LF": b"5\r\nhello\n0\r\n\r\n",
    "an end in LF": b"0\n\n",
    "an extension that ends in LF": b"2;\nxx\r\n%x\r\n0\r\n\r\n" % len(HIDDEN),
    "an extension with a CR": b"5;a\rb\r\nhello\r\n0\r\n\r\n",
    "a space after the size": b"5 \r\nhello\r\n0\r\n\r\n",
    "a size with a sign": b"-5\r\nhello\r\n0\r\n\r\n",
    "a size with 0x": b"0x5\r\nhello\r\n0\r\n\r\n",
    "a size beyond all numbers": b"10000000000000005\r\nhello\r\n0\r\n\r\n",
    "a chunk longer than its size": b"5\r\nhello!\r\n0\r\n\r\n",
}
BODIES = {trick: post(b"Transfer-Encoding: chunked\r\n") + chunks + HIDDEN for trick, chunks in CHUNKS.items()}
CODINGS = {
    "almost chunks": b"Transfer-Encoding: xchunked\r\n",
    "packed": b"Transfer-Encoding: gzip, chunked\r\n",
    "packed, said in two lines": b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
}


@pytest.mark.parametrize("trick", CLASSICS)
async def test_a_request_with_two_ends_is_refused_and_nothing_in_it_is_another_request(trick: str) -> None:
    await must_be_refused_once((CLASSICS[trick], b""))


@pytest.mark.parametrize("trick", BODIES)
async def test_a_body_with_two_ends_is_refused_and_nothing_in_it_is_another_request(trick: str) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(BODIES[trick])

        first, headers, body = await wire.hear()
        assert (first, headers[b"connection"]) == (b"HTTP/1.1 400 Bad Request", b"close")
        assert b'"code":"malformed-request"' in body
        with contextlib.suppress(ConnectionError):
            assert await wire.rest() == b""
        await until(lambda: served.connections() == 0)
        assert served.statuses() == [400]


@pytest.mark.parametrize("coding", CODINGS)
async def test_a_coding_that_is_not_known_is_said_not_to_be_and_nothing_of_its_body_is_read(coding: str) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(post(CODINGS[coding]) + b"0\r\n\r\n" + HIDDEN)

        must_be_refusal(await wire.hear(), 501, "transfer-coding-unknown")
        with contextlib.suppress(ConnectionError):
            assert await wire.rest() == b""
        assert served.statuses() == [501]


async def test_an_extension_of_a_chunk_is_no_part_of_the_body_and_moves_no_end() -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(post(b"Transfer-Encoding: chunked\r\n") + b'5;a=b\r\nhello\r\n0;c="d"\r\n\r\n' + GET)

        assert [(await wire.hear())[2] for _ in range(2)] == [b"hello", b"nothing"]
        assert served.statuses() == [200, 200]


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Host: x\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: y\r\nhost: y\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
    ],
)
async def test_a_request_for_no_host_or_for_two_is_refused(head: bytes) -> None:
    await must_be_refused_once((head + HIDDEN, b""))


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.0\r\nHost: x\r\n\r\n", get(b"X-Host: y\r\n")]
)
async def test_a_request_for_one_host_is_answered_and_an_old_one_also_for_none(head: bytes) -> None:
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(head)

        assert (await wire.hear())[0] == b"HTTP/1.1 200 OK"
        assert served.statuses() == [200]
