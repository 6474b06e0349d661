"""One HTTP connection: what is not HTTP, too large, or does not come to its end is refused like everything else.

A refusal that is made here never reaches the app, so it is counted in the access log here;
a request that the app has begun to read is refused through the app. Each request has one
answer and one line.
"""

import asyncio
import re
from functools import partial
from typing import Any, Literal, NoReturn, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from dawr.observe.access_log import NO_ROUTE
from dawr.reliability import correlation
from dawr.reliability.asgi import OTHER_METHOD
from dawr.web.problems import BadRequest, problem_of
from dawr.web.response import PROBLEM_JSON, head_of, headers_of_one
from dawr.web.server.addresses import TooManyConnections
from dawr.web.server.answering import CLOSE
from dawr.web.server.shared import Shared
from dawr.web.wording import ENGLISH, preferred

IDLE_SECONDS = 6
"""How long a connection is kept for the next request. At least five, counted in whole seconds."""
LARGEST_HEAD = 64 * 1024
END_OF_HEAD = b"\r\n\r\n"
EMPTY_LINES = re.compile(rb"[\r\n]*")
"""A client may send them before a request."""
MIN_BODY_PIECE_BYTES = 256
"""The smallest piece of a body for the parser while the pipeline may be full. It has room for 14 more requests."""
MOST_BEHIND = 4
"""How many requests wait behind the one that is answered. What comes after them is not even parsed."""
HEAD_SECONDS = 10
"""How long a head may take. A whole request may take somewhat longer (`patience_seconds`)."""
LAST_READ_SECONDS = 2
"""How long the connection of a late request stays open, so that the client can read the refusal."""
UNREAD_SECONDS = 30
"""How long an answer may lie there without a byte of it being read."""
WRITE_BUFFER = 16 * 1024
"""How many bytes may wait to be sent before the next answer waits, too."""
LARGEST_REQUEST = 4 * 1024 * 1024
"""The app refuses a body long before this; here is the end of waiting for the rest of it."""

MALFORMED = (400, "malformed-request")
CODING_UNKNOWN = (501, "transfer-coding-unknown")
HEAD_TOO_LARGE = (431, "headers-too-large")
BODY_TOO_LARGE = (413, "body-too-large")
LATE = (408, "request-timeout")


class Refusing(asyncio.Event):
    """In place of the event that an app waits for when it reads a body: nothing more comes, but a refusal."""

    def __init__(self, refusal: BadRequest) -> None:
        super().__init__()
        self._refusal = refusal

    async def wait(self) -> Literal[True]:
        raise self._refusal

    def clear(self) -> None:
        """What the app does next when it was waiting already."""
        raise self._refusal


class HttpProtocol(HttpToolsProtocol):
    """What is called for every request calls its parent by name: `super()` would cost three times as much."""

    _bytes_of_request = 0
    _in_head = True
    _has_cycle = False
    _refused = False
    _is_late = False
    is_counted = False
    """Whether the connection counts for its address already, as one over TLS does since it was accepted."""
    _counted_as: str | None = None
    """The key under which the connection counts for its address."""
    _is_last = False
    """Nothing is heard after the request that came."""
    _bytes_of_trailers = 0
    _unparsed = b""
    """What came when enough waited already. Nothing more is read until it is parsed."""
    _unsent = 0
    """How many bytes waited to be sent a second ago."""
    _unread_since: int
    """The second since which none of them left."""
    _answering: RequestResponseCycle | None = None
    """Whose task runs. Those that were sent behind it wait in the pipeline."""
    _since: int | None = None
    """The second since which a whole request is waited for; None while there is one."""
    _idle_since: int | None = None
    """The second since which nothing is asked."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        transport.set_write_buffer_limits(WRITE_BUFFER)
        self._shared = cast("Shared", self.server_state)
        self._since = self._unread_since = self._shared.second
        if self._shared.addresses is not None and not self.is_counted:
            try:
                self._counted_as = self._shared.addresses.admit(self.client)
            except TooManyConnections as refusal:
                self._turn_away(refusal)

    def data_received(self, data: bytes) -> None:
        if self._refused or self._is_last:
            return
        if self._since is None:
            self._since, self._idle_since = self._shared.second, None
        if self.pipeline or data.count(END_OF_HEAD) > MOST_BEHIND:
            self._unparsed += data
            self._parse_what_has_room()
        else:
            self._parse(data)
        if self.pipeline:
            self._listen_for_the_end()

    def connection_lost(self, exc: Exception | None) -> None:
        """The parent tells the newest request only. Nobody is left to hear what waits behind the one that runs."""
        self._forget_what_waits()
        self._shared.forget(self)
        if self._counted_as is not None and self._shared.addresses is not None:
            self._shared.addresses.release(self._counted_as)
        running = self._answering
        if running is not None and running is not self.cycle:
            running.disconnected = not running.response_complete
            running.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """After the answer that is on its way. What waits behind it is not begun any more."""
        if self.pipeline:
            self.cycle = cast("RequestResponseCycle", self._answering)
        self._shared.when_written(super().shutdown)

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parent's own lines, for it is called for every header; but a trailer comes too late to be one."""
        if not self._in_head:
            self._ignore_trailer(name, value)
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._bytes_of_request > LARGEST_HEAD and self._size_of_head() > LARGEST_HEAD:
            self._refuse_and_stop_parsing(BadRequest(*HEAD_TOO_LARGE))
        names = [name for name, _ in self.headers]
        if b"transfer-encoding" in names and any(_is_of_unknown_coding(*header) for header in self.headers):
            self._refuse_and_stop_parsing(BadRequest(*CODING_UNKNOWN))
        hosts = names.count(b"host")
        if hosts != 1 and (hosts > 1 or self.parser.get_http_version() != "1.0"):
            self._refuse_and_stop_parsing(BadRequest(*MALFORMED))
        if self.parser.should_upgrade():
            self._decline_upgrade()
        HttpToolsProtocol.on_headers_complete(self)
        if self._is_last:
            self.cycle.keep_alive = False
        self._has_cycle, self._in_head = True, False
        # Its task begins later, and finds what it can do with this connection.
        extensions: dict[str, Any] = {
            "dawr.abort": self.transport.abort,
            "dawr.cycle": self.cycle,
            "dawr.shared": self._shared,
        }
        self.scope["extensions"] = extensions

    def on_message_complete(self) -> None:
        self._bytes_of_request, self._in_head, self._since = 0, True, None
        self._bytes_of_trailers = 0
        HttpToolsProtocol.on_message_complete(self)

    def on_response_complete(self) -> None:
        """The parent would set a timer for each answer; an idle connection is noticed by the check once a second."""
        self._shared.total_requests += 1
        self._shared.count_answer()
        if self.transport.is_closing():
            return
        if self._answering is not None and not self._answering.keep_alive:
            self._say_no_more()
            return
        if self.pipeline:
            self._shared.wait_for_turn(self)
            return
        self.flow.resume_reading()
        if self.cycle.response_complete:  # the next one may have begun while this answer waited to leave
            self._idle_since = self._shared.second

    def answer_next(self) -> None:
        """The request that waits, and let one more of those that were sent behind it wait in its place."""
        if not self.pipeline or self.transport.is_closing():
            return
        self._start_asgi_task(*self.pipeline.pop())
        self._parse_what_has_room()
        self._listen_for_the_end()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        HttpToolsProtocol._start_asgi_task(self, cycle, app)  # noqa: SLF001 - the parent's

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - the server's own words stay in its log
        self._refuse(BadRequest(*MALFORMED))

    def give_up_if_late(self) -> None:
        """Called once a second."""
        if self._is_unread():
            self.transport.abort()
        elif self._since is None:
            if self.transport.is_closing():
                self._since = self._shared.second
            elif self._idle_since is not None and self._shared.second - self._idle_since >= IDLE_SECONDS:
                self.transport.close()
        elif self._shared.second - self._since >= self._patience_seconds():
            self._give_up()

    def _patience_seconds(self) -> int:
        if self._is_late:
            return LAST_READ_SECONDS
        return HEAD_SECONDS if self._in_head else self._shared.patience_seconds

    def _give_up(self) -> None:
        if self.transport.is_closing():
            self.transport.abort()
        elif self._is_being_answered():
            self._since = self._shared.second
        elif self._bytes_of_request == 0 or self._refused:
            self.transport.close()
            self._since = self._shared.second
        else:
            self._is_late = True
            self._refuse(BadRequest(*LATE))

    def _is_unread(self) -> bool:
        """Whether the client reads nothing of what it asked for. Who reads a stream is judged where that is sent."""
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if self._unsent == 0 or self._unsent < before or self._is_streaming():
            self._unread_since = self._shared.second
        return self._shared.second - self._unread_since >= UNREAD_SECONDS

    def _is_streaming(self) -> bool:
        answering = self._answering
        return answering is not None and answering.chunked_encoding is not None and not answering.response_complete

    def _parse(self, data: bytes) -> None:
        self._bytes_of_request += len(data)
        HttpToolsProtocol.data_received(self, data)
        if self._bytes_of_request > LARGEST_HEAD:
            self._refuse_what_is_too_large()

    def _parse_what_has_room(self) -> None:
        """Head by head: the parser cannot be told to stop at a request's end, but is given no more than one.

        A body may be full of what ends a head, so it is not cut at each of them, and nothing is copied but the piece.
        """
        data, start, self._unparsed = self._unparsed, 0, b""
        while start < len(data) and len(self.pipeline) < MOST_BEHIND and not self._refused and not self._is_last:
            found = data.find(END_OF_HEAD, self._next_cut(data, start))
            end = len(data) if found < 0 else found + len(END_OF_HEAD)
            self._parse(data[start:end])
            start = end
        if not self._refused:
            self._unparsed = data[start:]

    def _next_cut(self, data: bytes, start: int) -> int:
        """Return where the end of a head is looked for: behind empty lines, and not in every four bytes of a body."""
        if not self._in_head:
            return start + MIN_BODY_PIECE_BYTES
        empty = EMPTY_LINES.match(data, start)
        return start if empty is None else empty.end()

    def _listen_for_the_end(self) -> None:
        """The parent stops reading when a request waits behind another, and would not notice that the client went."""
        if self._unparsed or self._bytes_of_request > LARGEST_HEAD:
            self.flow.pause_reading()
        elif not self.transport.is_closing():
            self.flow.resume_reading()

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _ignore_trailer(self, name: bytes, value: bytes) -> None:
        self._bytes_of_trailers += len(name) + len(value)
        if self._bytes_of_trailers > LARGEST_HEAD:
            self._refuse_and_stop_parsing(BadRequest(*HEAD_TOO_LARGE))

    def _decline_upgrade(self) -> None:
        """The parser takes what follows for another protocol, also a body: it would be read as the next request."""
        if self.parser.get_method() == b"CONNECT" or any(_is_of_a_body(*header) for header in self.headers):
            self._refuse_and_stop_parsing(BadRequest(*MALFORMED))
        self._is_last = True

    def _refuse_and_stop_parsing(self, refusal: BadRequest) -> NoReturn:
        self._refuse(refusal)
        raise refusal  # through the parser, which stops at it

    def _refuse_what_is_too_large(self) -> None:
        if self._in_head:
            self._refuse(BadRequest(*HEAD_TOO_LARGE))
        elif self._bytes_of_request > LARGEST_REQUEST:
            self._refuse(BadRequest(*BODY_TOO_LARGE))

    def _refuse(self, refusal: BadRequest) -> None:
        """By the one who can: here, the app that waits for the body, or nobody while another answer is under way."""
        if self._refused or self.transport.is_closing():
            return
        self._refused, self._since = True, self._shared.second
        if self._is_being_answered():
            self.cycle.keep_alive = False
            self._record(refusal, self._shared.new_id())
        elif self._in_head:
            self._answer(refusal)
        elif self.cycle.response_complete:
            self._shared.when_written(self.transport.close)
        else:
            self.cycle.keep_alive = False
            waited_for, self.cycle.message_event = self.cycle.message_event, Refusing(refusal)
            waited_for.set()

    def _is_being_answered(self) -> bool:
        if not self._has_cycle or self.cycle.response_complete:
            return False
        return self.cycle.response_started or not self.cycle.more_body

    def _answer(self, refusal: BadRequest) -> None:
        """Say it, and that it was all."""
        correlation_id = correlation.accepted(self.headers or ()) or self._shared.new_id()
        self._record(refusal, correlation_id)
        self._shared.when_written(partial(self._say_last, self._response_to(refusal, correlation_id)))

    def _turn_away(self, refusal: TooManyConnections) -> None:
        """Refuse a connection before it has asked for anything. No request is counted, and nothing is kept open."""
        self._refused = True
        self._shared.access_log.count_refusal(refusal.code)
        self.transport.write(self._response_to(refusal, self._shared.new_id()))
        self.transport.close()

    def _response_to(self, refusal: BadRequest, correlation_id: str) -> bytes:
        language = preferred(dict(self.headers or ()).get(b"accept-language", b"")) or ENGLISH
        problem = problem_of(refusal, language)
        body = problem.body(correlation_id)
        own = (*headers_of_one(correlation_id, body), *problem.headers_of_response())
        return head_of(refusal.status, PROBLEM_JSON, [*own, *self._shared.default_headers, CLOSE]) + b"\r\n" + body

    def _say_last(self, said: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(said)
            self._say_no_more()

    def _say_no_more(self) -> None:
        """What still comes is taken, for as long as a request may take: thrown back, it would hide what was said."""
        self._forget_what_waits()
        self._refused, self._since = True, self._shared.second
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self.flow.resume_reading()
        else:
            self.transport.close()  # TLS has no half of a connection to end

    def _forget_what_waits(self) -> None:
        self.pipeline.clear()
        self._unparsed = b""

    def _record(self, refusal: BadRequest, correlation_id: str) -> None:
        """Once in each place where answers are counted."""
        shared = self._shared
        if shared.collecting is not None:
            headers = self.headers or []
            scope = {"client": self.client, "headers": headers, "method": OTHER_METHOD, "path": NO_ROUTE}
            # What the client got wrong is no error of ours, whatever its status is.
            shared.collecting.collect(scope, dict(headers), NO_ROUTE, refusal.status, 0, correlation_id, by_rule=True)
            shared.count_answer()
        log = shared.access_log
        log.count_refusal(refusal.code)
        with correlation.within(correlation_id, correlation.traced(self.headers or ())):
            log.record(OTHER_METHOD, NO_ROUTE, refusal.status, log.begin(), correlation_id)


def _is_of_a_body(name: bytes, value: bytes) -> bool:
    """Whether this header announces one. The parser has seen to it that a length is a number."""
    return name == b"transfer-encoding" or (name == b"content-length" and value.strip(b" \t0") != b"")


def _is_of_unknown_coding(name: bytes, value: bytes) -> bool:
    """Whether this header names a coding besides chunks: the parser would hand on what is coded as it is."""
    return name == b"transfer-encoding" and value.strip(b" \t,").lower() != b"chunked"
