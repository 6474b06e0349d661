"""Any ASGI app: each of its requests is counted once, when its answer ends, and none is delayed."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from dawr.reliability.asgi import ASGIApp, Message, Receive, Scope, Send
from dawr.traffic.collector import Collector
from dawr.traffic.event import Event, decoded
from dawr.traffic.keys import KEY_BYTES, VisitorKeys
from dawr.traffic.middleware import TrafficMiddleware
from dawr.traffic.spool import Spool
from dawr.traffic.spool_file import counters_beside
from dawr.traffic.spool_reader import Piece, SpoolReader, read_counters, spools_in
from tests.traffic.builders import NOON

pytestmark = pytest.mark.anyio

START = {"type": "http.response.start", "status": 200, "headers": []}
LAST = {"type": "http.response.body", "body": b"done"}


class Watched:
    """A collector, and what it wrote down so far."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        numbers = iter(range(10_000))
        self.spool = Spool(directory, lambda: f"spool-{next(numbers)}")
        keys = VisitorKeys(directory.parent / "key", lambda: bytes(KEY_BYTES))
        self.collector = Collector(self.spool, keys, clock=lambda: NOON, new_id=lambda: f"request-{next(numbers)}")

    @property
    def events(self) -> list[Event]:
        return [decoded(body) for piece in self._pieces() for body in piece.bodies]

    @property
    def answers(self) -> int:
        return sum(counted.answers for counted in read_counters(counters_beside(self._directory)))

    def _pieces(self) -> Iterator[Piece]:
        for path in spools_in(self._directory):
            reader = SpoolReader(path)
            yield reader.read(0, 0)
            reader.close()


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    watched = Watched(tmp_path / "spool")
    yield watched
    watched.spool.close()


async def test_a_request_is_counted_once_with_what_was_asked_and_answered(watched: Watched) -> None:
    app = TrafficMiddleware(answering({**START, "status": 404}, LAST), watched.collector)

    await ask(app, "/things/7", method="DELETE", headers=[(b"user-agent", b"curl/8.0"), (b"x-correlation-id", b"abc")])

    [event] = watched.events
    assert (event.method, event.status, event.outcome, event.user_agent) == ("DELETE", 404, "refused", "curl")
    assert (event.correlation_id, event.request_id) == ("abc", "request-0")
    assert watched.answers == 1


async def test_it_is_written_down_before_the_last_bytes_leave(watched: Watched) -> None:
    app = TrafficMiddleware(answering(START, {**LAST, "more_body": True}, LAST), watched.collector)
    counted = []

    await ask(app, "/", sent=lambda _: counted.append(len(watched.events)))

    assert counted == [0, 0, 1]


async def test_a_stream_is_counted_once_at_its_end(watched: Watched) -> None:
    parts = [{**LAST, "more_body": True}] * 50
    app = TrafficMiddleware(answering(START, *parts, LAST), watched.collector)

    await ask(app, "/stream")

    assert len(watched.events) == 1


async def test_a_stream_that_the_client_leaves_is_counted_once_with_its_status(watched: Watched) -> None:
    async def endless(_: Scope, __: Receive, send: Send) -> None:
        await send(START)
        while True:
            await send({**LAST, "more_body": True})
            await asyncio.sleep(0)

    asking = asyncio.create_task(ask(TrafficMiddleware(endless, watched.collector), "/stream"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asking
    assert [event.status for event in watched.events] == [200]


async def test_an_app_that_fails_is_counted_as_an_error_and_its_failure_goes_on(watched: Watched) -> None:
    async def failing(_: Scope, __: Receive, ___: Send) -> None:
        raise LookupError("no such dish")

    with pytest.raises(LookupError):
        await ask(TrafficMiddleware(failing, watched.collector), "/")

    assert [(event.status, event.outcome) for event in watched.events] == [(500, "error")]


async def test_a_file_that_the_server_sends_itself_is_counted(watched: Watched) -> None:
    app = TrafficMiddleware(
        answering(START, {"type": "http.response.pathsend", "path": "/etc/hosts"}), watched.collector
    )

    await ask(app, "/")

    assert len(watched.events) == 1


@pytest.mark.parametrize("kind", ["websocket", "lifespan"])
async def test_what_is_no_request_passes_and_is_not_counted(watched: Watched, kind: str) -> None:
    seen = []

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        seen.append(scope["type"])

    await TrafficMiddleware(app, watched.collector)({"type": kind}, receive, drop)

    assert seen == [kind]
    assert not watched.events


async def test_a_path_that_led_nowhere_is_not_kept(watched: Watched) -> None:
    app = TrafficMiddleware(answering(START, LAST), watched.collector)

    await ask(app, "/somebody's/secret")

    assert [event.path for event in watched.events] == ["-"]


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        ("/tables/7/order", "/tables/{table}/order"),
        ("/files/a/b/c", "/files/{rest}"),
        ("/api/users/007", "/api/users/{user}"),
        ("/of/somebody/users/7", "/of/{tenant}/users/{user}"),
        ("/api/somebody", "/api/{path}"),
        ("/static/some/body.css", "/static/{path}"),
        ("/somebody", "-"),
    ],
)
async def test_a_route_of_starlette_is_counted_by_its_template_wherever_it_is_mounted(
    watched: Watched, path: str, counted: str, tmp_path: Path
) -> None:
    await ask(TrafficMiddleware(a_starlette(tmp_path), watched.collector), path)

    assert [event.path for event in watched.events] == [counted]


@pytest.mark.parametrize(
    ("path", "counted"),
    [
        ("/dishes/7", "/dishes/{dish}"),
        ("/sub/deep/7", "/sub/deep/{thing}"),
        ("/sub/somebody", "-"),
        ("/static/some/body.css", "-"),
        ("/somebody", "-"),
    ],
)
async def test_a_route_of_fastapi_is_counted_by_its_template_wherever_it_is_mounted(
    watched: Watched, path: str, counted: str, tmp_path: Path
) -> None:
    await ask(TrafficMiddleware(a_fastapi(tmp_path), watched.collector), path)

    assert [event.path for event in watched.events] == [counted]


async def test_an_app_may_name_its_paths_itself(watched: Watched) -> None:
    app = TrafficMiddleware(answering(START, LAST), watched.collector, template_of=lambda scope: scope["path"][:4])

    await ask(app, "/api/7")

    assert [event.path for event in watched.events] == ["/api"]


async def test_a_repeat_that_a_trusted_proxy_names_has_the_same_id(watched: Watched) -> None:
    app = TrafficMiddleware(answering(START, LAST), watched.collector, trusted_proxies="192.0.2.1")
    ray = [(b"cf-ray", b"one"), (b"cf-connecting-ip", b"198.51.100.7")]

    await ask(app, "/", headers=ray, peer="192.0.2.1")
    await ask(app, "/", headers=ray, peer="192.0.2.1")
    await ask(app, "/", headers=ray, peer="203.0.113.9")

    first, repeat, stranger = watched.events
    assert first.idempotent_id == repeat.idempotent_id
    assert stranger.hash != first.hash
    assert stranger.request_id != "one"


async def test_a_disk_that_takes_nothing_harms_no_request(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("a file")
    spool = Spool(tmp_path / "in the way" / "spool", lambda: "never")
    keys = VisitorKeys(tmp_path / "key", lambda: bytes(KEY_BYTES))
    collector = Collector(spool, keys, clock=lambda: NOON, new_id=lambda: "a request")

    sent = await ask(TrafficMiddleware(answering(START, LAST), collector), "/")

    assert sent == [START, LAST]
    assert spool.in_memory == 1


def a_starlette(files: Path) -> ASGIApp:
    async def found(_: Request) -> PlainTextResponse:
        return PlainTextResponse("found")

    users = [Route("/users/{user:int}", found)]
    return Starlette(
        routes=[
            Route("/tables/{table}/order", found),
            Route("/files/{rest:path}", found),
            Mount("/api", routes=users),
            Mount("/of/{tenant}", routes=users),
            Mount("/static", StaticFiles(directory=files)),
        ]
    )


def a_fastapi(files: Path) -> ASGIApp:
    sub, api = FastAPI(), FastAPI()
    sub.add_api_route("/deep/{thing}", lambda thing: thing)
    api.add_api_route("/dishes/{dish}", lambda dish: dish)
    api.mount("/sub", sub)
    api.mount("/static", StaticFiles(directory=files))
    return api


def answering(*messages: Message) -> ASGIApp:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return app


async def ask(
    app: ASGIApp,
    path: str,
    *,
    method: str = "GET",
    headers: Sequence[tuple[bytes, bytes]] = (),
    peer: str = "198.51.100.1",
    sent: Callable[[Message], object] = lambda _: None,
) -> list[Message]:
    """What was sent; `sent` hears of each message before it leaves."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        sent(message)
        messages.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": list(headers)}
    await app(scope | {"client": (peer, 50_000)}, receive, send)
    return messages


async def receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def drop(_: Message) -> None:
    pass


async def test_an_event_stream_is_counted_as_one(watched: Watched) -> None:
    start = {**START, "headers": [(b"Content-Type", b"text/event-stream; charset=utf-8")]}
    app = TrafficMiddleware(answering(start, LAST), watched.collector)

    await ask(app, "/events")
    await ask(TrafficMiddleware(answering(START, LAST), watched.collector), "/things")

    assert [event.is_stream for event in watched.events] == [True, False]
