"""A policy, what a caller is told of it, and whom one process remembers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket

from dawr.reliability.rate_limit import LocalLimiter, Policy, Verdict, headers
from dawr.reliability.rate_limit.middleware import RateLimited
from tests.reliability.limiters import DrivenClock

FIVE = Policy("joins", 5, 60)


async def test_whoever_was_idle_for_a_window_is_forgotten() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock)
    for number in range(1000):
        await limiter.charge(FIVE, f"visitor {number}")
    clock.ms += 60_000

    for _ in range(500):
        clock.ms += 60_000
        await limiter.charge(FIVE, "one that stays")

    assert limiter.keys() == 1


async def test_a_quota_that_shrinks_to_nothing_and_grows_again_still_counts() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock)
    for key in "abcd":
        await limiter.charge(FIVE, key)
    clock.ms += 60_001

    shrunk = await limiter.charge(msgspec.structs.replace(FIVE, quota=0), "d")
    grown = await limiter.charge(FIVE, "d")

    assert (shrunk.allowed, grown.allowed, grown.remaining) == (False, True, 4)


async def test_when_all_places_are_taken_a_newcomer_waits_and_nobody_is_forgotten() -> None:
    clock = DrivenClock()
    limiter = LocalLimiter(clock, most_keys=3)
    for key in "abc":
        for _ in range(5):
            await limiter.charge(FIVE, key)
        clock.ms += 1000

    refused = await limiter.charge(FIVE, "d")
    again = [await limiter.charge(FIVE, key) for key in "abc"]
    clock.ms += refused.reset_seconds * 1000
    later = await limiter.charge(FIVE, "d")

    assert refused == Verdict(allowed=False, remaining=0, reset_seconds=57, policy=FIVE, key="d")
    assert not any(verdict.allowed for verdict in again)
    assert later.allowed
    assert limiter.keys() == 3


def test_several_processes_share_a_quota() -> None:
    assert FIVE.shared_by(2).quota == 2
    assert FIVE.shared_by(9).quota == 1
    assert Policy("nothing", 0, 1).shared_by(2).quota == 0
    assert FIVE.shared_by(1) == FIVE


@pytest.mark.parametrize(("name", "quota", "window"), [("", 1, 1), ('a"b', 1, 1), ("a", -1, 1), ("a", 1, 0)])
def test_a_limit_that_makes_no_sense_is_none(name: str, quota: int, window: int) -> None:
    with pytest.raises(ValueError, match="is no limit"):
        Policy(name, quota, window)


def test_the_caller_is_told_the_policy_and_what_is_left() -> None:
    allowed = Verdict(allowed=True, remaining=3, reset_seconds=30, policy=FIVE, key="a")

    assert headers(allowed) == [(b"ratelimit-policy", b'"joins";q=5;w=60'), (b"ratelimit", b'"joins";r=3;t=30')]
    assert headers(msgspec.structs.replace(allowed, allowed=False, remaining=0, reset_seconds=0)) == [
        (b"ratelimit-policy", b'"joins";q=5;w=60'),
        (b"ratelimit", b'"joins";r=0;t=0'),
        (b"retry-after", b"1"),
    ]


def test_in_front_of_an_app_only_requests_are_limited_and_every_answer_tells_the_policy() -> None:
    started = []

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        started.append(True)
        yield

    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text("here")
        await socket.close()

    routes = [Route("/", lambda _: PlainTextResponse("here")), WebSocketRoute("/socket", echo)]
    limiter = LocalLimiter(DrivenClock())
    app = RateLimited(
        Starlette(routes=routes, lifespan=lifespan),
        limiter=limiter,
        policy=Policy("all", 2, 60),
        whose=lambda scope: str(scope["client"][0]),
    )

    with TestClient(app) as client:
        with client.websocket_connect("/socket") as socket:
            assert socket.receive_text() == "here"
        answers = [client.get(path) for path in ("/", "/nowhere", "/")]

    assert started
    assert [answer.status_code for answer in answers] == [200, 404, 429]
    assert [answer.headers["ratelimit"] for answer in answers] == ['"all";r=1;t=60', '"all";r=0;t=60', '"all";r=0;t=60']
    assert [answer.headers.get("retry-after") for answer in answers] == [None, None, "60"]
