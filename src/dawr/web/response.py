"""What a handler answers, and which headers every answer has: as ASGI wants them, and as bytes."""

import gzip
from collections.abc import Iterable, Mapping
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
JSON_FILE: Header = (b"content-type", b"application/json; charset=utf-8")
ASSETS = frozenset({CSS, JAVASCRIPT, SVG, JSON_FILE})
"""The same for everybody: each says itself how long it may be kept."""

NOT_STORED: Header = (b"cache-control", b"no-store")
PACKED: Header = (b"content-encoding", b"gzip")
BY_ENCODING: Header = (b"vary", b"accept-encoding")
WORTH_PACKING = 1024

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
            b"media-src 'self'; manifest-src 'self'; "
            b"base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"
        ),
    ),
    *(header for header in SECURITY_HEADERS[1:] if header != NO_REFERRER),
)
"""A page may have our own styles, pictures and scripts, and nothing inline. Its referrer policy is its own."""

FRAMED_HTML: Header = (b"content-type", b"text/html; charset=UTF-8")
FRAMED_SECURITY_HEADERS: tuple[Header, ...] = (
    (
        b"content-security-policy",
        PAGE_SECURITY_HEADERS[0][1].replace(b"frame-ancestors 'none'", b"frame-src 'self'; frame-ancestors 'self'"),
    ),
    *PAGE_SECURITY_HEADERS[1:],
)
"""Of the demo's pages, three of which are shown side by side in a fourth."""

HSTS: Header = (b"strict-transport-security", b"max-age=31536000")
HSTS_WITH_SUBDOMAINS: Header = (HSTS[0], HSTS[1] + b"; includeSubDomains")
"""A year of https for this host, or also for every host below it. Sent over an encrypted connection only."""

SECURITY_OF_PAGES: Mapping[Header, tuple[Header, ...]] = {
    HTML: PAGE_SECURITY_HEADERS,
    FRAMED_HTML: FRAMED_SECURITY_HEADERS,
}

STATUS_LINES = {status.value: b"HTTP/1.1 %d %b\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}

encoded = msgspec.json.Encoder().encode


class Response(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    kind: Header = JSON
    by_rule: bool = False
    """Whether the rules said no: then it is no failure, whatever its status."""
    packed: bytes | None = None
    """The body as gzip, where it is worth keeping."""
    refusal: Exception | None = None
    """The refusal that a page shows, for `Limits.charge_refused`."""


def answered(answer: object, *, status: int = 200, headers: tuple[Header, ...] = ()) -> Response:
    return Response(status, encoded(answer), headers)


def headers_of_kind(kind: Header) -> tuple[Header, ...]:
    """What every answer of a kind says, whoever asks."""
    if kind in ASSETS:
        return (kind, BY_ENCODING, *SECURITY_HEADERS)
    return (kind, NOT_STORED, *SECURITY_OF_PAGES.get(kind, SECURITY_HEADERS))


def packed(response: Response) -> Response:
    """For whoever takes gzip: a page or a file of one, a fifth of its size. What programs read is short already."""
    body = response.packed
    if body is None:
        if response.kind not in SECURITY_OF_PAGES or len(response.body) < WORTH_PACKING:
            return response
        body = gzip.compress(response.body, 5, mtime=0)
    return msgspec.structs.replace(response, body=body, headers=(*response.headers, PACKED))


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
