"""What is in the log: a line for everything that happened, at the level and in the form that were asked for."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from dawr import bootstrap
from dawr.bootstrap.installation import Dawr
from dawr.domain.queue import Queue
from dawr.domain.venue import Venue, VenueId
from dawr.observe import logs
from dawr.observe.access_log import AccessLog, NoAccessLog, NoLog
from dawr.observe.instruments import Instruments
from dawr.operations.admin import ChangeQueue
from dawr.settings import Settings
from dawr.web.app import App
from dawr.web.response import Response
from dawr.web.routes import Parts, Request, Route
from tests.builders import a_queue
from tests.running import Client, DawrServer, set_up, zone_where_it_is_noon
from tests.serving import quiet
from tests.web.serving import Echo, Wire, serving

AT_NOON = 1_790_000_000_123_456_789
ID = "a-request"


def lines_of(server: DawrServer) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]


def test_whatever_happens_in_a_queue_is_a_line_with_the_id_of_the_request_that_caused_it(tmp_path: Path) -> None:
    with (
        DawrServer(tmp_path, "demo", "--data", tmp_path / "data", "--password", "a long walk") as demo,
        Client(demo.url) as client,
    ):
        staff = client.post("/v1/login", {"username": "demo", "password": "a long walk"}).json["session"]
        client.post("/api/v1/queue/enter", {"clinic": "lab", "user": "Amna"}, x_correlation_id="joining")
        client.post("/v1/queues/clinic:lab/call-next", {}, bearer=staff, x_correlation_id="calling")
        client.post("/api/v1/queue/done", {"clinic": "lab", "user": "Amna"}, bearer=staff, x_correlation_id="ending")
        client.post("/v1/queues/clinic:xray/pause", {}, bearer=staff, x_correlation_id="pausing")
        for _ in range(2):
            client.post("/api/v1/queue/enter", {"clinic": "lab", "user": "B"}, key="k", x_correlation_id="again")

    lines = [line for line in lines_of(demo) if line.get("venue") == "clinic"]
    told = [{name: value for name, value in line.items() if name not in {"at", "version"}} for line in lines]
    ticket = {"level": "info", "venue": "clinic", "queue": "lab", "number": 1, "label": "A001"}
    assert told[:4] == [
        {"event": "queue.joined", "kind": "ticket.issued", "actor": "visitor", "correlation_id": "joining", **ticket},
        {"event": "queue.called", "kind": "ticket.called", "actor": "staff", "correlation_id": "calling", **ticket},
        {
            "event": "queue.status_changed",
            "kind": "ticket.finished",
            "actor": "staff",
            "correlation_id": "ending",
            **ticket,
        },
        {
            "event": "queue.status_changed",
            "level": "info",
            "kind": "queue.paused",
            "venue": "clinic",
            "queue": "xray",
            "actor": "staff",
            "correlation_id": "pausing",
        },
    ]
    versions = [line["version"] for line in lines]
    assert versions == list(range(versions[0], versions[0] + 5))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"]) for line in lines)
    replays = [line for line in lines_of(demo) if line["event"] == "idempotency.replayed"]
    assert [(line["route"], line["correlation_id"]) for line in replays] == [("/api/v1/queue/enter", "again")]


TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def test_every_line_of_a_traced_request_has_the_id_of_its_trace(tmp_path: Path) -> None:
    entering = {"clinic": "lab", "user": "Amna"}
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        for _ in range(2):
            client.post("/api/v1/queue/enter", entering, key="k", x_correlation_id="traced", traceparent=TRACEPARENT)
        client.post("/api/v1/queue/enter", {"clinic": "no"}, x_correlation_id="refused", traceparent=TRACEPARENT)
        client.post("/api/v1/queue/enter", {"clinic": "lab", "user": "B"}, x_correlation_id="untraced")
        for number, wrong in enumerate(NO_TRACEPARENTS):
            client.post("/api/v1/queue/enter", entering, x_correlation_id=f"wrong-{number}", traceparent=wrong)

    lines = [line for line in lines_of(demo) if "correlation_id" in line]
    traced = [line["event"] for line in lines if line.get("trace_id") == TRACE]
    assert traced == ["queue.joined", "request", "idempotency.replayed", "request", "request"]
    assert {line["correlation_id"] for line in lines if "trace_id" in line} == {"traced", "refused"}
    assert {"untraced", "wrong-0"} < {line["correlation_id"] for line in lines}


NO_TRACEPARENTS = (
    TRACEPARENT[:-1],
    TRACEPARENT.upper(),
    f"ff{TRACEPARENT[2:]}",
    f"00-{'0' * 32}-00f067aa0ba902b7-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"{TRACEPARENT}-extra",
)


async def test_the_line_of_a_request_that_the_server_refuses_before_the_app_has_the_id_of_its_trace() -> None:
    refused = (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nX-Correlation-Id: %s\r\nTraceparent: %s\r\n\r\n"
    )
    async with serving(Echo) as served:
        for correlation_id, parent in {"traced": TRACEPARENT, "wrong": NO_TRACEPARENTS[0]}.items():
            async with await Wire.to(served) as wire:
                await wire.say(refused % (correlation_id.encode(), parent.encode()))
                assert (await wire.hear())[0] == b"HTTP/1.1 501 Not Implemented"

        lines = [(line["status"], line["correlation_id"], line.get("trace_id")) for line in served.lines()]
        assert lines == [(501, "traced", TRACE), (501, "wrong", None)]


def test_every_change_of_a_set_up_is_a_line_too(tmp_path: Path) -> None:
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo:
        set_up("staff", "add", "amna", "--role", "staff", "--venue", "clinic", DAWR_DATA=tmp_path / "data")

    changed = [line for line in lines_of(demo) if line["event"] == "venue.changed"]
    assert [(line["kind"], line["actor"]) for line in changed] == [("staff.added", "command line")]


class Written:
    """An access log that is kept here."""

    def __init__(self, kind: type[AccessLog] = AccessLog) -> None:
        self.lines = bytearray()
        self.log = kind(self.lines.extend, lambda: AT_NOON)

    def events(self) -> list[dict[str, Any]]:
        self.log.flush()
        return [json.loads(line) for line in bytes(self.lines).splitlines()]


@asynccontextmanager
async def a_clinic(directory: Path, written: Written, queue: Queue | None = None) -> AsyncIterator[Dawr]:
    queues = (queue or a_queue("lab"),)
    venue = Venue(VenueId(""), "clinic", {"en": "A clinic"}, zone_where_it_is_noon(), queues=queues)
    async with bootstrap.running(quiet(data=str(directory)), Instruments(written.log)) as dawr:
        await dawr.set_up(venue)
        yield dawr


async def ask(
    dawr: Dawr,
    log: AccessLog,
    path: str,
    app: Any = None,  # noqa: ANN401 - any ASGI app
    when_sent: Callable[[], object] = lambda: None,
    *more_headers: tuple[bytes, bytes],
) -> int:
    sent: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"clinic":"lab","user":"Amna"}', "more_body": False}

    async def send(message: Any) -> None:  # noqa: ANN401 - a message has values of all kinds
        when_sent()
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), (b"x-correlation-id", ID.encode()), *more_headers],
        "client": ("127.0.0.1", 5),
    }
    await (app or bootstrap.web_app(dawr, log))(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize(("kind", "shown"), [(AccessLog, True), (NoAccessLog, True), (NoLog, False)])
async def test_what_we_cannot_do_is_an_error_at_the_level_of_warnings(
    tmp_path: Path, kind: type[AccessLog], *, shown: bool
) -> None:
    written = Written(kind)
    async with a_clinic(tmp_path, written) as dawr:
        await dawr.engine.stop()
        assert await ask(dawr, written.log, "/api/v1/queue/enter") == 503

    errors = [line for line in written.events() if line["event"] == "api.error"]
    expected = {
        "event": "api.error",
        "at": "2026-09-21T14:13:20.123Z",
        "level": "warning",
        "route": "/api/v1/queue/enter",
        "status": 503,
        "code": "stopping",
        "correlation_id": ID,
    }
    assert errors == ([expected] if shown else [])


async def test_an_error_of_a_traced_request_has_the_id_of_its_trace(tmp_path: Path) -> None:
    written = Written()
    async with a_clinic(tmp_path, written) as dawr:
        app = bootstrap.web_app(dawr, written.log)
        await dawr.engine.stop()
        traceparent = (b"traceparent", TRACEPARENT.encode())
        assert await ask(dawr, written.log, "/api/v1/queue/enter", app, lambda: None, traceparent) == 503

    errors = [line for line in written.events() if line["event"] == "api.error"]
    assert [line["trace_id"] for line in errors] == [TRACE]


async def test_what_a_caller_did_wrong_is_no_error_of_ours(tmp_path: Path) -> None:
    written = Written()
    async with a_clinic(tmp_path, written) as dawr:
        assert await ask(dawr, written.log, "/nowhere") == 404

    assert [line["event"] for line in written.events()] == ["request"]


async def test_what_the_rules_refuse_is_no_error_whatever_its_status(tmp_path: Path) -> None:
    written = Written()
    async with a_clinic(tmp_path, written, a_queue("lab", capacity=0)) as dawr:
        assert await ask(dawr, written.log, "/api/v1/queue/enter") == 503

    assert [line["event"] for line in written.events()][-1:] == ["request"]
    assert {line.get("level", "info") for line in written.events()} == {"info"}


async def test_whoever_has_an_answer_finds_it_counted(tmp_path: Path) -> None:
    counted_when_sent: list[list[int]] = []
    written = Written()
    async with a_clinic(tmp_path, written) as dawr:
        app = bootstrap.web_app(dawr, written.log)
        counted: list[int] = []
        written.log.count = lambda _method, _route, status, _took: counted.append(status)

        await ask(dawr, written.log, "/api/v1/queue/enter", app, lambda: counted_when_sent.append([*counted]))

    assert counted_when_sent == [[200], [200]]


async def broken(_: Parts, __: Request[None]) -> Response:
    raise ValueError("'Amna' of +97455123456 is not known")


async def test_a_fault_that_nobody_expected_is_an_error_with_where_it_was(tmp_path: Path) -> None:
    written = Written()
    route = Route(method="POST", path="/broken", name="broken", summary="", tag="", handler=broken, limit=None)
    async with a_clinic(tmp_path, written) as dawr:
        parts = dawr_edge(dawr, written.log)
        app = App([route], parts, written.log, dawr.instruments, new_id=lambda: "made")
        with structlog.testing.capture_logs() as captured:
            assert await ask(dawr, written.log, "/broken", app) == 500

    (line,) = captured
    assert {name: line[name] for name in ("event", "log_level", "route", "status", "code")} == {
        "event": "api.error",
        "log_level": "error",
        "route": "/broken",
        "status": 500,
        "code": "internal-error",
    }
    assert isinstance(line["exc_info"], ValueError)
    assert [entry["event"] for entry in written.events()] == ["request"]


def dawr_edge(dawr: Dawr, log: AccessLog) -> Parts:
    app: Any = bootstrap.web_app(dawr, log)
    parts: Parts = app._parts
    return parts


async def test_whoever_wants_warnings_only_is_not_told_of_what_happens(tmp_path: Path) -> None:
    written = Written(NoAccessLog)
    async with a_clinic(tmp_path, written) as dawr:
        venue_id = await dawr.engine.find_venue("clinic")
        await dawr.engine.do(venue_id, ChangeQueue("lab", "pause"))
        assert await ask(dawr, written.log, "/nowhere") == 404

    assert written.events() == []


@pytest.mark.parametrize(
    ("level", "kind"), [("debug", AccessLog), ("info", AccessLog), ("warning", NoAccessLog), ("error", NoLog)]
)
def test_the_level_decides_which_lines_there_are(level: str, kind: type[AccessLog]) -> None:
    assert type(logs.access_log(Settings(log_level=level))) is kind  # type: ignore[arg-type]


def test_requests_are_counted_though_no_line_is_wanted() -> None:
    counted: list[tuple[str, str, int, int]] = []
    for kind in (AccessLog, NoAccessLog, NoLog):
        written = Written(kind)
        written.log.count = lambda *raw: counted.append(raw)
        written.log.record("BREW", "/x", 200, AT_NOON - 5, "abc")

    assert counted == [("OTHER", "/x", 200, 5)] * 3


LOGGING = """
import logging, structlog
from dawr.observe import logs
from dawr.settings import Settings
settings = Settings(log_level="{level}", log_format="{format}")
logs.configure(settings)
log = structlog.get_logger("x")
log.info("thing.done", number=7)
try:
    try:
        raise KeyError("+97455123456")
    except KeyError as cause:
        raise ValueError("Key (phone)=(97455123456) of 'Amna Ali' and \\"Basma\\" is not unique") from cause
except ValueError:
    log.exception("thing.failed")
logging.getLogger("library").warning("a library's word")
access = logs.access_log(settings)
access.record("GET", "/x", 200, access.begin(), "abc")
access.failed("/x", 503, "busy", "abc")
access.flush()
"""


def logged(level: str = "info", form: str = "json") -> str:
    script = LOGGING.format(level=level, format=form)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stderr


def test_lines_are_json_and_all_begin_their_lives_in_the_same_way() -> None:
    lines = [json.loads(line) for line in logged().splitlines()]

    assert [line["event"] for line in lines] == ["thing.done", "thing.failed", "library", "request", "api.error"]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}", line["at"]) for line in lines)
    assert [line.get("level") for line in lines] == ["info", "error", "warning", "info", "warning"]


def test_an_error_tells_where_and_what_and_leaves_out_what_it_quotes() -> None:
    (failed,) = [json.loads(line) for line in logged().splitlines() if "thing.failed" in line]

    told = failed["exception"]
    assert told.index("KeyError: …") < told.index("ValueError: Key …\n")
    assert 'File "<string>", line 11' in told
    for secret in ("97455123456", "Amna", "Basma"):
        assert secret not in json.dumps(failed)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("no visitor 'O'Brien' of 'Al Amna's'", "no visitor …"),
        ("Key (name, phone)=(Amna (the elder), 5512) exists for Amna", "Key …"),
        ('relation "x"\nDETAIL: Amna Ali (and others)', "relation …"),
        ("got {Amna: [5512]} and <Amna>", "got …"),
        ("“Amna” of +97455123456", "…"),
        ("97455123456 isn't known, 12 are", "… isn't known, 12 are"),
        ("the database is locked", "the database is locked"),
    ],
)
def test_whatever_an_error_quotes_and_however_it_is_left_out(error: str, said: str) -> None:
    failed = ValueError(error)

    assert logs.without_values((ValueError, failed, None)) == f"ValueError: {said}\n"


def test_a_form_for_eyes_can_be_asked_for_and_has_no_value_that_an_error_quotes() -> None:
    said = logged(form="console")

    assert not any(line.startswith("{") for line in said.splitlines())
    assert "thing.done" in said
    assert re.search(r"^\S+Z GET /x 200 \d+\.\d+ ms abc$", said, re.MULTILINE)
    assert re.search(
        r"^\S+Z api\.error level=warning route=/x status=503 code=busy correlation_id=abc$", said, re.MULTILINE
    )
    for secret in ("97455123456", "Amna", "Basma"):
        assert secret not in said
    assert "\x1b" not in said


def test_fewer_lines_can_be_asked_for() -> None:
    assert [json.loads(line)["event"] for line in logged("warning").splitlines()] == [
        "thing.failed",
        "library",
        "api.error",
    ]
    assert [json.loads(line)["event"] for line in logged("error").splitlines()] == ["thing.failed"]


async def test_when_all_else_has_ended_the_last_lines_are_written_and_the_writer_ends(tmp_path: Path) -> None:
    happened: list[str] = []
    log = AccessLog(lambda _: happened.append("written"), lambda: AT_NOON, stop=lambda: happened.append("ended"))
    async with bootstrap.running(quiet(data=str(tmp_path)), Instruments(log)):
        log.failed("/x", 503, "busy", "abc")
        assert happened == []

    assert happened == ["written", "ended"]


async def test_a_line_is_written_with_the_answer_not_after_the_next(tmp_path: Path) -> None:
    written = Written()
    async with a_clinic(tmp_path, written) as dawr, asyncio.timeout(60):
        assert await ask(dawr, written.log, "/api/v1/queue/enter") == 200

    events = [line["event"] for line in written.events()]
    assert events[-2:] == ["queue.joined", "request"]
