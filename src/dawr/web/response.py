"""What a handler answers, and which headers every answer has: as ASGI wants them, and as bytes."""

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus

import msgspec

from dawr.reliability.correlation import CORRELATION_ID

Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
PROBLEM_JSON: Header = (b"content-type", b"application/problem+json")
HTML: Header = (b"content-type", b"text/html; charset=utf-8")
EVENT_STREAM: Header = (b"content-type", b"text/event-stream; charset=utf-8")
CSS: Header = (b"content-type", b"text/css; charset=utf-8")
JAVASCRIPT: Header = (b"content-type", b"text/javascript; charset=utf-8")
SVG: Header = (b"content-type", b"image/svg+xml")
ASSETS = frozenset({CSS, JAVASCRIPT, SVG})
"""The same for everybody until the next release."""

NOT_STORED: Header = (b"cache-control", b"no-store")
STORED: Header = (b"cache-control", b"public, max-age=300")

NO_REFERRER: Header = (b"referrer-policy", b"no-referrer")
SAME_ORIGIN: Header = (b"referrer-policy", b"same-origin")
"""Other sites learn nothing either. A browser names its page's origin to us with a form, by which we know our own."""

SECURITY_HEADERS: tuple[Header, ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    NO_REFERRER,
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""What every answer says to a browser: run nothing, frame nothing, guess nothing, tell nobody where you came from."""

PAGE_SECURITY_HEADERS: tuple[Header, ...] = (
    (
        b"content-security-policy",
        (
            b"default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; "
            b"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
        ),
    ),
    *(header for header in SECURITY_HEADERS[1:] if header != NO_REFERRER),
)
"""A page may have our own styles, pictures and scripts, and nothing inline. Its referrer policy is its own."""

HSTS: Header = (b"strict-transport-security", b"max-age=31536000; includeSubDomains")
"""Only over an encrypted connection: a year of https for this host and all below it."""

STATUS_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}

encoded = msgspec.json.Encoder().encode


class Response(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    kind: Header = JSON
    by_rule: bool = False
    """Whether the rules said no: then it is no failure, whatever its status."""


def answered(answer: object, *, status: int = 200, headers: tuple[Header, ...] = ()) -> Response:
    return Response(status, encoded(answer), headers)


def headers_of_kind(kind: Header) -> tuple[Header, ...]:
    """What every answer of a kind says, whoever asks."""
    stored = STORED if kind in ASSETS else NOT_STORED
    return (kind, stored, *(PAGE_SECURITY_HEADERS if kind == HTML else SECURITY_HEADERS))


def headers_of_one(correlation_id: str, body: bytes | None) -> list[Header]:
    """What one answer says; a stream has no length."""
    correlated = (CORRELATION_ID, correlation_id.encode())
    return [correlated] if body is None else [correlated, (b"content-length", b"%d" % len(body))]


def head_of(status: int, kind: Header, headers: Iterable[Header]) -> bytes:
    """Status line, the headers of the kind and these, as bytes; the empty line is still to come."""
    return STATUS_LINES[status] + _head_of_kind(kind) + as_bytes(headers)


def as_bytes(headers: Iterable[Header]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


@cache
def _head_of_kind(kind: Header) -> bytes:
    """Most of every head, put together once for each of the few kinds."""
    return as_bytes(headers_of_kind(kind))
