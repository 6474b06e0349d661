"""A stream whose connection breaks is over at once: nothing runs on, one access line, no word of a fault."""

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
import structlog
from starlette.types import Message, Scope

from dawr import bootstrap
from dawr.bootstrap.installation import Dawr
from dawr.domain.venue import Venue
from dawr.live.frames import frame
from dawr.stores.sqlite import SqliteStore
from dawr.web.server.protocol import MOST_BEHIND, UNREAD_SECONDS, HttpProtocol
from tests.builders import DrivenClock, a_queue, a_venue, issue
from tests.serving import installed, quiet
from tests.stores.doing import create_venue
from tests.web.serving import Served, Wire, serving

STREAM = b"GET /v1/events?venue=clinic HTTP/1.1\r\nHost: x\r\n\r\n"
LOOK = b"GET /v1/venues/clinic HTTP/1.1\r\nHost: x\r\n\r\n"
BEGUN_POST = b"POST /v1/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
RESET = struct.pack("ii", 1, 0)
"""So that closing sends RST instead of FIN."""


class Place(msgspec.Struct, frozen=True):
    dawr: Dawr
    venue: Venue
    served: Served

    @property
    def tasks(self) -> int:
        return len(self.served.server.server_state.tasks)

    @property
    def connection(self) -> HttpProtocol:
        (connection,) = self.served.server.server_state.connections
        return cast("HttpProtocol", connection)

    def routes(self) -> list[tuple[str, int]]:
        return [(line["route"], line["status"]) for line in self.served.lines()]

    def is_empty(self) -> bool:
        return (self.tasks, self.dawr.hub.streams, self.dawr.hub.feeds, self.served.connections()) == (0, 0, 0, 0)


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Uvloop is the loop that serves; asyncio's own is what it stands for."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@pytest.fixture
async def place(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Place]:
    """Nothing beats here: a stream that does not hear of its end goes on for good."""
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.db", clock=clock)
    await store.migrate()
    venue = await create_venue(store, msgspec.structs.replace(a_venue(a_queue("lab")), slug="clinic"))
    caplog.set_level(logging.WARNING)
    async with (
        no_word_of_a_fault(caplog),
        installed(store, clock, quiet()) as dawr,
        serving(lambda log: bootstrap.web_app(dawr, log), stopping=dawr.hub.close) as served,
    ):
        yield Place(dawr, venue, served)
    await store.close()


@asynccontextmanager
async def no_word_of_a_fault(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    with structlog.testing.capture_logs() as said:
        yield
    assert said == []
    assert [record.getMessage() for record in caplog.records] == []


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server, which tells nobody
            await asyncio.sleep(0.005)


def break_off(wire: Wire, how: str) -> None:
    connection: socket.socket = wire._writer.get_extra_info("socket")
    if how == "reset":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    wire._writer.close()


@pytest.mark.parametrize("how", ["closed", "reset"])
@pytest.mark.parametrize("behind", [LOOK, LOOK * 3, LOOK * (MOST_BEHIND - 1) + LOOK[:20], LOOK + BEGUN_POST])
@pytest.mark.parametrize("sent", ["in one piece", "later"])
async def test_a_client_that_goes_is_noticed_also_with_requests_behind_its_stream(
    place: Place, sent: str, behind: bytes, how: str
) -> None:
    wire = await Wire.to(place.served)
    if sent == "in one piece":
        await wire.say(STREAM + behind)
    else:
        await wire.say(STREAM)
        await until(lambda: place.dawr.hub.streams == 1)
        await wire.say(behind)
    await until(lambda: place.dawr.hub.streams == 1 and len(place.connection.pipeline) == behind.count(b"\r\n\r\n"))
    connection = place.connection
    assert place.tasks == 1

    break_off(wire, how)

    await until(place.is_empty)
    assert not connection.pipeline
    assert place.routes() == [("/v1/events", 200)]


async def test_what_waits_behind_a_stream_is_answered_when_the_stream_ends(place: Place) -> None:
    async with await Wire.to(place.served) as wire:
        await wire.say(STREAM + LOOK + LOOK)
        await until(lambda: place.dawr.hub.streams == 1 and len(place.connection.pipeline) == 2)

        place.dawr.hub.close()

        await until(lambda: len(place.routes()) == 3)
        assert place.routes() == [("/v1/events", 200), ("/v1/venues/{venue}", 200), ("/v1/venues/{venue}", 200)]


async def test_who_sends_ever_more_behind_a_stream_is_not_listened_to_for_ever(place: Place) -> None:
    async with await Wire.to(place.served) as wire:
        await wire.say(STREAM)
        await until(lambda: place.dawr.hub.streams == 1)

        for sent in range(1, MOST_BEHIND + 1):
            await wire.say(LOOK)
            await until(lambda sent=sent: len(place.connection.pipeline) == sent)  # type: ignore[misc]
            assert not place.connection.flow.read_paused

        await wire.say(LOOK)
        await until(lambda: place.connection.flow.read_paused)
        assert len(place.connection.pipeline) == MOST_BEHIND


async def test_whoever_reads_no_stream_is_not_judged_by_the_rule_for_answers(place: Place) -> None:
    wire = await Wire.to(place.served)
    wire._writer.transport.pause_reading()  # type: ignore[attr-defined] # it can
    await wire.say(STREAM)
    await until(lambda: place.dawr.hub.streams == 1 and place.connection.cycle.response_started)
    (feed,) = place.dawr.hub._feeds.values()
    (watcher,) = feed.watchers

    async with asyncio.timeout(60):
        while not place.connection.flow.write_paused:
            watcher.push(frame("much", b"x" * 20_000))
            await asyncio.sleep(0.005)
    place.served.pass_seconds(UNREAD_SECONDS + 1)

    assert not place.connection.transport.is_closing()
    break_off(wire, "reset")
    await until(place.is_empty)


async def test_a_connection_that_breaks_while_a_change_is_sent_ends_the_stream_quietly(place: Place) -> None:
    """The change wakes the sender before it can hear that the connection is gone."""
    async with await Wire.to(place.served) as wire:
        await wire.say(STREAM)
        await until(lambda: place.dawr.hub.streams == 1 and place.connection.cycle.response_started)
        (feed,) = place.dawr.hub._feeds.values()
        (watcher,) = feed.watchers

        watcher.push(frame("late", b"{}"))
        place.connection.transport.abort()

        await until(place.is_empty)
        assert place.routes() == [("/v1/events", 200)]


@pytest.mark.parametrize(
    ("path", "query", "route"),
    [("/v1/venues/clinic", b"", "/v1/venues/{venue}"), ("/v1/events", b"venue=clinic", "/v1/events")],
)
@pytest.mark.parametrize("fault", [OSError("gone"), RuntimeError("a fault of ours"), asyncio.CancelledError()])
async def test_a_request_has_its_line_whatever_happens_while_it_is_answered(
    place: Place, path: str, query: bytes, route: str, fault: BaseException
) -> None:
    """On any server: one that knows that nobody listens says so with an `OSError`."""
    asked = {"scheme": "http", "method": "GET", "path": path, "query_string": query}
    scope: Scope = {"type": "http", **asked, "headers": [(b"host", b"x")], "client": ("127.0.0.1", 1)}
    never = asyncio.Event()

    async def receive() -> Message:
        await never.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise fault

    if isinstance(fault, OSError) and route == "/v1/events":
        await place.served.app(scope, receive, send)
    else:
        with pytest.raises(type(fault)):
            await place.served.app(scope, receive, send)

    assert place.routes() == [(route, 200)]
    assert place.dawr.hub.streams == 0


async def test_a_reader_who_stopped_reading_is_cut_off_with_one_line(place: Place) -> None:
    async with await Wire.to(place.served) as wire:
        await wire.say(STREAM + LOOK)
        await until(lambda: place.dawr.hub.streams == 1)
        (feed,) = place.dawr.hub._feeds.values()
        (watcher,) = feed.watchers
        place.connection.transport.write(b"x" * 50_000_000)
        await place.dawr.engine.do(place.venue.id, issue("lab"))
        await until(lambda: watcher.sending_since is not None)

        watcher.break_off()

        await until(place.is_empty)
        assert place.routes() == [("/v1/events", 200)]
