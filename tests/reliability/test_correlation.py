"""Each request has an id of its own, and whatever it causes carries it."""

import asyncio
import io
import json
import logging
import string
from collections.abc import Iterator
from itertools import count

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from dawr.reliability import correlation
from dawr.reliability.asgi import Message, Receive, Send
from dawr.reliability.correlation import Correlation, Trace

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{PARENT_ID}-01".encode()
HEX = set(b"0123456789abcdef")


@pytest.fixture(autouse=True)
def nothing_of_this_test_remains() -> Iterator[None]:
    yield
    correlation._current.set((None, None))


def new() -> str:
    return "made-here"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], "made-here"),
        ([(b"x-correlation-id", b"abc")], "abc"),
        ([(b"x-request-id", b"abc")], "abc"),
        ([(b"x-request-id", b"second"), (b"x-correlation-id", b"first")], "first"),
        ([(b"x-correlation-id", b"not fit"), (b"x-request-id", b"fits")], "fits"),
        ([(b"x-correlation-id", b"a"), (b"x-correlation-id", b"b")], "a"),
        ([(b"x-correlation-id", b"A.b-c_9" + b"x" * 121)], "A.b-c_9" + "x" * 121),
    ],
)
def test_the_callers_id_is_taken_over(headers: list[tuple[bytes, bytes]], expected: str) -> None:
    assert correlation.begin(headers, new) == expected
    assert correlation.current() == expected
    assert correlation.outgoing_headers() == {"x-correlation-id": expected}


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b" ",
        b"x" * 129,
        b"abc\n",
        b"abc\r\nset-cookie: a=b",
        b'","event":"login',
        b"\x1b[2J",
        b"\x00",
        "\u2028".encode(),
        "٣".encode(),
        "é".encode("latin-1"),
        b"a b",
        b"a/b",
        b"${jndi:ldap://x}",
        b"<script>",
    ],
)
def test_what_does_not_look_like_an_id_is_replaced_and_kept_nowhere(hostile: bytes) -> None:
    headers = [(b"x-correlation-id", hostile), (b"x-request-id", hostile)]

    assert correlation.begin(headers, new) == "made-here"
    assert correlation.outgoing_headers() == {"x-correlation-id": "made-here"}


@given(st.binary(max_size=140))
def test_an_id_is_taken_over_exactly_when_it_fits(value: bytes) -> None:
    fits = 1 <= len(value) <= 128 and all(chr(byte) in string.ascii_letters + string.digits + "._-" for byte in value)

    assert correlation.accepted([(b"x-request-id", value)]) == (value.decode("ascii") if fits else None)


def test_a_trace_is_carried_on_to_the_calls_that_are_made() -> None:
    headers = [(b"traceparent", TRACEPARENT), (b"tracestate", b"a=1"), (b"tracestate", b"b=2")]

    correlation.begin(headers, new)

    assert correlation.current_trace() == Trace(TRACE_ID, PARENT_ID, 1, "a=1,b=2")
    assert correlation.outgoing_headers() == {
        "x-correlation-id": "made-here",
        "traceparent": TRACEPARENT.decode(),
        "tracestate": "a=1,b=2",
    }


def test_a_request_without_a_trace_does_not_inherit_that_of_another() -> None:
    correlation.begin([(b"traceparent", TRACEPARENT)], new)

    correlation.begin([], new)

    assert correlation.current_trace() is None


def test_two_parents_are_none() -> None:
    assert correlation.traced([(b"traceparent", TRACEPARENT), (b"traceparent", TRACEPARENT)]) is None


@pytest.mark.parametrize("state", [b"a=" + b"x" * 511, b",".join([b"a=1"] * 33), b"a=\x00", b"a=\xc3\xa9"])
def test_a_state_that_is_too_large_or_no_text_is_left_behind(state: bytes) -> None:
    trace = correlation.traced([(b"traceparent", TRACEPARENT), (b"tracestate", state)])

    assert trace == Trace(TRACE_ID, PARENT_ID, 1, "")


@pytest.mark.parametrize(
    ("traceparent", "flags"),
    [
        (TRACEPARENT, 1),
        (b" " + TRACEPARENT + b"\t", 1),
        (TRACEPARENT[:-2] + b"00", 0),
        (TRACEPARENT[:-2] + b"ff", 3),
        (b"01" + TRACEPARENT[2:], 1),
        (b"cc" + TRACEPARENT[2:] + b"-what-the-future-brings", 1),
    ],
)
def test_a_parent_is_read_in_this_version_and_in_later_ones(traceparent: bytes, flags: int) -> None:
    assert correlation.traced([(b"traceparent", traceparent)]) == Trace(TRACE_ID, PARENT_ID, flags)


@pytest.mark.parametrize(
    "traceparent",
    [
        b"",
        TRACEPARENT.upper(),
        TRACEPARENT[:-1],
        TRACEPARENT + b"0",
        TRACEPARENT + b"-extra",
        b"cc" + TRACEPARENT[2:] + b".extra",
        b"ff" + TRACEPARENT[2:],
        f"00-{'0' * 32}-{PARENT_ID}-01".encode(),
        f"00-{TRACE_ID}-{'0' * 16}-01".encode(),
        f"00-{TRACE_ID}_{PARENT_ID}-01".encode(),
        f"00-{TRACE_ID[:-1]}g-{PARENT_ID}-01".encode(),
        TRACEPARENT + b"\n",
    ],
)
def test_what_is_no_parent_begins_no_trace(traceparent: bytes) -> None:
    assert correlation.traced([(b"traceparent", traceparent)]) is None


def parsed_by_the_letter(value: bytes) -> bool:
    """The standard, read slowly: every place of the 55 looked at."""
    value = value.strip(b" \t")
    if len(value) < 55 or {value[2], value[35], value[52]} != {ord("-")}:
        return False
    version, trace, parent, flags = value[:2], value[3:35], value[36:52], value[53:55]
    if not set(version + trace + parent + flags) <= HEX or version == b"ff":
        return False
    if not set(trace) - {ord("0")} or not set(parent) - {ord("0")}:
        return False
    return len(value) == 55 or (version != b"00" and value[55] == ord("-"))


fields = st.tuples(
    st.sampled_from(["00", "01", "fe", "ff", "0g"]),
    st.sampled_from(["0" * 32, TRACE_ID]) | st.text("0123456789abcdefA", min_size=31, max_size=33),
    st.sampled_from(["0" * 16, PARENT_ID]) | st.text("0123456789abcdefA", min_size=15, max_size=17),
    st.text("0123456789abcdef", min_size=1, max_size=3),
    st.sampled_from(["", "-", "-x", "x"]),
)


@given(st.binary(max_size=70) | fields.map(lambda parts: ("-".join(parts[:4]) + parts[4]).encode()))
def test_every_parent_is_judged_as_the_standard_has_it(value: bytes) -> None:
    trace = correlation.traced([(b"traceparent", value)])

    assert (trace is not None) == parsed_by_the_letter(value)
    if trace is not None:
        assert correlation.traced([(b"traceparent", trace.traceparent().encode())]) == trace


async def test_a_thousand_interleaved_requests_never_see_each_others_id() -> None:
    all_are_here = asyncio.Barrier(1000)
    seen: dict[str, list[str | None]] = {}

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        mine = scope["path"]
        seen[mine] = [correlation.current()]
        await all_are_here.wait()
        for _ in range(3):
            await asyncio.sleep(0)
            seen[mine].append(correlation.outgoing_headers()["x-correlation-id"])
        seen[mine].append(await asyncio.create_task(from_a_task_of_its_own()))
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def from_a_task_of_its_own() -> str | None:
        await asyncio.sleep(0)
        return correlation.current()

    made = count()
    wrapped = Correlation(app, lambda: f"made-{next(made)}")
    echoed = await asyncio.gather(*(ask(wrapped, f"given-{n}" if n % 2 else None, f"/{n}") for n in range(1000)))

    assert [seen[f"/{n}"] for n in range(1000)] == [[echo] * 5 for echo in echoed]
    assert len(set(echoed)) == 1000
    assert echoed[1::2] == [f"given-{n}" for n in range(1, 1000, 2)]


async def ask(app: Correlation, given_id: str | None, path: str) -> str:
    """Ask an app, and return the one id that is echoed."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [] if given_id is None else [(b"x-correlation-id", given_id.encode())]
    await app({"type": "http", "path": path, "headers": headers}, receive, send)
    (echo,) = [value for name, value in sent[0]["headers"] if name == b"x-correlation-id"]
    return str(echo, "ascii")


async def test_a_request_leaves_nothing_behind_in_the_task_that_asked() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Correlation-Id", b"of-the-app")]})

    assert await ask(Correlation(app, new), "mine", "/") == "mine"
    assert correlation.current() is None


async def test_what_is_no_request_passes_untouched() -> None:
    scopes: list[Message] = []

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        scopes.append(scope)

    await Correlation(app, new)({"type": "lifespan"}, app, app)  # type: ignore[arg-type] # neither is called

    assert scopes == [{"type": "lifespan"}]
    assert correlation.current() is None


def test_a_log_line_says_which_request_it_belongs_to(capsys: pytest.CaptureFixture[str]) -> None:
    log = structlog.wrap_logger(
        structlog.PrintLogger(), processors=[correlation.add_to_log_line, structlog.processors.JSONRenderer()]
    )

    log.info("before")
    correlation.begin([(b"x-correlation-id", b"abc")], new)
    log.info("during")
    log.info("about another", correlation_id="xyz")

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("correlation_id") for line in lines] == [None, "abc", "xyz"]


def test_a_line_of_pythons_own_logging_says_it_too() -> None:
    logger, lines = logging.getLogger("tests.correlation"), io.StringIO()
    handler = logging.StreamHandler(lines)
    handler.addFilter(correlation.CorrelationFilter())
    handler.setFormatter(logging.Formatter("%(correlation_id)s %(message)s"))
    logger.addHandler(handler)

    logger.warning("before")
    correlation.begin([(b"x-correlation-id", b"abc")], new)
    logger.warning("during")
    logger.removeHandler(handler)

    assert lines.getvalue().splitlines() == ["- before", "abc during"]


def test_a_log_line_has_the_trace_of_its_own_request_only() -> None:
    correlation.begin([(b"x-correlation-id", b"abc"), (b"traceparent", TRACEPARENT)], new)
    record = logging.makeLogRecord({})

    own = correlation.add_to_log_line(None, "info", {})
    of_another = correlation.add_to_log_line(None, "info", {"correlation_id": "def"})
    correlation.CorrelationFilter().filter(record)
    with correlation.within("of-a-row"):
        later = correlation.add_to_log_line(None, "info", {})

    assert own == {"correlation_id": "abc", "trace_id": TRACE_ID}
    assert (of_another, later) == ({"correlation_id": "def"}, {"correlation_id": "of-a-row"})
    assert vars(record)["trace_id"] == TRACE_ID


def test_a_worker_acts_on_behalf_of_the_request_whose_row_it_works_on() -> None:
    correlation.begin([(b"x-correlation-id", b"its-own"), (b"traceparent", TRACEPARENT)], new)

    def work() -> None:
        with correlation.within("of-the-row"):
            raise ValueError(correlation.outgoing_headers())

    with pytest.raises(ValueError, match=r"^\{'x-correlation-id': 'of-the-row'\}$"):
        work()

    assert correlation.current() == "its-own"
    assert correlation.current_trace() == Trace(TRACE_ID, PARENT_ID, 1)


@pytest.mark.parametrize("kind", ["http.response.start", "websocket.accept", "websocket.http.response.start"])
async def test_every_kind_of_answer_echoes_the_id_once(kind: str) -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send({"type": kind})
        await send({"type": "http.response.body", "body": b""})

    assert await ask(Correlation(app, new), "mine", "/") == "mine"


async def test_an_id_whose_name_is_not_quite_right_is_none() -> None:
    for name in (b" x-correlation-id", b"x-correlation-id ", b"x_correlation_id", b"correlation-id"):
        assert correlation.accepted([(name, b"abc")]) is None


async def test_a_request_that_fails_leaves_nothing_behind_either() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        raise ValueError(correlation.current())

    with pytest.raises(ValueError, match="mine"):
        await ask(Correlation(app, new), "mine", "/")

    assert correlation.current() is None
