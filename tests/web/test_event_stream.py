"""The live stream over HTTP: what it begins with, how it goes on, and how it ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
from starlette.types import Message

from dawr.domain.ticket import Ticket
from dawr.domain.token import TokenId
from dawr.domain.venue import VenueId
from dawr.live.frames import mark
from dawr.live.joining import Wish
from dawr.live.watcher import MOST_BYTES, Watcher
from dawr.operations.admin import ChangeQueue
from dawr.operations.tokens import RevokeToken
from dawr.settings import Settings
from dawr.web.api.events import NOTICES, Changes
from dawr.web.event_stream import Stream
from dawr.web.links import new_link
from tests.builders import call_next, issue
from tests.live.watching import versions
from tests.running import Client, DawrServer, eventually
from tests.web.streams import Installation, Reader, installed


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Installation]:
    async with installed(a_settings(tmp_path)) as installation:
        yield installation


def a_settings(directory: Path, *, stream_seconds: int = 300, most_streams_per_address: int = 500) -> Settings:
    return Settings(
        data=str(directory / "data"),
        log_level="error",
        rate_limits="off",
        traffic="off",
        stream_seconds=stream_seconds,
        most_streams_per_address=most_streams_per_address,
    )


async def test_it_says_that_it_is_a_stream_and_not_to_be_kept(here: Installation) -> None:
    stream = await here.open("/v1/events?queue=clinic:lab")

    assert stream.status == 200
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert stream.headers["cache-control"] == "no-store"
    assert stream.headers["x-accel-buffering"] == "no"
    assert "content-security-policy" in stream.headers
    assert "x-correlation-id" in stream.headers
    assert 1000 <= int((await stream.next()).retry) <= 5000


@pytest.mark.parametrize(
    ("watched", "resource"), [("queue=clinic:LAB", "/v1/queues/clinic:lab"), ("venue=clinic", "/v1/venues/clinic")]
)
async def test_it_begins_with_what_the_resource_itself_says(here: Installation, watched: str, resource: str) -> None:
    await here.do(issue("lab"), issue("lab"), call_next("lab"))

    snapshot = await (await here.open(f"/v1/events?{watched}")).event()

    assert snapshot.event == "snapshot"
    assert snapshot.id.endswith(".3")
    assert snapshot.data == json.loads(await (await here.open(resource)).everything())


async def test_every_change_is_pushed_with_its_kind_and_how_the_line_stands(here: Installation) -> None:
    stream = await here.open("/v1/events?queue=clinic:lab")
    await stream.event()

    await here.do(issue("lab"), call_next(None, desk="desk-1"), ChangeQueue("lab", "pause"))

    issued, called, paused = [await stream.event() for _ in range(3)]
    assert (issued.event, issued.data["label"], issued.data["line"]) == ("ticket.issued", "A001", {"waiting": 1})
    assert called.data | {"at": 0, "day": ""} == {
        "kind": "ticket.called",
        "at": 0,
        "queue": "clinic:lab",
        "number": 1,
        "label": "A001",
        "state": "called",
        "before": "waiting",
        "desk": "clinic:desk-1",
        "day": "",
        "round": 1,
        "line": {"called": 1, "current": 1},
    }
    assert (paused.event, paused.data["state"]) == ("queue.paused", "paused")


async def test_the_holder_of_a_link_follows_their_ticket(here: Installation) -> None:
    link = new_link(here.dawr.ids, here.venue_id)
    ticket = await take_with_link(here, link.visit_id, link.secret_hash)
    token = link.path.removeprefix("/t/")
    stream = await here.open(f"/v1/events?ticket={token}")
    snapshot = await stream.event()

    await here.do(call_next(None, desk="desk-1"))

    called = await stream.event()
    assert (snapshot.event, snapshot.data["position"]) == ("snapshot", 1)
    assert (called.event, called.data["state"], called.data["desk"]) == ("update", "called", "clinic:desk-1")
    visit = json.loads(await (await here.open(f"/v1/visits/{token}")).everything())
    assert called.data == visit["tickets"][0]
    assert ticket.label == called.data["label"]


@pytest.mark.parametrize("how", ["header", "query", "both"])
async def test_it_resumes_after_the_last_id_by_header_or_query(here: Installation, how: str) -> None:
    stream = await here.open("/v1/events?venue=clinic")
    await here.do(issue("lab"))
    left_at = (await stream.until("ticket.issued"))[-1].id
    await stream.close()
    await here.do(issue("xray"), issue("lab"))

    path = "/v1/events?venue=clinic" + {"query": f"&last_event_id={left_at}", "both": "&last_event_id=1.1"}.get(how, "")
    again = await here.open(path, {} if how == "query" else {"Last-Event-ID": left_at})

    assert (await again.next()).retry
    assert (await again.next()).id == left_at
    missed = [await again.event(), await again.event()]
    assert [one.data["queue"] for one in missed] == ["clinic:xray", "clinic:lab"]
    assert versions(missed) == [2, 3]


@pytest.mark.parametrize("given", ["1.1", "nonsense", "9.9.9", "%00", "-1.-1", ""])
async def test_an_id_that_says_nothing_leads_to_a_reset_with_a_snapshot(here: Installation, given: str) -> None:
    await here.do(issue("lab"))

    first = await (await here.open(f"/v1/events?queue=clinic:lab&last_event_id={given}")).event()

    assert (first.event, first.data["waiting"]) == ("reset", 1)
    assert first.id.endswith(".1")


async def test_a_ticket_that_cannot_be_resumed_begins_again(here: Installation) -> None:
    link = new_link(here.dawr.ids, here.venue_id)
    await take_with_link(here, link.visit_id, link.secret_hash)

    stream = await here.open(f"/v1/events?ticket={link.path.removeprefix('/t/')}", {"Last-Event-ID": "1.1"})

    assert (await stream.event()).event == "snapshot"


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 422, "invalid-query"),
        ("queue=clinic:lab&venue=clinic", 422, "invalid-query"),
        ("queue=clinic:lab&colour=red", 422, "invalid-query"),
        ("queue=clinic:nothing", 404, "unknown-queue"),
        ("queue=clinic", 404, "unknown-queue"),
        ("queue=nowhere:lab", 404, "unknown-venue"),
        ("venue=nowhere", 404, "unknown-venue"),
        ("venue=clinic:lab", 404, "unknown-venue"),
        ("ticket=nothing", 404, "unknown-visit"),
        ("ticket=no-such.secret", 404, "unknown-visit"),
    ],
)
async def test_what_cannot_be_watched_is_refused_before_a_stream_begins(
    here: Installation, query: str, status: int, code: str
) -> None:
    answer = await here.open(f"/v1/events?{query}")

    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(await answer.everything())["code"] == code


async def test_a_link_with_a_wrong_secret_shows_nothing(here: Installation) -> None:
    link = new_link(here.dawr.ids, here.venue_id)
    await take_with_link(here, link.visit_id, link.secret_hash)

    answer = await here.open(f"/v1/events?ticket={link.visit_id}.wrong")

    assert answer.status == 404


async def test_a_head_request_ends(here: Installation) -> None:
    answer = await here.open("/v1/events?venue=clinic", method="HEAD")

    assert answer.status == 200
    assert here.dawr.hub.streams == 0


async def test_staff_see_more_until_their_token_is_revoked(here: Installation) -> None:
    token_id, bearer = await a_token(here)
    as_staff = await here.open("/v1/events?venue=clinic", bearer)
    as_anybody = await here.open("/v1/events?venue=clinic")
    await as_staff.event()
    await as_anybody.event()

    await here.do(issue("lab"))
    assert "ticket" in (await as_staff.event()).data
    assert "ticket" not in (await as_anybody.event()).data
    await here.do(RevokeToken(token_id, by=None))

    assert [one.data for one in await as_staff.rest() if one.event] == []
    assert (await here.open("/v1/events?venue=clinic", bearer)).status == 401
    await here.do(issue("lab"))
    assert (await as_anybody.event()).event == "ticket.issued"


async def test_whose_token_is_revoked_while_they_join_is_not_left_watching(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    token_id, bearer = await a_token(here)
    join = here.dawr.hub.join

    async def join_late(venue_id: VenueId, wish: Wish, *, address: str) -> Watcher:
        await here.do(RevokeToken(token_id, by=None))
        return await join(venue_id, wish, address=address)

    monkeypatch.setattr(here.dawr.hub, "join", join_late)

    refused = await here.open("/v1/events?venue=clinic", bearer)

    assert refused.status == 401
    assert here.dawr.hub.streams == 0


async def test_a_stream_whose_life_is_over_says_when_to_come_again(tmp_path: Path) -> None:
    async with installed(a_settings(tmp_path, stream_seconds=0)) as here:
        sent = await (await here.open("/v1/events?venue=clinic")).rest()

        assert [bool(one.retry) for one in sent] == [True, False, True]


async def test_a_reader_who_goes_away_leaves_nothing_behind(here: Installation) -> None:
    loop = asyncio.get_running_loop()
    before = await tasks_of_a_server_at_rest()
    streams = [await here.open("/v1/events?venue=clinic") for _ in range(20)]
    assert here.dawr.hub.streams == 20

    for stream in streams:
        await stream.close()

    await eventually_true(lambda: here.dawr.hub.streams == 0 and len(asyncio.all_tasks(loop)) <= before)
    assert here.dawr.hub.feeds == 0


async def test_a_frozen_reader_is_cut_off_and_delays_nobody(here: Installation) -> None:
    frozen = await here.open("/v1/events?venue=clinic", small=True)
    reading = await here.open("/v1/events?venue=clinic")
    await reading.event()

    seen = 0
    while here.dawr.hub.streams == 2:
        await asyncio.gather(*(here.do(issue("lab")) for _ in range(200)))
        seen += len([await reading.event() for _ in range(200)])

    assert seen < 20_000
    assert here.dawr.hub.streams == 1
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await frozen.rest()


async def test_on_a_server_that_cannot_break_connections_a_frozen_reader_ends_with_its_task(here: Installation) -> None:
    """Another ASGI server, whose `send` waits for a reader that has stopped."""
    wish = Wish(mark, NOTICES, Changes("clinic", None, is_staffs=False))
    watcher = await here.dawr.hub.join(here.venue_id, wish, address="here")
    blocked, never = asyncio.Event(), asyncio.Event()
    loop, before = asyncio.get_running_loop(), await tasks_of_a_server_at_rest()

    async def receive() -> Message:
        await never.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            blocked.set()
            await never.wait()

    sending = asyncio.create_task(Stream(watcher).send_to({"type": "http", "method": "GET"}, receive, send))
    await blocked.wait()
    watcher.push(b"x" * MOST_BYTES * 2)

    with pytest.raises(asyncio.CancelledError):
        await sending
    assert here.dawr.hub.streams == 0
    await eventually_true(lambda: len(asyncio.all_tasks(loop)) <= before)


async def test_one_address_cannot_open_streams_without_end(tmp_path: Path) -> None:
    async with installed(a_settings(tmp_path, most_streams_per_address=2)) as here:
        streams = [await here.open("/v1/events?venue=clinic") for _ in range(2)]

        refused = await here.open("/v1/events?venue=clinic")
        await streams[0].close()
        await eventually_true(lambda: here.dawr.hub.streams == 1)
        again = await here.open("/v1/events?venue=clinic")

        assert refused.status == 429
        assert json.loads(await refused.everything())["code"] == "too-many-streams"
        assert "retry-after" in refused.headers
        assert again.status == 200


async def test_when_it_stops_every_stream_ends_and_none_begins(here: Installation) -> None:
    streams = [await here.open("/v1/events?venue=clinic") for _ in range(5)]
    for stream in streams:
        await stream.event()

    here.dawr.hub.close()

    for stream in streams:
        assert (await stream.rest())[-1].retry
    refused = await here.open("/v1/events?venue=clinic")
    assert (refused.status, json.loads(await refused.everything())["code"]) == (503, "stopping")


async def test_it_stops_within_three_seconds_with_streams_open_read_or_not(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data", DAWR_RATE_LIMITS="off") as demo:
        streams = [await Reader.open(demo.url, "/v1/events?venue=clinic") for _ in range(20)]
        frozen = [await Reader.open(demo.url, "/v1/events?venue=clinic", small=True) for _ in range(5)]
        with Client(demo.url) as client:
            for turn in range(300):
                assert client.enter("lab", f"visitor {turn}").status == 200
        loop = asyncio.get_running_loop()
        began = loop.time()

        code = await asyncio.to_thread(demo.stop)

        assert code == 0
        assert loop.time() - began < 3.0
        for stream in streams:
            sent = await stream.rest()
            assert len([one for one in sent if one.event == "ticket.issued"]) == 300
            assert sent[-1].retry
        for stream in streams + frozen:
            await stream.close()
    assert "Traceback" not in demo.log.read_text()


async def take_with_link(here: Installation, visit_id: str, secret_hash: str) -> Ticket:
    given = msgspec.structs.replace(issue("lab"), visit_id=visit_id, secret_hash=secret_hash)
    return (await here.dawr.engine.do(here.venue_id, given)).ticket


async def a_token(here: Installation) -> tuple[TokenId, dict[str, str]]:
    """A viewer's, and the header that shows it."""
    making, bearer = here.dawr.accounts.new_token(
        here.venue_id, "api", "viewer", "a wall display", made_by="", account_id=None
    )
    made = await here.dawr.engine.do(here.venue_id, making)
    return made.token.token_id, {"Authorization": f"Bearer {bearer}"}


async def tasks_of_a_server_at_rest() -> int:
    """Once all four leases are taken, each of which begins a task then: clockwork, purge, alarms and waiting."""
    loop = asyncio.get_running_loop()
    await eventually_true(lambda: sum("keep_renewed" in repr(task) for task in asyncio.all_tasks(loop)) == 4)
    return len(asyncio.all_tasks())


async def eventually_true(holds: Callable[[], bool]) -> None:
    await asyncio.to_thread(eventually, holds)
