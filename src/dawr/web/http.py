"""Bytes in and out for hot endpoints: no request or response objects in between."""

from typing import TypeVar
from urllib.parse import parse_qs

import msgspec
from starlette.types import Receive, Scope, Send

from dawr.web.problems import RETRY_SOON, BadRequest, Problem

T = TypeVar("T")

LARGEST_BODY = 64 * 1024

JSON = (b"content-type", b"application/json")
PROBLEM_JSON = (b"content-type", b"application/problem+json")
NOT_STORED = (b"cache-control", b"no-store")


async def read_json(scope: Scope, receive: Receive, decoder: msgspec.json.Decoder[T]) -> T:
    """The body as its type, or a refusal that says what is wrong with it."""
    kind = header(scope, b"content-type")
    if kind is not None and kind.partition(";")[0].strip().lower() not in {"application/json", ""}:
        raise BadRequest(415, "not-json", "Send the body as application/json.")
    body = await _read(receive)
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise BadRequest(422, "invalid-body", f"The body does not fit: {error}.") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequest(400, "malformed-json", f"The body is not JSON: {error}.") from error


async def _read(receive: Receive) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest(400, "disconnected", "The connection ended before the body did.")
        body += message.get("body", b"")
        if len(body) > LARGEST_BODY:
            raise BadRequest(413, "body-too-large", f"The body is larger than {LARGEST_BODY // 1024} KiB.")
        if not message.get("more_body", False):
            return body


def query(scope: Scope, name: str) -> str:
    """A parameter that must be given exactly once."""
    values: list[str] = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get(name, [])
    if len(values) != 1 or not values[0]:
        raise BadRequest(422, "invalid-query", f"Give the query parameter {name!r} once, with a value.")
    return values[0]


def header(scope: Scope, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            decoded: str = value.decode("latin-1")
            return decoded
    return None


async def send_json(
    send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes], kind: tuple[bytes, bytes] = JSON
) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [kind, length, NOT_STORED, *headers]})
    await send({"type": "http.response.body", "body": body})


async def send_problem(send: Send, problem: Problem) -> None:
    retry = (RETRY_SOON,) if problem.retryable else ()
    await send_json(send, problem.status, problem.body(), *problem.headers, *retry, kind=PROBLEM_JSON)
