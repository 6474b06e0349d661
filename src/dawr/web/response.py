"""What a handler answers."""

import msgspec

Header = tuple[bytes, bytes]

JSON: Header = (b"content-type", b"application/json")
PROBLEM_JSON: Header = (b"content-type", b"application/problem+json")
HTML: Header = (b"content-type", b"text/html; charset=utf-8")

encoded = msgspec.json.Encoder().encode


class Response(msgspec.Struct, frozen=True):
    status: int
    body: bytes
    headers: tuple[Header, ...] = ()
    kind: Header = JSON


def answered(answer: object, *, status: int = 200, headers: tuple[Header, ...] = ()) -> Response:
    return Response(status, encoded(answer), headers)
