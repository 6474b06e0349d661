"""Requests that are sent before those ahead are answered: a handful wait, and whoever reads no answer is dropped."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from dawr import bootstrap
from dawr.stores.sqlite import SqliteStore
from dawr.web.server.answering import LARGEST_PIECE
from dawr.web.server.protocol import MIN_BODY_PIECE_BYTES, MOST_BEHIND, UNREAD_SECONDS, WRITE_BUFFER, HttpProtocol
from dawr.web.server.shared import BEHIND_PER_TICK
from tests.builders import DrivenClock
from tests.serving import installed, quiet
from tests.web.serving import CHUNKED, GET, POST, Echo, Served, Slow, Wire, serving, until

MORE_THAN_A_BUFFER = 4_000
LARGE_DOCUMENT = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE_PAGE = b"GET /docs HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """Uvloop is the loop that serves; asyncio's own is what it stands for."""
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


def connection_of(served: Served) -> HttpProtocol:
    (connection,) = served.server.server_state.connections
    return cast("HttpProtocol", connection)


async def test_what_was_sent_at_once_is_answered_whole_and_in_order() -> None:
    sent = [b"%05d" % number for number in range(3 * BEHIND_PER_TICK)]
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(b"".join(POST + body for body in sent))

        assert [(await wire.hear())[2] for _ in sent] == sent
        assert served.statuses() == [200] * len(sent)


async def test_of_thousands_that_are_sent_at_once_a_handful_wait_and_the_rest_is_not_even_read() -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire:
        app = cast("Slow", served.app)
        wire._writer.write(GET * MORE_THAN_A_BUFFER)
        await app.asked.wait()
        connection = connection_of(served)
        await until(lambda: connection.flow.read_paused)

        assert len(connection.pipeline) == MOST_BEHIND
        assert 0 < len(connection._unparsed) < len(GET) * MORE_THAN_A_BUFFER // 2

        app.go.set()
        for _ in range(MORE_THAN_A_BUFFER):
            served.server._shared.tick()
            await wire.hear()
            assert len(connection.pipeline) <= MOST_BEHIND
        await until(lambda: not connection.flow.read_paused)
        assert (len(connection.pipeline), connection._unparsed) == (0, b"")


async def test_who_waits_for_each_answer_comes_before_those_who_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(Echo) as served, await Wire.to(served) as hasty, await Wire.to(served) as patient:
        pass_tick = served.server._shared.tick
        monkeypatch.setattr(served.server._shared, "tick", lambda: None)
        pass_tick()
        await hasty.say(GET * (3 * BEHIND_PER_TICK))
        for _ in range(1 + BEHIND_PER_TICK):
            await hasty.hear()

        await patient.say(POST + b"hello")

        assert (await patient.hear())[2] == b"hello"
        assert len(served.statuses()) == 1 + BEHIND_PER_TICK + 1
        pass_tick()
        for _ in range(BEHIND_PER_TICK):
            await hasty.hear()


async def test_a_server_that_stops_begins_nothing_of_what_still_waits() -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire:
        app = cast("Slow", served.app)
        await wire.say(GET * MORE_THAN_A_BUFFER)
        await app.asked.wait()
        await until(lambda: len(connection_of(served).pipeline) == MOST_BEHIND)

        connection_of(served).shutdown()
        app.go.set()

        assert (await wire.hear())[1][b"connection"] == b"close"
        await until(lambda: served.connections() == 0)
        assert served.statuses() == [200]


@pytest.fixture
async def pages(tmp_path: Path) -> AsyncIterator[Served]:
    clock = DrivenClock()
    store = SqliteStore(tmp_path / "dawr.db", clock=clock)
    await store.migrate()
    async with (
        installed(store, clock, quiet()) as dawr,
        serving(lambda log: bootstrap.web_app(dawr, log), stopping=dawr.hub.close) as served,
    ):
        yield served
    await store.close()


async def test_who_asks_and_never_reads_is_dropped(pages: Served) -> None:
    pages.pass_seconds(2 * UNREAD_SECONDS)
    wire = await Wire.to(pages)
    wire._writer.transport.pause_reading()  # type: ignore[attr-defined] # it can
    wire._writer.write(LARGE_PAGE * 500)
    await until(lambda: pages.connections() == 1)
    connection = connection_of(pages)
    await until(lambda: tick(pages) and connection.flow.write_paused and connection.pipeline != ())

    pages.pass_seconds(UNREAD_SECONDS // 2)
    assert not connection.transport.is_closing()
    pages.pass_seconds(UNREAD_SECONDS // 2 + 1)

    await until(lambda: (pages.connections(), len(pages.server.server_state.tasks)) == (0, 0))
    wire._writer.close()


async def test_of_a_large_answer_that_is_not_read_little_lies_here(pages: Served) -> None:
    wire = await Wire.to(pages)
    wire._writer.transport.pause_reading()  # type: ignore[attr-defined] # it can
    wire._writer.write(LARGE_DOCUMENT)
    await until(lambda: pages.connections() == 1)
    connection = connection_of(pages)
    await until(lambda: connection.flow.write_paused)

    assert connection.transport.get_write_buffer_size() <= WRITE_BUFFER + LARGEST_PIECE
    pages.pass_seconds(UNREAD_SECONDS + 1)

    await until(lambda: (pages.connections(), len(pages.server.server_state.tasks)) == (0, 0))
    wire._writer.close()


async def test_a_large_answer_comes_whole_also_to_whoever_begins_to_read_late(pages: Served) -> None:
    async with await Wire.to(pages) as wire:
        wire._writer.transport.pause_reading()  # type: ignore[attr-defined] # it can
        wire._writer.write(LARGE_DOCUMENT * 2)
        await until(lambda: pages.connections() == 1)
        await until(lambda: connection_of(pages).flow.write_paused)

        wire._writer.transport.resume_reading()  # type: ignore[attr-defined]
        first, second = [(await wire.hear())[2] for _ in range(2)]

        assert first == second
        assert json.loads(first)["openapi"].startswith("3.1")


async def test_a_connection_that_is_gone_takes_nobodys_turn_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(Echo) as served, await Wire.to(served) as patient:
        shared = served.server._shared
        pass_tick = shared.tick
        monkeypatch.setattr(shared, "tick", lambda: None)
        monkeypatch.setattr(shared, "_turns_left", 0)
        for _ in range(3 * BEHIND_PER_TICK):
            async with await Wire.to(served) as hasty:
                await hasty.say(GET * 3)
                await hasty.hear()
        await patient.say(GET * 3)
        await patient.hear()
        await until(lambda: served.connections() == 1)

        assert len(shared._behind) == 1
        pass_tick()
        assert (await patient.hear())[0] == b"HTTP/1.1 200 OK"


async def test_who_reads_slowly_is_waited_for(pages: Served) -> None:
    async with await Wire.to(pages) as wire:
        await wire.say(LARGE_PAGE * 100)
        await until(lambda: pages.connections() == 1)
        connection = connection_of(pages)

        for _ in range(100):
            tick(pages)
            assert (await wire.hear())[0] == b"HTTP/1.1 200 OK"
            pages.pass_seconds(1)

        assert not connection.transport.is_closing()


async def test_whoever_is_refused_while_they_still_send_hears_why(pages: Served) -> None:
    head = b"POST /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 600000\r\n\r\n"
    for _ in range(20):
        async with await Wire.to(pages) as wire:
            wire._writer.write(head + b"x" * 600_000)

            assert (await wire.hear())[0] == b"HTTP/1.1 404 Not Found"
            assert await wire.rest() == b""


def tick(served: Served) -> bool:
    served.server._shared.tick()
    return True


@pytest.mark.parametrize("unit", [b"\r\n\r\n", b"0\r\n\r\n"])
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_full_of_ends_of_heads_is_parsed_in_large_pieces(
    monkeypatch: pytest.MonkeyPatch, *, unit: bytes, chunked: bool
) -> None:
    pieces: list[int] = []
    parse = HttpProtocol._parse

    def count_and_parse(self: HttpProtocol, data: bytes) -> None:
        pieces.append(len(data))
        parse(self, data)

    monkeypatch.setattr(HttpProtocol, "_parse", count_and_parse)
    body = unit * (1024 * 1024 // len(unit))
    async with serving(Echo) as served, await Wire.to(served) as wire:
        if chunked:
            await wire.say(CHUNKED + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
        else:
            await wire.say(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await wire.say(GET)

        assert (await wire.hear())[2] == body
        assert (await wire.hear())[2] == b"nothing"
        assert served.statuses() == [200, 200]
    # Each read ends in a piece that may be short, and the smallest read is a system's matter.
    assert sum(size >= MIN_BODY_PIECE_BYTES for size in pieces) > len(pieces) / 2
    assert len(pieces) < len(body) / MIN_BODY_PIECE_BYTES * 2


async def test_a_piece_of_a_body_brings_few_of_the_requests_behind_it() -> None:
    async with serving(Slow) as served, await Wire.to(served) as wire:
        app = cast("Slow", served.app)
        await wire.say(POST + b"h")
        await app.asked.wait()

        wire._writer.write(b"ello" + GET * 400)
        await until(lambda: connection_of(served).flow.read_paused)

        assert MOST_BEHIND <= len(connection_of(served).pipeline) <= 18
        app.go.set()
        assert (await wire.hear())[2] == b"hello"


async def test_empty_lines_before_a_request_are_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[bytes] = []
    parse = HttpProtocol._parse

    def count_and_parse(self: HttpProtocol, data: bytes) -> None:
        pieces.append(data)
        parse(self, data)

    monkeypatch.setattr(HttpProtocol, "_parse", count_and_parse)
    async with serving(Echo) as served, await Wire.to(served) as wire:
        await wire.say(b"\r\n\r\n" * 2000 + GET + b"\r\n" * 3000 + GET)

        assert (await wire.hear())[2] == (await wire.hear())[2] == b"nothing"
        assert len(pieces) < 100


async def test_many_requests_are_answered_in_order_wherever_the_reads_are_cut() -> None:
    """A read may end within a head, or between the four bytes that end one."""
    sent = POST + b"hello" + GET * 3 + POST + b"\r\n\r\n" + b"x" + GET * 4
    async with serving(Echo) as served:
        for cut in range(len(POST) + 5, len(POST) + 5 + len(GET)):
            async with await Wire.to(served) as wire:
                await wire.say(sent[:cut])
                assert (await wire.hear())[2] == b"hello"
                await wire.say(sent[cut:])

                heard = [(await wire.hear())[2] for _ in range(8)]
                assert heard == [b"nothing"] * 3 + [b"\r\n\r\nx"] + [b"nothing"] * 4
