"""Traces: a span for each request, one for each batch, and nothing at all unless it is switched on."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind, StatusCode

from dawr import bootstrap
from dawr.bootstrap.installation import Dawr
from dawr.domain.venue import Venue, VenueId
from dawr.observe import tracing
from dawr.observe.instruments import Instruments
from dawr.observe.otel import OtelTracing
from dawr.ports import Batch
from dawr.ports.faults import StoreAway
from dawr.reliability import correlation
from dawr.reliability.correlation import Trace
from tests.builders import a_queue
from tests.running import Client, DawrServer, zone_where_it_is_noon
from tests.servers.place import free_port
from tests.serving import quiet, served

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{PARENT}-01"


class Traced(msgspec.Struct):
    exporter: InMemorySpanExporter
    instruments: Instruments

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


def traced(provider: TracerProvider | None = None) -> Traced:
    exporter = InMemorySpanExporter()
    provider = provider or TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traced(exporter, Instruments(tracing=OtelTracing(provider, time.time_ns)))


@asynccontextmanager
async def a_clinic(traced: Traced, directory: Path, *, capacity: int | None = None) -> AsyncIterator[tuple[Dawr, str]]:
    queues = (a_queue("lab", capacity=capacity),)
    venue = Venue(VenueId(""), "clinic", {"en": "A clinic"}, zone_where_it_is_noon(), queues=queues)
    async with bootstrap.running(quiet(data=str(directory)), traced.instruments) as dawr:
        await dawr.set_up(venue)
        traced.exporter.clear()
        async with served(dawr) as url:
            yield dawr, url


def ask(url: str, path: str, headers: Mapping[str, str]) -> int:
    with Client(url) as client:
        return client.ask(path, headers=headers).status


def enter(url: str, user: str, headers: Mapping[str, str]) -> int:
    with Client(url) as client:
        return client.post("/api/v1/queue/enter", {"clinic": "lab", "user": user}, **headers).status


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_request_is_a_span_under_the_parent_that_it_came_with(tmp_path: Path) -> None:
    traces = traced()
    async with a_clinic(traces, tmp_path) as (_, url):
        sent = {"traceparent": TRACEPARENT, "tracestate": "other=1", "x-correlation-id": "abc"}
        status = await asyncio.to_thread(ask, url, "/v1/queues/clinic:lab", sent)

    (span,) = traces.spans("GET /v1/queues/{queue}")
    assert status == 200
    assert span.kind == SpanKind.SERVER
    assert span.parent is not None
    assert (f"{span.parent.trace_id:032x}", f"{span.parent.span_id:016x}") == (TRACE, PARENT)
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.context.trace_state.to_header() == "other=1"
    assert attributes(span) == {
        "http.request.method": "GET",
        "http.route": "/v1/queues/{queue}",
        "http.response.status_code": 200,
        "dawr.correlation_id": "abc",
    }


async def test_a_batch_is_a_span_that_is_linked_to_its_requests(tmp_path: Path) -> None:
    traces = traced()
    async with a_clinic(traces, tmp_path) as (_, url):
        asked = [asyncio.to_thread(enter, url, f"visitor {turn}", {"traceparent": TRACEPARENT}) for turn in range(8)]
        statuses = await asyncio.gather(*asked)

    requests = {span.context.span_id for span in traces.spans("POST /api/v1/queue/enter") if span.context is not None}
    batches = traces.spans("batch")
    linked = [link.context.span_id for batch in batches for link in batch.links]
    assert set(statuses) == {200}
    assert len(requests) == 8
    assert sorted(linked) == sorted(requests)
    assert sum(int(attributes(batch)["dawr.batch.commands"]) for batch in batches) == 8
    assert all(batch.parent is None and batch.end_time > batch.start_time for batch in batches)  # type: ignore[operator]


async def test_what_the_rules_refuse_is_no_error_of_its_span_and_what_fails_is(tmp_path: Path) -> None:
    traces = traced()
    async with a_clinic(traces, tmp_path, capacity=0) as (dawr, url):
        refused = await asyncio.to_thread(enter, url, "Amna", {})
        await dawr.engine.stop()
        failed = await asyncio.to_thread(enter, url, "Amna", {})

    spans = traces.spans("POST /api/v1/queue/enter")
    assert (refused, failed) == (503, 503)
    assert [span.status.status_code for span in spans] == [StatusCode.UNSET, StatusCode.ERROR]


async def test_no_span_has_a_pin_or_says_whose_it_is(tmp_path: Path) -> None:
    traces = traced()
    given = {"clinic": "lab", "user": "Zubaydah", "pin": "739164"}
    async with a_clinic(traces, tmp_path) as (_, url):
        await asyncio.to_thread(enter, url, "Zubaydah", {})
        with Client(url) as client:
            refused = await asyncio.to_thread(client.post, "/api/v1/queue/done", given)

    assert refused.json["code"] == "pin-wrong"
    assert len(traces.spans("batch")) == 2
    for span in traces.exporter.get_finished_spans():
        said = [*attributes(span).values(), *(str(dict(event.attributes or {})) for event in span.events)]
        assert not [value for value in said if "739164" in str(value) or "Zubaydah" in str(value)]


async def test_a_call_that_is_made_for_a_request_names_its_span_as_the_parent() -> None:
    traces = traced()
    correlation.begin([(b"traceparent", TRACEPARENT.encode())], lambda: "abc")
    assert traces.instruments.tracing is not None
    span = traces.instruments.tracing.begin()

    sent = correlation.outgoing_headers()
    span.answered("GET", "/", 200, "abc", failed=False)

    (ended,) = traces.spans("GET /")
    assert ended.context is not None
    assert sent["traceparent"] == f"00-{TRACE}-{ended.context.span_id:016x}-01"
    assert sent["x-correlation-id"] == "abc"


async def test_what_is_not_sampled_is_carried_on_and_not_recorded(tmp_path: Path) -> None:
    traces = traced(TracerProvider(sampler=ParentBased(ALWAYS_OFF), shutdown_on_exit=False))
    async with a_clinic(traces, tmp_path) as (dawr, url):
        assert await asyncio.to_thread(enter, url, "Amna", {}) == 200
        assert await asyncio.to_thread(enter, url, "Basma", {"traceparent": TRACEPARENT[:-1] + "0"}) == 200
        unsampled = len(traces.exporter.get_finished_spans())
        assert await asyncio.to_thread(enter, url, "Huda", {"traceparent": TRACEPARENT}) == 200
        await dawr.engine.find_venue("clinic")

    assert unsampled == 0
    assert len(traces.spans("POST /api/v1/queue/enter")) == 1


async def test_an_error_of_ours_is_marked_as_one_and_a_refusal_is_not(tmp_path: Path) -> None:
    traces = traced()
    async with a_clinic(traces, tmp_path) as (dawr, url):
        missing = await asyncio.to_thread(ask, url, "/v1/queues/clinic:nowhere", {})
        await dawr.engine.stop()
        failed = await asyncio.to_thread(enter, url, "Amna", {})

    (refused,) = traces.spans("GET /v1/queues/{queue}")
    (stopping,) = traces.spans("POST /api/v1/queue/enter")
    assert (missing, refused.status.status_code) == (404, StatusCode.UNSET)
    assert (failed, stopping.status.status_code) == (503, StatusCode.ERROR)
    assert attributes(stopping)["error.type"] == "503"


async def test_a_batch_that_failed_says_so() -> None:
    traces = traced()

    traces.instruments.ran(Batch(1, 0.01, [], [("abc", Trace(TRACE, PARENT, 1))], fault=StoreAway("gone")))

    (batch,) = traces.spans("batch")
    assert batch.status.status_code == StatusCode.ERROR
    assert attributes(batch)["error.type"] == "StoreAway"


@pytest.mark.parametrize(
    ("variables", "exporter"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "dawr"}, None),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, None),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, None),
    ],
)
def test_its_own_variables_switch_it_on(variables: dict[str, str], exporter: str | None) -> None:
    assert tracing.exporter_of(variables) == exporter


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "zipkin"},
        {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_what_it_cannot_do_is_said_and_serving_goes_on(
    variables: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert tracing.from_environment(variables, time.time_ns) is None

    assert "tracing.off" in "".join(capsys.readouterr())


LOADED = """
import sys
{before}
{work}
print(*sorted(set(sys.modules) & {{"opentelemetry.exporter", "prometheus_client", "redis", "dawr.observe.otel"}}))
"""


def loaded(work: str, before: str = "") -> str:
    return subprocess.run(
        [sys.executable, "-c", LOADED.format(before=before, work=work)], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_command_line_loads_neither_traces_nor_metrics_nor_redis() -> None:
    assert (
        loaded(
            "from click.testing import CliRunner\nfrom dawr.cli import main\nCliRunner().invoke(main, ['--version'])"
        )
        == ""
    )


def test_a_server_without_traces_and_without_redis_does_not_load_their_libraries() -> None:
    work = "import dawr.cli.serve\nfrom dawr import bootstrap\nfrom dawr.settings import Settings\n"

    assert loaded(work + "bootstrap.instruments_of(Settings())") == ""


def test_without_the_library_it_is_said_what_to_install() -> None:
    missing = "sys.modules['opentelemetry'] = None"
    asked = "tracing.from_environment({'OTEL_TRACES_EXPORTER': 'otlp'}, int)"
    work = f"from dawr.observe import tracing\nassert {asked} is None"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{missing}\n{work}"], capture_output=True, text=True, check=True
    )

    assert "make install EXTRAS=otel" in done.stdout + done.stderr


def test_a_collector_that_is_away_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        assert client.enter("lab", "Amna").status == 200
        began = time.monotonic()

        code = demo.stop()

    assert code == 0
    assert time.monotonic() - began < 3.0


def test_what_is_sent_arrives_at_a_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The console is the collector here: it prints what it would send."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    with DawrServer(tmp_path, "demo", "--data", tmp_path / "data") as demo, Client(demo.url) as client:
        assert client.enter("lab", "Amna").status == 200

    said = demo.log.read_text()
    assert '"name": "POST /api/v1/queue/enter"' in said
    assert '"service.name": "dawr"' in said
    assert "Amna" not in said
